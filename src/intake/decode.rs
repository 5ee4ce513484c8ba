//! Bytes to a notification, or the reason why they are quarantined.
//!
//! The schema, version 1, is described for producers in `docs/messages.md`.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::config::Channel;
use crate::domain::identity;
use crate::domain::notification::{Content, Kind, Notification};
use crate::domain::segments::segments;
use crate::domain::{mailbox, recipient};

/// The largest body that is read, in bytes.
pub const BODY_LIMIT: usize = 256 * 1024;

/// The longest key, and the longest name of a stream, in bytes: an index has to hold them.
pub const NAME_LIMIT: usize = 1024;

/// The newest message version that this program knows.
pub const VERSION: u64 = 1;

/// Why a message cannot become a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// A short name, for grouping.
    pub reason: &'static str,
    /// In words. Says what is wrong, never what is in it.
    pub detail: String,
}

fn reject<T>(reason: &'static str, detail: impl Into<String>) -> Result<T, Rejection> {
    Err(Rejection {
        reason,
        detail: detail.into(),
    })
}

/// What the broker says about a message beside its body.
#[derive(Clone, Debug, Default)]
pub struct Envelope {
    /// AMQP message id.
    pub message_id: Option<String>,
    /// AMQP content type.
    pub content_type: Option<String>,
    /// Source and id of a CloudEvent in binary mode.
    pub cloud_event: Option<(String, String)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    version: Option<u64>,
    key: Option<String>,
    channel: Option<String>,
    to: String,
    text: Option<String>,
    subject: Option<String>,
    html: Option<String>,
    from: Option<String>,
    reply_to: Option<String>,
    send_at: Option<DateTime<Utc>>,
    expires_at: Option<DateTime<Utc>>,
    stream: Option<String>,
    seq: Option<i64>,
    metadata: Option<BTreeMap<String, String>>,
}

/// A CloudEvent in structured mode: its `data` is the message, its source and id the key.
#[derive(Deserialize)]
struct CloudEvent<'a> {
    id: String,
    source: String,
    #[serde(borrow)]
    data: &'a RawValue,
}

/// Reads one message of a channel's queue.
///
/// # Errors
/// The reason to quarantine it.
pub fn decode(
    channel: &Channel,
    body: &[u8],
    envelope: &Envelope,
) -> Result<Notification, Rejection> {
    if body.len() > BODY_LIMIT {
        return reject(
            "too_large",
            format!("{} bytes; at most {BODY_LIMIT} are read", body.len()),
        );
    }
    let (wire, event_key) = if is_structured_event(envelope) {
        let event: CloudEvent<'_> = parse(body)?;
        let key = event_key(&event.source, &event.id);
        (wire(event.data.get().as_bytes())?, key)
    } else {
        let event = envelope.cloud_event.as_ref();
        let key = event.and_then(|(source, id)| event_key(source, id));
        (wire(body)?, key)
    };
    let message_id = envelope.message_id.clone().filter(|id| !id.is_empty());
    accept(channel, wire, message_id.or(event_key))
}

fn is_structured_event(envelope: &Envelope) -> bool {
    let given = envelope.content_type.as_deref().unwrap_or_default();
    let media_type = given.split(';').next().unwrap_or_default().trim();
    media_type.eq_ignore_ascii_case("application/cloudevents+json")
}

/// One CloudEvent is one (source, id). A space cannot stand in a source, which is a URI; with one
/// there, or with a part missing, two events could come to share a key.
fn event_key(source: &str, id: &str) -> Option<String> {
    let names_one = !source.is_empty() && !id.is_empty() && !source.contains(' ');
    names_one.then(|| format!("{source} {id}"))
}

fn wire(body: &[u8]) -> Result<Wire, Rejection> {
    #[derive(Deserialize)]
    struct Version {
        version: Option<u64>,
    }
    parse(body).or_else(|rejection| match parse(body) {
        // A newer message may have fields that we do not know: that is not the producer's mistake.
        Ok(Version { version: Some(v) }) if v > VERSION => newer(v),
        _ => Err(rejection),
    })
}

fn newer<T>(version: u64) -> Result<T, Rejection> {
    reject(
        "unknown_version",
        format!("version {version}; this program knows up to {VERSION}"),
    )
}

fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Rejection> {
    let parsed = serde_json::from_slice(body);
    // serde would take an array too, with our fields in their order.
    let is_object = body.trim_ascii_start().first() == Some(&b'{');
    match parsed {
        Err(error) if !error.is_data() => {
            let (line, column) = (error.line(), error.column());
            reject(
                "not_json",
                format!("not valid JSON at line {line} column {column}"),
            )
        }
        _ if !is_object => reject("wrong_shape", "not a JSON object"),
        Err(error) => reject("wrong_shape", misshapen(&error)),
        Ok(parsed) => Ok(parsed),
    }
}

/// serde's words where they name one of our own fields. Elsewhere they repeat what they found,
/// which may be content, or may hold a NUL.
fn misshapen(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let place = format!("line {} column {}", error.line(), error.column());
    if said.starts_with("missing field") || said.starts_with("duplicate field") {
        said
    } else if said.starts_with("unknown field") {
        format!("a field that version {VERSION} does not have, at {place}")
    } else {
        format!("a value of the wrong type or form at {place}")
    }
}

