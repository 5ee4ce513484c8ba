//! A database that isolates more strictly than we ask for.

use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy::AtMostOnce;

use crate::harness::{Channel, Gives, World, wait_until};

#[tokio::test]
async fn serialization_failures_are_repeated_and_nothing_is_sent_twice() {
    let world = World::new().await;
    sqlx::raw_sql(
        "do $$ begin execute format(
            'alter database %I set default_transaction_isolation to serializable',
            current_database()); end $$",
    )
    .execute(&world.database.pool)
    .await
    .unwrap();
    let config = world
        .config()
        .channel(Channel::new("sms", AtMostOnce, Gives::Nothing));
    let publisher = world.publisher(&config).await;
    // Every key four times, from the moment at which four workers race for them.
    let keys = |_| (0..60).map(|n| ("sms".to_owned(), format!("order-{n}")));
    publisher.send_all((0..4).flat_map(keys)).await;
    let workers = tokio::join!(
        world.start(&config),
        world.start(&config),
        world.start(&config),
        world.start(&config)
    );
    let rows = world.rest(60).await;
    assert!(
        rows.iter()
            .all(|row| row.phase == Phase::Sent && row.sends == 1)
    );
    assert!(
        world.quarantine().await.is_empty(),
        "nothing is wrong with the data"
    );
    let mut workers = <[_; 4]>::from(workers);
    // All rows may rest while copies still wait in the queue.
    wait_until("every copy was brought to the ledger", async || {
        let mut brought = 0.0;
        for worker in &mut workers {
            brought += worker.metrics().await.sum("nuncio_claims_total", "");
        }
        (brought >= 240.0).then_some(())
    })
    .await;
    for worker in workers {
        worker.stop().await;
    }
    world.audit(&config).await;
}
