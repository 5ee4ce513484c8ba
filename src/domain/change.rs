//! A decision as a change of a row: what the ledger writes, without the words.
//!
//! The sender's and the resolver's decisions meet here, so that whoever carries them out (the
//! ledger in Postgres, or the model that is checked) writes the same.

use std::time::Duration;

use super::outcome::{Doubt, Outcome};
use super::phase::Phase;
use super::resolve::Verdict;
use super::settle::{Settlement, Source};

/// When a row is looked at again whose question could not be asked.
const UNASKED: Duration = Duration::from_secs(1);

/// What a change does to the doubt about a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DoubtAfter {
    /// Evidence ended it, or there was none.
    Ended,
    /// As before.
    Kept,
    /// It begins, or goes on for this cause.
    Because(Doubt),
}

/// A change of one row that is in some open phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Change {
    /// The phase that it leads to.
    pub to: Phase,
    /// From now until the row is due, or its lease ends. For open phases only.
    pub wait: Option<Duration>,
    /// What becomes of doubt.
    pub doubt: DoubtAfter,
    /// What proves that it was sent.
    pub source: Option<Source>,
    /// The attempt did not count: no request was made, or not because of this message.
    pub uncounted: bool,
    /// A request was made and may have had an effect until now.
    pub requested: bool,
    /// The next request goes out under the next generation's send key.
    pub new_key: bool,
    /// A resolver pass that taught nothing.
    pub checked: bool,
    /// A settled look-up by recipient that found nothing.
    pub empty_read: bool,
    /// It is sent again while in doubt.
    pub possible_duplicate: bool,
}

impl Change {
    /// To this phase, without doubt, and nothing else.
    #[must_use]
    pub const fn to(to: Phase) -> Self {
        Self {
            to,
            wait: None,
            doubt: DoubtAfter::Ended,
            source: None,
            uncounted: false,
            requested: false,
            new_key: false,
            checked: false,
            empty_read: false,
            possible_duplicate: false,
        }
    }

    /// The sender's decision about a row in `sending`.
    #[must_use]
    pub fn settled(decided: &Settlement, outcome: &Outcome) -> Self {
        let change = match decided {
            Settlement::Sent { .. } => Self {
                source: Some(Source::Answer),
                ..Self::to(Phase::Sent)
            },
            Settlement::Failed => Self::to(Phase::Failed),
            Settlement::Queued { after, counts } => Self {
                wait: Some(*after),
                uncounted: !counts,
                ..Self::to(Phase::Queued)
            },
            Settlement::Doubt { cause, look_after } => Self {
                wait: Some(*look_after),
                doubt: cause.map_or(DoubtAfter::Kept, DoubtAfter::Because),
                ..Self::to(Phase::Sending)
            },
            Settlement::Parked { cause } => Self {
                doubt: DoubtAfter::Because(*cause),
                ..Self::to(Phase::Parked)
            },
        };
        Self {
            requested: matches!(outcome, Outcome::Unknown { .. }),
            ..change
        }
    }

    /// The resolver's decision about a row in `sending`, which is in doubt for `cause` by what
    /// this pass has learnt. `requested`: a replay was made.
    ///
    /// The cause is kept for the next pass: after a replay that met a stored failure another one
    /// would only put off, each time anew, the moment from which the provider's log counts.
    #[must_use]
    pub fn resolved(verdict: &Verdict, cause: Doubt, requested: bool) -> Self {
        let kept = |to| Self {
            doubt: DoubtAfter::Because(cause),
            ..Self::to(to)
        };
        let change = match verdict {
            Verdict::Sent { source, .. } => Self {
                source: Some(*source),
                ..Self::to(Phase::Sent)
            },
            Verdict::Failed => Self::to(Phase::Failed),
            Verdict::Expired => Self::to(Phase::Expired),
            Verdict::Requeue { new_key } => Self {
                wait: Some(Duration::ZERO),
                new_key: *new_key,
                ..Self::to(Phase::Queued)
            },
            Verdict::SendAgain { new_key } => Self {
                wait: Some(Duration::ZERO),
                new_key: *new_key,
                possible_duplicate: true,
                // The stored failure is the old key's: the new one can be replayed.
                doubt: DoubtAfter::Because(if *new_key && cause == Doubt::ReplayedFailure {
                    Doubt::ServerError
                } else {
                    cause
                }),
                ..Self::to(Phase::Queued)
            },
            Verdict::Wait { pause, empty_read } => Self {
                wait: Some(*pause),
                checked: true,
                empty_read: *empty_read,
                ..kept(Phase::Sending)
            },
            Verdict::Park => kept(Phase::Parked),
            Verdict::Unconfirmed => kept(Phase::Unconfirmed),
            // Nothing more could be asked: looked at again on the next pass.
            Verdict::Replay | Verdict::LookUp => Self {
                wait: Some(UNASKED),
                ..kept(Phase::Sending)
            },
        };
        Self {
            requested,
            ..change
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_replay_taught_is_there_for_the_next_pass() {
        let wait = Verdict::Wait {
            pause: UNASKED,
            empty_read: false,
        };
        for verdict in [wait, Verdict::Park, Verdict::Unconfirmed] {
            let change = Change::resolved(&verdict, Doubt::ReplayedFailure, true);
            assert_eq!(change.doubt, DoubtAfter::Because(Doubt::ReplayedFailure));
            assert!(change.requested);
        }
    }

    #[test]
    fn a_stored_failure_is_not_held_against_a_new_key() {
        let again = Verdict::SendAgain { new_key: true };
        let change = Change::resolved(&again, Doubt::ReplayedFailure, true);
        assert_eq!(change.doubt, DoubtAfter::Because(Doubt::ServerError));
        let change = Change::resolved(&again, Doubt::WorkerLost, true);
        assert_eq!(change.doubt, DoubtAfter::Because(Doubt::WorkerLost));
    }
}
