//! `nuncio quarantine list`.

use clap::Args;
use serde_json::{Value, json};

use super::super::{DONE, OpsError, Terminal, indented, json as print, words};
use super::choice::FilterArgs;
use crate::ledger::Ledger;
use crate::ledger::release::QuarantinedRow;
use crate::table::table;

/// Which to list.
#[derive(Clone, Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    /// Which.
    pub filter: FilterArgs,
    /// Those too that were released or dropped, and have not come again.
    #[arg(long)]
    pub decided: bool,
    /// Messages to show at most.
    #[arg(long, value_name = "ROWS", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(
    ledger: &Ledger,
    args: &ListArgs,
    terminal: &mut Terminal<'_>,
) -> Result<u8, OpsError> {
    let filter = args.filter.filter(!args.decided);
    let mut rows = ledger.quarantined(&filter, Some(args.limit + 1)).await?;
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let more = rows.len() > limit;
    rows.truncate(limit);
    if args.json {
        let rows: Vec<Value> = rows.iter().map(as_json).collect();
        terminal.print(&print::print(&json!({ "rows": rows, "more": more })))?;
        return Ok(DONE);
    }
    if !rows.is_empty() {
        terminal.print(&as_table(&rows))?;
        terminal.print("\n")?;
    }
    terminal.print(&footer(rows.len(), more))?;
    Ok(DONE)
}

fn footer(shown: usize, more: bool) -> String {
    let mut text = match shown {
        0 => "Nothing is in quarantine.".to_owned(),
        1 => "1 message.".to_owned(),
        rows if more => format!("The first {rows} messages; --limit shows more."),
        rows => format!("{rows} messages."),
    };
    if shown > 0 {
        text += "\nnuncio quarantine show ID shows one.";
    }
    text.push('\n');
    text
}

fn as_table(rows: &[QuarantinedRow]) -> String {
    let mut table = table([
        "ID",
        "QUEUE",
        "REASON",
        "STATE",
        "BYTES",
        "SEEN",
        "FIRST (UTC)",
        "LAST (UTC)",
        "DETAIL",
    ]);
    for row in rows {
        table.add_row([
            row.id.to_string(),
            words::name(&row.queue),
            words::name(&row.reason),
            row.state.clone(),
            row.body_size.to_string(),
            row.seen.to_string(),
            words::time(row.first_at, row.now),
            words::since(row.last_at, row.now),
            words::text(&row.detail, ""),
        ]);
    }
    indented(&table)
}

/// All that is known of one but its bytes.
pub(super) fn as_json(row: &QuarantinedRow) -> Value {
    json!({
        "id": row.id,
        "queue": row.queue,
        "reason": row.reason,
        "detail": words::text(&row.detail, ""),
        "state": row.state,
        "body_size": row.body_size,
        "body_sha256": hex(&row.body_sha256),
        "body_kept": row.kept,
        "message_id": row.message_id,
        "seen": row.seen,
        "first_at": row.first_at,
        "last_at": row.last_at,
    })
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
