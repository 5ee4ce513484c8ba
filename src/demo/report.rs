//! What happened, channel by channel, beside what was predicted.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::args::DemoArgs;
use super::count::{Counts, Observed};
use super::lanes::{CONCURRENCY, Lane};
use super::promise::{Breach, breaches};
use super::render;
use crate::plan::{Prediction, predict};

/// One channel's account.
pub(super) struct Account {
    pub(super) lane: Lane,
    pub(super) published: u64,
    pub(super) counts: Counts,
    pub(super) requests: u64,
    pub(super) quarantined: u64,
    pub(super) predicted: Prediction,
    /// Empty when the promise held.
    pub(super) breaches: Vec<Breach>,
    pub(super) a_parked_key: Option<String>,
}

/// The demo's result.
pub(super) struct Report {
    pub(super) args: DemoArgs,
    /// Workers killed.
    pub(super) killed: u32,
    pub(super) seconds: f64,
    pub(super) config: PathBuf,
    pub(super) accounts: Vec<Account>,
    /// Database, queues and folder are still there.
    pub(super) kept: bool,
}

impl Account {
    pub(super) fn new(args: &DemoArgs, lane: Lane, observed: &Observed) -> Self {
        Self {
            lane,
            published: observed.published,
            counts: observed.counts(),
            requests: observed.requests,
            quarantined: observed.quarantined,
            predicted: predict(args.messages, lane.policy, &lane.situation(args)),
            breaches: breaches(lane.promise, observed),
            a_parked_key: observed.a_parked_key().map(ToOwned::to_owned),
        }
    }

    pub(super) fn held(&self) -> bool {
        self.breaches.is_empty()
    }

    fn json(&self) -> Value {
        let breaches: Vec<String> = self.breaches.iter().map(ToString::to_string).collect();
        json!({
            "channel": self.lane.name,
            "policy": self.lane.policy,
            "provider": self.lane.capability(),
            "published": self.published,
            "requests": self.requests,
            "quarantined": self.quarantined,
            "measured": self.counts,
            "predicted": self.predicted,
            "promise_held": self.held(),
            "breaches": breaches,
        })
    }
}

impl Report {
    pub(super) fn new(
        args: &DemoArgs,
        killed: u32,
        seconds: f64,
        config: PathBuf,
        accounts: Vec<Account>,
    ) -> Self {
        Self {
            args: args.clone(),
            killed,
            seconds,
            config,
            accounts,
            kept: false,
        }
    }

    /// Notes whether everything is still there to be looked at.
    pub(super) fn kept(self, kept: bool) -> Self {
        Self { kept, ..self }
    }

    /// Every channel's promise held.
    pub(super) fn held(&self) -> bool {
        self.accounts.iter().all(Account::held)
    }

    /// Rows that a kill can leave in doubt on one channel.
    pub(super) fn doubt_by_kills(&self) -> u32 {
        self.killed * CONCURRENCY
    }

    pub(super) fn print(&self, as_json: bool) -> String {
        if as_json {
            format!("{:#}", self.json())
        } else {
            render::text(self)
        }
    }

    fn json(&self) -> Value {
        json!({
            "seed": self.args.seed,
            "requests_lost": self.args.drop,
            "answers_lost": self.args.cut,
            "kills": self.killed,
            "workers": self.args.workers,
            "seconds": (self.seconds * 10.0).round() / 10.0,
            "promises_held": self.held(),
            "most_rows_in_doubt_by_kills_on_a_channel": self.doubt_by_kills(),
            "channels": self.accounts.iter().map(Account::json).collect::<Vec<_>>(),
            "kept": self.kept.then(|| self.config.display().to_string()),
        })
    }
}
