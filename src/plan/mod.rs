//! What each policy costs: `nuncio plan`.
//!
//! Pure arithmetic. No I/O, no clock, no async, and the only randomness is a generator whose seed
//! is an argument. Read in this order:
//!
//! - [`Situation`]: the inputs, each with its unit: what gets lost, what the provider promises.
//! - [`predict()`]: what becomes of N messages under a [`Policy`], each count with its spread. It adds
//!   up every course one message can take (`fate`), applying section 7 of the design row by row.
//! - [`decide`]: the counts times the [`Prices`], which policy is cheaper, and where that turns.
//! - [`sweep()`]: the same over a range of one input, which is what the chart draws.
//! - [`ClosedForms`], [`simulate`], [`size_memory`]: the formulas, the published run, and the size
//!   of a dedup memory.
//! - [`PlanArgs`] and [`run`]: the command line.
//!
//! # What is assumed
//!
//! [`ASSUMPTIONS`] holds the sentences, which are printed with every decision. The one to remember:
//! losses are independent. An outage that loses everything for longer than the provider remembers
//! a key, or longer than its log lags, is worse than these numbers.

mod args;
mod assumptions;
mod capability;
mod catalogue;
mod chance;
mod chart;
mod closed_form;
mod compare;
mod cost;
mod evidence;
mod expected;
mod fate;
mod figures;
mod inputs;
mod memory;
mod memory_inputs;
mod mulberry;
mod notation;
mod predict;
mod render;
mod report;
mod simulation;
mod situation;
mod span;
mod sweep;
mod verdict;

#[cfg(test)]
mod answer_tests;
#[cfg(test)]
mod predict_tests;

pub use args::{PlanArgs, Section, run};
pub use assumptions::ASSUMPTIONS;
pub use capability::{Dedupe, Lookup, Policy};
pub use catalogue::{CATALOGUE, CatalogueEntry, find_provider};
pub use chance::{ChanceError, Probability};
pub use chart::chart;
pub use closed_form::ClosedForms;
pub use compare::{Comparison, compare_capabilities};
pub use cost::{Cost, Priced, Prices};
pub use expected::Expected;
pub use memory::{MemoryPlan, WindowRow, size_memory};
pub use memory_inputs::{MemoryInputs, RedeliveryAge};
pub use mulberry::Mulberry32;
pub use notation::NotationError;
pub use predict::{Prediction, predict};
pub use report::{Formulas, Report, SweepSeries};
pub use simulation::{Run, RunExpected, RunInputs, RunRow, simulate};
pub use situation::Situation;
pub use sweep::{Sweep, SweepPoint, sweep};
pub use verdict::{BreakEven, Decision, Verdict, decide};
