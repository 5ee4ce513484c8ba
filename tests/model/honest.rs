//! With nothing broken every property holds, in every state that can be reached.

use nuncio::domain::policy::Policy::{self, AtLeastOnce, AtMostOnce};

use crate::check::check;
use crate::setting::{Log, Memory, Setting};

const POLICIES: [Policy; 2] = [AtMostOnce, AtLeastOnce];
const MEMORIES: [Memory; 3] = [Memory::Nothing, Memory::Replay, Memory::Tombstone];
const LOGS: [Log; 3] = [Log::Nothing, Log::ByReference, Log::ByRecipient];

/// Faults in one behaviour. Three take minutes in an optimised build: `MODEL_FAULTS=3`.
fn faults() -> u8 {
    let asked = std::env::var("MODEL_FAULTS").ok();
    asked.map_or(2, |text| text.parse().unwrap_or(2))
}

fn holds(settings: impl IntoIterator<Item = Setting>) {
    let mut sum = 0;
    for setting in settings {
        let setting = Setting {
            faults: faults(),
            ..setting
        };
        let checked = check(&setting, None);
        println!(
            "{setting}: {} states, {} steps deep, {:.1?}",
            checked.states, checked.depth, checked.took
        );
        if let Some((name, trace)) = checked.broken.first() {
            panic!("{setting}: broken: \"{name}\":\n{trace}");
        }
        assert!(checked.lives, "{setting}: it can never be sent");
        sum += checked.states;
    }
    println!("in all {sum} states");
}

fn every(change: impl Fn(Setting) -> Option<Setting>) -> Vec<Setting> {
    let mut all = Vec::new();
    for policy in POLICIES {
        for memory in MEMORIES {
            for log in LOGS {
                all.extend(change(Setting::new(policy, memory, log)));
            }
        }
    }
    all
}

#[test]
fn every_property_holds_for_every_policy_and_provider() {
    holds(every(Some));
}

#[test]
fn every_property_holds_when_it_may_expire() {
    holds(every(|setting| {
        (setting.memory != Memory::Tombstone).then_some(Setting {
            may_expire: true,
            redeliveries: 0,
            ..setting
        })
    }));
}

#[test]
fn every_property_holds_when_the_configuration_may_change() {
    holds(every(|setting| {
        (setting.log != Log::ByRecipient).then_some(Setting {
            may_change: true,
            redeliveries: 0,
            ..setting
        })
    }));
}

#[test]
fn every_property_holds_when_the_log_forgets() {
    holds(every(|setting| {
        (setting.log != Log::Nothing && setting.memory == Memory::Nothing).then_some(Setting {
            retention: Some(3),
            redeliveries: 0,
            ..setting
        })
    }));
}

#[test]
fn every_property_holds_when_a_person_decides() {
    holds(every(|setting| {
        (setting.memory != Memory::Tombstone).then_some(Setting {
            person: 1,
            redeliveries: 0,
            ..setting
        })
    }));
}

#[test]
fn exactly_one_effect_where_evidence_is_to_be_had() {
    holds(every(|setting| {
        let evidence = setting.memory != Memory::Nothing || setting.log == Log::ByReference;
        (evidence && setting.log != Log::ByRecipient).then_some(Setting {
            window: None,
            sure: true,
            redeliveries: 0,
            ..setting
        })
    }));
}

#[test]
fn every_property_holds_when_the_channel_may_move_to_another_provider() {
    holds(every(|setting| {
        (setting.memory != Memory::Tombstone).then_some(Setting {
            may_move: true,
            redeliveries: 0,
            ..setting
        })
    }));
}
