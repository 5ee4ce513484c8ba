//! `nuncio demo`: the whole system on real Postgres and RabbitMQ, with faults, and the account of
//! what happened.
//!
//! Three channels get the same notifications through RabbitMQ; their providers ([`sandbox`](crate::sandbox),
//! in this process) lose requests and answers; worker processes are killed in mid-flight. When
//! nothing is open any more, what the providers physically sent is compared with what the ledger
//! says, one notification after the other, and with what [`plan`](crate::plan) predicts.
//!
//! Read in this order: `lanes` (what is tried), `play` (what is done), `promise` (what must hold),
//! `report` and `render` (what is said).

mod args;
mod config_file;
mod count;
mod crew;
mod database;
mod folder;
mod kills;
mod lanes;
mod look;
mod next;
mod play;
mod progress;
mod promise;
mod providers;
mod publish;
mod render;
mod report;
mod stage;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use tokio_util::sync::CancellationToken;

pub use args::DemoArgs;

use folder::Folder;
use progress::Progress;
use report::Report;
use stage::Stage;

/// Some promise was broken.
const BROKEN: u8 = 1;

/// The demo could not be carried out.
const COULD_NOT_WORK: u8 = 2;

/// Interrupted, as a shell counts it.
const INTERRUPTED: u8 = 130;

/// Runs the demo. Exit code 0: every promise held; 1: one was broken; 2: it could not be carried
/// out; 130: interrupted.
pub async fn run(args: &DemoArgs) -> ExitCode {
    match carry_out(args).await {
        Ok(Some(report)) => {
            println!("{}", report.print(args.json));
            ExitCode::from(if report.held() { 0 } else { BROKEN })
        }
        Ok(None) => {
            eprintln!("nuncio demo: interrupted; its workers are stopped");
            ExitCode::from(INTERRUPTED)
        }
        Err(error) => {
            eprintln!("nuncio demo: {}", words(&error));
            ExitCode::from(COULD_NOT_WORK)
        }
    }
}

/// What failed, and why, once: most errors name their cause themselves.
fn words(error: &anyhow::Error) -> String {
    let (what, why) = (error.to_string(), error.root_cause().to_string());
    if what.contains(&why) {
        what
    } else {
        format!("{what}: {why}")
    }
}

/// `None`: interrupted. Whatever happens, no worker is left, and nothing else unless it was asked
/// for or is evidence.
async fn carry_out(args: &DemoArgs) -> anyhow::Result<Option<Report>> {
    let servers = stage::servers(&|name| std::env::var(name).ok())?;
    let stop = CancellationToken::new();
    tokio::spawn(told_to_stop(stop.clone()));
    let folder = Folder::create(&args.name)?;
    let providers = providers::open(args).await?;
    let setting = Stage::set(args, &servers, &folder, &providers);
    let Some(stage) = stop.run_until_cancelled(setting).await else {
        return Ok(None);
    };
    let stage = stage?;
    let progress = Progress::start(args);
    let played = play::play(args, &stage, &folder, &providers, &progress, &stop).await;
    progress.end();
    let evidence = match &played {
        Ok(None) => false,
        Ok(Some(report)) => !report.held(),
        Err(_) => true,
    };
    if args.keep || evidence {
        let path = folder.keep();
        eprintln!("Kept: {} and database {}.", path.display(), stage.database);
    } else if let Err(error) = stage.clear().await {
        // The result stands all the same, and the next demo clears first.
        eprintln!("Not everything could be removed: {}", words(&error));
    }
    Ok(played?.map(|report| report.kept(args.keep || evidence)))
}

/// Cancels `stop` when this process is told to end: by Ctrl-C, SIGTERM, or its terminal's end.
async fn told_to_stop(stop: CancellationToken) {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ];
    // A signal that cannot be heard ends the process in the usual way.
    let mut signals: Vec<_> = kinds
        .into_iter()
        .filter_map(|kind| signal(kind).ok())
        .collect();
    let heard = signals.iter_mut().map(|signal| Box::pin(signal.recv()));
    let _ = futures_util::future::select_all(heard).await;
    stop.cancel();
}
