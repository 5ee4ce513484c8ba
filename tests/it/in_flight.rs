//! While requests are in flight, nothing of the broker or the ledger waits for them.

use nuncio::domain::phase::Phase::{Sending, Sent};
use nuncio::domain::policy::Policy::AtMostOnce;
use nuncio::sandbox::Fault;

use crate::harness::{Channel, Gives, World, wait_until};

#[tokio::test]
async fn no_ack_waits_for_the_provider() {
    let world = World::new().await;
    let channel = Channel::new("sms", AtMostOnce, Gives::Nothing);
    let mut config = world.config().channel(channel);
    // The broker gives the second message only when it has the ack of the first.
    config.prefetch = 1;
    let first = World::reference("sms", "order-1");
    world.sandbox.script([(first, vec![Fault::Hang])]).await;
    let worker = world.start(&config).await;
    let publisher = world.publisher(&config).await;
    publisher.send("sms", "order-1").await;
    world.sandbox.sent(first, 1).await;
    publisher.send("sms", "order-2").await;

    world
        .row_when("sent", "sms", "order-2", |row| row.phase == Sent)
        .await;
    let row = world.row("sms", "order-1").await;
    assert_eq!(row.phase, Sending);
    assert_eq!(
        row.doubt_since, None,
        "its request had ended when the second came"
    );
    world.sandbox.release().await;
    world.rest(2).await;
    worker.stop().await;
    world.audit(&config).await;
}

#[tokio::test]
async fn with_one_connection_requests_in_flight_hold_nothing_of_the_ledger() {
    let world = World::new().await;
    let config = world
        .config()
        .channel(Channel::new("sms", AtMostOnce, Gives::Nothing))
        .pool(1);
    let hangs: Vec<_> = (1..=5)
        .map(|n| World::reference("sms", &format!("order-{n}")))
        .collect();
    let script = hangs.iter().map(|id| (*id, vec![Fault::Hang]));
    world.sandbox.script(script).await;
    let mut worker = world.start(&config).await;
    let publisher = world.publisher(&config).await;
    publisher
        .send_all((1..=5).map(|n| ("sms".into(), format!("order-{n}"))))
        .await;
    for id in &hangs {
        world.sandbox.sent(*id, 1).await;
    }

    // The one connection serves another message from claim to settle, and the readiness check.
    publisher.send("sms", "order-6").await;
    world
        .row_when("sent", "sms", "order-6", |row| row.phase == Sent)
        .await;
    worker.ready().await;
    assert_eq!(world.sandbox.summary().await["holding"], 5);
    let (sessions, transactions): (i64, i64) = sqlx::query_as(
        "select count(*), count(*) filter (where state like 'idle in transaction%')
         from pg_stat_activity
         where datname = current_database() and application_name = 'nuncio'",
    )
    .fetch_one(&world.database.pool)
    .await
    .unwrap();
    assert_eq!((sessions, transactions), (1, 0));
    // No row lock stands: all five can be had at once.
    let free: Vec<uuid::Uuid> = sqlx::query_scalar(
        "select id from notification where phase = 'sending' for update skip locked",
    )
    .fetch_all(&world.database.pool)
    .await
    .unwrap();
    assert_eq!(free.len(), 5);

    world.sandbox.release().await;
    wait_until("nothing hangs", async || {
        (world.sandbox.summary().await["holding"] == 0).then_some(())
    })
    .await;
    world.rest(6).await;
    worker.stop().await;
    world.audit(&config).await;
}
