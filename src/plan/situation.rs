//! The inputs of the question: what gets lost on a channel, and what its provider promises.

use std::time::Duration;

use serde::Serialize;

use super::{
    capability::{Dedupe, Lookup},
    chance::Probability,
};

/// A channel as far as the numbers need it: everything except its policy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Situation {
    /// What the provider does with a second request under the same key.
    pub dedupe: Dedupe,
    /// What its log can say.
    pub lookup: Lookup,
    /// `p_m`: share of requests lost after they may have left, 0 to 1. Ends in doubt, no effect.
    /// Failures that certainly sent nothing are not in here: both policies retry those for nothing.
    pub request_loss: Probability,
    /// `p_a`: share of accepted requests whose answer is lost, 0 to 1. Ends in doubt, has effect.
    pub answer_loss: Probability,
    /// Share of attempts during which the worker dies, 0 to 1.
    pub crash: Probability,
    /// Share of those deaths that come after the request was on its way, 0 to 1.
    pub crash_after_send: Probability,
    /// Share of accepted messages that are still missing from the log once it should have
    /// settled, 0 to 1. Only ever hides the newest attempt.
    pub late_log: Probability,
    /// Share of messages whose recipient got a message from another sender on the same account at
    /// about the same time, 0 to 1. Misleads a fuzzy look-up, and nothing else.
    pub foreign_match: Probability,
    /// Attempts a message may have, replays included. 1 or more; 0 counts as 1.
    pub tries: u32,
    /// How long after an attempt the resolver acts on it; doubles with every further replay.
    #[serde(serialize_with = "super::span::as_text")]
    pub act_after: Duration,
    /// How much of the window must be left for a replay: the request timeout or more.
    #[serde(serialize_with = "super::span::as_text")]
    pub margin: Duration,
}

impl Situation {
    /// The fault model of the sandbox and the demo: requests and answers get lost, nothing else
    /// goes wrong. 8 tries, resolver after 60 s, margin 10 s.
    #[must_use]
    pub const fn new(
        dedupe: Dedupe,
        lookup: Lookup,
        request_loss: Probability,
        answer_loss: Probability,
    ) -> Self {
        Self {
            dedupe,
            lookup,
            request_loss,
            answer_loss,
            crash: Probability::ZERO,
            crash_after_send: Probability::clamped(0.5),
            late_log: Probability::ZERO,
            foreign_match: Probability::ZERO,
            tries: 8,
            act_after: Duration::from_secs(60),
            margin: Duration::from_secs(10),
        }
    }

    /// Probability that an attempt never reaches the provider, for whatever reason.
    #[must_use]
    pub const fn not_arriving(&self) -> Probability {
        self.crash
            .and(self.crash_after_send.not())
            .or(self.request_loss)
    }

    /// Probability that nobody hears the answer, given that the attempt reached the provider.
    #[must_use]
    pub fn not_heard(&self) -> Probability {
        let died_after = self.crash.and(self.crash_after_send).get();
        let died_before = self.crash.and(self.crash_after_send.not());
        Probability::clamped(died_after / died_before.not().get()).or(self.answer_loss)
    }

    /// Whether the provider will still know the key when the resolver comes for one more replay.
    pub(super) fn replay_fits(&self, replays: u32) -> bool {
        self.dedupe != Dedupe::None
            && self.age(replays).saturating_add(self.margin)
                <= self.dedupe.window().unwrap_or_default()
    }

    /// Whether "not found" means anything when it is asked after `replays` replays.
    pub(super) fn lookup_means_something(&self, replays: u32) -> bool {
        match self.lookup {
            Lookup::None => false,
            Lookup::ByReference { settle, retention }
            | Lookup::ByRecipient { settle, retention } => {
                self.age(replays).max(settle) < retention
            }
        }
    }

    /// Age of the first request under a key when the resolver acts, after so many replays:
    /// `act_after` × (2ⁿ⁺¹ − 1).
    fn age(&self, replays: u32) -> Duration {
        let steps = 2_u32
            .saturating_pow(replays.saturating_add(1))
            .saturating_sub(1);
        self.act_after.saturating_mul(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Situation = Situation::new(
        Dedupe::Replay {
            window: Duration::from_secs(190),
        },
        Lookup::None,
        Probability::clamped(0.1),
        Probability::clamped(0.2),
    );

    #[test]
    fn a_replay_fits_while_the_window_has_room_for_the_request() {
        // Acts at 60 s and 180 s; 190 s is just enough for the second, with its margin of 10 s.
        assert!(BASE.replay_fits(0) && BASE.replay_fits(1) && !BASE.replay_fits(2));
        let short = Dedupe::Replay {
            window: Duration::from_secs(189),
        };
        assert!(
            !Situation {
                dedupe: short,
                ..BASE
            }
            .replay_fits(1)
        );
    }

    #[test]
    fn a_death_counts_as_a_lost_request_or_a_lost_answer() {
        let deadly = Situation {
            crash: Probability::clamped(0.1),
            ..BASE
        };
        let (lost, unheard) = (deadly.not_arriving().get(), deadly.not_heard().get());
        assert!((lost - (1.0 - 0.95 * 0.9)).abs() < 1e-12);
        assert!((unheard - (1.0 - (0.90 / 0.95) * 0.8)).abs() < 1e-12);
    }

    #[test]
    fn a_log_that_forgets_before_it_settles_proves_nothing() {
        let lookup = Lookup::ByReference {
            settle: Duration::from_secs(600),
            retention: Duration::from_secs(300),
        };
        assert!(!Situation { lookup, ..BASE }.lookup_means_something(0));
    }
}
