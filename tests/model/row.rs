//! The ledger's row and its writes, as the statements in `src/ledger` make them.
//!
//! What no decision here depends on is left out: `checks` only lengthens pauses, and every pause
//! is one tick.

use nuncio::domain::change::{Change, DoubtAfter};
use nuncio::domain::outcome::Doubt;
use nuncio::domain::phase::Phase;
use nuncio::domain::settle::Source;

use crate::setting::{LEASE, Mutation, RESOLVE_WITHIN, SETTLE, Setting, in_ticks};

/// Why a row is in doubt, since when, and under which send key that began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InDoubt {
    pub age: u8,
    pub generation: u8,
    pub cause: Doubt,
}

/// One row of `notification`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    pub phase: Phase,
    pub attempt: u8,
    pub sends: u8,
    pub generation: u8,
    pub provider: u8,
    /// The bytes of the request under this send key, by their version.
    pub request: Option<u8>,
    /// The token of the claim from the queue; 0 for any later claim.
    pub owner: u8,
    /// Ticks until it is due or its lease ends.
    pub due: u8,
    /// Since the first request under this send key can have been made.
    pub first_request: Option<u8>,
    /// Since the last moment at which a request can be under way; negative while that is to come.
    pub last_request: i8,
    pub doubt: Option<InDoubt>,
    pub empty_reads: u8,
    pub possible_duplicates: u8,
    pub source: Option<Source>,
}

/// What a take-over reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Taken {
    pub attempt: u8,
    pub sends: u8,
    pub generation: u8,
    pub provider: u8,
    pub request: Option<u8>,
    pub cause: Doubt,
    pub older_key_in_doubt: bool,
    pub key_age: u8,
    pub last_request_age: u8,
    pub doubt_age: u8,
    pub empty_reads: u8,
    /// Left of the take-over's lease, and since it was made, by the resolver's own clock.
    pub left: u8,
    pub since: u8,
}

impl Row {
    /// `claim.rs`: the first claim.
    pub fn claimed(provider: u8, request: u8, owner: u8, expired: bool) -> Self {
        let phase = if expired {
            Phase::Expired
        } else {
            Phase::Sending
        };
        let now = !expired;
        Self {
            phase,
            attempt: u8::from(now),
            sends: u8::from(now),
            generation: 1,
            provider,
            request: Some(request),
            owner: if now { owner } else { 0 },
            due: if now { LEASE } else { 0 },
            first_request: now.then_some(0),
            last_request: if now { -(LEASE as i8) } else { 0 },
            doubt: None,
            empty_reads: 0,
            possible_duplicates: 0,
            source: None,
        }
    }

    /// `due.rs`, `claim_due`.
    pub fn claim_due(&mut self, setting: &Setting, provider: u8, expired: bool) {
        self.phase = match (expired, self.doubt) {
            (true, None) => Phase::Expired,
            (true, Some(_)) => Phase::Unconfirmed,
            (false, _) => Phase::Sending,
        };
        self.attempt += 1;
        self.owner = 0;
        if self.doubt.is_none() || setting.mutated(Mutation::DueClaimMovesDoubt) {
            self.provider = provider;
        }
        self.first_request.get_or_insert(0);
        if self.phase == Phase::Sending {
            self.sends = self.sends.wrapping_add(1);
            self.due = LEASE;
            self.last_request = -(LEASE as i8);
        }
        self.forget_what_rests();
    }

    /// `due.rs`, `stamp`. Says whether the claim is still held.
    pub fn stamp(&mut self, attempt: u8, provider: u8, request: u8, new_key: bool) -> bool {
        if self.attempt != attempt || self.phase != Phase::Sending {
            return false;
        }
        self.provider = provider;
        self.request = Some(request);
        if new_key {
            self.generation += 1;
            self.first_request = Some(0);
        }
        true
    }

    /// `stale.rs`, `take_over`.
    pub fn take_over(&mut self, setting: &Setting) -> Taken {
        if !setting.mutated(Mutation::TakeOverKeepsTheAttempt) {
            self.attempt += 1;
        }
        self.owner = 0;
        let doubt = *self.doubt.get_or_insert(InDoubt {
            age: 0,
            generation: self.generation,
            cause: Doubt::WorkerLost,
        });
        self.due = LEASE;
        Taken {
            attempt: self.attempt,
            sends: self.sends,
            generation: self.generation,
            provider: self.provider,
            request: self.request,
            cause: doubt.cause,
            older_key_in_doubt: doubt.generation < self.generation,
            key_age: self.first_request.unwrap_or(0),
            last_request_age: u8::try_from(self.last_request).unwrap_or(0),
            doubt_age: doubt.age,
            empty_reads: self.empty_reads,
            left: LEASE,
            since: 0,
        }
    }