fn accept(
    channel: &Channel,
    wire: Wire,
    fallback_key: Option<String>,
) -> Result<Notification, Rejection> {
    match wire.version {
        None | Some(VERSION) => {}
        Some(v) if v > VERSION => return newer(v),
        Some(v) => return reject("unknown_version", format!("version {v} never existed")),
    }
    if let Some(named) = &wire.channel
        && **named != *channel.name
    {
        return reject(
            "unknown_channel",
            format!(
                "names another channel than {}, which reads this queue",
                channel.name
            ),
        );
    }
    let key = wire.key.clone().or(fallback_key).unwrap_or_default();
    if key.is_empty() {
        return reject(
            "missing_key",
            "no key, no message id and no CloudEvent id: a redelivery could not be told from a new one",
        );
    }
    if key.len() > NAME_LIMIT {
        return reject(
            "bad_key",
            format!("the key has {} bytes; at most {NAME_LIMIT}", key.len()),
        );
    }
    if has_nul(&wire) || key.contains('\0') {
        return reject(
            "nul_character",
            "a text contains U+0000, which the ledger cannot store",
        );
    }
    let smtputf8 = channel.provider.smtputf8;
    let to = match channel.kind {
        Kind::Sms => recipient::phone(&wire.to, channel.default_region),
        Kind::Email => mailbox::address(&wire.to, smtputf8),
    };
    let to = match to {
        Ok(to) => to,
        Err(wrong) => return reject("bad_recipient", format!("\"to\" {wrong}")),
    };
    check_stream(&wire)?;
    check_content(channel.kind, &wire)?;
    check_segments(channel, &wire)?;
    let (from, reply_to) = match channel.kind {
        Kind::Sms => (wire.from, wire.reply_to),
        Kind::Email => (
            one_mailbox("from", wire.from, smtputf8)?,
            one_mailbox("reply_to", wire.reply_to, smtputf8)?,
        ),
    };
    Ok(Notification {
        id: identity::notification_id(&channel.name, &key),
        channel: channel.name.clone(),
        key,
        to,
        content: Content {
            text: wire.text,
            subject: wire.subject,
            html: wire.html,
            from,
            reply_to,
            metadata: wire.metadata.unwrap_or_default(),
        },
        send_at: wire.send_at,
        expires_at: wire.expires_at,
        stream: wire.stream,
        seq: wire.seq,
    })
}

fn has_nul(wire: &Wire) -> bool {
    let texts = [
        &wire.text,
        &wire.subject,
        &wire.html,
        &wire.from,
        &wire.reply_to,
        &wire.stream,
    ];
    let metadata = wire.metadata.iter().flatten().flat_map(|(k, v)| [k, v]);
    texts
        .into_iter()
        .flatten()
        .chain(metadata)
        .chain([&wire.to])
        .any(|text| text.contains('\0'))
}

fn check_stream(wire: &Wire) -> Result<(), Rejection> {
    match (&wire.stream, wire.seq) {
        (None, None) => Ok(()),
        (Some(stream), Some(_)) if (1..=NAME_LIMIT).contains(&stream.len()) => Ok(()),
        (Some(stream), Some(_)) => reject(
            "bad_stream",
            format!("stream has {} bytes; 1 to {NAME_LIMIT}", stream.len()),
        ),
        (None, Some(_)) | (Some(_), None) => reject("bad_stream", "stream and seq go together"),
    }
}

fn check_content(kind: Kind, wire: &Wire) -> Result<(), Rejection> {
    let given = |text: &Option<String>| text.as_ref().is_some_and(|t| !t.is_empty());
    match kind {
        Kind::Sms if !given(&wire.text) => {
            return reject("bad_content", "an SMS needs a text");
        }
        Kind::Sms if wire.subject.is_some() || wire.html.is_some() || wire.reply_to.is_some() => {
            return reject("bad_content", "an SMS has no subject, html or reply_to");
        }
        Kind::Email if !given(&wire.subject) => {
            return reject("bad_content", "a mail needs a subject");
        }
        Kind::Email if !given(&wire.text) && !given(&wire.html) => {
            return reject("bad_content", "a mail needs a text or an html");
        }
        Kind::Sms | Kind::Email => {}
    }
    // These become header lines: a line break in one would be a header of its own.
    let lines = [&wire.subject, &wire.from, &wire.reply_to];
    if (lines.into_iter().flatten()).any(|line| mailbox::is_no_header(line)) {
        return reject(
            "bad_content",
            "subject, from or reply_to has a control character, a line break or an encoded word (=?...?=)",
        );
    }
    Ok(())
}

/// Too long a text is refused whole: what is cut says something else.
fn check_segments(channel: &Channel, wire: &Wire) -> Result<(), Rejection> {
    let text = wire.text.as_deref().unwrap_or_default();
    let most = channel.max_segments;
    // A byte is at most a unit, and each SMS has room for 66 of the smallest: nothing to count.
    if text.len() <= 66 * most as usize {
        return Ok(());
    }
    match channel.kind {
        Kind::Sms if segments(text) > most => reject(
            "too_many_segments",
            format!("the text needs {} SMS; at most {most}", segments(text)),
        ),
        Kind::Sms | Kind::Email => Ok(()),
    }
}

fn one_mailbox(
    name: &str,
    given: Option<String>,
    smtputf8: bool,
) -> Result<Option<String>, Rejection> {
    match given.map(|text| mailbox::mailbox(&text, smtputf8)) {
        None => Ok(None),
        Some(Ok(canonical)) => Ok(Some(canonical)),
        Some(Err(wrong)) => reject("bad_content", format!("\"{name}\" {wrong}")),
    }
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
