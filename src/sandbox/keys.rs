//! Idempotency keys within their window.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::answer::Answer;
use super::book::locked;
use super::message::Hash;
use super::name::Name;

const SHARDS: usize = 64;
/// A shard is swept for expired keys when it has doubled since the last sweep, at least to this.
const SWEEP_AT_LEAST: usize = 1024;

/// The keys of one sandbox.
#[derive(Debug)]
pub(super) struct Keys {
    shards: Vec<Mutex<Shard>>,
    next: AtomicU64,
}

#[derive(Debug, Default)]
struct Shard {
    known: HashMap<Name, Known>,
    sweep_at: usize,
}

#[derive(Debug)]
struct Known {
    claim: u64,
    body_hash: Hash,
    first_us: u64,
    /// None while the first request is being processed.
    answer: Option<Answer>,
}

/// What a key says about a request.
pub(super) enum Claim {
    /// The first request with this key.
    Fresh(Ticket),
    /// The first request was answered like this.
    Replay(Answer),
    Mismatch,
    InProgress,
}

impl Keys {
    pub(super) fn new() -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Keys {
            shards,
            next: AtomicU64::new(1),
        }
    }

    /// Takes the key, or says what became of the request that has it. `window_us` runs from the
    /// first request; a request still in progress keeps its key beyond it.
    pub(super) fn claim(
        self: &Arc<Self>,
        key: &Name,
        body_hash: Hash,
        now_us: u64,
        window_us: u64,
    ) -> Claim {
        let mut shard = locked(self.shard(key));
        shard.sweep(now_us, window_us);
        let claim = self.next.fetch_add(1, Ordering::Relaxed);
        let fresh = Known {
            claim,
            body_hash,
            first_us: now_us,
            answer: None,
        };
        match shard.known.entry(key.clone()) {
            Entry::Vacant(vacant) => {
                vacant.insert(fresh);
            }
            Entry::Occupied(mut taken) => match taken.get() {
                known if known.expired(now_us, window_us) => {
                    taken.insert(fresh);
                }
                known if known.body_hash != body_hash => return Claim::Mismatch,
                known => return known.answer.map_or(Claim::InProgress, Claim::Replay),
            },
        }
        drop(shard);
        Claim::Fresh(Ticket {
            keys: self.clone(),
            key: key.clone(),
            claim,
            answer: None,
        })
    }

    pub(super) fn clear(&self) {
        self.shards
            .iter()
            .for_each(|shard| locked(shard).known.clear());
    }

    fn settle(&self, key: &Name, claim: u64, answer: Option<Answer>) {
        let mut shard = locked(self.shard(key));
        let Some(known) = shard.known.get_mut(key) else {
            return;
        };
        if known.claim != claim {
            return;
        }
        match answer {
            Some(answer) => known.answer = Some(answer),
            None => {
                shard.known.remove(key);
            }
        }
    }

    fn shard(&self, key: &Name) -> &Mutex<Shard> {
        &self.shards[key.shard(SHARDS)]
    }
}

impl Known {
    fn expired(&self, now_us: u64, window_us: u64) -> bool {
        self.answer.is_some() && self.first_us.saturating_add(window_us) <= now_us
    }
}

impl Shard {
    fn sweep(&mut self, now_us: u64, window_us: u64) {
        if self.known.len() >= self.sweep_at.max(SWEEP_AT_LEAST) {
            self.known
                .retain(|_, known| !known.expired(now_us, window_us));
            self.sweep_at = self.known.len() * 2;
        }
    }
}

/// A key whose request is in progress for as long as this lives, client or no client. Then the key
/// remembers the answer, or is forgotten if there was none.
pub(super) struct Ticket {
    keys: Arc<Keys>,
    key: Name,
    claim: u64,
    answer: Option<Answer>,
}

impl Ticket {
    /// What the key will remember.
    pub(super) fn remember(&mut self, answer: Answer) {
        self.answer = Some(answer);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.keys.settle(&self.key, self.claim, self.answer);
    }
}
