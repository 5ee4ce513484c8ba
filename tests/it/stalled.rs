//! Workers that stand still past their lease, and then go on as if nothing had happened.

use nuncio::domain::phase::Phase::{Parked, Sending, Sent};
use nuncio::domain::policy::Policy::{AtLeastOnce, AtMostOnce};
use nuncio::sandbox::Fault;

use crate::harness::{Channel, Gives, Proxy, Row, Worker, World, wait_until};

/// About the shortest that the configuration takes: these tests wait for a real lease to end. The
/// request must still be in flight when its worker is made to stand still.
const SHORT: (&str, &str) = ("3s", "8100ms");

#[tokio::test]
async fn a_worker_that_wakes_up_after_its_lease_cannot_touch_the_attempt_of_another() {
    let world = World::new().await;
    let slow = Channel::new("sms", AtLeastOnce, Gives::Nothing).times(SHORT.0, SHORT.1);
    let patient = Channel::new("sms", AtLeastOnce, Gives::Nothing);
    let first_config = world.config().channel(slow);
    let second_config = world.config().channel(patient);
    let reference = World::reference("sms", "order-1");
    world
        .sandbox
        .script([(reference, vec![Fault::Hang, Fault::Hang])])
        .await;
    let mut first = world.start_as(&first_config, "worker").await;
    let publisher = world.publisher(&first_config).await;
    publisher.send("sms", "order-1").await;
    world.sandbox.sent(reference, 1).await;
    first.stand_still();

    // Another takes over when the lease is past, and sends again.
    let second = world.start(&second_config).await;
    world.sandbox.sent(reference, 2).await;
    let taken = world.row("sms", "order-1").await;
    assert_eq!((taken.phase, taken.attempt), (Sending, 3));
    assert_eq!(taken.possible_duplicates, 1);

    // The first wakes up, finds its request timed out, and writes that down.
    first.go_on();
    late_write(&mut first).await;
    assert_eq!(world.row("sms", "order-1").await, taken);

    world.sandbox.release().await;
    world.rest(1).await;
    let row = world.row("sms", "order-1").await;
    assert_eq!((row.phase, row.attempt), (Sent, 3));
    for worker in [first, second] {
        assert_eq!(worker.stop().await.code, Some(0));
    }
    world.audit(&second_config).await;
}

#[tokio::test]
async fn a_late_answer_does_not_move_a_row_that_was_parked_meanwhile() {
    let world = World::new().await;
    let channel = Channel::new("sms", AtMostOnce, Gives::Nothing).times(SHORT.0, SHORT.1);
    let config = world.config().channel(channel);
    let reference = World::reference("sms", "order-1");
    world.sandbox.script([(reference, vec![Fault::Hang])]).await;
    let mut first = world.start_as(&config, "worker").await;
    world.publisher(&config).await.send("sms", "order-1").await;
    world.sandbox.sent(reference, 1).await;
    first.stand_still();
    world.sandbox.release().await;

    let second = world.start(&config).await;
    let parked = parked(&world).await;
    first.go_on();
    late_write(&mut first).await;
    assert_eq!(world.row("sms", "order-1").await, parked);
    for worker in [first, second] {
        assert_eq!(worker.stop().await.code, Some(0));
    }
    world.audit(&config).await;
}

#[tokio::test]
async fn a_worker_that_stood_still_between_claim_and_request_makes_none_after_its_lease() {
    let world = World::new().await;
    let to_the_ledger = Proxy::before_url(&world.database.url).await;
    let channel = Channel::new("sms", AtMostOnce, Gives::Nothing).times(SHORT.0, SHORT.1);
    let config = world.config().channel(channel);
    let proxied = config.clone().database_through(to_the_ledger.address);
    let mut first = world.start_as(&proxied, "worker").await;
    to_the_ledger.hold_after("order-1");
    world.publisher(&config).await.send("sms", "order-1").await;
    // The claim is committed, and the worker does not know it yet.
    to_the_ledger.has_caught().await;
    first.stand_still();
    to_the_ledger.let_go();

    let second = world.start(&config).await;
    let parked = parked(&world).await;
    first.go_on();
    late_write(&mut first).await;
    assert_eq!(world.row("sms", "order-1").await, parked);
    let arrived = world.sandbox.so_far(parked.id).await;
    assert_eq!(
        arrived.requests.len(),
        0,
        "at-most-once: no request while in doubt"
    );
    for worker in [first, second] {
        assert_eq!(worker.stop().await.code, Some(0));
    }
    world.audit(&config).await;
}

#[tokio::test]
async fn one_message_published_twenty_times_to_four_workers_is_sent_once() {
    let world = World::new().await;
    let config = world
        .config()
        .channel(Channel::new("sms", AtLeastOnce, Gives::Nothing));
    let publisher = world.publisher(&config).await;
    let mut workers = Vec::new();
    for _ in 0..4 {
        workers.push(world.start_as(&config, "worker").await);
    }
    publisher
        .send_all((0..20).map(|_| ("sms".into(), "order-1".into())))
        .await;
    wait_until("nineteen are dropped", async || {
        let mut dropped = 0.0;
        for worker in &mut workers {
            let metrics = worker.metrics().await;
            dropped += metrics.sum("nuncio_duplicates_dropped_total", "");
        }
        (dropped == 19.0).then_some(())
    })
    .await;
    let rows = world.rest(1).await;
    for worker in workers {
        assert_eq!(worker.stop().await.code, Some(0));
    }
    assert_eq!(world.sandbox.so_far(rows[0].id).await.requests.len(), 1);
    world.audit(&config).await;
}

async fn parked(world: &World) -> Row {
    world
        .row_when("parked", "sms", "order-1", |row| row.phase == Parked)
        .await
}

/// Waits until a worker has tried to write an outcome and changed no row.
async fn late_write(worker: &mut Worker) {
    wait_until("the late write is counted as lost", async || {
        let lost = worker.metrics().await.sum("nuncio_moves_lost_total", "");
        (lost == 1.0).then_some(())
    })
    .await;
}
