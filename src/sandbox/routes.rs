//! The HTTP interface in one list.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{any, get, post};
use bytes::Bytes;
use serde_json::json;

use super::answer::{bad_request, ok};
use super::plan::FaultPlan;
use super::state::Sandbox;
use super::{counts, look_up, requests, send};

pub(super) fn router(sandbox: Arc<Sandbox>) -> Router {
    Router::new()
        .route("/send", post(send::send))
        .route("/log", get(look_up::log))
        .route("/counts", get(counts::counts))
        .route("/requests", get(requests::requests))
        .route("/faults", get(faults).put(put_faults))
        .route("/release", post(release))
        .route("/reset", post(reset))
        .route("/redirected", any(redirected))
        .with_state(sandbox)
}

async fn faults(State(sandbox): State<Arc<Sandbox>>) -> Response {
    ok(&json!(sandbox.plan().plan))
}

async fn put_faults(State(sandbox): State<Arc<Sandbox>>, body: Bytes) -> Response {
    let plan = match serde_json::from_slice::<FaultPlan>(&body) {
        Ok(plan) => plan,
        Err(error) => return bad_request(&error.to_string()),
    };
    match sandbox.put_plan(plan) {
        Ok(()) => faults(State(sandbox)).await,
        Err(error) => bad_request(&error.to_string()),
    }
}

async fn release(State(sandbox): State<Arc<Sandbox>>) -> Response {
    ok(&json!({"released": sandbox.gate.open()}))
}

async fn reset(State(sandbox): State<Arc<Sandbox>>) -> Response {
    sandbox.reset();
    ok(&json!({"status": "reset"}))
}

/// Where `redirect` points. Following it turns a POST into a GET that "succeeds".
async fn redirected(State(sandbox): State<Arc<Sandbox>>) -> Response {
    sandbox.tally.redirected.add();
    ok(&json!({"status": "accepted", "id": "redirected"}))
}
