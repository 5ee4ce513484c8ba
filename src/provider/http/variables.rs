//! What a message offers to templates.

use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use minijinja::Value;

use crate::domain::notification::Kind;
use crate::provider::{Message, Question};

/// How far a provider's clock may be from ours in a record's time.
pub(super) const CLOCKS_APART: Duration = Duration::from_secs(60);

/// The variables of a message. What the message does not have is not there at all, so that a
/// template cannot send an empty subject unnoticed.
pub(super) fn of_message(message: &Message<'_>) -> Value {
    Value::from_pairs(pairs(message))
}

/// The variables of a look-up: the message's, and the time in which a record can lie.
pub(super) fn of_question(question: &Question<'_>) -> Value {
    let (after, before) = span(question);
    let times = [
        ("after", Value::from(rfc3339(after))),
        ("before", Value::from(rfc3339(before))),
        ("after_unix", Value::from(after.timestamp())),
        ("before_unix", Value::from(before.timestamp())),
    ];
    Value::from_pairs(pairs(&question.message).chain(times))
}

/// The time in which a record of the message can lie, by the provider's clock.
pub(super) fn span(question: &Question<'_>) -> (DateTime<Utc>, DateTime<Utc>) {
    let after = question.from.checked_sub_signed(apart());
    let before = question.until.checked_add_signed(apart());
    (
        after.unwrap_or(question.from),
        before.unwrap_or(question.until),
    )
}

fn apart() -> chrono::TimeDelta {
    chrono::TimeDelta::from_std(CLOCKS_APART).unwrap_or_default()
}

fn pairs(message: &Message<'_>) -> impl Iterator<Item = (&'static str, Value)> {
    let content = message.content;
    let optional = |name, value: Option<&str>| value.map(|value| (name, Value::from(value)));
    let to_digits = match message.kind {
        Kind::Sms => Some(("to_digits", Value::from(message.to.trim_start_matches('+')))),
        Kind::Email => None,
    };
    let metadata = content
        .metadata
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    [
        Some(("send_key", Value::from(message.send_key.to_string()))),
        Some(("to", Value::from(message.to))),
        to_digits,
        optional("text", content.text.as_deref()),
        optional("subject", content.subject.as_deref()),
        optional("html", content.html.as_deref()),
        optional("from", content.from.as_deref().or(message.default_from)),
        optional("reply_to", content.reply_to.as_deref()),
        Some(("metadata", Value::from_pairs(metadata))),
        message
            .expires_at
            .map(|time| ("expires_at", Value::from(rfc3339(time)))),
    ]
    .into_iter()
    .flatten()
}

fn rfc3339(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}
