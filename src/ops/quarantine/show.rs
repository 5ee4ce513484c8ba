//! `nuncio quarantine show`.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use serde_json::{Value, json};

use super::super::{DONE, NOT_FOUND, OpsError, Terminal, json as print, person, words};
use super::list::{as_json, hex};
use crate::ledger::Ledger;
use crate::ledger::release::{QuarantineFilter, QuarantineLine, QuarantinedRow};

/// Which to show, and how much of it.
#[derive(Clone, Debug, Args)]
pub struct ShowArgs {
    /// Its number, as `nuncio quarantine list` shows it.
    pub id: i64,
    /// Shows the bytes, which hold content and recipient; its history will say that you saw them.
    #[arg(long)]
    pub body: bool,
    /// Who looks, for --body; $USER unless given.
    #[arg(long, value_name = "NAME", env = "USER", hide_env = true)]
    pub by: Option<String>,
    /// Prints JSON; the body as text where it is UTF-8, else in Base64.
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(
    ledger: &Ledger,
    args: &ShowArgs,
    terminal: &mut Terminal<'_>,
) -> Result<u8, OpsError> {
    let filter = QuarantineFilter {
        ids: Some(vec![args.id]),
        ..QuarantineFilter::default()
    };
    let Some(row) = ledger.quarantined(&filter, Some(1)).await?.pop() else {
        terminal.print(&format!("There is no quarantined message {}.\n", args.id))?;
        return Ok(NOT_FOUND);
    };
    let body = match args.body && row.kept {
        true => ledger.reveal_quarantined(row.id, &by(args)?).await?,
        false => None,
    };
    let history = ledger.quarantine_history(row.id).await?;
    if args.json {
        let mut value = as_json(&row);
        value["history"] = history.iter().map(line).collect();
        if let Some(body) = body {
            match String::from_utf8(body) {
                Ok(text) => value["body"] = json!(text),
                Err(bytes) => value["body_base64"] = json!(STANDARD.encode(bytes.as_bytes())),
            }
        }
        terminal.print(&print::print(&value))?;
        return Ok(DONE);
    }
    terminal.print(&told(&row, &history, args.body, body.as_deref()))?;
    Ok(DONE)
}

fn by(args: &ShowArgs) -> Result<String, OpsError> {
    person::name(args.by.as_deref().unwrap_or_default()).map_err(|wrong| {
        OpsError::Usage(format!(
            "--body needs --by NAME, since the history says who saw it: the name {wrong}"
        ))
    })
}

fn told(
    row: &QuarantinedRow,
    history: &[QuarantineLine],
    asked: bool,
    body: Option<&[u8]>,
) -> String {
    let at = |time| words::ago(time, row.now);
    let mut text = format!(
        "{} from {}: {}, {}\n\n",
        row.id,
        words::name(&row.queue),
        words::name(&row.reason),
        row.state
    );
    let mut fact = |label: &str, value: String| {
        let _ = writeln!(text, "  {label:<11} {value}");
    };
    fact("detail", words::text(&row.detail, ""));
    fact(
        "came",
        format!("{} times, first {}", row.seen, at(row.first_at)),
    );
    fact("last", at(row.last_at));
    fact("bytes", row.body_size.to_string());
    fact("sha-256", hex(&row.body_sha256));
    if let Some(id) = &row.message_id {
        fact("message id", words::key(id));
    }
    match body {
        // escapes for all that is not plain ASCII: it may be anything
        Some(body) => fact("body", format!("\"{}\"", body.escape_ascii())),
        None if !row.kept => fact("body", "not kept".to_owned()),
        None if asked => fact("body", "gone meanwhile".to_owned()),
        None => fact("body", "kept; --body shows it".to_owned()),
    }
    for line in history {
        let _ = writeln!(
            text,
            "  {}  {}  {}: {}",
            words::time(line.at, row.now),
            words::name(&line.actor),
            words::name(&line.event),
            words::text(&line.detail, "")
        );
    }
    text
}

fn line(line: &QuarantineLine) -> Value {
    json!({
        "at": line.at,
        "actor": words::name(&line.actor),
        "event": words::name(&line.event),
        "detail": words::text(&line.detail, ""),
    })
}
