//! Answers that never end, lie about their length, or would break what they are written into.

use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy::AtMostOnce;
use nuncio::sandbox::Fault;

use crate::harness::{Channel, Gives, World};

/// What a hundred answers without end may add to a worker's memory.
const GROWTH: u64 = 20 * 1024;

#[tokio::test]
async fn answers_without_end_cost_neither_memory_nor_a_second_send() {
    let world = World::new().await;
    let config = world
        .config()
        .channel(
            Channel::new("logged", AtMostOnce, Gives::LookUp)
                .times("2s", "10s")
                .concurrency(50),
        )
        .channel(
            Channel::new("blind", AtMostOnce, Gives::Nothing)
                .times("2s", "10s")
                .concurrency(50),
        );
    let publisher = world.publisher(&config).await;
    let worker = world.start(&config).await;
    // What it takes without them.
    for channel in ["logged", "blind"] {
        let warm = (0..50).map(|n| (channel.to_owned(), format!("warm-{n}")));
        publisher.send_all(warm).await;
    }
    world.rest(100).await;
    let before = worker.peak_kib();

    let faults = [Fault::Flood, Fault::Endless, Fault::WrongLength];
    let keys = || (0..48).map(|n| format!("order-{n}"));
    let of = |n: usize| vec![faults[n % faults.len()]];
    let scripts = ["logged", "blind"].into_iter().flat_map(|channel| {
        keys()
            .enumerate()
            .map(move |(n, key)| (World::reference(channel, &key), n))
    });
    world
        .sandbox
        .script(scripts.map(|(reference, n)| (reference, of(n))))
        .await;
    for channel in ["logged", "blind"] {
        publisher
            .send_all(keys().map(|key| (channel.to_owned(), key)))
            .await;
    }
    let rows = world.rest(196).await;
    let grown = worker.peak_kib() - before;
    assert!(grown < GROWTH, "{grown} KiB more");
    for row in rows.iter().filter(|row| row.key.starts_with("order")) {
        let settled = match &*row.channel {
            "logged" => (Phase::Sent, Some("look_up")),
            _ => (Phase::Parked, None),
        };
        assert_eq!((row.phase, row.settled_by.as_deref()), settled, "{row:?}");
    }
    let summary = world.sandbox.summary().await;
    assert_eq!(
        (&summary["requests"], &summary["sent"]),
        (&196.into(), &196.into())
    );
    worker.stop().await;
    world.audit(&config).await;
}
