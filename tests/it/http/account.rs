//! An account that is refused: the channel rests, and no message pays for it.

use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy::{AtLeastOnce, AtMostOnce};
use nuncio::sandbox::Fault;

use super::super::harness::{Channel, Gives, World, recipient};

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_account_or_a_redirect_rests_the_channel_and_uses_up_nobodys_attempts() {
    let world = World::new().await;
    let config = world
        .config()
        .channel(Channel::new("once", AtMostOnce, Gives::Nothing).max_sends(1))
        .channel(Channel::new("again", AtLeastOnce, Gives::Replay).max_sends(1));
    let publisher = world.publisher(&config).await;
    let keys = |channel: &str| {
        (0..10)
            .map(|i| format!("{channel} {i}"))
            .collect::<Vec<_>>()
    };
    let once = keys("once")
        .into_iter()
        .map(|key| (recipient(&key), vec![Fault::Unauthorized]));
    let again = keys("again")
        .into_iter()
        .map(|key| (recipient(&key), vec![Fault::Redirect]));
    world.sandbox.script(once.chain(again)).await;
    let mut worker = world.start(&config).await;
    for channel in ["once", "again"] {
        let keys = keys(channel).into_iter();
        publisher
            .send_all(keys.map(|key| (channel.to_owned(), key)))
            .await;
    }
    for channel in ["once", "again"] {
        worker
            .says(&format!("the channel rests channel={channel}"))
            .await;
    }
    assert_eq!(worker.metrics().await.sum("nuncio_channel_paused", ""), 2.0);
    let rows = world.rest(20).await;
    for row in &rows {
        assert_eq!(
            (row.phase, row.sends, row.generation),
            (Phase::Sent, 1, 1),
            "{row:#?}"
        );
    }
    assert_eq!(worker.metrics().await.sum("nuncio_channel_paused", ""), 0.0);
    assert_eq!(world.sandbox.summary().await["redirects_followed"], 0);
    let ended = worker.stop().await;
    let alarms = ended.stderr.matches("the channel rests").count();
    assert!(
        (2..=4).contains(&alarms),
        "one alarm a pause:\n{}",
        ended.stderr
    );
    world.audit(&config).await;
}
