//! What becomes of a claim after its request: the sender's decision.

use std::time::Duration;

use super::outcome::{Doubt, Outcome};
use super::schedule::Schedule;

/// What proves that a notification was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The provider's answer to the request.
    Answer,
    /// The provider's answer to the same request under the same key.
    Replay,
    /// A record under our reference in the provider's log.
    LookUp,
    /// The only record in the provider's log that fits recipient and time.
    Inferred,
    /// The provider's delivery receipt.
    Receipt,
    /// A person who gave a reason.
    Person,
}

impl Source {
    /// The name used in the ledger.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Replay => "replay",
            Self::LookUp => "look_up",
            Self::Inferred => "inferred",
            Self::Receipt => "receipt",
            Self::Person => "person",
        }
    }
}

/// The state of a claim that the sender's decision depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Its number, which is also the fence: the pauses grow with it.
    pub number: u32,
    /// Requests made for this notification, this attempt's included.
    pub sends: u32,
    /// The channel's attempt cap.
    pub max_sends: u32,
    /// An earlier attempt's outcome is unknown, and nothing has settled it since.
    pub in_doubt: bool,
}

/// The sender's decision about a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// `sent`.
    Sent {
        /// The provider's own id for it.
        provider_id: Option<String>,
    },
    /// `failed`: certainly not sent, and not tried again.
    Failed,
    /// `queued`: certainly not sent, tried again.
    Queued {
        /// How long to wait.
        after: Duration,
        /// Whether the attempt counts against the cap.
        counts: bool,
    },
    /// Stays `sending`, in doubt; the resolver takes over.
    Doubt {
        /// Why nobody can say. `None` keeps the cause of the earlier doubt.
        cause: Option<Doubt>,
        /// When the resolver may act.
        look_after: Duration,
    },
    /// `parked`: in doubt, and no evidence is to be had.
    Parked {
        /// Why.
        cause: Doubt,
    },
}

/// Decides what becomes of a claim, from the outcome of its attempt.
///
/// A claim in doubt leaves doubt by acceptance only: a refusal or a failure to connect says
/// nothing about the attempt before it. `chance` is a random number from 0 up to 1.
#[must_use]
pub fn settle(attempt: Attempt, outcome: &Outcome, schedule: &Schedule, chance: f64) -> Settlement {
    let pause = |asked| schedule.pause(attempt.number, asked, chance);
    match outcome {
        Outcome::Accepted { provider_id, .. } => Settlement::Sent {
            provider_id: provider_id.clone(),
        },
        Outcome::Unknown {
            cause: Doubt::KeyMismatch,
            ..
        } => Settlement::Parked {
            cause: Doubt::KeyMismatch,
        },
        Outcome::Unknown {
            cause, look_after, ..
        } => Settlement::Doubt {
            cause: Some(*cause),
            look_after: pause(*look_after),
        },
        Outcome::Refused { .. } if attempt.in_doubt => Settlement::Doubt {
            cause: None,
            look_after: pause(None),
        },
        Outcome::NotSent { retry_after, .. } if attempt.in_doubt => Settlement::Doubt {
            cause: None,
            look_after: pause(*retry_after),
        },
        Outcome::Refused { .. } => Settlement::Failed,
        Outcome::NotSent { cause, .. }
            if cause.uses_an_attempt() && attempt.sends >= attempt.max_sends =>
        {
            Settlement::Failed
        }
        Outcome::NotSent {
            cause, retry_after, ..
        } => Settlement::Queued {
            after: pause(*retry_after),
            counts: cause.uses_an_attempt(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::outcome::NotSent;

    fn attempt(sends: u32, in_doubt: bool) -> Attempt {
        Attempt {
            number: sends,
            sends,
            max_sends: 3,
            in_doubt,
        }
    }

    fn decide(attempt: Attempt, outcome: &Outcome) -> Settlement {
        settle(attempt, outcome, &Schedule::DEFAULT, 1.0)
    }

    fn accepted() -> Outcome {
        Outcome::Accepted {
            provider_id: Some("id".into()),
            already: false,
        }
    }

    fn refused() -> Outcome {
        Outcome::Refused {
            opted_out: false,
            text: String::new(),
        }
    }

    fn not_sent(cause: NotSent, seconds: Option<u64>) -> Outcome {
        Outcome::NotSent {
            cause,
            retry_after: seconds.map(Duration::from_secs),
            text: String::new(),
        }
    }

    fn unknown(cause: Doubt) -> Outcome {
        Outcome::Unknown {
            cause,
            look_after: None,
            text: String::new(),
        }
    }

    #[test]
    fn acceptance_is_sent_with_or_without_doubt() {
        for in_doubt in [false, true] {
            assert!(matches!(
                decide(attempt(1, in_doubt), &accepted()),
                Settlement::Sent { .. }
            ));
        }
    }

    #[test]
    fn a_refusal_without_doubt_is_final_at_the_first_try() {
        assert_eq!(decide(attempt(1, false), &refused()), Settlement::Failed);
    }

    #[test]
    fn doubt_outlives_a_refused_or_unsent_second_attempt() {
        for outcome in [refused(), not_sent(NotSent::Unreachable, None)] {
            assert!(matches!(
                decide(attempt(3, true), &outcome),
                Settlement::Doubt { cause: None, .. }
            ));
        }
    }

    #[test]
    fn what_was_not_sent_is_tried_again_until_the_cap() {
        let throttled = not_sent(NotSent::Throttled, Some(7));
        assert_eq!(
            decide(attempt(2, false), &throttled),
            Settlement::Queued {
                after: Duration::from_secs(7),
                counts: true
            }
        );
        assert_eq!(decide(attempt(3, false), &throttled), Settlement::Failed);
    }

    #[test]
    fn trouble_with_the_account_never_uses_up_a_message() {
        let refused = not_sent(NotSent::Account, None);
        assert!(matches!(
            decide(attempt(99, false), &refused),
            Settlement::Queued { counts: false, .. }
        ));
    }

    #[test]
    fn a_provider_that_is_not_there_never_uses_up_a_message_but_is_asked_less_and_less() {
        let away = not_sent(NotSent::Unreachable, None);
        let ninth = Attempt {
            number: 9,
            ..attempt(1, false)
        };
        assert_eq!(
            decide(ninth, &away),
            Settlement::Queued {
                after: Duration::from_secs(256),
                counts: false
            }
        );
    }

    #[test]
    fn every_unknown_outcome_stays_in_doubt_and_a_mismatch_is_parked() {
        for cause in Doubt::ALL {
            let settled = decide(attempt(9, false), &unknown(cause));
            if cause == Doubt::KeyMismatch {
                assert_eq!(settled, Settlement::Parked { cause });
            } else {
                assert!(
                    matches!(settled, Settlement::Doubt { cause: Some(c), .. } if c == cause),
                    "{cause}"
                );
            }
        }
    }
}
