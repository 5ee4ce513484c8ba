//! The processes: workers, resolvers, a person. Each may stop at any step, and come back late.

use nuncio::domain::change::Change;
use nuncio::domain::phase::Phase;

use crate::provider::{Flight, Learnt};
use crate::row::Taken;

/// A claim that a worker holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Held {
    pub attempt: u8,
    pub sends: u8,
    pub in_doubt: bool,
    pub generation: u8,
    pub provider: u8,
    pub bytes: u8,
    /// Left of the lease, by the worker's own clock.
    pub left: u8,
    /// The ledger has to be told what the request looks like; under a new key, if so.
    pub stamp: Option<bool>,
}

/// One send task with its share of intake and of due rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Worker {
    #[default]
    Idle,
    /// Has a delivery that is not acked. `token` is set once it has begun to claim; `left` counts
    /// from then.
    Delivered { token: u8, left: u8 },
    /// Has a claim and has made no request.
    Held(Held),
    /// Waits for the answer.
    Requesting(Held, Flight),
    /// Has an outcome that is not written.
    Settling {
        attempt: u8,
        sends: u8,
        in_doubt: bool,
        learnt: Learnt,
    },
}

/// One resolver with one row in hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Resolver {
    #[default]
    Idle,
    /// Has taken over a row, and asks. `replayed`: what a replay taught.
    Asking {
        taken: Taken,
        announced: bool,
        replayed: Option<Learnt>,
    },
    /// Waits for the answer to a replay.
    Replaying(Taken, Flight),
    /// Has a decision that is not written.
    Writing { attempt: u8, change: Change },
}

/// A person who has looked at a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Person {
    #[default]
    Away,
    /// Has seen it so, and will decide about that.
    Saw {
        attempt: u8,
        phase: Phase,
        in_doubt: bool,
    },
}

impl Worker {
    /// The attempt whose claim it believes to hold.
    pub fn attempt(&self) -> Option<u8> {
        match self {
            Self::Idle | Self::Delivered { .. } => None,
            Self::Held(held) | Self::Requesting(held, _) => Some(held.attempt),
            Self::Settling { attempt, .. } => Some(*attempt),
        }
    }

    pub fn has_delivery(&self) -> bool {
        matches!(self, Self::Delivered { .. })
    }

    pub fn waits_for_a_due_answer(&self) -> bool {
        matches!(self, Self::Requesting(_, flight) if flight.left == 0)
    }

    pub fn tick(&mut self) {
        match self {
            Self::Idle | Self::Settling { .. } => {}
            Self::Delivered { left, .. } => *left = left.saturating_sub(1),
            Self::Held(held) => held.left = held.left.saturating_sub(1),
            Self::Requesting(held, flight) => {
                held.left = held.left.saturating_sub(1);
                flight.left = flight.left.saturating_sub(1);
            }
        }
    }

    /// Steps until it is idle again, and what time can still change.
    pub fn left(&self) -> (u32, u32) {
        match self {
            Self::Idle => (0, 0),
            Self::Delivered { left, .. } => (6, u32::from(*left)),
            Self::Held(held) => (4 + u32::from(held.stamp.is_some()), u32::from(held.left)),
            Self::Requesting(held, flight) => (3, u32::from(held.left + flight.left)),
            Self::Settling { .. } => (1, 0),
        }
    }
}

impl Resolver {
    /// The attempt that it has taken over.
    pub fn attempt(&self) -> Option<u8> {
        match self {
            Self::Idle => None,
            Self::Asking { taken, .. } | Self::Replaying(taken, _) => Some(taken.attempt),
            Self::Writing { attempt, .. } => Some(*attempt),
        }
    }

    pub fn waits_for_a_due_answer(&self) -> bool {
        matches!(self, Self::Replaying(_, flight) if flight.left == 0)
    }

    /// `oldest`: the age of a key above which time changes nothing.
    pub fn tick(&mut self, oldest: u8) {
        let (taken, flight) = match self {
            Self::Idle | Self::Writing { .. } => return,
            Self::Asking { taken, .. } => (taken, None),
            Self::Replaying(taken, flight) => (taken, Some(flight)),
        };
        taken.left = taken.left.saturating_sub(1);
        taken.since = (taken.since + 1).min(oldest);
        if let Some(flight) = flight {
            flight.left = flight.left.saturating_sub(1);
        }
    }

    /// Steps until it is idle again, and what time can still change.
    pub fn left(&self, oldest: u8) -> (u32, u32) {
        let time = |taken: &Taken| u32::from(taken.left + oldest - taken.since);
        match self {
            Self::Idle => (0, 0),
            Self::Asking {
                taken,
                announced,
                replayed,
            } => {
                let steps = match (replayed, announced) {
                    (Some(_), _) => 3,
                    (None, true) => 5,
                    (None, false) => 6,
                };
                (steps, time(taken))
            }
            Self::Replaying(taken, flight) => (4, time(taken) + u32::from(flight.left)),
            Self::Writing { .. } => (1, 0),
        }
    }
}
