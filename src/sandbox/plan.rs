//! Which fault hits which request: the plan as it is put, and the plan as it is used.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::draw::{Draw, draw};
use super::fault::Fault;
use super::log_fault::{LogCursor, LogFault, LogFaults};
use super::settings::optional_duration;

/// The body of `PUT /faults`. It replaces the whole plan: what is left out is as it was at start-up
/// (settings) or off (faults). Unknown fields are errors.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FaultPlan {
    /// Start of every draw; the same seed hits the same requests.
    pub seed: u64,
    /// Share of requests (0.0 to 1.0) hit by each fault. `drop` is drawn first; the others share
    /// one draw and may not add up to more than 1.
    pub rates: BTreeMap<Fault, f64>,
    /// Faults for a reference, a recipient or `*`, one per request, then `ok`. The most specific
    /// script wins, and a message that has a script is not subject to `rates`.
    pub script: BTreeMap<String, Vec<Fault>>,
    /// How look-ups in the log fail.
    pub log: LogFaults,
    /// Overrides `--log-lag`.
    #[serde(with = "optional_duration", skip_serializing_if = "Option::is_none")]
    pub log_lag: Option<Duration>,
    /// Overrides `--log-retention`.
    #[serde(with = "optional_duration", skip_serializing_if = "Option::is_none")]
    pub log_retention: Option<Duration>,
    /// Overrides `--window`.
    #[serde(with = "optional_duration", skip_serializing_if = "Option::is_none")]
    pub window: Option<Duration>,
    /// Overrides `--latency`.
    #[serde(with = "optional_duration", skip_serializing_if = "Option::is_none")]
    pub latency: Option<Duration>,
    /// Overrides `--no-idempotency`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency: Option<bool>,
}

/// A plan that cannot be drawn from.
#[derive(Debug, Clone, PartialEq)]
pub enum PlanError {
    /// A rate outside 0.0 to 1.0.
    Rate {
        /// What the rate is for.
        of: String,
        /// The rate given.
        rate: f64,
    },
    /// The faults that share the answer draw add up to more than 1.
    Sum(f64),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Rate { of, rate } => write!(f, "rate of {of} is {rate}, not in 0.0 to 1.0"),
            PlanError::Sum(sum) => {
                write!(
                    f,
                    "rates other than drop add up to {sum}; they share one draw of 1.0"
                )
            }
        }
    }
}

impl std::error::Error for PlanError {}

/// A checked plan with its cursors.
#[derive(Debug)]
pub(super) struct ActivePlan {
    pub(super) plan: FaultPlan,
    log: LogCursor,
    scripts: BTreeMap<String, Script>,
    drop_below: f64,
    /// Each answer fault with the sum of the rates up to and including its own.
    answer_below: Vec<(Fault, f64)>,
}

#[derive(Debug)]
struct Script {
    faults: Vec<Fault>,
    next: AtomicUsize,
}

impl ActivePlan {
    pub(super) fn check(plan: FaultPlan) -> Result<Self, PlanError> {
        plan.log.check()?;
        let mut answer_below = Vec::new();
        let (mut drop_below, mut sum) = (0.0, 0.0);
        for (fault, rate) in &plan.rates {
            check_rate(&fault.to_string(), *rate)?;
            if *fault == Fault::Drop {
                drop_below = *rate;
            } else {
                sum += rate;
                answer_below.push((*fault, sum));
            }
        }
        // Ten rates of 0.1 add up to a little more than 1.
        if sum > 1.0 + 1e-9 {
            return Err(PlanError::Sum(sum));
        }
        let script = |faults: &Vec<Fault>| Script {
            faults: faults.clone(),
            next: 0.into(),
        };
        let scripts = plan
            .script
            .iter()
            .map(|(name, list)| (name.clone(), script(list)));
        let (scripts, log) = (scripts.collect(), LogCursor::default());
        Ok(ActivePlan {
            log,
            scripts,
            drop_below,
            answer_below,
            plan,
        })
    }

    /// How the next look-up of a reference or recipient fails, if it does.
    pub(super) fn log_fault(&self, name: &str) -> Option<LogFault> {
        self.log.take(&self.plan.log, self.plan.seed, name)
    }

    /// The fault for the `number`th request (from 1) of a reference.
    pub(super) fn fault(&self, reference: &str, to: &str, number: u64) -> Fault {
        match self.script_for(reference, to) {
            Some(script) => script.take(),
            None => self.drawn(reference, number),
        }
    }

    fn script_for(&self, reference: &str, to: &str) -> Option<&Script> {
        if self.scripts.is_empty() {
            return None;
        }
        [reference, to, "*"]
            .iter()
            .find_map(|name| self.scripts.get(*name))
    }

    fn drawn(&self, reference: &str, number: u64) -> Fault {
        let seed = self.plan.seed;
        if self.drop_below > 0.0 && draw(seed, reference, number, Draw::Request) < self.drop_below {
            return Fault::Drop;
        }
        if self.answer_below.is_empty() {
            return Fault::Ok;
        }
        let drawn = draw(seed, reference, number, Draw::Answer);
        let hit = self.answer_below.iter().find(|(_, below)| drawn < *below);
        hit.map_or(Fault::Ok, |(fault, _)| *fault)
    }
}

impl Script {
    fn take(&self) -> Fault {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        self.faults.get(at).copied().unwrap_or(Fault::Ok)
    }
}

pub(super) fn check_rate(of: &str, rate: f64) -> Result<(), PlanError> {
    if (0.0..=1.0).contains(&rate) {
        Ok(())
    } else {
        Err(PlanError::Rate {
            of: of.to_owned(),
            rate,
        })
    }
}
