//! The harness itself: a message goes all the way.

use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy::AtMostOnce;

use crate::harness::{Channel, Gives, World};

#[tokio::test]
async fn a_message_goes_all_the_way() {
    let world = World::new().await;
    let config = world
        .config()
        .channel(Channel::new("sms", AtMostOnce, Gives::Nothing));
    let mut worker = world.start(&config).await;
    let publisher = world.publisher(&config).await;
    publisher.send("sms", "order-1").await;
    publisher.send("sms", "order-1").await;
    publisher.raw("sms", b"no JSON", None).await;

    let row = world
        .row_when("sent", "sms", "order-1", |row| row.phase == Phase::Sent)
        .await;
    assert_eq!(row.settled_by.as_deref(), Some("answer"));
    crate::harness::wait_until("the duplicate is counted", async || {
        let metrics = worker.metrics().await;
        let dropped = metrics.sum("nuncio_duplicates_dropped_total", "channel=\"sms\"");
        (dropped == 1.0).then_some(())
    })
    .await;
    crate::harness::wait_until("the bad message is in quarantine", async || {
        (world.quarantine().await.len() == 1).then_some(())
    })
    .await;
    let ended = worker.stop().await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    world.audit(&config).await;
}
