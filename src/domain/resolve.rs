//! How doubt ends: the resolver's decision, one pure function over policy, capability, evidence
//! and ages.
//!
//! [`resolve`] is asked first without evidence, and answers which question to ask; the shell asks
//! it, with no transaction open, and calls again with the answer.

use std::time::Duration;

use super::capability::{Capability, LookUp};
use super::outcome::{Doubt, LookUpAnswer, Outcome};
use super::policy::Policy;
use super::schedule::Schedule;
use super::settle::Source;

/// How many settled, empty look-ups by recipient it takes to call the search over.
pub const EMPTY_READS: u32 = 2;

/// What has been asked in this pass, and what came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Nothing asked yet.
    None,
    /// The same request was made again under the same key.
    Replay(Outcome),
    /// The provider's log was asked.
    LookUp(LookUpAnswer),
}

/// One row in doubt, as the resolver holds it. All ages are by the database's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The channel's policy.
    pub policy: Policy,
    /// What the provider of the last attempt promises.
    pub capability: Capability,
    /// What this pass has learnt so far.
    pub evidence: Evidence,
    /// Why the row is in doubt.
    pub cause: Doubt,
    /// Since the first request under the current send key could have been made.
    pub key_age: Duration,
    /// Since these ages were read, at least: a page of rows takes its time, and a window or a
    /// log's memory may end meanwhile.
    pub since_read: Duration,
    /// Since the last moment at which a request of ours can have been under way.
    pub last_request_age: Duration,
    /// Since the row fell into doubt.
    pub doubt_age: Duration,
    /// `expires_at` has passed.
    pub expired: bool,
    /// The request, built again, has the bytes that were claimed.
    pub request_unchanged: bool,
    /// The doubt is about an earlier send key than the current one, so nothing that is learnt
    /// about the current key can disprove it.
    pub older_key_in_doubt: bool,
    /// Requests may still be made within the channel's attempt cap.
    pub sends_left: bool,
    /// Settled look-ups by recipient that found nothing, before this pass.
    pub empty_reads: u32,
    /// Passes that taught nothing, before this one: the pauses grow with them.
    pub checks: u32,
    /// The channel's request timeout: the margin kept at the end of a window.
    pub request_timeout: Duration,
    /// How long a failing look-up is tried before the row counts as undecidable.
    pub resolve_within: Duration,
}

impl Case {
    /// The age of the send key at this moment. Whatever makes it look older is cautious.
    fn key_age_now(&self) -> Duration {
        self.key_age.saturating_add(self.since_read)
    }
}

/// What the resolver does with a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Ask by making the same request again under the same key, then decide again.
    Replay,
    /// Ask the provider's log, then decide again.
    LookUp,
    /// `sent`: the evidence says so.
    Sent {
        /// The provider's ids. More than one: the provider shows a duplicate.
        provider_ids: Vec<String>,
        /// What proves it.
        source: Source,
    },
    /// `failed`: the provider never took it, and will not or must not be asked again.
    Failed,
    /// `expired`: proved absent, and too old to be sent now.
    Expired,
    /// `queued`: proved absent, so sending again cannot make a duplicate.
    Requeue {
        /// Under a new send key, since the provider holds a failure under the old one.
        new_key: bool,
    },
    /// `queued`, still in doubt: at-least-once sends again and counts a possible duplicate.
    SendAgain {
        /// Under a new send key.
        new_key: bool,
    },
    /// Stays in doubt for now.
    Wait {
        /// How long.
        pause: Duration,
        /// Counts as a settled, empty look-up by recipient.
        empty_read: bool,
    },
    /// `parked`: a person's turn.
    Park,
    /// `unconfirmed`: too old to be sent, and nobody can say whether it was.
    Unconfirmed,
}

