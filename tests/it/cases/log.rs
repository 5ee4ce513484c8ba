//! What a provider's log or memory shows that we did not expect.

use nuncio::domain::identity::send_key;
use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy::{AtLeastOnce, AtMostOnce};
use nuncio::sandbox::Fault;

use crate::harness::{Channel, Gives, Proxy, World};

/// A gateway that repeats by its own policy: one request, two messages. Not ours to add a third.
#[tokio::test]
async fn two_records_under_one_key_are_sent_with_both_ids_and_nothing_is_sent_again() {
    use Gives::{FuzzyLookUp, LookUp};
    let world = World::new().await;
    let mut config = world.config();
    let table = [
        ("a", LookUp, AtMostOnce, Phase::Sent),
        ("b", LookUp, AtLeastOnce, Phase::Sent),
        ("c", FuzzyLookUp, AtMostOnce, Phase::Parked),
        ("d", FuzzyLookUp, AtLeastOnce, Phase::Parked),
    ];
    let mut proxies = Vec::new();
    for (name, gives, policy, _) in table {
        let proxy = Proxy::before(world.sandbox.address).await;
        proxy.cut_after("content of");
        let channel = Channel::new(name, policy, gives).through(proxy.address);
        config = config.channel(channel);
        proxies.push(proxy);
    }
    let twice = |name| (World::reference(name, name), vec![Fault::Twice]);
    world
        .sandbox
        .script(table.map(|(name, ..)| twice(name)))
        .await;
    let publisher = world.publisher(&config).await;
    let worker = world.start(&config).await;
    for (name, ..) in table {
        publisher.send(name, name).await;
    }
    world.rest(table.len()).await;
    worker.stop().await;
    for (name, gives, _, phase) in table {
        let row = world.row(name, name).await;
        assert_eq!(row.phase, phase, "{row:?}");
        let arrived = world.sandbox.so_far(World::reference(name, name)).await;
        assert_eq!(
            (arrived.requests.len(), arrived.accepted),
            (1, 2),
            "{row:?}"
        );
        if gives == LookUp {
            assert_eq!(row.settled_by.as_deref(), Some("look_up"));
            let told = world.history(name, name).await;
            let flagged = told
                .iter()
                .find(|l| l.detail.contains("2 messages, more than we sent"));
            let flagged = &flagged.unwrap_or_else(|| panic!("{told:?}")).detail;
            let id = row.provider_id.expect("the provider's id");
            assert!(flagged.contains(&id) && flagged.contains(", "), "{flagged}");
        }
    }
}

/// The first request failed, and the provider gives that failure again for as long as it knows the
/// key. Only a new key gets through, and only once it is certain that the old one had no effect.
#[tokio::test]
async fn a_failure_that_is_replayed_for_ever_ends_in_one_new_key_or_with_a_person() {
    use Gives::{Replay, ReplayAndLookUp};
    let world = World::new().await;
    let mut config = world.config();
    // gives, policy, how it rests, keys used, possible duplicates
    let table = [
        ("a", ReplayAndLookUp, AtMostOnce, Phase::Sent, 2, 0),
        ("b", ReplayAndLookUp, AtLeastOnce, Phase::Sent, 2, 0),
        ("c", Replay, AtMostOnce, Phase::Parked, 1, 0),
        ("d", Replay, AtLeastOnce, Phase::Sent, 2, 1),
    ];
    for (name, gives, policy, ..) in table {
        config = config.channel(Channel::new(name, policy, gives));
    }
    let cached = |name| {
        (
            World::reference(name, "order-1"),
            vec![Fault::Fail500Cached],
        )
    };
    world
        .sandbox
        .script(table.map(|(name, ..)| cached(name)))
        .await;
    let publisher = world.publisher(&config).await;
    let worker = world.start(&config).await;
    for (name, ..) in table {
        publisher.send(name, "order-1").await;
    }
    world.rest(table.len()).await;
    worker.stop().await;
    for (name, _, _, phase, generation, doubles) in table {
        let row = world.row(name, "order-1").await;
        assert_eq!(row.phase, phase, "{row:?}");
        assert_eq!(
            (row.generation, row.possible_duplicates),
            (generation, doubles),
            "{row:?}"
        );
        let counts = world.sandbox.counts().await;
        let keys = (1..=2).map(|n| send_key(name, "order-1", n).to_string());
        let sent: u64 = keys.filter_map(|key| counts.get(&key)).sum();
        assert_eq!(sent, u64::from(phase == Phase::Sent), "{row:?}");
        let told = world.history(name, "order-1").await;
        assert!(
            told.iter()
                .any(|line| line.detail.contains("stored failure")),
            "a replayed failure is named: {told:?}"
        );
        // The first request and one replay: no loop, however long the log takes to settle.
        let tried = world
            .sandbox
            .so_far(World::reference(name, "order-1"))
            .await;
        assert_eq!(tried.requests.len(), 2, "{tried:?}");
    }
    let parked = world.row("c", "order-1").await;
    assert_eq!(parked.doubt_cause.as_deref(), Some("replayed_failure"));
    world.audit(&config).await;
}
