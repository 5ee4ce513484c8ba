//! The real decisions of the product, and what is broken about them on purpose.

use nuncio::domain::capability::LookUp;
use nuncio::domain::change::Change;
use nuncio::domain::outcome::{Doubt, LookUpAnswer, NotSent, Outcome};
use nuncio::domain::policy::Policy;
use nuncio::domain::resolve::{Case, Evidence, Verdict};
use nuncio::domain::settle::Attempt;
use nuncio::domain::{resolve as resolving, settle as settling};

use crate::provider::Learnt;
use crate::setting::{Mutation, SCHEDULE, SETTLE, Setting, ticks};

/// What the sender writes.
pub fn settle(setting: &Setting, mut attempt: Attempt, learnt: Learnt) -> Change {
    let mut outcome = learnt.outcome();
    if setting.mutated(Mutation::RefusedInDoubtIsFailed) {
        attempt.in_doubt = false;
    }
    let timed_out = matches!(
        outcome,
        Outcome::Unknown {
            cause: Doubt::Timeout,
            ..
        }
    );
    if timed_out && setting.mutated(Mutation::TimeoutIsNotSent) {
        outcome = Learnt::NotSent(NotSent::NotProcessed).outcome();
    }
    let decided = settling::settle(attempt, &outcome, &SCHEDULE, 1.0);
    Change::settled(&decided, &outcome)
}

/// What the resolver asks or decides.
pub fn resolve(setting: &Setting, case: &Case) -> Verdict {
    let real = |case: &Case| resolving::resolve(case, &SCHEDULE, 1.0);
    let Some(mutation) = setting.mutation else {
        return real(case);
    };
    let verdict = real(&with_a_lie(mutation, case));
    let says = |broken, applies| mutation == broken && applies;
    let lost_worker = case.cause == Doubt::WorkerLost;
    let parked_for_good = verdict == Verdict::Park && !case.sends_left;
    if says(Mutation::LostWorkerIsNotSent, lost_worker) {
        Verdict::Requeue { new_key: false }
    } else if says(Mutation::ExpiredInDoubtIsExpired, case.expired) {
        Verdict::Expired
    } else if says(Mutation::AttemptsUsedUpInDoubtIsFailed, parked_for_good) {
        Verdict::Failed
    } else {
        verdict
    }
}

/// The case as somebody would see it who has forgotten one thing.
fn with_a_lie(mutation: Mutation, case: &Case) -> Case {
    let mut case = case.clone();
    let failed = matches!(case.evidence, Evidence::LookUp(LookUpAnswer::Failed { .. }));
    let lies = |lie| mutation == lie;
    if lies(Mutation::AbsentBeforeTheSettleTime) {
        case.last_request_age = ticks(SETTLE);
    }
    if lies(Mutation::FailedLookUpIsAbsent) && failed {
        case.evidence = Evidence::LookUp(LookUpAnswer::Absent);
    }
    if lies(Mutation::AbsentByRecipientIsProof)
        && let LookUp::ByRecipient { settle, retention } = case.capability.look_up
    {
        case.capability.look_up = LookUp::ByReference { settle, retention };
    }
    if lies(Mutation::ReplayAfterTheWindow) {
        case.key_age = ticks(0);
    }
    if lies(Mutation::ReplayAfterTheWindow) || lies(Mutation::AgesOfTheTakeOver) {
        case.since_read = ticks(0);
    }
    case.request_unchanged |= lies(Mutation::ReplayOfChangedBytes);
    case.older_key_in_doubt &= !lies(Mutation::NewerKeyEndsOlderDoubt);
    if lies(Mutation::ResendUnderAtMostOnce) {
        case.policy = Policy::AtLeastOnce;
    }
    case
}
