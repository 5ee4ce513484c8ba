//! `GET /requests`: what arrived for one reference, and waiting for it.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::response::Response;
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Value, json};

use super::answer::ok;
use super::clock::rfc3339;
use super::entry::{Entry, Outcome, Seen};
use super::message::hex;
use super::name::Name;
use super::state::Sandbox;

/// Longer than a request takes to arrive, shorter than a test runner's patience.
const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    reference: String,
    /// Answer when this many requests were recorded, or at the timeout.
    #[serde(default)]
    wait_for: usize,
    /// Count physical sends instead of requests.
    #[serde(default)]
    accepted: bool,
    /// Count requests that were answered, cut or abandoned.
    #[serde(default)]
    answered: bool,
    #[serde(default = "timeout", deserialize_with = "duration")]
    timeout: Duration,
    /// Show the bytes, if they are kept.
    #[serde(default)]
    bodies: bool,
}

pub(super) async fn requests(
    State(sandbox): State<Arc<Sandbox>>,
    Query(asked): Query<Asked>,
) -> Response {
    let name = Name::new(&asked.reference);
    let wanted = |entry: &Entry| asked.count(entry) >= asked.wait_for;
    let reached = sandbox.book.wait(&name, asked.timeout, wanted).await;
    ok(&sandbox.book.read(&name, |entry| asked.show(entry, reached)))
}

impl Asked {
    fn count(&self, entry: &Entry) -> usize {
        if self.accepted {
            entry.sends.len()
        } else if self.answered {
            entry
                .requests
                .iter()
                .filter(|seen| seen.outcome != Outcome::Open)
                .count()
        } else {
            entry.requests.len()
        }
    }

    fn show(&self, entry: &Entry, reached: bool) -> Value {
        let requests = entry.requests.iter().enumerate();
        let requests: Vec<Value> = requests
            .map(|(at, seen)| self.show_one(at + 1, seen))
            .collect();
        json!({
            "reference": self.reference,
            "reached": reached,
            "accepted": entry.sends.len(),
            "requests": requests,
        })
    }

    fn show_one(&self, number: usize, seen: &Seen) -> Value {
        let mut shown = json!({
            "number": number,
            "at": rfc3339(seen.at_us),
            "key": seen.key.as_ref().map(Name::to_string),
            "body_sha256": hex(&seen.body_hash),
            "fault": seen.fault,
            "answer": match seen.outcome {
                Outcome::Open => Value::Null,
                Outcome::Status(status) => json!(status),
                Outcome::Cut => json!("cut"),
                Outcome::Gone => json!("client_gone"),
            },
        });
        if let (true, Some(body)) = (self.bodies, &seen.body) {
            shown["body"] = json!(String::from_utf8_lossy(body));
        }
        shown
    }
}

fn timeout() -> Duration {
    TIMEOUT
}

fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(from)?;
    humantime::parse_duration(&text).map_err(D::Error::custom)
}
