//! Retention as a job for cron or Kubernetes: one pass, or one every so often.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use nuncio::app::stop_on_signal;
use nuncio::config;
use nuncio::ledger::Ledger;
use nuncio::ops::prune::{PruneArgs, PruneError, PruneReport, run};
use nuncio::ops::{COULD_NOT, DONE, USAGE};
use nuncio::telemetry;

/// Forgets notifications that have rested for long, and old messages in quarantine.
///
/// A redelivery of a forgotten key is sent again: keep rows for longer than any queue, dead-letter
/// queue or replay can hold a message.
///
/// Exit code: 0 done, 2 it could not do its work, 64 the configuration or the arguments cannot be
/// used.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
struct Cli {
    /// Configuration file.
    #[arg(long, env = "NUNCIO_CONFIG", default_value = "nuncio.toml")]
    config: PathBuf,
    /// Go on, one pass each time this has passed, such as 24h; without it, one pass.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    every: Option<Duration>,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    prune: PruneArgs,
}

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    let config = match config::load(&cli.config, &|name| std::env::var(name).ok()) {
        Ok(config) => config,
        Err(errors) => return fail(&errors, USAGE),
    };
    telemetry::start(config.log.format);
    let database = &config.database;
    let ledger = match Ledger::open(&database.url, 1, database.pgbouncer) {
        Ok(ledger) => ledger,
        Err(error) => return fail(&error, COULD_NOT),
    };
    let stop = stop_on_signal();
    loop {
        // Cut short, a pass leaves nothing half done: each of its statements stands alone.
        let code = tokio::select! {
            () = stop.cancelled() => return ExitCode::from(DONE),
            done = pass(&ledger, &cli.prune) => match done {
                Ok(report) => say(&report, cli.json),
                // asked again, it would be refused again
                Err(error @ PruneError::TooYoung(_)) => return fail(&error, USAGE),
                Err(error @ PruneError::Ledger(_)) => fail(&error, COULD_NOT),
            },
        };
        let Some(every) = cli.every else {
            return code;
        };
        tokio::select! {
            () = stop.cancelled() => return code,
            () = tokio::time::sleep(every) => {}
        }
    }
}

async fn pass(ledger: &Ledger, args: &PruneArgs) -> Result<PruneReport, PruneError> {
    ledger.migrate().await?;
    run(ledger, args).await
}

fn say(report: &PruneReport, json: bool) -> ExitCode {
    println!("{}", if json { report.json() } else { report.text() });
    ExitCode::from(DONE)
}

fn fail(error: &dyn std::fmt::Display, code: u8) -> ExitCode {
    eprintln!("prune: {error}");
    ExitCode::from(code)
}
