//! `nuncio quarantine drop`.

use clap::Args;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::super::progress::Progress;
use super::super::{
    COULD_NOT, DONE, NOT_CHANGED, NOT_FOUND, OpsError, Terminal, json as print, person,
};
use super::choice::{Choice, ChoiceArgs, groups_json, groups_text, messages};
use crate::ledger::Ledger;

/// Messages in one statement.
const BATCH: usize = 1000;

/// Which to drop, and why.
#[derive(Clone, Debug, Args)]
pub struct DropArgs {
    #[command(flatten)]
    /// Which.
    pub choice: ChoiceArgs,
    /// Why.
    #[arg(long, value_name = "TEXT", value_parser = person::text)]
    pub reason: String,
    /// Who drops them; $USER unless given.
    #[arg(long, value_name = "NAME", env = "USER", hide_env = true, value_parser = person::name)]
    pub by: String,
}

pub(super) async fn run(
    ledger: &Ledger,
    args: &DropArgs,
    terminal: &mut Terminal<'_>,
    stop: &dyn Fn() -> CancellationToken,
) -> Result<u8, OpsError> {
    let choice = args.choice.choose(ledger).await?;
    if args.choice.dry_run {
        match args.choice.json {
            true => terminal.print(&print::print(
                &json!({ "dry_run": true, "groups": groups_json(&choice.held) }),
            ))?,
            false => terminal.print(&format!(
                "{}\nWould drop {}.\n",
                groups_text(&choice.held),
                messages(choice.held.len())
            ))?,
        }
        return Ok(DONE);
    }
    if !args.choice.confirmed("Drop", &choice.held, terminal)? {
        terminal.print("Nothing was changed. Not confirmed.\n")?;
        return Ok(NOT_CHANGED);
    }
    let stop = stop();
    let ids: Vec<i64> = choice.held.iter().map(|chosen| chosen.id).collect();
    let progress = Progress::of("dropped");
    let mut dropped = 0;
    for batch in ids.chunks(BATCH) {
        if stop.is_cancelled() {
            break;
        }
        dropped += ledger
            .drop_quarantined(batch, &args.by, &args.reason)
            .await?;
        progress.at(dropped, ids.len() as u64);
    }
    progress.end();
    report(args, &choice, dropped, stop.is_cancelled(), terminal)
}

fn report(
    args: &DropArgs,
    choice: &Choice,
    dropped: u64,
    stopped: bool,
    terminal: &mut Terminal<'_>,
) -> Result<u8, OpsError> {
    if args.choice.json {
        let unchanged = choice.unchanged.iter();
        terminal.print(&print::print(&json!({
            "dry_run": false,
            "dropped": dropped,
            "unchanged": unchanged.map(|(id, why)| json!({"id": id, "why": why})).collect::<Vec<_>>(),
            "unknown": choice.unknown,
            "stopped": stopped,
        })))?;
    } else {
        for (id, why) in &choice.unchanged {
            terminal.print(&format!("{id}: nothing was changed; {why}.\n"))?;
        }
        for id in &choice.unknown {
            terminal.print(&format!("There is no quarantined message {id}.\n"))?;
        }
        let count = usize::try_from(dropped).unwrap_or(usize::MAX);
        terminal.print(&format!("Dropped {}.\n", messages(count)))?;
    }
    Ok(match () {
        () if stopped => COULD_NOT,
        () if !choice.unknown.is_empty() => NOT_FOUND,
        () if !choice.unchanged.is_empty() => NOT_CHANGED,
        () => DONE,
    })
}
