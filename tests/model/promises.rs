//! What is assumed about the world, and what happens without it: not promised, and here is why.

use nuncio::domain::policy::Policy::AtMostOnce;

use crate::check::fall;
use crate::properties::{AN_EFFECT, AT_MOST_ONE, NO_EFFECT};
use crate::setting::{Log, Memory, Promise, Setting};

fn needed(promise: Promise, memory: Memory, log: Log, property: &'static str) {
    let setting = Setting {
        broken: Some(promise),
        ..Setting::new(AtMostOnce, memory, log)
    };
    let Some(trace) = fall(&setting, property) else {
        panic!("{promise:?} is not needed");
    };
    println!("without {promise:?}: {trace}");
}

#[test]
fn a_log_slower_than_its_settle_time_makes_a_second_effect() {
    needed(
        Promise::LogSettles,
        Memory::Nothing,
        Log::ByReference,
        AT_MOST_ONE,
    );
}

#[test]
fn a_request_that_lands_after_the_settle_time_makes_a_second_effect() {
    needed(
        Promise::RequestLandsInTime,
        Memory::Nothing,
        Log::ByReference,
        AT_MOST_ONE,
    );
}

#[test]
fn a_provider_that_forgets_a_key_early_makes_a_second_effect() {
    needed(
        Promise::KeyRemembered,
        Memory::Replay,
        Log::Nothing,
        AT_MOST_ONE,
    );
}

#[test]
fn a_late_replay_at_the_very_end_of_the_window_makes_a_second_effect() {
    needed(
        Promise::KeyOutlastsLateReplay,
        Memory::Replay,
        Log::Nothing,
        AT_MOST_ONE,
    );
}

#[test]
fn a_provider_that_refuses_a_repeated_key_before_it_remembers_hides_an_effect() {
    needed(
        Promise::MemoryComesFirst,
        Memory::Replay,
        Log::Nothing,
        NO_EFFECT,
    );
}

#[test]
fn a_provider_that_processes_what_it_says_it_did_not_makes_a_second_effect() {
    needed(
        Promise::NotProcessedIsTrue,
        Memory::Nothing,
        Log::Nothing,
        AT_MOST_ONE,
    );
}

#[test]
fn somebody_elses_record_taken_for_ours_loses_a_message() {
    needed(
        Promise::RecordIsOurs,
        Memory::Nothing,
        Log::ByRecipient,
        AN_EFFECT,
    );
}
