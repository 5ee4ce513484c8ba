//! The whole answer as one value: what `--json` prints and the terminal shows in parts.

use serde::Serialize;

use super::{
    args::PlanArgs,
    assumptions::ASSUMPTIONS,
    catalogue::CatalogueEntry,
    closed_form::ClosedForms,
    compare::{Comparison, compare_capabilities},
    cost::Prices,
    memory::{MemoryPlan, size_memory},
    simulation::{Run, RunInputs, simulate},
    situation::Situation,
    sweep::{Sweep, SweepPoint, sweep},
    verdict::{Decision, decide},
};

/// Everything `nuncio plan` can say about one channel. In JSON an infinite number is null.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// What the numbers take for granted.
    pub assumptions: [&'static str; 8],
    /// The known provider that was named, before any override.
    pub provider: Option<CatalogueEntry>,
    /// The channel, overrides included.
    pub situation: Situation,
    /// The prices that were given.
    pub prices: Prices,
    /// Counts and costs per million, the cheaper policy, and where that turns.
    pub decision: Decision,
    /// The same channel with each kind of provider.
    pub comparison: [Comparison; 4],
    /// The same over a range of each input.
    pub sweeps: Vec<SweepSeries>,
    /// The formulas for these rates, deaths included.
    pub formulas: Formulas,
    /// The published run.
    pub published_run: Run,
    /// The same with these rates.
    pub run: Run,
    /// Sizes of a dedup memory.
    pub memory: MemoryPlan,
}

/// One input moved.
#[derive(Clone, Debug, Serialize)]
pub struct SweepSeries {
    /// Which input.
    pub over: Sweep,
    /// Its values, rising.
    pub points: Vec<SweepPoint>,
}

/// The closed forms without and with the limit on tries.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Formulas {
    /// Tries until an answer comes.
    pub without_limit: ClosedForms,
    /// At most the given number of tries.
    pub with_limit: ClosedForms,
    /// One try.
    pub one_try: ClosedForms,
    /// The price of a lost message, in doubled ones, at which the policies cost the same without
    /// any evidence and with people's time free.
    pub break_even_ratio: Option<f64>,
}

impl Report {
    /// Computes everything; milliseconds of work, more only for a long `--messages` run.
    #[must_use]
    pub fn new(args: &PlanArgs) -> Self {
        let (situation, prices) = (args.situation(), args.prices());
        let (p_m, p_a) = (situation.not_arriving(), situation.not_heard());
        let series = |over| SweepSeries {
            over,
            points: sweep(over, &situation, &prices),
        };
        Self {
            assumptions: ASSUMPTIONS,
            provider: args.provider,
            situation,
            prices,
            decision: decide(&situation, &prices),
            comparison: compare_capabilities(&situation, &prices),
            sweeps: Sweep::ALL.map(series).to_vec(),
            formulas: Formulas {
                without_limit: ClosedForms::without_limit(p_m, p_a),
                with_limit: ClosedForms::with_limit(p_m, p_a, situation.tries),
                one_try: ClosedForms::with_limit(p_m, p_a, 1),
                break_even_ratio: ClosedForms::break_even_ratio(p_m, p_a),
            },
            published_run: simulate(RunInputs::PUBLISHED),
            run: simulate(args.run_inputs()),
            memory: size_memory(args.memory_inputs()),
        }
    }
}
