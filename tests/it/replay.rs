//! Republishing: whatever comes again, in whatever number, changes nothing.

use std::collections::BTreeMap;

use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy::{AtLeastOnce, AtMostOnce};
use nuncio::sandbox::Fault;
use serde_json::json;

use crate::harness::{Channel, Config, Gives, Publisher, World, body, wait_until};

const CHANNELS: [&str; 4] = ["sms-once", "sms-key", "sms-log", "sms-bare"];

/// Notifications on each channel.
const EACH: usize = 50;

/// Publishers in the second round, and how often each publishes every message.
const PUBLISHERS: usize = 2;
const TIMES: usize = 5;

#[tokio::test]
async fn every_message_published_again_changes_nothing_but_two_counters() {
    let world = World::new().await;
    let config = config(&world);
    let mut first = world.start(&config).await;
    let mut second = world.start(&config).await;
    inject_faults(&world).await;
    let publisher = world.publisher(&config).await;
    publish_everything(&publisher).await;
    let rows = world.rest(CHANNELS.len() * EACH).await;
    publish_what_is_wrong(&publisher).await;
    let every_end = [Phase::Sent, Phase::Parked, Phase::Failed, Phase::Expired];
    for phase in every_end {
        assert!(rows.iter().any(|row| row.phase == phase), "none is {phase}");
    }
    wait_until("the bad messages are in quarantine", async || {
        (seen(&world).await.len() == 2).then_some(())
    })
    .await;
    let ledger = world.snapshot().await;
    let sent = world.sandbox.counts().await;
    let quarantined = seen(&world).await;

    let publishers = [publisher, world.publisher(&config).await];
    assert_eq!(publishers.len(), PUBLISHERS);
    let storm = publishers.iter().map(|publisher| async {
        for _ in 0..TIMES {
            publish_everything(publisher).await;
            publish_what_is_wrong(publisher).await;
        }
    });
    futures_util::future::join_all(storm).await;
    let again = PUBLISHERS * TIMES;
    let duplicates = (again * CHANNELS.len() * EACH) as f64;
    wait_until("every message was dropped as a duplicate", async || {
        let metrics = [first.metrics().await, second.metrics().await];
        let dropped = metrics.map(|m| m.sum("nuncio_duplicates_dropped_total", ""));
        assert!(dropped.iter().sum::<f64>() <= duplicates, "{dropped:?}");
        // Both have had their part of it.
        let each = dropped.iter().all(|dropped| *dropped > 0.0);
        (dropped.iter().sum::<f64>() == duplicates && each).then_some(())
    })
    .await;
    wait_until("the bad messages are counted", async || {
        let now = seen(&world).await;
        let counted = |(what, seen): (&_, &i64)| now[what] == seen + again as i64;
        quarantined.iter().all(counted).then_some(())
    })
    .await;

    assert_eq!(world.snapshot().await, ledger);
    assert_eq!(world.sandbox.counts().await, sent);
    for worker in [first, second] {
        assert_eq!(worker.stop().await.code, Some(0));
    }
    world.audit(&config).await;
}

fn config(world: &World) -> Config {
    let given = [
        (AtMostOnce, Gives::Nothing),
        (AtMostOnce, Gives::ReplayAndLookUp),
        (AtLeastOnce, Gives::LookUp),
        (AtLeastOnce, Gives::Nothing),
    ];
    let lanes = CHANNELS.iter().zip(given);
    lanes.fold(world.config(), |config, (name, (policy, gives))| {
        config.channel(Channel::new(name, policy, gives))
    })
}

/// Some requests and answers are lost, some refused for now: rows rest with a history.
async fn inject_faults(world: &World) {
    let mut script = BTreeMap::new();
    for channel in CHANNELS {
        let mut hit = |n, faults| script.insert(World::reference(channel, &key(n)), faults);
        hit(1, vec![Fault::CutAfterAccept]);
        hit(2, vec![Fault::Drop]);
        hit(3, vec![Fault::Refuse503, Fault::Refuse503]);
        hit(4, vec![Fault::AcceptThen504]);
    }
    world.sandbox.script(script).await;
}

/// All notifications on all channels, the same bytes each time; one is refused, one too old.
async fn publish_everything(publisher: &Publisher) {
    for channel in CHANNELS {
        let messages = (1..=EACH).map(|n| {
            let mut message = body(channel, &key(n));
            match n {
                5 => message["to"] = json!("+15550000001"),
                6 => message["expires_at"] = json!("2020-01-01T00:00:00Z"),
                _ => {}
            }
            async move { publisher.json(channel, &message).await }
        });
        futures_util::future::join_all(messages).await;
    }
}

/// A key that stands with other content, and a message without a key.
async fn publish_what_is_wrong(publisher: &Publisher) {
    let mut conflict = body(CHANNELS[0], &key(7));
    conflict["text"] = json!("another content under a key that stands");
    publisher.json(CHANNELS[0], &conflict).await;
    publisher
        .raw(
            CHANNELS[0],
            b"{\"to\": \"+447900000000\", \"text\": \"no key\"}",
            None,
        )
        .await;
}

fn key(number: usize) -> String {
    format!("order-{number}")
}

/// How often each quarantined message was seen.
async fn seen(world: &World) -> BTreeMap<(String, Vec<u8>), i64> {
    let messages = world.quarantine().await.into_iter();
    messages.map(|m| ((m.reason, m.body), m.seen)).collect()
}
