//! What the resolver does about one doubt: the design's section 7, as far as counts go.
//!
//! The order of evidence is: a replay while the provider still knows the key (row 2), then its log
//! (rows 1 and 7 to 11), then the policy (row 13).

use super::{
    capability::{Lookup, Policy},
    chance::Probability,
    fate::Rest,
    situation::Situation,
};

/// What is true about a message between two attempts, whether or not anyone knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Truth {
    /// Messages the recipient got.
    pub(super) effects: u32,
    /// Times it was sent again in doubt.
    pub(super) possible_duplicates: u32,
    /// Replays made under the current key.
    replays: u32,
    /// The provider knows the current key.
    known: bool,
    /// The newest attempt had effect, so a late log may not show it yet.
    newest: bool,
}

/// What the resolver does about one doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// No further attempt.
    Rest(Rest),
    /// Another attempt, before which this is true.
    Again(Truth),
}

impl Truth {
    /// The request never got there.
    pub(super) fn lost(self) -> Self {
        Self {
            newest: false,
            ..self
        }
    }

    /// The provider gets the request. It makes a message of it unless it knows the key.
    pub(super) fn accepted(self) -> Self {
        let newest = !self.known;
        Self {
            effects: self.effects + u32::from(newest),
            known: true,
            newest,
            ..self
        }
    }

    /// The same request under the same key, which the provider still knows if it ever saw it.
    fn replayed(self) -> Self {
        Self {
            replays: self.replays + 1,
            ..self
        }
    }

    /// A request that the provider will not recognise, in doubt (1) or after proof of absence (0).
    fn sent_again(self, in_doubt: u32) -> Self {
        Self {
            possible_duplicates: self.possible_duplicates + in_doubt,
            replays: 0,
            known: false,
            ..self
        }
    }
}

/// The resolver's choice; two of them where a late log makes the answer uncertain.
pub(super) fn resolve(
    situation: &Situation,
    policy: Policy,
    foreign: u32,
    truth: Truth,
    last: bool,
) -> [(Probability, Step); 2] {
    if !last && situation.replay_fits(truth.replays) {
        let replay = Step::Again(truth.replayed());
        return [(Probability::ONE, replay), (Probability::ZERO, replay)];
    }
    let late = if truth.newest {
        situation.late_log
    } else {
        Probability::ZERO
    };
    let hidden = truth.effects.saturating_sub(u32::from(truth.newest));
    [(late.not(), truth.effects), (late, hidden)].map(|(chance, shown)| {
        (
            chance,
            read_log(situation, policy, foreign, truth, shown, last),
        )
    })
}

/// What follows from the log showing `shown` of our messages (and `foreign` ones of others).
fn read_log(
    situation: &Situation,
    policy: Policy,
    foreign: u32,
    truth: Truth,
    shown: u32,
    last: bool,
) -> Step {
    let nothing_known = match policy {
        Policy::AtLeastOnce if !last => Step::Again(truth.sent_again(1)),
        Policy::AtLeastOnce | Policy::AtMostOnce => Step::Rest(Rest::Parked),
    };
    if !situation.lookup_means_something(truth.replays) {
        return nothing_known;
    }
    match situation.lookup {
        Lookup::None => nothing_known,
        Lookup::ByReference { .. } if shown > 0 => Step::Rest(Rest::Sent),
        Lookup::ByReference { .. } if last => Step::Rest(Rest::Failed),
        Lookup::ByReference { .. } => Step::Again(truth.sent_again(0)),
        Lookup::ByRecipient { .. } => match shown + foreign {
            0 => nothing_known,
            1 => Step::Rest(Rest::Sent),
            _ => Step::Rest(Rest::Parked),
        },
    }
}
