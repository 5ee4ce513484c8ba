//! Retention: forgets notifications that have rested for long. One pass, or one every so often.
//!
//! Exits with 0 when the pass is done, 2 when it could not work, 64 when the arguments make no
//! sense.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use nuncio::ledger::Ledger;
use nuncio::ops::prune::{PruneArgs, PruneError, run};
use nuncio::ops::{COULD_NOT, DONE, USAGE};
use tokio::signal::unix::{SignalKind, signal};

/// Forgets notifications that have rested for long, and old messages in quarantine.
#[derive(Parser)]
#[command(name = "prune", version)]
struct Arguments {
    /// The configuration file.
    #[arg(
        long,
        value_name = "FILE",
        env = "NUNCIO_CONFIG",
        default_value = "nuncio.toml"
    )]
    config: PathBuf,
    /// Goes on, with a pass this often; without it there is one pass.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    every: Option<Duration>,
    /// Prints the report as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    prune: PruneArgs,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { USAGE } else { DONE });
        }
    };
    let ledger = match open(&arguments) {
        Ok(ledger) => ledger,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(USAGE);
        }
    };
    // Cut short, a pass leaves nothing half done: each of its statements stands alone.
    tokio::select! {
        code = passes(&ledger, &arguments) => ExitCode::from(code),
        () = stopped() => ExitCode::from(DONE),
    }
}

fn open(_arguments: &Arguments) -> Result<Ledger, String> {
    let url = std::env::var("NUNCIO_DATABASE_URL")
        .map_err(|error| format!("NUNCIO_DATABASE_URL: {error}"))?;
    Ledger::open(&url.into(), 1, false).map_err(|error| error.to_string())
}

async fn passes(ledger: &Ledger, arguments: &Arguments) -> u8 {
    loop {
        let code = pass(ledger, arguments).await;
        match arguments.every {
            // asked again, it would be refused again
            Some(_) if code == USAGE => return code,
            Some(pause) => tokio::time::sleep(pause).await,
            None => return code,
        }
    }
}

async fn pass(ledger: &Ledger, arguments: &Arguments) -> u8 {
    match run(ledger, &arguments.prune).await {
        Ok(report) if arguments.json => print!("{}", report.json()),
        Ok(report) => print!("{}", report.text()),
        Err(error) => {
            eprintln!("prune: {error}");
            return match error {
                PruneError::TooYoung(_) => USAGE,
                PruneError::Ledger(_) => COULD_NOT,
            };
        }
    }
    DONE
}

/// Waits for the signal to stop. A container's first process would not be ended by it otherwise.
async fn stopped() {
    let (Ok(mut end), Ok(mut interrupt)) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    ) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = end.recv() => {}
        _ = interrupt.recv() => {}
    }
}
