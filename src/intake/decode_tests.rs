//! Every kind of bad message, and the good ones that look bad.

#[path = "decode_tests/fields.rs"]
mod fields;
#[path = "decode_tests/keys.rs"]
mod keys;
#[path = "decode_tests/shape.rs"]
mod shape;

use serde_json::{Value, json};

use super::*;

/// What must not be found in any reason.
const TO: &str = "+15550001234";
const MAIL: &str = "mark@example.org";
const TEXT: &str = "TEXTMARK";
const KEY: &str = "KEYMARK";

fn channels() -> Vec<std::sync::Arc<Channel>> {
    let text = r#"
        [channels.sms]
        kind = "sms"
        policy = "at-most-once"
        provider = "p"
        [channels.email]
        kind = "email"
        policy = "at-most-once"
        provider = "p"
        from = "desk@example.org"
        [providers.p]
        kind = "http"
        send.url = "http://127.0.0.1:1/"
        send.json = { to = "{{ to }}" }
        send.answers = [{ json = { "$.ok" = true }, means = "accepted" }]
    "#;
    let env = |name: &str| match name {
        "NUNCIO_AMQP_URL" => Some("amqp://mq".to_owned()),
        _ => Some("postgres://db".to_owned()),
    };
    crate::config::parse("test", text, &env)
        .unwrap_or_else(|errors| panic!("{errors}"))
        .channels
}

fn channel(name: &str) -> std::sync::Arc<Channel> {
    let found = channels().into_iter().find(|c| &*c.name == name);
    found.expect("a channel of the file above")
}

fn read(name: &str, body: &[u8]) -> Result<Notification, Rejection> {
    decode(&channel(name), body, &Envelope::default())
}

/// A right SMS with some fields changed; `null` takes one out.
fn sms(changes: Value) -> Vec<u8> {
    changed(json!({"key": KEY, "to": TO, "text": TEXT}), changes)
}

fn mail(changes: Value) -> Vec<u8> {
    let right = json!({"key": KEY, "to": MAIL, "subject": TEXT, "text": TEXT});
    changed(right, changes)
}

fn changed(mut message: Value, changes: Value) -> Vec<u8> {
    for (name, value) in changes.as_object().expect("an object") {
        message[name] = value.clone();
    }
    message.to_string().into_bytes()
}

/// The reason, after making sure that it gives nothing away and can be stored and printed.
fn reason(name: &str, body: &[u8]) -> &'static str {
    reason_in(name, body, &Envelope::default())
}

fn reason_in(name: &str, body: &[u8], envelope: &Envelope) -> &'static str {
    match decode(&channel(name), body, envelope) {
        Ok(_) => "",
        Err(Rejection { reason, detail }) => {
            for mark in [TO, &TO[1..], MAIL, TEXT, KEY] {
                assert!(!detail.contains(mark), "{reason}: {detail}");
            }
            assert!(!detail.chars().any(char::is_control), "{detail:?}");
            assert!(!detail.is_empty() && detail.len() < 200, "{detail:?}");
            reason
        }
    }
}

#[test]
fn the_examples_in_the_manual_are_right() {
    let manual = include_str!("../../docs/messages.md");
    let mut examples = manual.split("```json\n").skip(1);
    for name in ["sms", "email"] {
        let (example, _) = examples
            .next()
            .and_then(|rest| rest.split_once("```"))
            .expect("an example for each kind of channel");
        assert_eq!(reason(name, example.as_bytes()), "", "{name}");
    }
    assert!(examples.next().is_none(), "another example, not tried here");
}
