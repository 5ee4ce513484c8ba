//! What was seen and what was physically sent, per reference.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::entry::{Entry, Outcome, Seen, Sent};
use super::fault::Fault;
use super::name::Name;

/// Enough that two cores seldom meet, few enough that a scan by recipient stays cheap.
const SHARDS: usize = 64;

/// The records of one sandbox.
#[derive(Debug)]
pub(super) struct Book {
    shards: Vec<Shard>,
}

#[derive(Debug, Default)]
struct Shard {
    entries: Mutex<HashMap<Name, Entry>>,
    /// Told after every change, for those who wait.
    changed: Notify,
}

impl Book {
    pub(super) fn new() -> Self {
        Book {
            shards: (0..SHARDS).map(|_| Shard::default()).collect(),
        }
    }

    /// Writes a request down. `fault` gets its number (from 1) within the reference.
    pub(super) fn arrive(
        &self,
        name: &Name,
        mut seen: Seen,
        fault: impl FnOnce(u64) -> Fault,
    ) -> Fault {
        let shard = self.shard(name);
        let fault = {
            let mut entries = locked(&shard.entries);
            let entry = entries.entry(name.clone()).or_default();
            seen.fault = fault(entry.requests.len() as u64 + 1);
            let fault = seen.fault;
            push(&mut entry.requests, seen);
            fault
        };
        shard.changed.notify_waiters();
        fault
    }

    /// Writes a physical send down; the number of sends of this reference so far.
    pub(super) fn accept(&self, name: &Name, sent: Sent) -> usize {
        let shard = self.shard(name);
        let count = {
            let mut entries = locked(&shard.entries);
            let entry = entries.entry(name.clone()).or_default();
            push(&mut entry.sends, sent);
            entry.sends.len()
        };
        shard.changed.notify_waiters();
        count
    }

    /// Writes down how a request was answered; nothing if a reset took it away meanwhile.
    pub(super) fn answer(&self, name: &Name, seq: u64, outcome: Outcome) {
        let shard = self.shard(name);
        if let Some(entry) = locked(&shard.entries).get_mut(name) {
            let seen = entry.requests.iter_mut().rev().find(|seen| seen.seq == seq);
            if let Some(seen) = seen {
                seen.outcome = outcome;
            }
        }
        shard.changed.notify_waiters();
    }

    /// Reads one reference; an empty entry if it was never seen.
    pub(super) fn read<T>(&self, name: &Name, read: impl FnOnce(&Entry) -> T) -> T {
        match locked(&self.shard(name).entries).get(name) {
            Some(entry) => read(entry),
            None => read(&Entry::default()),
        }
    }

    /// Reads every reference, one shard at a time.
    pub(super) fn each(&self, mut read: impl FnMut(&Name, &Entry)) {
        for shard in &self.shards {
            locked(&shard.entries)
                .iter()
                .for_each(|(name, entry)| read(name, entry));
        }
    }

    /// Waits until a reference is as wanted; false if the time ran out first.
    pub(super) async fn wait(
        &self,
        name: &Name,
        limit: Duration,
        wanted: impl Fn(&Entry) -> bool,
    ) -> bool {
        let shard = self.shard(name);
        let reached = async {
            loop {
                let changed = shard.changed.notified();
                tokio::pin!(changed);
                // Registered before the look, so that a change in between is not missed.
                changed.as_mut().enable();
                if self.read(name, &wanted) {
                    return;
                }
                changed.await;
            }
        };
        tokio::time::timeout(limit, reached).await.is_ok()
    }

    pub(super) fn clear(&self) {
        for shard in &self.shards {
            locked(&shard.entries).clear();
            shard.changed.notify_waiters();
        }
    }

    fn shard(&self, name: &Name) -> &Shard {
        &self.shards[name.shard(SHARDS)]
    }
}

/// Grows from one element by doubling: nearly every list here has one, and `Vec` starts with four.
fn push<T>(list: &mut Vec<T>, element: T) {
    if list.len() == list.capacity() {
        list.reserve_exact(list.len().max(1));
    }
    list.push(element);
}

/// Locks even if another thread panicked while holding it: the sections are short and leave no
/// half-done state.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
