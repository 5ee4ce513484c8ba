//! Totals, and how long messages took from publishing to here.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value, json};

use super::fault::{Fault, KINDS};

/// Counters of one sandbox since its start or its last reset.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) requests: Count,
    /// Bodies that are no message.
    pub(super) malformed: Count,
    pub(super) sent: Count,
    /// References sent at least once; and those sent more than once.
    pub(super) references: Count,
    pub(super) repeated: Count,
    pub(super) replays: Count,
    pub(super) mismatches: Count,
    pub(super) in_progress: Count,
    /// Requests that followed a redirect, which nobody should.
    pub(super) redirected: Count,
    faults: [Count; KINDS],
}

/// A counter that many may raise at once.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

impl Tally {
    pub(super) fn new() -> Self {
        Tally {
            requests: Count::default(),
            malformed: Count::default(),
            sent: Count::default(),
            references: Count::default(),
            repeated: Count::default(),
            replays: Count::default(),
            mismatches: Count::default(),
            in_progress: Count::default(),
            redirected: Count::default(),
            faults: [const { Count(AtomicU64::new(0)) }; KINDS],
        }
    }

    pub(super) fn fault(&self, fault: Fault) {
        if fault != Fault::Ok {
            self.faults[fault.kind()].add();
        }
    }

    /// The faults injected, by kind, without those that were not.
    pub(super) fn faults(&self) -> Value {
        let kinds = self
            .faults
            .iter()
            .enumerate()
            .filter(|(_, count)| count.get() > 0);
        let named = kinds.map(|(kind, count)| (Fault::kind_name(kind).to_owned(), count.get()));
        Value::Object(
            named
                .map(|(name, count)| (name, json!(count)))
                .collect::<Map<_, _>>(),
        )
    }

    /// A physical send, the `nth` of its reference.
    pub(super) fn sent_again(&self, nth: usize) {
        match nth {
            1 => self.references.add(),
            2 => self.repeated.add(),
            _ => {}
        }
    }

    pub(super) fn clear(&self) {
        let Tally {
            requests,
            malformed,
            sent,
            references,
            repeated,
            replays,
            ..
        } = self;
        let Tally {
            mismatches,
            in_progress,
            redirected,
            faults,
            ..
        } = self;
        let totals = [requests, malformed, sent, references, repeated, replays];
        let rare = [mismatches, in_progress, redirected];
        totals
            .into_iter()
            .chain(rare)
            .chain(faults)
            .for_each(Count::clear);
    }
}
