//! `nuncio resolve`: a person's decision about one notification.
//!
//! The decision is tied to the attempt that the person saw. Whoever decides first wins; the other
//! changes nothing, and is told what holds now.

use clap::Args;
use serde_json::json;

use super::decision::{Decision, decide, expired};
use super::{
    DONE, NOT_CHANGED, NOT_FOUND, OpsError, Terminal, explain, find, json as print, person, story,
    words,
};
use crate::domain::phase::Phase;
use crate::ledger::Ledger;
use crate::ledger::moves::Move;
use crate::ledger::row::Row;
use crate::ledger::story::Filter;

/// Decides about one notification that waits for a person. The history keeps who, what and why.
#[derive(Clone, Debug, Args)]
pub struct ResolveArgs {
    /// The notification's key, or its first send key (the id in the ledger).
    pub key: String,
    /// The channel.
    #[arg(long, value_name = "NAME")]
    pub channel: String,
    #[command(flatten)]
    /// What is decided.
    pub what: What,
    /// What proves that it was sent.
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["resend", "close", "cancel"], value_parser = person::text)]
    pub proof: Option<String>,
    /// The provider's own id for the message.
    #[arg(long, value_name = "ID", conflicts_with_all = ["resend", "close", "cancel"], value_parser = person::text)]
    pub provider_id: Option<String>,
    /// Why.
    #[arg(long, value_name = "TEXT", value_parser = person::text)]
    pub reason: String,
    /// Who decides; $USER unless given.
    #[arg(long, value_name = "NAME", env = "USER", hide_env = true, value_parser = person::name)]
    pub by: String,
    /// The attempt that `nuncio explain` showed; without it the row is shown, and you are asked.
    #[arg(long, value_name = "N")]
    pub attempt: Option<u32>,
    /// Does not ask.
    #[arg(long)]
    pub yes: bool,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// The decision, one of four.
#[derive(Clone, Copy, Debug, Args)]
#[group(required = true, multiple = false)]
pub struct What {
    /// Parked: it was sent, and --proof says what shows it.
    #[arg(long, requires = "proof")]
    pub sent: bool,
    /// Parked: send it again, perhaps as a duplicate; not possible once it has expired.
    #[arg(long)]
    pub resend: bool,
    /// Parked: do not send it again, and leave open whether it was sent.
    #[arg(long)]
    pub close: bool,
    /// Queued: do not send it.
    #[arg(long)]
    pub cancel: bool,
}

/// Carries out the decision that `args` give. Exits with [`DONE`], [`NOT_FOUND`], or
/// [`NOT_CHANGED`] when the row is not where the decision expects it.
///
/// # Errors
/// When the ledger or the terminal failed, or nobody is there to confirm.
pub async fn run(
    ledger: &Ledger,
    args: &ResolveArgs,
    terminal: &mut Terminal<'_>,
) -> Result<u8, OpsError> {
    let channel = [&*args.channel];
    let mut rows = find::find(ledger, &args.key, &channel).await?.into_iter();
    let Some(row) = rows.find(|row| row.channel == args.channel) else {
        terminal.print(&explain::not_found(&args.key, &channel))?;
        return Ok(NOT_FOUND);
    };
    if args.attempt.is_some_and(|shown| shown != row.attempt) {
        return not_changed(args, &row, &meanwhile(&row), terminal);
    }
    let change = match decide(&row, &decision(args), &args.by, &args.reason) {
        Ok(change) => change,
        Err(reason) => return not_changed(args, &row, &reason, terminal),
    };
    let ask = args.attempt.is_none() && !args.yes;
    if ask && (args.json || terminal.input.is_none()) {
        return Err(OpsError::Usage(
            "nobody is asked here: give --attempt N as `nuncio explain` shows it, or --yes"
                .to_owned(),
        ));
    }
    if ask && !confirmed(ledger, &row, &change, terminal).await? {
        return not_changed(args, &row, "Not confirmed.", terminal);
    }
    let moved = ledger.apply(std::slice::from_ref(&change)).await;
    let moved = moved.map_err(|error| OpsError::Unsure {
        error,
        handle: words::handle(&row),
    })?;
    if moved.is_empty() {
        return too_late(ledger, args, row, terminal).await;
    }
    report(
        args,
        &row,
        change.to(),
        true,
        &done(&row, change.to(), &args.by),
        terminal,
    )?;
    Ok(DONE)
}

