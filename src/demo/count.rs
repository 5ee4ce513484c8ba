//! What was seen on one channel, and what it adds up to. Pure.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::domain::identity::send_key;
use crate::domain::phase::Phase;

/// A row of the ledger.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) key: String,
    pub(super) phase: Phase,
    /// Send keys used for it, 1 or more.
    pub(super) generations: u32,
    /// Times that it was sent again while in doubt.
    pub(super) possible_duplicates: u32,
    /// It is in doubt because its worker did not come back.
    pub(super) worker_lost: bool,
    /// What proved that it was sent.
    pub(super) settled_by: Option<String>,
}

/// A row, and how often its notification physically went out.
#[derive(Clone, Debug)]
pub(super) struct Fate {
    pub(super) row: Row,
    pub(super) sends: u32,
}

/// What was seen on one channel.
#[derive(Clone, Debug, Default)]
pub(super) struct Observed {
    pub(super) published: u64,
    pub(super) fates: Vec<Fate>,
    /// References that the provider was sent and no row has.
    pub(super) strangers: u64,
    pub(super) quarantined: u64,
    /// Requests at the provider.
    pub(super) requests: u64,
}

/// The sums.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    /// Rows in the ledger.
    pub(super) rows: u64,
    /// Notifications that went out, once or more often.
    pub(super) physically_sent: u64,
    /// Notifications that were published and never went out.
    pub(super) lost: u64,
    /// Physical sends beyond the first of each notification.
    pub(super) duplicates: u64,
    /// Rows left for a person.
    pub(super) parked: u64,
    /// The part of them that in fact went out.
    pub(super) parked_but_sent: u64,
    /// The part of them that a killed worker left.
    pub(super) parked_by_kills: u64,
    /// Notifications that went out more than once.
    pub(super) twice: u64,
    /// Rows given up as certainly not sent.
    pub(super) failed: u64,
    /// Rows neither at rest nor parked.
    pub(super) open: u64,
    /// Rows `sent` that never went out.
    pub(super) false_sent: u64,
    /// Rows that went out more often than their possible duplicates explain.
    pub(super) unexplained: u64,
    /// Rows that never went out and are not parked.
    pub(super) lost_silently: u64,
    /// Rows `sent`, by what proved it.
    pub(super) proofs: BTreeMap<String, u64>,
}

impl Observed {
    /// Lays the ledger's rows of a channel and the provider's physical counts, by reference, side
    /// by side.
    pub(super) fn compare(
        channel: &str,
        published: u64,
        rows: Vec<Row>,
        mut sends: HashMap<String, u32>,
    ) -> Self {
        let fates = rows
            .into_iter()
            .map(|row| {
                let of_generation = |generation| {
                    let key = send_key(channel, &row.key, generation);
                    sends.remove(&key.to_string()).unwrap_or(0)
                };
                let sends = (1..=row.generations).map(of_generation).sum();
                Fate { row, sends }
            })
            .collect();
        Self {
            published,
            fates,
            strangers: sends.len() as u64,
            ..Self::default()
        }
    }

    pub(super) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for fate in &self.fates {
            counts.add(fate);
        }
        counts.lost = self.published.saturating_sub(counts.physically_sent);
        counts
    }

    /// The first parked key, for a look at one.
    pub(super) fn a_parked_key(&self) -> Option<&str> {
        let parked = |fate: &&Fate| fate.row.phase == Phase::Parked;
        self.fates.iter().find(parked).map(|fate| &*fate.row.key)
    }
}

impl Counts {
    fn add(&mut self, fate: &Fate) {
        let is = |phase| fate.row.phase == phase;
        let count = |condition: bool| u64::from(condition);
        let out = fate.sends > 0;
        self.rows += 1;
        self.physically_sent += count(out);
        self.duplicates += u64::from(fate.sends.saturating_sub(1));
        self.twice += count(fate.sends > 1);
        self.parked += count(is(Phase::Parked));
        self.parked_but_sent += count(is(Phase::Parked) && out);
        self.parked_by_kills += count(is(Phase::Parked) && fate.row.worker_lost);
        self.failed += count(is(Phase::Failed));
        self.open += count(is(Phase::Queued) || is(Phase::Sending));
        self.false_sent += count(is(Phase::Sent) && !out);
        self.unexplained += count(fate.sends > 1 + fate.row.possible_duplicates);
        self.lost_silently += count(!out && !is(Phase::Parked));
        if let Some(proof) = &fate.row.settled_by {
            *self.proofs.entry(proof.clone()).or_default() += 1;
        }
    }
}
