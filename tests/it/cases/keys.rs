//! Keys as producers make them.

use std::collections::BTreeSet;

use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy::AtMostOnce;

use crate::harness::{Channel, Gives, World, body, wait_until};

#[tokio::test]
async fn hostile_keys_are_distinct_notifications_and_never_reach_the_wire() {
    let world = World::new().await;
    let config = world
        .config()
        .channel(Channel::new("sms", AtMostOnce, Gives::Replay));
    let publisher = world.publisher(&config).await;
    let worker = world.start(&config).await;
    let long = "x".repeat(255);
    let keys = [
        format!("{long}a"),
        format!("{long}b"),
        "clé-☃".into(),
        "a\r\nX-Evil: 1".into(),
        " a ".into(),
        "a".into(),
        "é".into(),
        "e\u{301}".into(),
    ];
    for key in &keys {
        publisher.send("sms", key).await;
    }
    for key in ["", &"0123456789abcdef".repeat(250)] {
        publisher.send("sms", key).await;
    }
    let rows = world.rest(keys.len()).await;
    assert!(rows.iter().all(|row| row.phase == Phase::Sent));
    let mut wire = BTreeSet::new();
    for key in &keys {
        let arrived = world.sandbox.so_far(World::reference("sms", key)).await;
        assert_eq!(
            (arrived.accepted, arrived.requests.len()),
            (1, 1),
            "{key:?}"
        );
        wire.insert(arrived.requests[0]["key"].as_str().unwrap().to_owned());
    }
    assert_eq!(wire.len(), keys.len(), "one key on the wire for each");
    let plain =
        |key: &String| key.len() == 36 && key.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    assert!(wire.iter().all(plain), "{wire:?}");
    let quarantined = wait_until("the other two are in quarantine", async || {
        let kept = world.quarantine().await;
        (kept.len() == 2).then_some(kept)
    })
    .await;
    let reasons: BTreeSet<_> = quarantined.iter().map(|kept| &*kept.reason).collect();
    assert_eq!(reasons, BTreeSet::from(["bad_key", "missing_key"]));
    worker.stop().await;
    world.audit(&config).await;
}

/// The key is the producer's to choose: the order number makes them one, a random one makes two.
#[tokio::test]
async fn one_event_under_two_keys_is_two_notifications_and_under_one_key_one() {
    let world = World::new().await;
    let config = world
        .config()
        .channel(Channel::new("sms", AtMostOnce, Gives::Nothing));
    let one = world.publisher(&config).await;
    let other = world.publisher(&config).await;
    let worker = world.start(&config).await;
    let shipped = |key: &str| {
        let mut message = body("sms", "order/42/shipped");
        message["key"] = key.into();
        message
    };
    let (a1, b7, natural) = (shipped("a1"), shipped("b7"), shipped("order/42/shipped"));
    tokio::join!(one.json("sms", &a1), other.json("sms", &b7));
    tokio::join!(one.json("sms", &natural), other.json("sms", &natural));
    world.rest(3).await;
    assert_eq!(world.sandbox.summary().await["sent"], 3);
    worker.stop().await;
    world.audit(&config).await;
}

#[tokio::test]
async fn a_key_is_known_across_days_by_one_table_that_no_time_divides() {
    let world = World::new().await;
    let config = world
        .config()
        .channel(Channel::new("sms", AtMostOnce, Gives::Nothing));
    let publisher = world.publisher(&config).await;
    let mut worker = world.start(&config).await;
    publisher.send("sms", "order-1").await;
    world.rest(1).await;
    // A plain table, without partitions, and nothing but the id in its key.
    let (kind, key): (String, String) = sqlx::query_as(
        "select c.relkind::text, pg_get_constraintdef(k.oid)
         from pg_class c join pg_constraint k on k.conrelid = c.oid and k.contype = 'p'
         where c.oid = 'notification'::regclass and not exists (
            select from pg_inherits i where c.oid in (i.inhrelid, i.inhparent))",
    )
    .fetch_one(&world.database.pool)
    .await
    .unwrap();
    assert_eq!((&*kind, &*key), ("r", "PRIMARY KEY (id)"));

    sqlx::query("update notification set accepted_at = accepted_at - interval '40 days'")
        .execute(&world.database.pool)
        .await
        .unwrap();
    publisher.send("sms", "order-1").await;
    wait_until("the repeat is dropped", async || {
        let metrics = worker.metrics().await;
        let dropped = metrics.sum("nuncio_duplicates_dropped_total", "");
        (dropped == 1.0).then_some(())
    })
    .await;
    worker.stop().await;
    world.audit(&config).await;
}
