//! `nuncio redrive`: dead letters back through intake.

use clap::Args;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::progress::Progress;
use super::{COULD_NOT, DONE, OpsError, Terminal, json as print};
use crate::config::Config;
use crate::intake::dead_letters::{Redriven, redrive, waiting};
use crate::intake::topology::dead_queue;

/// Moves messages from a channel's dead-letter queue back to its queue, as they were. Safe to
/// repeat and to interrupt.
#[derive(Clone, Debug, Args)]
pub struct RedriveArgs {
    /// The channel.
    #[arg(long, value_name = "NAME")]
    pub channel: String,
    /// Messages to move at most; all that are there when it begins unless given.
    #[arg(long, value_name = "MESSAGES", value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: Option<u64>,
    /// Says how many there are, and touches none: to look at one counts as a delivery.
    #[arg(long)]
    pub dry_run: bool,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Moves what `args` say. Exits with [`DONE`], or with [`COULD_NOT`] when the channel's queue did
/// not take one, the broker was lost, or it was told to `stop`; what is left is where it was.
///
/// # Errors
/// When the channel is not configured, the broker could not be asked, or the terminal failed.
pub async fn run(
    config: &Config,
    args: &RedriveArgs,
    terminal: &mut Terminal<'_>,
    stop: &CancellationToken,
) -> Result<u8, OpsError> {
    let mut channels = config.channels.iter();
    let Some(channel) = channels.find(|channel| *channel.name == args.channel) else {
        return Err(OpsError::Usage(format!(
            "no channel {:?} in the configuration",
            args.channel
        )));
    };
    let (from, to) = (dead_queue(channel), &channel.queue);
    let done = if args.dry_run {
        Redriven {
            there: waiting(&config.broker, channel).await?,
            ..Redriven::default()
        }
    } else {
        let progress = Progress::of("moved");
        let told = |done, all| progress.at(done, all);
        let done = redrive(&config.broker, channel, args.limit, told, stop).await;
        progress.end();
        done?
    };
    let wanted = args.limit.unwrap_or(u64::MAX).min(done.there);
    let stopped = !args.dry_run && stop.is_cancelled() && done.moved < wanted;
    let failed = done.failed.as_ref().map(ToString::to_string);
    if args.json {
        terminal.print(&print::print(&json!({
            "channel": args.channel,
            "from": from,
            "to": to,
            "dry_run": args.dry_run,
            "there": done.there,
            "moved": done.moved,
            "stopped": stopped,
            "failed": failed,
        })))?;
    } else if args.dry_run {
        let there = done.there;
        terminal.print(&format!(
            "{there} in {from}; would move {wanted} to {to}.\n"
        ))?;
    } else {
        let (there, moved) = (done.there, done.moved);
        terminal.print(&format!("Moved {moved} of {there} from {from} to {to}.\n"))?;
        if let Some(error) = &failed {
            terminal.print(&format!("The rest is where it was: {error}\n"))?;
        } else if stopped {
            terminal.print("Told to stop; the rest is where it was.\n")?;
        }
    }
    Ok(if failed.is_some() || stopped {
        COULD_NOT
    } else {
        DONE
    })
}
