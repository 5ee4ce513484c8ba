//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};

/// Measures nuncio beside the floor (consume, POST, ack; no ledger) and the naive way (a task a
/// message, two statements a message), on the same messages, in shuffled rounds.
#[derive(Parser, Debug)]
pub(crate) struct Args {
    /// Messages in each run, published before it.
    #[arg(long, default_value_t = 50_000, value_parser = clap::value_parser!(u64).range(1_000..))]
    pub(crate) messages: u64,

    /// Runs of each worker; the figures are medians.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rounds: u64,

    /// Requests under way at once.
    #[arg(long, default_value_t = 512)]
    pub(crate) in_flight: usize,

    /// How long each run of the second part, at 200 messages/s, lasts. 0s leaves that part out.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = humantime::parse_duration)]
    pub(crate) delay_for: Duration,

    /// Leaves out the run with 512 in flight, whose peak memory is measured.
    #[arg(long)]
    pub(crate) no_memory: bool,

    /// Leaves out the naive way.
    #[arg(long)]
    pub(crate) no_naive: bool,

    /// Another build of nuncio to measure beside this one: what does a change bring?
    #[arg(long, value_name = "BINARY")]
    pub(crate) against: Vec<PathBuf>,

    /// Prints JSON; the table goes to standard error.
    #[arg(long)]
    pub(crate) json: bool,

    /// What cargo passes to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,

    #[command(subcommand)]
    pub(crate) part: Option<Part>,
}

/// What this program becomes when it starts itself again.
#[derive(Subcommand, Debug)]
pub(crate) enum Part {
    /// The floor.
    #[command(hide = true)]
    Floor(Line),
    /// The naive way.
    #[command(hide = true)]
    Naive(Line),
}

/// From where to where. The URLs come by the environment, where other users do not see them.
#[derive(clap::Args, Debug, Clone)]
pub(crate) struct Line {
    #[arg(long, env = "BENCH_AMQP_URL")]
    pub(crate) amqp: String,
    #[arg(long, env = "BENCH_DATABASE_URL")]
    pub(crate) database: String,
    #[arg(long)]
    pub(crate) queue: String,
    #[arg(long)]
    pub(crate) provider: String,
    #[arg(long)]
    pub(crate) in_flight: usize,
}
