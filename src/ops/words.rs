//! Times, names and causes in words that a tired person understands, and nothing that a terminal
//! would obey.

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::outcome::Doubt;
use crate::ledger::row::Row;
use crate::provider::clean::{clean, redact};

/// Longer texts are cut: a provider's whole error page helps nobody at night.
const LONGEST_TEXT: usize = 1000;

/// Longer keys are shown by their beginning.
const LONGEST_KEY: usize = 80;

/// A text of somebody else's, harmless, on one line, without the recipient.
pub(super) fn text(text: &str, recipient: &str) -> String {
    clean(&*redact(text, recipient), LONGEST_TEXT)
}

/// A name of somebody else's, harmless: a channel, a provider, an id, a person.
pub(super) fn name(name: &str) -> String {
    clean(name, LONGEST_KEY)
}

/// A producer's key: as it is where it is harmless, else in quotes with escapes, since blanks and
/// control characters are part of a key.
pub(super) fn key(key: &str) -> String {
    let short: String = key.chars().take(LONGEST_KEY).collect();
    let more = if short.len() < key.len() { "…" } else { "" };
    if clean(&short, LONGEST_KEY) == short {
        format!("{short}{more}")
    } else {
        format!("{short:?}{more}")
    }
}

/// What names a row on a command line, safe to paste: the key where it is plain, else the id. A
/// key that looks like an id is not plain, since it would be read as one.
pub(super) fn handle(row: &Row) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._:/@+=,-".contains(c);
    let usable = row.key.chars().count() <= LONGEST_KEY
        && row.key.chars().all(plain)
        && !row.key.starts_with('-')
        && uuid::Uuid::try_parse(&row.key).is_err();
    if usable {
        row.key.clone()
    } else {
        row.id.to_string()
    }
}

/// A recipient that can be recognised by who knows it, and by nobody else.
pub(super) fn mask(recipient: &str) -> String {
    if let Some((local, domain)) = recipient.rsplit_once('@') {
        let first: String = local.chars().take(1).collect();
        let first = if first == local { "" } else { &*first };
        return clean(format!("{first}***@{domain}"), LONGEST_TEXT);
    }
    let digits: Vec<char> = recipient.chars().collect();
    let (head, tail) = match digits.len() {
        10.. => (5, 2),
        5..10 => (2, 1),
        _ => (0, 0),
    };
    let masked = (digits.iter().enumerate()).map(|(i, &digit)| {
        let shown = i < head || i >= digits.len() - tail;
        if shown { digit } else { '*' }
    });
    clean(masked.collect::<String>(), LONGEST_TEXT)
}

/// A span of time to about two digits; nothing below zero.
pub(super) fn span(delta: TimeDelta) -> String {
    let seconds = delta.num_seconds().max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match () {
        () if seconds < 60 => format!("{seconds} s"),
        () if minutes < 60 => format!("{minutes} min"),
        () if hours < 24 => format!("{hours} h {} min", minutes % 60),
        () => format!("{days} d {} h", hours % 24),
    }
}

/// A time of the database's clock: the date only when it is not today's.
pub(super) fn time(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    if at.date_naive() == now.date_naive() {
        at.format("%H:%M:%S").to_string()
    } else {
        at.format("%Y-%m-%d %H:%M:%S").to_string()
    }
}

/// "04:12:03 (12 min)".
pub(super) fn since(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    format!("{} ({})", time(at, now), span(now - at))
}

/// "04:12:03, 12 min ago" or "04:12:03, in 12 min".
pub(super) fn ago(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    if at > now {
        format!("{}, in {}", time(at, now), span(at - now))
    } else {
        format!("{}, {} ago", time(at, now), span(now - at))
    }
}

/// Why nobody can say whether it was sent.
pub(super) const fn cause(cause: Doubt) -> &'static str {
    match cause {
        Doubt::Timeout => "no complete answer within the request timeout",
        Doubt::ConnectionLost => "the connection ended after the request had begun to leave",
        Doubt::ServerError => "the provider answered with an error that says nothing about it",
        Doubt::Unintelligible => "the provider's answer lacks the proof that it was accepted",
        Doubt::InProgress => "the provider says that an earlier request is still being worked on",
        Doubt::KeyMismatch => "the provider knows this send key with another body",
        Doubt::ReplayedFailure => "the provider repeats a stored failure for this send key",
        Doubt::WorkerLost => "the worker that held the claim did not come back",
    }
}

/// What proves that it was sent, by the name that the ledger keeps.
pub(super) fn proof(settled_by: &str) -> &'static str {
    match settled_by {
        "answer" => "the provider's answer to the request",
        "replay" => "the provider's answer to the same request, repeated under the same key",
        "look_up" => "a record under our reference in the provider's log",
        "inferred" => "the only record in the provider's log that fits recipient and time",
        "receipt" => "the provider's delivery receipt",
        "person" => "a person's word; see the history",
        _ => "not a kind of proof that this program knows",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_shows_neither_the_number_nor_the_mailbox() {
        let table = [
            ("+49171234567", "+4917*****67"),
            ("+15550001234", "+1555*****34"),
            ("+4915112345678", "+4915*******78"),
            ("+12345", "+1***5"),
            ("112", "***"),
            ("", ""),
            ("anna@example.org", "a***@example.org"),
            ("a@example.org", "***@example.org"),
            ("\"a@b\"@example.org", "\"***@example.org"),
            ("\u{1b}[2J@example.org", "\u{FFFD}***@example.org"),
        ];
        for (recipient, masked) in table {
            assert_eq!(mask(recipient), masked);
        }
    }

    #[test]
    fn a_key_is_shown_without_what_a_terminal_obeys_and_without_losing_a_blank() {
        assert_eq!(key("order/42:shipped"), "order/42:shipped");
        assert_eq!(key("clé-☃"), "clé-☃");
        assert_eq!(key(" a "), "\" a \"");
        assert_eq!(key("a\r\nX: \u{1b}[2J"), "\"a\\r\\nX: \\u{1b}[2J\"");
        assert_eq!(key("a\u{202e}b"), "\"a\\u{202e}b\"");
        assert_eq!(key(&"x".repeat(1024)), format!("{}…", "x".repeat(80)));
    }

    #[test]
    fn spans_are_read_at_a_glance() {
        let table = [
            (-5, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3599, "59 min"),
            (3661, "1 h 1 min"),
            (90_000, "1 d 1 h"),
        ];
        for (seconds, words) in table {
            assert_eq!(span(TimeDelta::seconds(seconds)), words);
        }
    }
}