fn decision(args: &ResolveArgs) -> Decision {
    match args.what {
        What { resend: true, .. } => Decision::Resend,
        What { close: true, .. } => Decision::Close,
        What { cancel: true, .. } => Decision::Cancel,
        What { .. } => Decision::Sent {
            proof: args.proof.clone().unwrap_or_default(),
            provider_id: args.provider_id.clone(),
        },
    }
}

/// Shows the row and asks. What is confirmed is the attempt that was shown.
async fn confirmed(
    ledger: &Ledger,
    row: &Row,
    change: &Move,
    terminal: &mut Terminal<'_>,
) -> Result<bool, OpsError> {
    let lines = ledger.history(row.id).await?;
    terminal.print(&story::told(row, &lines, None))?;
    let question = format!(
        "\nMove attempt {} from {} to {}?",
        row.attempt,
        row.phase,
        change.to()
    );
    Ok(terminal.ask(&question)?.unwrap_or(false))
}

/// Nothing was changed although the row had looked right: says what holds now.
async fn too_late(
    ledger: &Ledger,
    args: &ResolveArgs,
    shown: Row,
    terminal: &mut Terminal<'_>,
) -> Result<u8, OpsError> {
    let filter = Filter {
        ids: Some(vec![shown.id]),
        ..Filter::default()
    };
    let Some(row) = ledger.rows(&filter, 1).await?.pop() else {
        return not_changed(args, &shown, "It has been pruned meanwhile.", terminal);
    };
    let untouched = (row.attempt, row.phase) == (shown.attempt, shown.phase);
    let why = if untouched && row.expired() {
        expired(&row)
    } else {
        meanwhile(&row)
    };
    not_changed(args, &row, &why, terminal)
}

fn meanwhile(row: &Row) -> String {
    let (phase, attempt) = (row.phase, row.attempt);
    format!("Somebody else decided meanwhile: now {phase}, attempt {attempt}. See nuncio explain.")
}

fn done(row: &Row, to: Phase, by: &str) -> String {
    let next = match to {
        Phase::Queued => " The next free worker sends it.",
        Phase::Sending
        | Phase::Parked
        | Phase::Sent
        | Phase::Failed
        | Phase::Expired
        | Phase::Superseded
        | Phase::Suppressed
        | Phase::Cancelled
        | Phase::Unconfirmed => "",
    };
    format!(
        "From {} to {to}, decided by {}.{next}",
        row.phase,
        words::name(by)
    )
}

fn not_changed(
    args: &ResolveArgs,
    row: &Row,
    why: &str,
    terminal: &mut Terminal<'_>,
) -> Result<u8, OpsError> {
    let why = format!("Nothing was changed. {why}");
    report(args, row, row.phase, false, &why, terminal)?;
    Ok(NOT_CHANGED)
}

fn report(
    args: &ResolveArgs,
    row: &Row,
    now: Phase,
    changed: bool,
    words: &str,
    terminal: &mut Terminal<'_>,
) -> Result<(), OpsError> {
    if args.json {
        return terminal.print(&print::print(&json!({
            "id": row.id,
            "channel": row.channel,
            "key": row.key,
            "attempt": row.attempt,
            "phase": now.as_str(),
            "changed": changed,
            "message": words,
        })));
    }
    let (key, channel) = (words::key(&row.key), words::name(&row.channel));
    terminal.print(&format!("{key} on {channel}: {words}\n"))
}
