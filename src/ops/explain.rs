//! `nuncio explain`: the whole story of one notification.

use clap::Args;
use serde_json::{Value, json};

use super::{
    DONE, NOT_FOUND, OpsError, Terminal, find, json as print, person, standing, story, words,
};
use crate::domain::notification::Content;
use crate::ledger::Ledger;
use crate::ledger::row::{Line, Row};

/// Tells the whole story of one notification: where it stands, why, and what can be done.
#[derive(Clone, Debug, Args)]
pub struct ExplainArgs {
    /// The notification's key, or its first send key (the id in the ledger).
    pub key: String,
    /// The channel; all configured ones are tried without it.
    #[arg(long, value_name = "NAME")]
    pub channel: Option<String>,
    /// Shows content and recipient; the history will say that you saw them.
    #[arg(long)]
    pub content: bool,
    /// Who looks, for --content; $USER unless given.
    #[arg(long, value_name = "NAME", env = "USER", hide_env = true)]
    pub by: Option<String>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Prints the story of what `args` name; `channels` are the configured ones. Exits with
/// [`DONE`] or [`NOT_FOUND`].
///
/// # Errors
/// When the ledger or the terminal failed, or nobody is named who looks at content.
pub async fn run(
    ledger: &Ledger,
    channels: &[&str],
    args: &ExplainArgs,
    terminal: &mut Terminal<'_>,
) -> Result<u8, OpsError> {
    let channels = args
        .channel
        .as_ref()
        .map_or(channels.to_vec(), |name| vec![name]);
    let mut rows = find::find(ledger, &args.key, &channels).await?;
    rows.retain(|row| {
        args.channel
            .as_ref()
            .is_none_or(|name| *name == row.channel)
    });
    if rows.is_empty() {
        terminal.print(&not_found(&args.key, &channels))?;
        return Ok(NOT_FOUND);
    }
    let mut told = Vec::new();
    for row in &rows {
        let content = content(ledger, row, args).await?;
        let lines = ledger.history(row.id).await?;
        if args.json {
            told.push(as_json(row, &lines, content.as_ref()));
            continue;
        }
        terminal.print(&story::told(row, &lines, content.as_ref()))?;
        terminal.print(&story::advice(row))?;
        if rows.len() > 1 {
            terminal.print("\n")?;
        }
    }
    if args.json {
        terminal.print(&print::print(&json!({ "notifications": told })))?;
    }
    Ok(DONE)
}

async fn content(
    ledger: &Ledger,
    row: &Row,
    args: &ExplainArgs,
) -> Result<Option<Content>, OpsError> {
    if !args.content {
        return Ok(None);
    }
    // not checked by the command line: $USER may be anything where no content is asked for
    let by = person::name(args.by.as_deref().unwrap_or_default()).map_err(|wrong| {
        OpsError::Usage(format!(
            "--content needs --by NAME, since the history says who saw it: the name {wrong}"
        ))
    })?;
    Ok(ledger.reveal(row.id, &by).await?)
}

/// Says what was tried, so that a wrong channel is seen at once.
pub(super) fn not_found(key: &str, channels: &[&str]) -> String {
    let key = words::key(key);
    let channels: Vec<String> = channels.iter().map(|name| words::name(name)).collect();
    let channels = channels.join(", ");
    format!(
        "There is no notification {key} on {channels}, nor one with that id.\n\
         It never arrived, or was pruned, or is in quarantine (`nuncio quarantine list`).\n\
         Keys are compared byte for byte. Of its send keys only the first can be searched for.\n"
    )
}

fn as_json(row: &Row, lines: &[Line], content: Option<&Content>) -> Value {
    let mut value = print::row(row);
    let keys: Vec<_> = (1..=row.generation).map(|n| row.send_key(n)).collect();
    value["send_keys"] = json!(keys);
    value["standing"] = json!(standing::standing(row));
    value["history"] = lines.iter().map(|line| print::line(line, row)).collect();
    value["commands"] = standing::ways(row)
        .into_iter()
        .filter_map(|way| way.command)
        .collect();
    if let Some(content) = content {
        value["to"] = json!(row.recipient);
        value["content"] = json!(content);
    }
    value
}
