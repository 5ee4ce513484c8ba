//! What each channel of a round promises beyond what holds for all, by its policy and by what its
//! provider gives.

use nuncio::domain::identity::send_key;
use nuncio::domain::phase::Phase;

use crate::action::Action;
use crate::harness::{Config, Row, World};
use crate::load::{CHANNELS, Message};
use crate::schedule::Schedule;

/// A worker of a debug build with 64 requests at once and a few hundred rows.
const MEMORY: u64 = 150 * 1024 * 1024;
/// All programs of a round. One line a message and fault, not one a message and millisecond.
const LOGS: u64 = 5 * 1024 * 1024;

/// Asserts it for every message of a load that is at rest.
pub async fn hold(world: &World, config: &Config, schedule: &Schedule, load: &[Message]) {
    let nobody_was_lost =
        !schedule.does(|action| matches!(action, Action::Kill(_) | Action::Stop(_)));
    let exact = nobody_was_lost && !schedule.setting.storm;
    let rows = world.rows().await;
    assert_eq!(rows.len(), load.len(), "as many rows as notifications");
    assert!(
        world.quarantine().await.is_empty(),
        "nothing was wrong with any message"
    );
    let counts = world.sandbox.counts().await;
    for row in &rows {
        let sent: u64 = (1..=row.generation.unsigned_abs())
            .filter_map(|generation| {
                let key = send_key(&row.channel, &row.key, generation);
                counts.get(&key.to_string())
            })
            .sum();
        let broken = broken_promise(row, sent);
        let wrong = exact && (sent != 1 || row.phase != Phase::Sent);
        let broken = broken.or(wrong.then_some("exactly once, when only servers of ours failed"));
        if let Some(promise) = broken {
            let history = world.history(&row.channel, &row.key).await;
            panic!("{promise}, and sent {sent} times: {row:#?}\n{history:#?}");
        }
    }
    for channel in CHANNELS {
        let (_, consumers) = world.broker.ready(&config.queue(channel)).await;
        assert!(consumers >= 1, "{channel} has a consumer at the end");
    }
}

fn broken_promise(row: &Row, sent: u64) -> Option<&'static str> {
    let at_rest_as_sent = row.phase == Phase::Sent;
    match &*row.channel {
        // At most once, and nothing is to be learnt: sent, or in doubt for a person.
        "amo" if sent > 1 => Some("at most once"),
        "amo" if !at_rest_as_sent && row.phase != Phase::Parked => Some("sent or parked"),
        "alo" if sent == 0 => Some("at least once"),
        "alo" if !at_rest_as_sent => Some("sent"),
        // Doubt always ends by evidence.
        "amo-full" | "alo-log" if sent != 1 => Some("exactly once, by the provider's help"),
        "amo-full" | "alo-log" if !at_rest_as_sent => Some("sent"),
        _ if row.generation != 1 => Some("one send key"),
        _ => None,
    }
}

/// Memory of the largest worker, and what all have logged.
pub fn nothing_has_grown(world: &World, largest: u64) {
    assert!(largest < MEMORY, "a worker has {largest} bytes in memory");
    let logged = world.logged();
    assert!(logged < LOGS, "the programs have logged {logged} bytes");
}
