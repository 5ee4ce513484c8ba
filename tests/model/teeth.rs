//! A decision or a guard is broken, one at a time, and a property falls: the model would have
//! shown it.

use nuncio::domain::policy::Policy::{AtLeastOnce, AtMostOnce};

use crate::check::fall;
use crate::properties::{
    AT_MOST_ONE, CLAIMED, COUNTED, LEGAL, NO_EFFECT, NOTHING_VANISHES, ONE_BODY, ONE_OWNER, RESTS,
};
use crate::setting::{Log, Memory, Mutation, Setting};

fn falls(mutation: Mutation, setting: Setting, property: &'static str) {
    let setting = Setting {
        mutation: Some(mutation),
        ..setting
    };
    let Some(trace) = fall(&setting, property) else {
        panic!("{mutation:?} is not found");
    };
    println!("{mutation:?}: {trace}");
}

/// At-most-once, a provider that forgets everything, no log.
const BLIND: Setting = Setting::new(AtMostOnce, Memory::Nothing, Log::Nothing);
const ASKED: Setting = Setting::new(AtMostOnce, Memory::Nothing, Log::ByReference);
const SEARCHED: Setting = Setting::new(AtMostOnce, Memory::Nothing, Log::ByRecipient);
const REPLAYED: Setting = Setting::new(AtMostOnce, Memory::Replay, Log::Nothing);
const REPLAYED_AND_ASKED: Setting = Setting::new(AtMostOnce, Memory::Replay, Log::ByReference);
const AGAIN: Setting = Setting::new(AtLeastOnce, Memory::Nothing, Log::Nothing);

#[test]
fn a_write_that_does_not_name_its_attempt_is_found() {
    falls(Mutation::GuardWithoutAttempt, BLIND, ONE_OWNER);
}

#[test]
fn a_write_that_does_not_name_the_phase_is_found() {
    falls(Mutation::GuardWithoutPhase, BLIND, LEGAL);
}

#[test]
fn a_take_over_that_keeps_the_attempt_is_found() {
    falls(Mutation::TakeOverKeepsTheAttempt, BLIND, ONE_OWNER);
}

#[test]
fn a_redelivery_that_claims_again_is_found() {
    falls(Mutation::RedeliveryClaimsAgain, BLIND, AT_MOST_ONE);
}

#[test]
fn an_ack_before_the_claim_is_found() {
    falls(Mutation::AckBeforeTheClaim, BLIND, NOTHING_VANISHES);
}

#[test]
fn a_request_after_the_lease_is_found() {
    falls(Mutation::NoLeaseCheck, BLIND, CLAIMED);
    falls(Mutation::NoLeaseCheck, ASKED, AT_MOST_ONE);
}

#[test]
fn a_timeout_taken_for_not_sent_is_found() {
    falls(Mutation::TimeoutIsNotSent, BLIND, AT_MOST_ONE);
}

#[test]
fn a_refusal_that_ends_earlier_doubt_is_found() {
    falls(Mutation::RefusedInDoubtIsFailed, AGAIN, NO_EFFECT);
}

#[test]
fn a_lost_worker_taken_for_not_sent_is_found() {
    falls(Mutation::LostWorkerIsNotSent, BLIND, AT_MOST_ONE);
}

#[test]
fn rows_of_lost_workers_that_nobody_takes_are_found() {
    falls(Mutation::OnlyKnownDoubtIsTakenOver, BLIND, RESTS);
}

#[test]
fn absence_believed_before_the_settle_time_is_found() {
    falls(Mutation::AbsentBeforeTheSettleTime, ASKED, AT_MOST_ONE);
}

#[test]
fn a_failed_look_up_taken_for_absence_is_found() {
    falls(Mutation::FailedLookUpIsAbsent, ASKED, AT_MOST_ONE);
}

#[test]
fn absence_by_recipient_taken_for_proof_is_found() {
    falls(Mutation::AbsentByRecipientIsProof, SEARCHED, AT_MOST_ONE);
}

#[test]
fn a_replay_after_the_window_is_found() {
    falls(Mutation::ReplayAfterTheWindow, REPLAYED, AT_MOST_ONE);
}

#[test]
fn a_replay_with_other_bytes_is_found() {
    let setting = Setting {
        may_change: true,
        ..REPLAYED
    };
    falls(Mutation::ReplayOfChangedBytes, setting, ONE_BODY);
}

#[test]
fn a_replay_that_the_ledger_was_not_told_of_is_found() {
    falls(
        Mutation::ReplayIsNotAnnounced,
        REPLAYED_AND_ASKED,
        AT_MOST_ONE,
    );
}

#[test]
fn a_window_judged_by_the_ages_of_the_take_over_is_found() {
    falls(Mutation::AgesOfTheTakeOver, REPLAYED, AT_MOST_ONE);
}

#[test]
fn a_log_judged_by_the_ages_of_the_take_over_is_found() {
    let setting = Setting {
        retention: Some(3),
        ..ASKED
    };
    falls(Mutation::AgesOfTheTakeOver, setting, AT_MOST_ONE);
}

#[test]
fn a_newer_key_that_ends_the_doubt_about_an_older_one_is_found() {
    let setting = Setting::new(AtLeastOnce, Memory::Replay, Log::Nothing);
    falls(Mutation::NewerKeyEndsOlderDoubt, setting, NO_EFFECT);
}

#[test]
fn expiry_that_ends_doubt_is_found() {
    let setting = Setting {
        may_expire: true,
        ..ASKED
    };
    falls(Mutation::ExpiredInDoubtIsExpired, setting, NO_EFFECT);
}

#[test]
fn a_resend_under_at_most_once_is_found() {
    falls(Mutation::ResendUnderAtMostOnce, BLIND, AT_MOST_ONE);
}

#[test]
fn a_resend_that_is_not_counted_is_found() {
    falls(Mutation::ResendIsNotCounted, AGAIN, COUNTED);
}

#[test]
fn another_provider_tried_in_doubt_is_found() {
    falls(Mutation::ReplayAtAnotherProvider, REPLAYED, AT_MOST_ONE);
}

#[test]
fn a_person_who_decides_about_another_version_is_found() {
    let setting = Setting { person: 1, ..BLIND };
    falls(Mutation::PersonIgnoresTheVersion, setting, LEGAL);
}

#[test]
fn used_up_attempts_taken_for_failure_in_doubt_are_found() {
    falls(Mutation::AttemptsUsedUpInDoubtIsFailed, AGAIN, NO_EFFECT);
}

#[test]
fn doubt_that_moves_to_another_provider_is_found() {
    let setting = Setting {
        may_move: true,
        faults: 4,
        redeliveries: 0,
        ..Setting::new(AtLeastOnce, Memory::Nothing, Log::ByReference)
    };
    falls(Mutation::DueClaimMovesDoubt, setting, NO_EFFECT);
}
