//! The command line of `nuncio plan`.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{
    capability::{Dedupe, Lookup},
    catalogue::{CATALOGUE, CatalogueEntry, find_provider},
    chance::Probability,
    memory_inputs::RedeliveryAge,
    render::render,
    report::Report,
    span,
    sweep::Sweep,
};

const LOSSES: &str = "What gets lost";
const PROMISES: &str = "What the provider promises";
const PRICES: &str = "What it costs you (any one currency)";
const MEMORY: &str = "Size of a dedup memory (--show memory)";

/// What a part of the answer is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Section {
    /// Which policy is cheaper, by how much, and where that turns
    Decision,
    /// The formulas behind it, with your rates
    Formulas,
    /// The published seeded run, and the same with your rates
    Simulation,
    /// How large a dedup memory must be
    Memory,
    /// What the numbers take for granted
    Assumptions,
    /// Everything
    All,
}

/// What each policy costs on a channel, and which one is cheaper
///
/// Give the loss rates of the channel, the promises of its provider, and what a lost, a doubled
/// and a parked message cost you. Rates are written 0.001 or 0.1%.
#[derive(Args, Clone, Debug)]
pub struct PlanArgs {
    /// Share of requests lost after they may have left. Read it off your own data: attempts that
    /// ended in doubt and turned out not to have been sent
    #[arg(long, value_name = "SHARE", default_value = "0.1%", help_heading = LOSSES)]
    pub request_loss: Probability,

    /// Share of accepted requests whose answer is lost: timeouts, resets, 502s that turned out to
    /// have been sent
    #[arg(long, value_name = "SHARE", default_value = "0.1%", help_heading = LOSSES)]
    pub answer_loss: Probability,

    /// Share of attempts during which the worker dies: restarts per day that skip the grace time,
    /// times messages in flight, over messages per day
    #[arg(long, value_name = "SHARE", default_value = "0", help_heading = LOSSES)]
    pub crash: Probability,

    /// Share of those deaths that come after the request was on its way
    #[arg(long, value_name = "SHARE", default_value = "50%", help_heading = LOSSES)]
    pub crash_after_send: Probability,

    /// Attempts a message may have, replays included
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64), help_heading = LOSSES)]
    pub tries: u32,

    /// Take dedupe and look-up from the documentation of a known provider
    #[arg(long, value_name = "NAME", value_parser = provider, help_heading = PROMISES)]
    pub provider: Option<CatalogueEntry>,

    /// What a second request under the same key does: none (it is sent), replay:24h (same answer),
    /// tombstone:15m (an error that means "have it"), client-id:48h (our id, refused when reused)
    #[arg(long, value_name = "PROMISE", help_heading = PROMISES)]
    pub dedupe: Option<Dedupe>,

    /// What the provider's log can say: none, by-reference:5m,45d (exact) or by-recipient:10m,30d
    /// (fuzzy). First how long it may lag, then how long it keeps an entry
    #[arg(long, value_name = "PROMISE", help_heading = PROMISES)]
    pub look_up: Option<Lookup>,

    /// Share of accepted messages still missing from the log after its settle time. Above 0, even
    /// at-most-once doubles some
    #[arg(long, value_name = "SHARE", default_value = "0", help_heading = PROMISES)]
    pub late_log: Probability,

    /// Share of messages whose recipient also got one from another sender on the same account, at
    /// about the same time. It misleads a fuzzy look-up
    #[arg(long, value_name = "SHARE", default_value = "0.1%", help_heading = PROMISES)]
    pub foreign_match: Probability,

    /// How long after an attempt the resolver acts on it: the lease, or later. Decides how many
    /// replays fit into the window
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = span::parse, help_heading = PROMISES)]
    pub act_after: Duration,

    /// How much of the window must be left for a replay: the request timeout or more
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = span::parse, help_heading = PROMISES)]
    pub margin: Duration,

    /// Price of a message that never arrives
    #[arg(long, value_name = "PRICE", default_value = "1", value_parser = price, help_heading = PRICES)]
    pub lost: f64,

    /// Price of a message that arrives twice
    #[arg(long, value_name = "PRICE", default_value = "1", value_parser = price, help_heading = PRICES)]
    pub doubled: f64,

    /// Minutes a person spends on a parked message
    #[arg(long, value_name = "MINUTES", default_value = "2", value_parser = price, help_heading = PRICES)]
    pub parked_minutes: f64,

    /// Price of one of those minutes
    #[arg(long, value_name = "PRICE", default_value = "0.5", value_parser = price, help_heading = PRICES)]
    pub minute: f64,

    /// What the chart moves
    #[arg(long, value_enum, value_name = "INPUT", default_value = "price-ratio")]
    pub over: Sweep,

    /// Which parts to print, separated by commas
    #[arg(
        long,
        value_enum,
        value_name = "PARTS",
        value_delimiter = ',',
        default_value = "decision"
    )]
    pub show: Vec<Section>,

    /// Print everything as JSON, all charts' numbers included
    #[arg(long)]
    pub json: bool,

    /// Seed of the second simulated run (--show simulation)
    #[arg(long, value_name = "N", default_value_t = 34)]
    pub seed: u32,

    /// Messages in the second simulated run
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub messages: u32,

    /// Messages per second
    #[arg(long, value_name = "N", default_value_t = 2_000, help_heading = MEMORY)]
    pub rate: u32,

    /// Bytes per remembered key, index included
    #[arg(long, value_name = "N", default_value_t = 100, help_heading = MEMORY)]
    pub entry_bytes: u32,

    /// Copies kept
    #[arg(long, value_name = "N", default_value_t = 2, help_heading = MEMORY)]
    pub copies: u32,

    /// How a message can come again and how late, for each way: --age redrive=2d. Replaces the
    /// example's retry=1023s, lag=6h, redrive=2d, replay=3d
    #[arg(long = "age", value_name = "NAME=TIME", value_parser = age, help_heading = MEMORY)]
    pub ages: Vec<RedeliveryAge>,

    /// A window to size; may be given several times. Replaces 5m, 1h, 1d, 7d
    #[arg(long = "window", value_name = "TIME", value_parser = span::parse, help_heading = MEMORY)]
    pub windows: Vec<Duration>,
}

/// Answers the question, as text for a terminal or as JSON. Ends without a newline.
#[must_use]
pub fn run(args: &PlanArgs) -> String {
    let report = Report::new(args);
    if args.json {
        // Plain structs of numbers and strings: this cannot fail, but if it did, say so in JSON.
        return serde_json::to_string_pretty(&report)
            .unwrap_or_else(|error| serde_json::json!({ "error": error.to_string() }).to_string());
    }
    render(&report, &args.show, args.over).trim_end().to_owned()
}

fn provider(name: &str) -> Result<CatalogueEntry, String> {
    find_provider(name).copied().ok_or_else(|| {
        let names: Vec<_> = CATALOGUE.iter().map(|entry| entry.name).collect();
        format!(
            "not known; give --dedupe and --look-up instead, or one of {}",
            names.join(", ")
        )
    })
}

fn price(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|value: &f64| (0.0..=1e12).contains(value))
        .ok_or_else(|| "not a number from 0 to a million million".to_owned())
}

fn age(text: &str) -> Result<RedeliveryAge, String> {
    let (name, age) = text
        .split_once('=')
        .ok_or("write NAME=TIME, like redrive=2d")?;
    let age = span::parse(age)?;
    Ok(RedeliveryAge {
        name: name.to_owned(),
        age,
    })
}
