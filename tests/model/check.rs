//! Runs the checker over one setting, and tells what it found.

use std::fmt::Write;
use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model};

use crate::Protocol;
use crate::properties::CAN_BE_SENT;
use crate::setting::Setting;

/// What a run found.
pub struct Checked {
    pub states: usize,
    pub depth: usize,
    pub took: Duration,
    /// It can be sent at all.
    pub lives: bool,
    /// Each property that fell, with the shortest way to it.
    pub broken: Vec<(&'static str, String)>,
}

/// The shortest way on which this property falls, with the fewest faults that it takes.
pub fn fall(setting: &Setting, property: &'static str) -> Option<String> {
    (1..=setting.faults).find_map(|faults| {
        let setting = Setting {
            faults,
            ..setting.clone()
        };
        let checked = check(&setting, Some(property));
        let (_, trace) = checked
            .broken
            .into_iter()
            .find(|(name, _)| *name == property)?;
        Some(format!(
            "\"{property}\" falls with {faults} faults, {} states seen:\n{trace}",
            checked.states
        ))
    })
}

/// Explores everything, unless a property falls: one of `wanted`, where one is.
pub fn check(setting: &Setting, wanted: Option<&'static str>) -> Checked {
    let began = Instant::now();
    let finish = wanted.map_or(HasDiscoveries::AnyFailures, |name| {
        HasDiscoveries::AnyOf([name].into())
    });
    let checker = Protocol(setting.clone())
        .checker()
        .threads(2)
        .finish_when(finish)
        .spawn_bfs()
        .join();
    let mut found = checker.discoveries();
    let lives = found.remove(CAN_BE_SENT).is_some();
    let told = |path: stateright::Path<_, crate::steps::Step>| {
        let mut text = String::new();
        for step in path.into_actions() {
            let _ = writeln!(text, "    {step:?}");
        }
        text
    };
    Checked {
        states: checker.unique_state_count(),
        depth: checker.max_depth(),
        took: began.elapsed(),
        lives,
        broken: found
            .into_iter()
            .map(|(name, path)| (name, told(path)))
            .collect(),
    }
}