/// Decides about one row in doubt. The numbers in the code are the rows of the table in
/// `docs/resolver.md`.
#[must_use]
pub fn resolve(case: &Case, schedule: &Schedule, chance: f64) -> Verdict {
    let wait = |asked| Verdict::Wait {
        pause: schedule.pause(case.checks.saturating_add(1), asked, chance),
        empty_read: false,
    };
    match &case.evidence {
        Evidence::None if replay_is_safe(case) => Verdict::Replay, // 2
        Evidence::None if case.capability.look_up != LookUp::None => Verdict::LookUp,
        Evidence::None => nothing_can_be_known(case),
        Evidence::Replay(outcome) => match outcome {
            Outcome::Accepted { provider_id, .. } => Verdict::Sent {
                provider_ids: provider_id.iter().cloned().collect(),
                source: Source::Replay,
            }, // 1
            Outcome::Refused { .. } if case.older_key_in_doubt => nothing_can_be_known(case),
            Outcome::Refused { .. } => Verdict::Failed, // 5
            Outcome::NotSent { retry_after, .. } => wait(*retry_after), // 6
            Outcome::Unknown {
                cause: Doubt::KeyMismatch,
                ..
            } => Verdict::Park, // 4
            Outcome::Unknown {
                cause: Doubt::ReplayedFailure,
                ..
            } => {
                let case = Case {
                    cause: Doubt::ReplayedFailure,
                    evidence: Evidence::None,
                    ..case.clone()
                };
                resolve(&case, schedule, chance)
            }
            Outcome::Unknown { look_after, .. } => wait(*look_after), // 3, 6
        },
        Evidence::LookUp(answer) => match answer {
            LookUpAnswer::Found(ids) => found(case, ids),
            LookUpAnswer::Absent => absent(case),
            LookUpAnswer::Failed { retry_after, .. } if case.doubt_age < case.resolve_within => {
                wait(*retry_after) // 12
            }
            LookUpAnswer::Failed { .. } => nothing_can_be_known(case), // 12 → 13
        },
    }
}

/// Row 2: the provider still knows the key, and will when a request that starts now ends; the
/// bytes are the same; it may still be sent; and the key does not hold a stored failure.
fn replay_is_safe(case: &Case) -> bool {
    let window_has_room =
        case.capability.dedupe.window().is_some_and(|window| {
            case.key_age_now().saturating_add(case.request_timeout) <= window
        });
    window_has_room
        && case.request_unchanged
        && !case.expired
        && !matches!(case.cause, Doubt::KeyMismatch | Doubt::ReplayedFailure)
}

/// Rows 1, 9 and 11.
fn found(case: &Case, ids: &[String]) -> Verdict {
    let sent = |source| Verdict::Sent {
        provider_ids: ids.to_vec(),
        source,
    };
    if case.capability.look_up.proves_absence() {
        sent(Source::LookUp)
    } else if ids.len() == 1 {
        sent(Source::Inferred)
    } else if case.expired {
        Verdict::Unconfirmed
    } else {
        Verdict::Park
    }
}

/// Rows 7, 8, 10 and 14: the log answered, and has nothing.
fn absent(case: &Case) -> Verdict {
    let Some((settle, retention)) = case.capability.look_up.times() else {
        return nothing_can_be_known(case);
    };
    if case.last_request_age < settle {
        return Verdict::Wait {
            pause: settle.saturating_sub(case.last_request_age),
            empty_read: false,
        }; // 8
    }
    if case.key_age_now() >= retention {
        return nothing_can_be_known(case); // the log has forgotten
    }
    if !case.capability.look_up.proves_absence() {
        return if case.empty_reads.saturating_add(1) < EMPTY_READS {
            Verdict::Wait {
                pause: settle.max(Schedule::DEFAULT.first),
                empty_read: true,
            }
        } else {
            nothing_can_be_known(case) // 10
        };
    }
    if case.older_key_in_doubt {
        nothing_can_be_known(case)
    } else if case.expired {
        Verdict::Expired // 14, settled
    } else if !case.sends_left {
        Verdict::Failed
    } else {
        Verdict::Requeue {
            new_key: needs_a_new_key(case),
        } // 7
    }
}

/// Row 13, and 14 where the notification is too old to be sent.
fn nothing_can_be_known(case: &Case) -> Verdict {
    match case.policy {
        _ if case.expired => Verdict::Unconfirmed,
        Policy::AtLeastOnce if case.sends_left && case.cause != Doubt::KeyMismatch => {
            Verdict::SendAgain {
                new_key: needs_a_new_key(case) || case.capability.dedupe.window().is_some(),
            }
        }
        Policy::AtLeastOnce | Policy::AtMostOnce => Verdict::Park,
    }
}

/// The old key would be answered with a stored failure, or carries other bytes.
fn needs_a_new_key(case: &Case) -> bool {
    case.cause == Doubt::ReplayedFailure || !case.request_unchanged
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
