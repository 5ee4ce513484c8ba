//! SIGTERM: what is in flight is finished and recorded, what was not begun goes back.

use std::time::Duration;

use nuncio::domain::phase::Phase::{Parked, Sending, Sent};
use nuncio::domain::policy::Policy::{AtLeastOnce, AtMostOnce};
use nuncio::sandbox::Fault;

use crate::harness::{Channel, Flow, Gives, Proxy, World, wait_until};

const MESSAGES: usize = 60;
const CONCURRENCY: usize = 8;

#[tokio::test]
async fn a_stop_in_mid_send_loses_nothing_and_sends_nothing_twice() {
    let world = World::new().await;
    // Neither key nor log: any doubt that the stop leaves would show, as parked or as sent twice.
    let config = world
        .config()
        .channel(Channel::new("once", AtMostOnce, Gives::Nothing).concurrency(CONCURRENCY))
        .channel(Channel::new("least", AtLeastOnce, Gives::Nothing).concurrency(CONCURRENCY));
    world
        .sandbox
        .script([("*", vec![Fault::Hang; 2 * CONCURRENCY])])
        .await;
    let publisher = world.publisher(&config).await;
    for channel in ["once", "least"] {
        publisher
            .send_all((1..=MESSAGES).map(|n| (channel.into(), format!("order-{n}"))))
            .await;
    }
    let mut worker = world.start(&config).await;
    wait_until("every slot has a request in flight", async || {
        (world.sandbox.summary().await["holding"] == 2 * CONCURRENCY).then_some(())
    })
    .await;
    worker.terminate();
    worker.says("finishing what is in flight").await;
    world.sandbox.release().await;
    let ended = worker.ended().await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("stopped in_flight=0"),
        "{}",
        ended.stderr
    );

    // What was in flight is recorded, nothing is in doubt, and the rest is in the queue again.
    let rows = world.rows().await;
    let in_doubt: Vec<_> = rows
        .iter()
        .filter(|row| row.phase == Sending || row.doubt_since.is_some())
        .collect();
    assert!(in_doubt.is_empty(), "{in_doubt:?}");
    assert!(rows.iter().filter(|row| row.phase == Sent).count() >= 2 * CONCURRENCY);
    let mut left = 0;
    for channel in ["once", "least"] {
        left += world.broker.ready(&config.queue(channel)).await.0 as usize;
    }
    assert_eq!(
        rows.len() + left,
        2 * MESSAGES,
        "rows and messages in the queues"
    );
    assert!(left > 0, "the stop came too late to show anything");

    let worker = world.start(&config).await;
    let rows = world.rest(2 * MESSAGES).await;
    worker.stop().await;
    assert!(
        rows.iter()
            .all(|row| row.phase == Sent && row.possible_duplicates == 0)
    );
    let counts = world.sandbox.counts().await;
    assert!(counts.values().all(|sent| *sent == 1), "{counts:?}");
    world.audit(&config).await;
}

#[tokio::test]
async fn a_ledger_that_does_not_answer_cannot_hold_up_the_stop_beyond_its_grace() {
    let world = World::new().await;
    let to_the_ledger = Proxy::before_url(&world.database.url).await;
    let channel = Channel::new("once", AtMostOnce, Gives::Nothing).times("4s", "60s");
    let config = world.config().channel(channel).grace("5s");
    let proxied = config.clone().database_through(to_the_ledger.address);
    world.sandbox.script([("*", vec![Fault::Hang])]).await;
    let mut worker = world.start_as(&proxied, "worker").await;
    world.publisher(&config).await.send("once", "order-1").await;
    let reference = World::reference("once", "order-1");
    world.sandbox.sent(reference, 1).await;
    to_the_ledger.flow(Flow::Hold);
    worker.terminate();
    let ended = worker.ended().await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("the grace time is over"),
        "{}",
        ended.stderr
    );

    // Left in doubt, and not sent on a guess.
    to_the_ledger.cut();
    world.let_pass(Duration::from_secs(60)).await;
    let worker = world.start(&config).await;
    world.rest(1).await;
    worker.stop().await;
    assert_eq!(world.row("once", "order-1").await.phase, Parked);
    world.audit(&config).await;
}

#[tokio::test]
async fn a_grace_shorter_than_a_request_may_take_is_refused_at_the_start() {
    let world = World::new().await;
    let channel = Channel::new("sms", AtMostOnce, Gives::Nothing).times("20s", "60s");
    let config = world.config().channel(channel).grace("20s");
    let ended = world.spawn(&config, &[]).ended().await;
    assert_eq!(ended.code, Some(64), "{}", ended.stderr);
    let why = "shutdown_grace: 20s must be longer than the request timeout of provider sms, 20s";
    assert!(ended.stderr.contains(why), "{}", ended.stderr);
}
