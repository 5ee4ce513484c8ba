//! Which records of a provider's log are ours.

use chrono::{DateTime, Utc};
use serde_json::Value;
use serde_json_path::JsonPath;

use super::conditions::json_path;
use super::pick::first;
use super::variables;
use crate::config::{Section, values};
use crate::domain::mailbox;
use crate::domain::notification::Kind;
use crate::provider::Question;

/// Milliseconds since 1970 passed this in 1973; seconds will in the year 5138.
const SECONDS_END: f64 = 1e11;

/// How to tell whether a record is ours.
pub(super) enum Match {
    /// It has our reference.
    Reference {
        reference: JsonPath,
        id: Option<JsonPath>,
    },
    /// It has our recipient and time, and our text where the log shows it.
    Recipient {
        to: JsonPath,
        at: JsonPath,
        text: Option<JsonPath>,
        id: JsonPath,
    },
}

/// What a record is to a question.
pub(super) enum Record {
    /// Ours, with the provider's id.
    Ours(String),
    /// Somebody else's.
    Foreign,
}

impl Match {
    /// Reads the keys that a look-up by reference has.
    pub(super) fn read_reference(section: &mut Section<'_, '_>) -> Option<Self> {
        let reference = section.required("reference", path);
        let id = section.optional("id", path);
        Some(Self::Reference {
            reference: reference?,
            id,
        })
    }

    /// Reads the keys that a look-up by recipient has.
    pub(super) fn read_recipient(section: &mut Section<'_, '_>) -> Option<Self> {
        let to = section.required("to", path);
        let at = section.required("at", path);
        let text = section.optional("text", path);
        let id = section.required("id", path);
        Some(Self::Recipient {
            to: to?,
            at: at?,
            text,
            id: id?,
        })
    }

    /// Whose a record is, or why that cannot be said.
    pub(super) fn record(
        &self,
        question: &Question<'_>,
        record: &Value,
    ) -> Result<Record, &'static str> {
        match self {
            Self::Reference { reference, id } => {
                let key = question.message.send_key.to_string();
                if !first(reference, record).is_some_and(|found| found.eq_ignore_ascii_case(&key)) {
                    return Ok(Record::Foreign);
                }
                Ok(Record::Ours(
                    id.as_ref().and_then(|id| first(id, record)).unwrap_or(key),
                ))
            }
            Self::Recipient { to, at, text, id } => {
                let to = first(to, record).ok_or("a record without a recipient")?;
                if canonical(question.message.kind, &to)
                    != canonical(question.message.kind, question.message.to)
                {
                    return Ok(Record::Foreign);
                }
                let node = at.query(record).first();
                let at = node
                    .and_then(time)
                    .ok_or("a record to this recipient whose time cannot be read")?;
                let (after, before) = variables::span(question);
                let other_text = text.as_ref().is_some_and(|text| {
                    first(text, record).as_deref()
                        != question.message.content.text.as_deref().map(str::trim)
                });
                if at < after || at > before || other_text {
                    return Ok(Record::Foreign);
                }
                first(id, record)
                    .map(Record::Ours)
                    .ok_or("a record that fits, without an id")
            }
        }
    }
}

fn path(value: toml_span::value::ValueInner<'_>) -> Result<JsonPath, String> {
    json_path(&values::string(value)?)
}

/// Logs show a number with or without its plus, with or without grouping.
fn canonical(kind: Kind, recipient: &str) -> String {
    match kind {
        Kind::Sms => recipient.chars().filter(char::is_ascii_digit).collect(),
        // A log may show a domain in either of its forms.
        Kind::Email => mailbox::address(recipient.trim(), true)
            .unwrap_or_else(|_| recipient.trim().to_owned())
            .to_lowercase(),
    }
}

/// RFC 3339, the date of mail headers, or seconds or milliseconds since 1970. A time without its
/// zone is not a time.
fn time(value: &Value) -> Option<DateTime<Utc>> {
    let number = |number: f64| {
        let millis = if number.abs() < SECONDS_END {
            number * 1000.0
        } else {
            number
        };
        #[expect(
            clippy::cast_possible_truncation,
            reason = "saturates, and then is no valid time"
        )]
        DateTime::from_timestamp_millis(millis as i64)
    };
    match value {
        Value::Number(given) => given.as_f64().and_then(number),
        Value::String(text) => {
            let text = text.trim();
            let parsed =
                DateTime::parse_from_rfc3339(text).or_else(|_| DateTime::parse_from_rfc2822(text));
            match parsed {
                Ok(time) => Some(time.to_utc()),
                Err(_) => text
                    .parse()
                    .ok()
                    .filter(|number: &f64| number.is_finite())
                    .and_then(number),
            }
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}
