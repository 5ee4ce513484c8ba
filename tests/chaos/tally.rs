//! What was done and what was seen, in numbers.

use std::collections::BTreeMap;
use std::fmt;

use crate::action::Action;
use crate::harness::World;
use crate::load::CHANNELS;
use crate::witness::Seen;

/// What workers say when a fault has reached them.
const SAYINGS: [&str; 12] = [
    "waiting for the database",
    "waiting for the broker",
    "not claimed yet",
    "could not ack",
    "outcomes could not be written yet",
    "due rows could not be claimed",
    "a resolver pass broke off",
    "the queue's stream ended",
    "the queue cannot be subscribed to again",
    "the broker ended the stream",
    "delivery acknowledgement on channel",
    "the queue cannot be read",
];

/// Counts by name.
#[derive(Clone, Debug, Default)]
pub struct Tally(BTreeMap<String, u64>);

impl Tally {
    /// Adds to a count.
    pub fn count(&mut self, name: &str, more: u64) {
        *self.0.entry(name.to_owned()).or_default() += more;
    }

    /// Counts an action by its words, without numbers, times and channels.
    pub fn act(&mut self, action: &Action) {
        let words = action.to_string();
        let names = words.split(' ').filter(|word| {
            !word.starts_with(|first: char| first.is_ascii_digit()) && !CHANNELS.contains(word)
        });
        let name = names.collect::<Vec<_>>().join(" ");
        self.count(&format!("did: {name}"), 1);
    }

    /// Adds what the provider, the ledger and the witness know at the end of a round.
    pub async fn observe(&mut self, world: &World, seen: &Seen) {
        let summary = world.sandbox.summary().await;
        for name in ["requests", "sent", "sent_more_than_once", "replays"] {
            let count = summary[name].as_u64().unwrap_or_default();
            self.count(&format!("provider: {name}"), count);
        }
        for (fault, count) in summary["faults"].as_object().into_iter().flatten() {
            let count = count.as_u64().unwrap_or_default();
            self.count(&format!("provider's fault: {fault}"), count);
        }
        for row in world.rows().await {
            self.count(&format!("rows: {} {}", row.channel, row.phase.as_str()), 1);
            let again = u64::from(row.possible_duplicates.unsigned_abs());
            self.count(&format!("possible duplicates: {}", row.channel), again);
            self.count("attempts", u64::from(row.attempt.unsigned_abs()));
        }
        for saying in SAYINGS {
            self.count(&format!("workers said: {saying}"), world.said(saying));
        }
        self.count("requests with a claim", seen.claimed);
        self.count("requests after their lease", seen.late.len() as u64);
        self.count("requests while nobody could look", seen.unseen.len() as u64);
        self.count("rounds", 1);
    }

    /// A count.
    pub fn of(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or_default()
    }

    /// Adds another one.
    pub fn add(&mut self, other: &Self) {
        for (name, count) in &other.0 {
            self.count(name, *count);
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, count) in self.0.iter().filter(|(_, count)| **count > 0) {
            writeln!(f, "  {count:>8}  {name}")?;
        }
        Ok(())
    }
}
