//! How look-ups in the provider's log fail.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::book::locked;
use super::draw::{Draw, draw};
use super::plan::{PlanError, check_rate};

/// The `log` part of a plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogFaults {
    /// What a failing look-up answers; absent: look-ups work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail: Option<LogFault>,
    /// Share of look-ups that fail, 0.0 to 1.0, drawn per name asked for; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// How many look-ups may fail, counted since the plan was put; absent: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
}

/// The answer of a look-up that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogFault {
    /// The key may not read the log.
    #[serde(rename = "401")]
    Unauthorized,
    /// Too many look-ups; `Retry-After: 1`.
    #[serde(rename = "429")]
    Throttled,
    /// The log is broken.
    #[serde(rename = "500")]
    Broken,
    /// 200 with an HTML page.
    #[serde(rename = "nonsense")]
    Nonsense,
    /// No answer until `POST /release`.
    #[serde(rename = "hang")]
    Hang,
}

impl LogFaults {
    pub(super) fn check(&self) -> Result<(), PlanError> {
        self.rate.map_or(Ok(()), |rate| check_rate("log", rate))
    }

    /// The fault that the `number`th look-up (from 1) of a name would meet, before `times`.
    pub(super) fn drawn(&self, seed: u64, name: &str, number: u64) -> Option<LogFault> {
        let fault = self.fail?;
        match self.rate {
            Some(rate) if draw(seed, name, number, Draw::Log) >= rate => None,
            Some(_) | None => Some(fault),
        }
    }
}

/// Counts look-ups, so that a rate is drawn by (name, number) and `times` has an end.
#[derive(Debug, Default)]
pub(super) struct LogCursor {
    asked: Mutex<HashMap<String, u64>>,
    failed: AtomicU64,
}

impl LogCursor {
    /// Takes the fault of the next look-up of `name`.
    pub(super) fn take(&self, faults: &LogFaults, seed: u64, name: &str) -> Option<LogFault> {
        faults.fail?;
        let number = {
            let mut asked = locked(&self.asked);
            let count = asked.entry(name.to_owned()).or_insert(0);
            *count += 1;
            *count
        };
        let fault = faults.drawn(seed, name, number)?;
        let before = self.failed.fetch_add(1, Ordering::Relaxed);
        let spent = faults.times.is_some_and(|times| before >= times);
        (!spent).then_some(fault)
    }
}
