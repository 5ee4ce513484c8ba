//! One message's trouble stays its own.

use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy::{AtLeastOnce, AtMostOnce};
use nuncio::sandbox::Fault;

use crate::harness::{Channel, Gives, World, wait_until};

#[tokio::test]
async fn of_five_rows_the_refused_one_is_repeated_alone() {
    let world = World::new().await;
    let config = world
        .config()
        .channel(Channel::new("sms", AtMostOnce, Gives::Nothing));
    let refused = World::reference("sms", "order-3");
    world
        .sandbox
        .script([(refused, vec![Fault::Refuse503])])
        .await;
    let publisher = world.publisher(&config).await;
    let mut worker = world.start(&config).await;
    let five = || (1..=5).map(|n| ("sms".to_owned(), format!("order-{n}")));
    publisher.send_all(five()).await;
    let rows = world.rest(5).await;
    // The producer repeats all five.
    publisher.send_all(five()).await;
    wait_until("the repeats are dropped", async || {
        let metrics = worker.metrics().await;
        let dropped = metrics.sum("nuncio_duplicates_dropped_total", "channel=\"sms\"");
        (dropped == 5.0).then_some(())
    })
    .await;

    assert_eq!(world.rows().await, rows, "a repeat changes nothing");
    let sends: Vec<_> = rows.iter().map(|row| (row.phase, row.sends)).collect();
    let once = (Phase::Sent, 1);
    assert_eq!(sends, [once, once, (Phase::Sent, 2), once, once]);
    let summary = world.sandbox.summary().await;
    assert_eq!(
        (&summary["requests"], &summary["sent"]),
        (&6.into(), &5.into())
    );
    worker.stop().await;
    world.audit(&config).await;
}

#[tokio::test]
async fn a_request_that_timed_out_after_its_acceptance_is_settled_by_what_can_be_known() {
    use Gives::{LookUp, Nothing, Replay};
    let world = World::new().await;
    let mut config = world.config();
    // what is given, policy, how it rests, physical sends
    let table = [
        ("a", Nothing, AtMostOnce, Phase::Parked, 1),
        ("b", Nothing, AtLeastOnce, Phase::Sent, 2),
        ("c", LookUp, AtMostOnce, Phase::Sent, 1),
        ("d", Replay, AtLeastOnce, Phase::Sent, 1),
    ];
    for (name, gives, policy, ..) in table {
        config = config.channel(Channel::new(name, policy, gives).times("1s", "10s"));
        let first = World::reference(name, "order-1");
        world.sandbox.so_far(first).await;
    }
    world
        .sandbox
        .script(table.map(|(name, ..)| (World::reference(name, "order-1"), vec![Fault::Hang])))
        .await;
    let publisher = world.publisher(&config).await;
    let worker = world.start(&config).await;
    for (name, ..) in table {
        publisher.send(name, "order-1").await;
    }
    let rows = world.rest(table.len()).await;
    for (row, (name, _, _, phase, sent)) in rows.iter().zip(table) {
        assert_eq!(row.phase, phase, "{row:?}");
        let counts = world.sandbox.counts().await;
        let keys = (1..=2).map(|n| nuncio::domain::identity::send_key(name, "order-1", n));
        let of_row: u64 = keys.filter_map(|key| counts.get(&key.to_string())).sum();
        assert_eq!(of_row, sent, "{row:?}");
        let told = world.history(name, "order-1").await;
        assert!(
            told.iter()
                .any(|line| line.detail.contains("no complete answer within 1 s")),
            "{told:?}"
        );
        assert!(
            !told.iter().any(|line| line.detail.contains("failed")),
            "{told:?}"
        );
    }
    assert_eq!(world.row("b", "order-1").await.possible_duplicates, 1);
    world.sandbox.release().await;
    worker.stop().await;
    world.audit(&config).await;
}
