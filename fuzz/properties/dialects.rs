//! What proves acceptance in each gateway of `gateways.toml`: its rules, said again by hand.

use nuncio::provider::Answer;
use serde_json::Value;

/// What an answer can prove.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Proof {
    /// That this request was accepted.
    pub(super) accepted: bool,
    /// That an earlier one under its key was.
    pub(super) already: bool,
}

/// What this answer proves, at most.
pub(super) fn proof(channel: &str, answer: &Answer) -> Proof {
    let success = (200..300).contains(&answer.status);
    let json: Option<Value> = serde_json::from_slice(&answer.body).ok();
    let json = json.unwrap_or_default();
    match channel {
        "sms-json" => Proof {
            accepted: success && json["status"] == "accepted" && has_an_id(&json),
            already: success && header(answer, "idempotent-replayed", "true") && is_id(&json["id"]),
        },
        "sms-parts" => {
            let none = Vec::new();
            let parts = json["messages"].as_array().unwrap_or(&none);
            let fields = json["messages"]
                .as_object()
                .into_iter()
                .flat_map(|m| m.values());
            let mut statuses = parts
                .iter()
                .chain(fields)
                .filter_map(|part| part.get("status"));
            Proof {
                accepted: success
                    && statuses.all(|status| status == "0")
                    && parts.iter().any(|part| part.get("status").is_some())
                    && parts.first().is_some_and(|part| is_id(&part["message-id"])),
                already: false,
            }
        }
        "sms-text" => {
            let text = String::from_utf8_lossy(&answer.body).trim().to_owned();
            let id = text.strip_prefix("OK: ").unwrap_or_default();
            Proof {
                accepted: answer.status == 202 && text.starts_with("0: Accepted")
                    || answer.status == 200 && !id.is_empty() && id.chars().all(char::is_numeric),
                already: false,
            }
        }
        "email" => Proof {
            accepted: answer.status == 201 && is_id(&json["messageId"])
                || answer.status == 202 && answer.headers.contains_key("x-message-id"),
            already: answer.status == 400 && json["code"] == "duplicate_parameter",
        },
        other => panic!("no proof is described for {other}"),
    }
}

fn header(answer: &Answer, name: &str, value: &str) -> bool {
    let found = answer.headers.get(name).and_then(|v| v.to_str().ok());
    found.is_some_and(|found| found.eq_ignore_ascii_case(value))
}

fn is_id(value: &Value) -> bool {
    value.is_number() || value.as_str().is_some_and(|text| !text.trim().is_empty())
}

/// An id anywhere in the answer.
fn has_an_id(json: &Value) -> bool {
    match json {
        Value::Object(fields) => {
            fields.get("id").is_some_and(is_id) || fields.values().any(has_an_id)
        }
        Value::Array(items) => items.iter().any(has_an_id),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
