//! `nuncio list`: rows, the stuck ones first of all.

use std::time::Duration;

use clap::Args;
use comfy_table::Table;
use serde_json::{Value, json};

use super::{DONE, OpsError, Terminal, indented, json as print, when, words};
use crate::domain::outcome::Doubt;
use crate::domain::phase::Phase;
use crate::ledger::Ledger;
use crate::ledger::listing::StuckGroup;
use crate::ledger::row::Row;
use crate::ledger::story::{Filter, Moment};
use crate::table::table;

/// How far back rows at rest are looked for unless told: there can be millions in a day, and no
/// index but the coarse one by time.
const RECENT: Duration = Duration::from_secs(3600);

/// Lists notifications; never shows content, and masks recipients.
#[derive(Clone, Debug, Args)]
pub struct ListArgs {
    /// What needs a person or is past its lease, oldest first, and counted by cause.
    #[arg(long, conflicts_with = "phase")]
    pub stuck: bool,
    /// Only these phases, separated by commas.
    #[arg(long, value_delimiter = ',', value_parser = phase)]
    pub phase: Vec<Phase>,
    /// Only this channel.
    #[arg(long, value_name = "NAME")]
    pub channel: Option<String>,
    /// Only this provider.
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Only rows in doubt for this cause, such as timeout or worker_lost.
    #[arg(long, value_parser = cause)]
    pub cause: Option<Doubt>,
    /// Accepted since: how long ago (2h), or a time (2026-02-11T04:12:00Z). Where rows at rest
    /// can be among the answer, 1h unless given.
    #[arg(long, value_name = "WHEN", value_parser = when::moment)]
    pub since: Option<Moment>,
    /// Accepted before.
    #[arg(long, value_name = "WHEN", value_parser = when::moment)]
    pub until: Option<Moment>,
    /// Rows to show at most.
    #[arg(long, value_name = "ROWS", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Prints the list that `args` ask for, and exits with [`DONE`] whatever is on it.
///
/// # Errors
/// When the ledger or the terminal failed.
pub async fn run(
    ledger: &Ledger,
    args: &ListArgs,
    terminal: &mut Terminal<'_>,
) -> Result<u8, OpsError> {
    let filter = filter(args);
    let groups = match args.stuck {
        true => ledger.stuck_groups(&filter).await?,
        false => Vec::new(),
    };
    let mut rows = ledger.rows(&filter, args.limit + 1).await?;
    let more = cut(&mut rows, args.limit);
    let table = row_table(&rows, args.stuck);
    print_list(
        args,
        terminal,
        more,
        &groups,
        &table,
        rows.iter().map(print::row).collect(),
    )
}

fn filter(args: &ListArgs) -> Filter {
    // open and parked rows are few, and have indexes of their own
    let open =
        args.stuck || (!args.phase.is_empty() && args.phase.iter().all(|phase| !phase.rests()));
    let recent = (!open).then_some(Moment::Ago(RECENT));
    Filter {
        ids: None,
        stuck: args.stuck,
        phases: args.phase.clone(),
        channel: args.channel.clone(),
        provider: args.provider.clone(),
        cause: args.cause,
        since: args.since.or(recent),
        until: args.until,
    }
}

/// Takes away the row that only says that there are more.
fn cut<T>(rows: &mut Vec<T>, limit: u32) -> bool {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = rows.len() > limit;
    rows.truncate(limit);
    more
}

fn print_list(
    args: &ListArgs,
    terminal: &mut Terminal<'_>,
    more: bool,
    groups: &[StuckGroup],
    table: &Table,
    rows: Vec<Value>,
) -> Result<u8, OpsError> {
    let shown = rows.len();
    if args.json {
        let mut value = json!({ "rows": rows, "more": more });
        if args.stuck {
            value["groups"] = groups.iter().map(group).collect();
        }
        terminal.print(&print::print(&value))?;
        return Ok(DONE);
    }
    if !groups.is_empty() {
        terminal.print(&indented(&group_table(groups)))?;
        terminal.print("\n")?;
    }
    if shown > 0 {
        terminal.print(&indented(table))?;
        terminal.print("\n")?;
    }
    terminal.print(&footer(args, shown, more))?;
    Ok(DONE)
}

fn footer(args: &ListArgs, shown: usize, more: bool) -> String {
    let mut text = match shown {
        0 if args.stuck => "Nothing is stuck.".to_owned(),
        0 => "No rows.".to_owned(),
        1 => "1 row.".to_owned(),
        rows if more => format!("The first {rows} rows; --limit shows more."),
        rows => format!("{rows} rows."),
    };
    if filter(args).since != args.since {
        text += " Accepted within the last hour; --since looks further back.";
    }
    if shown > 0 {
        text += "\nnuncio explain KEY --channel CHANNEL tells the story of one.";
    }
    text.push('\n');
    text
}

fn row_table(rows: &[Row], stuck: bool) -> Table {
    let time = if stuck {
        "IN DOUBT SINCE (UTC)"
    } else {
        "ACCEPTED (UTC)"
    };
    let mut table = table([
        time, "CHANNEL", "PROVIDER", "PHASE", "CAUSE", "ATTEMPT", "TO", "KEY",
    ]);
    for row in rows {
        let at = row
            .in_doubt_since()
            .filter(|_| stuck)
            .unwrap_or(row.accepted_at);
        let handle = words::handle(row);
        let key = if handle == row.key {
            handle
        } else {
            format!("{handle} = {}", words::key(&row.key))
        };
        table.add_row([
            words::since(at, row.now),
            words::name(&row.channel),
            words::name(&row.provider),
            row.phase.to_string(),
            row.cause()
                .map_or_else(String::new, |cause| cause.to_string()),
            row.attempt.to_string(),
            words::mask(&row.recipient),
            key,
        ]);
    }
    table
}

fn group_table(groups: &[StuckGroup]) -> Table {
    let mut table = table([
        "CHANNEL",
        "PROVIDER",
        "CAUSE",
        "PARKED",
        "PAST LEASE",
        "OLDEST (UTC)",
    ]);
    for group in groups {
        table.add_row([
            words::name(&group.channel),
            words::name(&group.provider),
            words::name(&group.cause),
            group.parked.to_string(),
            group.past_lease.to_string(),
            words::since(group.oldest, group.now),
        ]);
    }
    table
}

fn group(group: &StuckGroup) -> Value {
    json!({
        "channel": group.channel,
        "provider": group.provider,
        "cause": group.cause,
        "parked": group.parked,
        "past_lease": group.past_lease,
        "oldest": group.oldest,
    })
}

fn phase(text: &str) -> Result<Phase, String> {
    let known = Phase::ALL.into_iter();
    known
        .clone()
        .find(|phase| phase.as_str() == text)
        .ok_or_else(|| {
            let names: Vec<_> = known.map(Phase::as_str).collect();
            format!("expected one of {}", names.join(", "))
        })
}

fn cause(text: &str) -> Result<Doubt, String> {
    Doubt::from_name(text).ok_or_else(|| {
        let names: Vec<_> = Doubt::ALL.into_iter().map(Doubt::as_str).collect();
        format!("expected one of {}", names.join(", "))
    })
}
