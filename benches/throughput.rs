//! How fast nuncio is, beside the least that any worker can do and beside the naive way.
//!
//! Real RabbitMQ, real Postgres, every program in a process of its own. `docs/benchmark.md` says
//! what is measured and how to read it. Run it through `scripts/bench`.

#[path = "throughput/args.rs"]
mod args;
#[path = "throughput/bench.rs"]
mod bench;
#[path = "throughput/broker.rs"]
mod broker;
#[path = "throughput/database.rs"]
mod database;
#[path = "throughput/delay.rs"]
mod delay;
#[path = "throughput/figures.rs"]
mod figures;
#[path = "throughput/floor.rs"]
mod floor;
#[path = "throughput/machine.rs"]
mod machine;
#[path = "throughput/message.rs"]
mod message;
#[path = "throughput/naive.rs"]
mod naive;
#[path = "throughput/nuncio.rs"]
mod nuncio_process;
#[path = "throughput/process.rs"]
mod process;
#[path = "throughput/report.rs"]
mod report;
#[path = "throughput/speed.rs"]
mod speed;
#[path = "throughput/stub.rs"]
mod stub;
#[path = "throughput/worker.rs"]
mod worker;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Args, Part};

fn main() -> ExitCode {
    match run(Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("throughput: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> anyhow::Result<()> {
    // A second call finds the provider installed, which is what it wants.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // As nuncio's own: one thread a core.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    match args.part {
        Some(Part::Floor(line)) => runtime.block_on(floor::run(line)),
        Some(Part::Naive(line)) => runtime.block_on(naive::run(line)),
        None => runtime.block_on(bench::run(&args)),
    }
}
