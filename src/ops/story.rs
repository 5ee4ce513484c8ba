//! The story of one notification as text: what it is, where it stands, how it came to that.

use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use comfy_table::{Table, presets};

use super::standing::{standing, ways};
use super::words;
use crate::domain::notification::Content;
use crate::ledger::row::{Line, Row};

/// More send keys than these are not listed: the newest matter.
const SEND_KEYS: u32 = 5;

/// All but what a person can do about it.
pub(super) fn told(row: &Row, lines: &[Line], content: Option<&Content>) -> String {
    let channel = words::name(&row.channel);
    let mut text = format!("{} on {channel}\n", words::key(&row.key));
    for (label, value) in facts(row, content) {
        let _ = writeln!(text, "  {label:<12} {value}");
    }
    text.push_str("\nWhere it stands\n");
    for line in standing(row) {
        let _ = writeln!(text, "  {line}");
    }
    let _ = write!(
        text,
        "\nWhat happened (UTC; it is {})\n",
        row.now.format("%Y-%m-%d %H:%M:%S")
    );
    text.push_str(&timeline(row, lines));
    text
}

/// What a person can do about it.
pub(super) fn advice(row: &Row) -> String {
    let mut text = "\nWhat you can do\n".to_owned();
    for way in ways(row) {
        let _ = writeln!(text, "  {}", way.words);
        if let Some(command) = way.command {
            let _ = writeln!(text, "    {command}");
        }
    }
    text
}

fn facts(row: &Row, content: Option<&Content>) -> Vec<(&'static str, String)> {
    let at = |time: DateTime<Utc>| words::ago(time, row.now);
    let to = match content {
        Some(_) => words::name(&row.recipient),
        None => words::mask(&row.recipient),
    };
    let mut facts = vec![("to", to), ("accepted", at(row.accepted_at))];
    facts.extend(row.send_at.map(|time| ("not before", at(time))));
    facts.extend(row.expires_at.map(|time| ("expires", at(time))));
    if let (Some(stream), Some(seq)) = (&row.stream, row.seq) {
        facts.push(("stream", format!("{} at {seq}", words::key(stream))));
    }
    facts.push(("provider", words::name(&row.provider)));
    if let Some(id) = &row.provider_id {
        facts.push(("its id", words::name(id)));
    }
    if let Some(said) = &row.last_text {
        facts.push((
            "it said",
            format!("\"{}\"", words::text(said, &row.recipient)),
        ));
    }
    facts.push(("requests", requests(row)));
    for generation in (1..=row.generation).rev().take(SEND_KEYS as usize) {
        let which = match generation {
            1 if row.generation == 1 => "",
            1 => " (the first, also the ledger's id)",
            _ if generation == row.generation => " (in use)",
            _ => "",
        };
        facts.push(("send key", format!("{}{which}", row.send_key(generation))));
    }
    if let Some(content) = content {
        facts.extend(contents(content));
    }
    facts
}

fn requests(row: &Row) -> String {
    let doubt = if row.in_doubt_since().is_some() {
        ", or perhaps made"
    } else {
        ""
    };
    let mut text = format!("{} made{doubt}; now at attempt {}", row.sends, row.attempt);
    if row.possible_duplicates > 0 {
        let _ = write!(
            text,
            "; {} sent again in doubt: possible duplicates",
            row.possible_duplicates
        );
    }
    text
}

fn contents(content: &Content) -> Vec<(&'static str, String)> {
    let parts = [
        ("from", &content.from),
        ("reply to", &content.reply_to),
        ("subject", &content.subject),
        ("text", &content.text),
        ("html", &content.html),
    ];
    let shown = parts.into_iter().filter_map(|(label, part)| {
        // in quotes: a message of several lines must not look like several facts
        part.as_ref().map(|part| (label, format!("{part:?}")))
    });
    let metadata = content
        .metadata
        .iter()
        .map(|(name, value)| ("metadata", format!("{name:?} = {value:?}")));
    shown.chain(metadata).collect()
}

/// The history, and between its lines what the row itself remembers: a notification that is
/// accepted at the first try has no other history.
fn timeline(row: &Row, lines: &[Line]) -> String {
    let ledger = |at, attempt: u32, words: String| (at, attempt, "ledger".to_owned(), words);
    let mut events = vec![ledger(
        row.accepted_at,
        0,
        "accepted from the queue; the row is committed".into(),
    )];
    // without a last possible request there was no first: it was put to rest when it was due
    if let Some(at) = row
        .first_request_at
        .filter(|_| row.last_request_at.is_some())
    {
        let words = match row.generation {
            1 => "claimed: from here on a request could leave".to_owned(),
            n => format!("from here on a request under send key {n} could leave"),
        };
        events.push(ledger(
            at,
            if row.generation == 1 { 1 } else { row.attempt },
            words,
        ));
    }
    events.extend(lines.iter().map(|line| {
        let detail = words::text(&line.detail, &row.recipient);
        (
            line.at,
            line.attempt,
            words::name(&line.actor),
            format!("{}: {detail}", words::name(&line.event)),
        )
    }));
    if let Some(at) = row.settled_at {
        events.push(ledger(
            at,
            row.attempt,
            format!("came to rest: {}", row.phase),
        ));
    }
    events.sort_by_key(|event| event.0); // stable: lines of one moment stay in order
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    for (at, attempt, actor, words) in events {
        let attempt = if attempt == 0 {
            String::new()
        } else {
            format!("attempt {attempt}")
        };
        table.add_row([words::time(at, row.now), attempt, actor, words]);
    }
    super::indented(&table)
}