    /// `stale.rs`, `announce`. Says whether the claim is still held.
    pub fn announce(&mut self, attempt: u8) -> bool {
        if self.attempt != attempt || self.phase != Phase::Sending {
            return false;
        }
        self.last_request = -(self.due as i8);
        true
    }

    /// `moves.rs`, `apply`. Says whether the move took place.
    pub fn apply(&mut self, setting: &Setting, attempt: u8, from: Phase, change: &Change) -> bool {
        let stands = (self.attempt == attempt || setting.mutated(Mutation::GuardWithoutAttempt))
            && (self.phase == from || setting.mutated(Mutation::GuardWithoutPhase));
        if !stands {
            return false;
        }
        self.phase = change.to;
        self.due = change.wait.map_or(0, in_ticks);
        self.doubt = match change.doubt {
            DoubtAfter::Ended => None,
            DoubtAfter::Kept => self.doubt,
            DoubtAfter::Because(cause) => Some(InDoubt {
                age: self.doubt.map_or(0, |doubt| doubt.age),
                generation: self.doubt.map_or(self.generation, |doubt| doubt.generation),
                cause,
            }),
        };
        self.source = change.source;
        self.sends = self.sends.wrapping_sub(u8::from(change.uncounted));
        if change.requested {
            self.last_request = 0;
        }
        if change.new_key {
            self.generation += 1;
            self.first_request = None;
            self.request = None;
        }
        self.empty_reads += u8::from(change.empty_read);
        if !setting.mutated(Mutation::ResendIsNotCounted) {
            self.possible_duplicates += u8::from(change.possible_duplicate);
        }
        self.forget_what_rests();
        true
    }

    /// The database's clock goes on by one tick.
    pub fn tick(&mut self, setting: &Setting) {
        if self.phase.rests() {
            return;
        }
        self.due = self.due.saturating_sub(1);
        if let Some(age) = &mut self.first_request {
            *age = (*age + 1).min(setting.oldest_key());
        }
        self.last_request = (self.last_request + 1).min(SETTLE as i8);
        if let Some(doubt) = &mut self.doubt {
            doubt.age = (doubt.age + 1).min(RESOLVE_WITHIN);
        }
    }

    /// How much time can still change.
    pub fn time_left(&self, setting: &Setting) -> u32 {
        if self.phase.rests() {
            return 0;
        }
        let first = self
            .first_request
            .map_or(0, |age| setting.oldest_key() - age);
        let doubt = self.doubt.map_or(0, |doubt| RESOLVE_WITHIN - doubt.age);
        let last = (SETTLE as i8 - self.last_request).unsigned_abs();
        u32::from(self.due) + u32::from(first) + u32::from(doubt) + u32::from(last)
    }

    /// The constraints of the migration, by name; the first that is broken.
    pub fn broken_constraint(&self) -> Option<&'static str> {
        use Phase::{
            Cancelled, Expired, Failed, Parked, Sending, Sent, Superseded, Suppressed, Unconfirmed,
        };
        let doubt = self.doubt.is_some();
        let certain = matches!(
            self.phase,
            Sent | Failed | Expired | Superseded | Suppressed | Cancelled
        );
        [
            (
                "sent_exactly_by_proof",
                self.source.is_some() == (self.phase == Sent),
            ),
            (
                "parked_and_unconfirmed_are_in_doubt",
                !matches!(self.phase, Parked | Unconfirmed) || doubt,
            ),
            ("certain_phases_are_not_in_doubt", !certain || !doubt),
            (
                "claimed_request_is_known",
                self.phase != Sending || self.request.is_some() || self.attempt > 1,
            ),
            ("counts_do_not_go_below_zero", self.sends < 100),
            (
                "due_exactly_while_open",
                self.due == 0 || !self.phase.rests(),
            ),
        ]
        .into_iter()
        .find_map(|(name, holds)| (!holds).then_some(name))
    }

    /// Times of a row that rests decide nothing more: rows that differ by them are one.
    fn forget_what_rests(&mut self) {
        if !self.phase.rests() {
            return;
        }
        self.due = 0;
        self.first_request = None;
        self.last_request = 0;
        if let Some(doubt) = &mut self.doubt {
            doubt.age = 0;
        }
    }
}
