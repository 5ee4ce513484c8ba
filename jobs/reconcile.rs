//! The resolver as a job for cron or Kubernetes: one pass, or one every so often.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use nuncio::app::stop_on_signal;
use nuncio::config::{self, Config};
use nuncio::ledger::{Ledger, LedgerError};
use nuncio::metrics::Metrics;
use nuncio::provider::client::Client;
use nuncio::resolver::{Report, Resolver};
use nuncio::telemetry;
use tokio_util::sync::CancellationToken;

/// Settles notifications in doubt: asks the provider's log, repeats a request under the same key
/// where that is safe, and decides by the channel's policy what nothing can settle.
///
/// Exit code: 0 nothing for a person to do, 1 notifications were parked for a person, 2 it could
/// not do its work, 64 the configuration cannot be used.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
struct Cli {
    /// Configuration file.
    #[arg(long, env = "NUNCIO_CONFIG", default_value = "nuncio.toml")]
    config: PathBuf,
    /// Go on, one pass each time this has passed, such as 30s; without it, one pass.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    every: Option<Duration>,
    /// Ask the look-ups and show what would be decided; send and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
}

/// Exit code when the database or something else of ours was not to be had.
const COULD_NOT_WORK: u8 = 2;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    let config = match config::load(&cli.config, &|name| std::env::var(name).ok()) {
        Ok(config) => config,
        Err(errors) => {
            eprintln!("reconcile: {errors}");
            return ExitCode::from(64);
        }
    };
    telemetry::start(config.log.format);
    let resolver = match resolver(&config) {
        Ok(resolver) => resolver,
        Err(error) => {
            eprintln!("reconcile: {error}");
            return ExitCode::from(COULD_NOT_WORK);
        }
    };
    let stop = stop_on_signal();
    loop {
        let code = pass(&resolver, &cli, &stop).await;
        let Some(every) = cli.every else {
            return code;
        };
        if code == ExitCode::from(COULD_NOT_WORK) {
            resolver.let_workers_go_first(&stop).await;
        }
        tokio::select! {
            () = stop.cancelled() => return code,
            () = tokio::time::sleep(every) => {}
        }
    }
}

fn resolver(config: &Config) -> anyhow::Result<Resolver> {
    let database = &config.database;
    let ledger = Ledger::open(&database.url, database.pool, database.pgbouncer)?;
    Ok(Resolver::new(
        ledger,
        Client::new()?,
        Arc::new(Metrics::new()),
        config,
    ))
}

async fn pass(resolver: &Resolver, cli: &Cli, stop: &CancellationToken) -> ExitCode {
    match reconcile(resolver, cli.dry_run, stop).await {
        Ok(report) => {
            match serde_json::to_string(&report) {
                Ok(json) if cli.json => println!("{json}"),
                _ => println!("{report}"),
            }
            ExitCode::from(u8::from(report.count("parked") > 0))
        }
        Err(error) => {
            eprintln!("reconcile: {error}");
            ExitCode::from(COULD_NOT_WORK)
        }
    }
}

async fn reconcile(
    resolver: &Resolver,
    dry_run: bool,
    stop: &CancellationToken,
) -> Result<Report, LedgerError> {
    resolver.ledger.migrate().await?;
    if dry_run {
        resolver.dry_pass().await
    } else {
        resolver.pass(stop).await
    }
}
