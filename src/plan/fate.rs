//! Every course that one message can take, each with its probability.
//!
//! One attempt after the other: it is answered, or its request is lost, or its answer is, and then
//! the resolver chooses ([`resolve`]).

use std::collections::BTreeMap;

use super::{
    capability::Policy,
    chance::Probability,
    evidence::{Step, Truth, resolve},
    situation::Situation,
};

/// How one message came to rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fate {
    /// Attempts made, each at most one HTTP request.
    pub(super) requests: u32,
    /// Messages the recipient got.
    pub(super) effects: u32,
    /// Times it was sent again although the earlier attempt may have had effect.
    pub(super) possible_duplicates: u32,
    /// What the ledger says.
    pub(super) rest: Rest,
}

/// What the ledger says about a message at rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// `sent`
    Sent,
    /// `parked`
    Parked,
    /// `failed`: proved absent, and no attempt left.
    Failed,
}

/// Calls `visit` for every course with a probability above zero. The probabilities sum to 1.
pub(super) fn fates(situation: &Situation, policy: Policy, mut visit: impl FnMut(f64, Fate)) {
    let foreign = situation.foreign_match;
    for (disturbed, share) in [(0, foreign.not()), (1, foreign)] {
        walk(situation, policy, disturbed, share, &mut visit);
    }
}

fn walk(
    situation: &Situation,
    policy: Policy,
    foreign: u32,
    share: Probability,
    visit: &mut impl FnMut(f64, Fate),
) {
    let tries = situation.tries.max(1);
    let (lost, unheard) = (situation.not_arriving(), situation.not_heard());
    let mut open = BTreeMap::from([(Truth::default(), share.get())]);
    for request in 1..=tries {
        let mut next = BTreeMap::new();
        for (before, chance) in open {
            let mut rest = |chance: f64, truth: Truth, rest: Rest| {
                if chance > 0.0 {
                    let Truth {
                        effects,
                        possible_duplicates,
                        ..
                    } = truth;
                    visit(
                        chance,
                        Fate {
                            requests: request,
                            effects,
                            possible_duplicates,
                            rest,
                        },
                    );
                }
            };
            let arrived = before.accepted();
            rest(
                chance * lost.not().and(unheard.not()).get(),
                arrived,
                Rest::Sent,
            );
            for (doubt, truth) in [(lost, before.lost()), (lost.not().and(unheard), arrived)] {
                for (choice, step) in resolve(situation, policy, foreign, truth, request == tries) {
                    let chance = chance * doubt.get() * choice.get();
                    match step {
                        Step::Rest(at) => rest(chance, truth, at),
                        Step::Again(truth) => *next.entry(truth).or_insert(0.0) += chance,
                    }
                }
            }
        }
        next.retain(|_, chance| *chance > 0.0);
        open = next;
    }
}
