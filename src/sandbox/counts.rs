//! `GET /counts`: what was physically sent.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer::ok;
use super::name::Name;
use super::state::Sandbox;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    reference: Option<String>,
    #[serde(default)]
    summary: bool,
}

pub(super) async fn counts(
    State(sandbox): State<Arc<Sandbox>>,
    Query(asked): Query<Asked>,
) -> Response {
    if asked.summary {
        return ok(&summary(&sandbox));
    }
    match asked.reference {
        Some(reference) => {
            let sent = sandbox
                .book
                .read(&Name::new(&reference), |entry| entry.sends.len());
            ok(&json!({"total": sent, "references": {reference: sent}}))
        }
        None => ok(&all(&sandbox)),
    }
}

/// Every reference that was seen, those with no send too.
fn all(sandbox: &Sandbox) -> Value {
    let mut references = Map::new();
    sandbox.book.each(|name, entry| {
        references.insert(name.to_string(), json!(entry.sends.len()));
    });
    json!({"total": sandbox.tally.sent.get(), "references": references})
}

fn summary(sandbox: &Sandbox) -> Value {
    let tally = &sandbox.tally;
    // Without records nobody knows them.
    let known = |count: u64| (!sandbox.settings.forget).then_some(count);
    json!({
        "requests": tally.requests.get(),
        "malformed": tally.malformed.get(),
        "sent": tally.sent.get(),
        "references": known(tally.references.get()),
        "sent_more_than_once": known(tally.repeated.get()),
        "replays": tally.replays.get(),
        "mismatches": tally.mismatches.get(),
        "in_progress": tally.in_progress.get(),
        "holding": sandbox.gate.holding(),
        "redirects_followed": tally.redirected.get(),
        "faults": tally.faults(),
        "publish_to_arrival": sandbox.delays.summary(),
    })
}
