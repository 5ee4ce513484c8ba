//! The same for programs: JSON whose characters no terminal obeys.

use serde_json::{Value, json};

use super::words;
use crate::domain::outcome::Doubt;
use crate::ledger::row::{Line, Row};

/// A row: all that [`Row`] has but the recipient, which is masked.
pub(super) fn row(row: &Row) -> Value {
    json!({
        "id": row.id,
        "channel": row.channel,
        "key": row.key,
        "to": words::mask(&row.recipient),
        "stream": row.stream,
        "seq": row.seq,
        "send_at": row.send_at,
        "expires_at": row.expires_at,
        "expired": row.expired(),
        "accepted_at": row.accepted_at,
        "phase": row.phase.as_str(),
        "past_lease": row.past_lease(),
        "attempt": row.attempt,
        "sends": row.sends,
        "generation": row.generation,
        "provider": row.provider,
        "due_at": row.due_at,
        "in_doubt_since": row.in_doubt_since(),
        "cause": row.cause().map(Doubt::as_str),
        "checks": row.checks,
        "possible_duplicates": row.possible_duplicates,
        "provider_id": row.provider_id,
        "settled_by": row.settled_by,
        "settled_at": row.settled_at,
        "last_text": row.last_text.as_deref().map(|text| words::text(text, &row.recipient)),
        "now": row.now,
    })
}

/// A line of the history of a row.
pub(super) fn line(line: &Line, row: &Row) -> Value {
    json!({
        "at": line.at,
        "attempt": line.attempt,
        "actor": words::name(&line.actor),
        "event": words::name(&line.event),
        "detail": words::text(&line.detail, &row.recipient),
    })
}

/// As text with a line end. Strings keep every character; those that a terminal obeys, C1
/// controls and direction marks among them, are written as escapes.
pub(super) fn print(value: &Value) -> String {
    let mut printed = String::new();
    for c in format!("{value:#}").chars() {
        // ASCII below DEL is serde_json's part: line ends of the layout, and its own escapes
        if c < '\u{7f}' || c.escape_debug().count() == 1 {
            printed.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            printed.push_str(&format!("\\u{unit:04x}"));
        }
    }
    printed.push('\n');
    printed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_json_reads_back_the_same_and_holds_no_control_character() {
        let value = json!({"key": "a\u{1b}[2J\u{9b}\u{7f}\u{202e}\u{e0041}é☃\n"});
        let printed = print(&value);
        assert_eq!(serde_json::from_str(&printed).ok(), Some(value));
        assert!(printed.contains("é☃"));
        assert!(printed.chars().all(|c| c == '\n' || !c.is_control()));
        assert!(!printed.contains('\u{202e}'));
    }
}
