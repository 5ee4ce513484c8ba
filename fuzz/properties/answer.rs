//! Any answer of a provider: an outcome, never acceptance without what its rule demands, and of
//! its words only what is clean and short.
//!
//! An input is a line `channel|status`, header lines, an empty line, and the body.

use std::time::Duration;

use super::{channel, dialects, line, log, text};
use chrono::{DateTime, TimeDelta, Utc};
use nuncio::config::Channel;
use nuncio::domain::identity::notification_id;
use nuncio::domain::notification::{Content, Kind, Notification};
use nuncio::domain::outcome::{LookUpAnswer, Outcome};
use nuncio::provider::client::BODY_LIMIT;
use nuncio::provider::{Answer, Message, Question};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

/// Whom every message of these is for.
const TO: &str = "+4915112345678";
const MAIL: &str = "ann@example.org";
const KEY: &str = "order/42";
const TEXT: &str = "Your code is 1234";

/// The longest id, and the longest text: "HTTP", a status, 300 characters, and why.
const LONGEST_ID: usize = 200;
const LONGEST_TEXT: usize = 400;

/// Nobody is asked to wait for more than a year.
const LONGEST_WAIT: Duration = Duration::from_secs(366 * 86_400);

/// Ends with a panic where the input is not read as it must be; else says what came out of it, as
/// an answer to a request and as an answer of the log.
pub fn hold(input: &[u8]) -> [&'static str; 2] {
    let (channel, answer) = answer(input);
    [request(channel, &answer), look_up(channel, &answer)]
}

fn request(channel: &Channel, answer: &Answer) -> &'static str {
    let adapter = &channel.provider.adapter;
    let outcome = adapter.outcome(answer);
    assert_eq!(outcome, adapter.outcome(answer), "one answer, two outcomes");
    let kind = match &outcome {
        Outcome::Accepted { already: false, .. } => "accepted",
        Outcome::Accepted { already: true, .. } => "already",
        Outcome::Refused { .. } => "refused",
        Outcome::NotSent { cause, .. } => cause.as_str(),
        Outcome::Unknown { cause, .. } => cause.as_str(),
    };
    has_proof(channel, answer, &outcome);
    outcome_is_clean(channel, outcome);
    kind
}

fn look_up(channel: &Channel, answer: &Answer) -> &'static str {
    let adapter = &channel.provider.adapter;
    let notification = notification(channel);
    let from = DateTime::<Utc>::UNIX_EPOCH + TimeDelta::days(20_000);
    let question = Question {
        message: Message::new(channel, &notification, 1),
        from,
        until: from + TimeDelta::seconds(10),
    };
    let found = adapter.found(&question, answer);
    assert_eq!(
        found,
        adapter.found(&question, answer),
        "one log, two readings"
    );
    log::says_so(&channel.name, &question, answer, &found);
    match found {
        LookUpAnswer::Found(ids) => {
            assert!(ids.is_sorted_by(|a, b| a < b), "an id twice: {ids:?}");
            ids.iter().for_each(|id| id_is_clean(id));
            "log: found"
        }
        LookUpAnswer::Absent => "log: absent",
        LookUpAnswer::Failed { retry_after, text } => {
            text_is_clean(&text, recipient(channel));
            assert!(retry_after.is_none_or(|wait| wait <= LONGEST_WAIT));
            "log: failed"
        }
    }
}

fn recipient(channel: &Channel) -> &'static str {
    match channel.kind {
        Kind::Sms => TO,
        Kind::Email => MAIL,
    }
}

fn notification(channel: &Channel) -> Notification {
    Notification {
        id: notification_id(&channel.name, KEY),
        channel: channel.name.clone(),
        key: KEY.to_owned(),
        to: recipient(channel).to_owned(),
        content: Content {
            text: Some(TEXT.to_owned()),
            ..Content::default()
        },
        send_at: None,
        expires_at: None,
        stream: None,
        seq: None,
    }
}

fn answer(input: &[u8]) -> (&'static Channel, Answer) {
    let (head, mut rest) = line(input);
    let mut head = head.split(|&byte| byte == b'|');
    let channel = channel(head.next().unwrap_or_default());
    let status = head
        .next()
        .and_then(|s| str::from_utf8(s).ok()?.parse().ok());
    let mut headers = HeaderMap::new();
    loop {
        let (field, after) = line(rest);
        rest = after;
        let mut parts = field.splitn(2, |&byte| byte == b':');
        let name = parts.next().map(HeaderName::from_bytes);
        let value = parts
            .next()
            .map(<[u8]>::trim_ascii)
            .map(HeaderValue::from_bytes);
        if let (Some(Ok(name)), Some(Ok(value))) = (name, value) {
            headers.append(name, value);
        } else if field.is_empty() || rest.is_empty() {
            break;
        }
    }
    let body = rest[..rest.len().min(BODY_LIMIT)].to_vec().into();
    let status = status.unwrap_or(200);
    (
        channel,
        Answer {
            status,
            headers,
            body,
        },
    )
}

/// Acceptance, of this request or of an earlier one, only with its proof.
fn has_proof(channel: &Channel, answer: &Answer, outcome: &Outcome) {
    let Outcome::Accepted { already, .. } = outcome else {
        return;
    };
    let proof = dialects::proof(&channel.name, answer);
    let proved = if *already {
        proof.already
    } else {
        proof.accepted
    };
    assert!(proved, "{outcome:?} out of {proof:?}: {answer:?}");
}

fn outcome_is_clean(channel: &Channel, outcome: Outcome) {
    let to = recipient(channel);
    let said = |text: &str| {
        text_is_clean(text, to);
        assert!(!text.contains(TEXT), "the content is in {text:?}");
    };
    match outcome.without(&notification(channel)) {
        Outcome::Accepted { provider_id, .. } => {
            if let Some(id) = provider_id {
                id_is_clean(&id);
            }
        }
        Outcome::Refused { text, .. } => said(&text),
        Outcome::NotSent {
            text, retry_after, ..
        } => {
            said(&text);
            assert!(retry_after.is_none_or(|wait| wait <= LONGEST_WAIT));
        }
        Outcome::Unknown {
            text, look_after, ..
        } => {
            said(&text);
            assert!(look_after.is_none_or(|wait| wait <= LONGEST_WAIT));
        }
    }
}

fn id_is_clean(id: &str) {
    assert!(!id.trim().is_empty(), "an id without a character");
    text::is_clean(id, LONGEST_ID);
}

fn text_is_clean(said: &str, to: &str) {
    text::is_clean(said, LONGEST_TEXT);
    let digits = to.trim_start_matches('+');
    assert!(!said.contains(digits), "the recipient is in {said:?}");
}
