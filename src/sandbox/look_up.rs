//! `GET /log`: the provider's own record, late and not for ever.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{bad_request, failed, html, ok, refused, retry_after};
use super::clock::{micros, rfc3339};
use super::entry::Sent;
use super::log_fault::LogFault;
use super::message::hex;
use super::name::Name;
use super::state::Sandbox;

/// What is looked for: a reference, a recipient, or a reference at a recipient.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LookUp {
    reference: Option<String>,
    to: Option<String>,
}

pub(super) async fn log(
    State(sandbox): State<Arc<Sandbox>>,
    Query(asked): Query<LookUp>,
) -> Response {
    let Some(name) = asked.reference.as_ref().or(asked.to.as_ref()) else {
        return bad_request("name a reference or a recipient: ?reference=… or ?to=…");
    };
    let gate = sandbox.gate.arrive();
    match sandbox.plan().log_fault(name) {
        None => {}
        Some(LogFault::Unauthorized) => return refused(StatusCode::UNAUTHORIZED, "unauthorized"),
        Some(LogFault::Throttled) => {
            return retry_after(refused(StatusCode::TOO_MANY_REQUESTS, "throttled"), "1");
        }
        Some(LogFault::Broken) => return failed(),
        Some(LogFault::Nonsense) => return html(StatusCode::OK),
        Some(LogFault::Hang) => sandbox.gate.wait(gate).await,
    }
    let mut found = find(&sandbox, &asked);
    found.sort_by_key(|(at_us, _)| *at_us);
    let records: Vec<Value> = found.into_iter().map(|(_, record)| record).collect();
    ok(&json!({"records": records}))
}

fn find(sandbox: &Sandbox, asked: &LookUp) -> Vec<(u64, Value)> {
    let plan = sandbox.plan();
    let lag = micros(sandbox.log_lag(&plan.plan));
    let retention = micros(sandbox.log_retention(&plan.plan));
    let now = sandbox.clock.now_us();
    let shown = |sent: &Sent| {
        let age = now.saturating_sub(sent.at_us);
        age >= lag && age < retention && asked.to.as_ref().is_none_or(|to| **to == *sent.to)
    };
    let mut found = Vec::new();
    let mut take = |name: &Name, sends: &[Sent]| {
        let sends = sends.iter().filter(|sent| shown(sent));
        found.extend(sends.map(|sent| (sent.at_us, record(sandbox, name, sent))));
    };
    match &asked.reference {
        Some(reference) => {
            let name = Name::new(reference);
            sandbox.book.read(&name, |entry| take(&name, &entry.sends));
        }
        // No index by recipient: some milliseconds for 100,000 records, and no memory.
        None => sandbox.book.each(|name, entry| take(name, &entry.sends)),
    }
    found
}

fn record(sandbox: &Sandbox, name: &Name, sent: &Sent) -> Value {
    json!({
        "id": sandbox.message_id(sent.id),
        "reference": name.to_string(),
        "to": sent.to,
        "at": rfc3339(sent.at_us),
        "text_sha256": hex(&sent.text_hash),
        "status": "delivered",
    })
}
