//! One state of the whole system, and what is looked at in it.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};

use nuncio::domain::phase::Phase;

use crate::process::{Person, Resolver, Worker};
use crate::provider::Provider;
use crate::row::Row;
use crate::setting::Setting;

/// What must never happen and is seen only while it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seen {
    /// Somebody changed a row whose attempt was not theirs.
    pub stale_write: bool,
    /// A move that the list of legal moves does not have.
    pub illegal_move: bool,
    /// A request went out whose claim was not in the ledger with its lease running.
    pub unclaimed_request: bool,
    /// Under at-most-once a worker sent in doubt, and no person had said so.
    pub sent_in_doubt: bool,
    /// The row is open, and nobody can do anything.
    pub stuck: bool,
    /// Times that a person sent it again in doubt.
    pub forced: u8,
    /// A person closed or cancelled it.
    pub closed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub row: Option<Row>,
    /// Copies of the message in the broker's queue.
    pub queue: u8,
    pub provider: Provider,
    pub workers: [Worker; 2],
    pub resolvers: [Resolver; 2],
    pub person: Person,
    /// The version of the configuration, and so of the request's bytes.
    pub bytes: u8,
    pub expired: bool,
    /// Claims from the queue that have been begun.
    pub tokens: u8,
    pub faults: u8,
    pub redeliveries: u8,
    pub visits: u8,
    pub seen: Seen,
}

impl State {
    pub fn first(setting: &Setting) -> Self {
        Self {
            row: None,
            queue: 1,
            provider: Provider::default(),
            workers: [Worker::Idle; 2],
            resolvers: [Resolver::Idle; 2],
            person: Person::Away,
            bytes: 0,
            expired: false,
            tokens: 0,
            faults: setting.faults,
            redeliveries: setting.redeliveries,
            visits: setting.person,
            seen: Seen::default(),
        }
    }

    pub fn phase(&self) -> Option<Phase> {
        self.row.map(|row| row.phase)
    }

    /// The provider that the channel is configured with: where it may move, it moves with the
    /// configuration's version.
    pub fn provider_in_use(&self, setting: &Setting) -> u8 {
        if setting.may_move { self.bytes } else { 0 }
    }

    /// Takes faults from the budget, if it has them.
    pub fn pay(mut self, faults: u8) -> Option<Self> {
        self.faults = self.faults.checked_sub(faults)?;
        Some(self)
    }

    /// Processes that believe to hold the row's present attempt.
    pub fn owners(&self) -> usize {
        let Some(row) = self.row else { return 0 };
        let workers = self.workers.iter().filter_map(Worker::attempt);
        let resolvers = self.resolvers.iter().filter_map(Resolver::attempt);
        workers
            .chain(resolvers)
            .filter(|attempt| *attempt == row.attempt)
            .count()
    }

    /// Processes of a kind are alike: states that differ by their order are one.
    pub fn in_order(mut self) -> Self {
        sort(&mut self.workers);
        sort(&mut self.resolvers);
        self
    }

    /// One tick later, unless something has to happen before; at the price of a fault when the
    /// lease of a live process ends by it.
    pub fn later(&self, setting: &Setting) -> Option<Self> {
        let waits = self.provider.is_due()
            || self.workers.iter().any(Worker::waits_for_a_due_answer)
            || self.resolvers.iter().any(Resolver::waits_for_a_due_answer);
        if waits {
            return None;
        }
        let overstays = self
            .row
            .is_some_and(|row| row.phase == Phase::Sending && row.due == 1)
            && self.owners() > 0;
        let mut state = self.clone().pay(u8::from(overstays))?;
        if let Some(row) = &mut state.row {
            row.tick(setting);
        }
        state.provider.tick(setting);
        for worker in &mut state.workers {
            worker.tick();
        }
        for resolver in &mut state.resolvers {
            resolver.tick(setting.oldest_key());
        }
        (state != *self).then_some(state)
    }

    /// What becomes less with every step, the first of these that changes: so that no behaviour
    /// goes on for ever, and each ends where nothing can be done.
    pub fn left(&self, setting: &Setting) -> [u32; 5] {
        let budgets = self.faults + self.redeliveries + self.visits;
        let attempt = self.row.map_or(0, |row| row.attempt);
        let workers = self.workers.iter().map(Worker::left);
        let resolvers = self.resolvers.iter().map(|r| r.left(setting.oldest_key()));
        let (steps, time) = workers
            .chain(resolvers)
            .fold((0, 0), |sum, next| (sum.0 + next.0, sum.1 + next.1));
        let begun = self.provider.orphans.iter().filter(|f| f.begun).count();
        let flights = 2 * self.provider.orphans.len() - begun;
        let person = u32::from(self.person != Person::Away);
        [
            u32::from(budgets),
            u32::from(u8::MAX - attempt),
            10 * u32::from(self.queue) + steps + person,
            u32::try_from(flights).unwrap_or(u32::MAX),
            time + self.provider.time_left(setting)
                + self.row.map_or(0, |row| row.time_left(setting)),
        ]
    }

    /// Whether there is nothing to be done but for a person.
    pub fn is_at_rest(&self) -> bool {
        self.queue == 0
            && self
                .phase()
                .is_some_and(|phase| phase.rests() || phase == Phase::Parked)
    }

    /// A write of one of the processes to the row, if the ledger lets it.
    pub fn write(
        &mut self,
        setting: &Setting,
        attempt: u8,
        from: Phase,
        change: &nuncio::domain::change::Change,
    ) -> bool {
        let Some(row) = &mut self.row else {
            return false;
        };
        let before = *row;
        if from.may_become(change.to).is_err() {
            self.seen.illegal_move = true;
            return false;
        }
        let done = row.apply(setting, attempt, from, change);
        if done {
            self.seen.stale_write |= before.attempt != attempt;
            self.seen.illegal_move |= before.phase.may_become(change.to).is_err();
        }
        done
    }

    /// Notes a request that goes out.
    pub fn request_goes_out(&mut self, attempt: u8, timeout: u8) {
        let claimed = self.row.is_some_and(|row| {
            row.phase == Phase::Sending && row.attempt == attempt && row.due >= timeout
        });
        self.seen.unclaimed_request |= !claimed;
    }
}

/// Any order will do, if it is the same each time; the idle one first, which is most often enough.
fn sort<T: Hash + PartialEq + Default>(pair: &mut [T; 2]) {
    let [a, b] = &*pair;
    if *a == T::default() || a == b {
        return;
    }
    let hash = BuildHasherDefault::<DefaultHasher>::default();
    if *b == T::default() || hash.hash_one(b) < hash.hash_one(a) {
        pair.swap(0, 1);
    }
}
