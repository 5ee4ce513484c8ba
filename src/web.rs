//! The one listener: liveness, readiness, metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;

/// What readiness is made of.
#[derive(Debug, Default)]
pub struct Health {
    /// The ledger took a look within the last seconds, and can be written.
    pub ledger: AtomicBool,
    /// Whether each channel's queue is being read.
    pub consumers: Vec<(Arc<str>, Arc<AtomicBool>)>,
}

impl Health {
    /// Ready: the ledger can be written, and every queue is being read.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ledger.load(Ordering::Relaxed)
            && self
                .consumers
                .iter()
                .all(|(_, on)| on.load(Ordering::Relaxed))
    }
}

#[derive(Clone)]
struct Shown {
    health: Arc<Health>,
    metrics: Arc<Metrics>,
}

/// Serves until told to stop. The caller owns the socket and the stop signal.
///
/// # Errors
/// When the socket fails.
pub async fn serve(
    listener: TcpListener,
    health: Arc<Health>,
    metrics: Arc<Metrics>,
    stop: CancellationToken,
) -> std::io::Result<()> {
    let router = Router::new()
        .route("/livez", get(|| async { "alive\n" }))
        .route("/readyz", get(readyz))
        .route("/metrics", get(scrape))
        .with_state(Shown { health, metrics });
    axum::serve(listener, router)
        .with_graceful_shutdown(stop.cancelled_owned())
        .await
}

async fn readyz(State(shown): State<Shown>) -> impl IntoResponse {
    let health = &shown.health;
    let consumers: serde_json::Map<String, serde_json::Value> = health
        .consumers
        .iter()
        .map(|(name, on)| (name.to_string(), on.load(Ordering::Relaxed).into()))
        .collect();
    let ready = health.is_ready();
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let ledger = health.ledger.load(Ordering::Relaxed);
    let body = json!({ "ready": ready, "ledger": ledger, "consumers": consumers });
    (status, Json(body))
}

async fn scrape(State(shown): State<Shown>) -> impl IntoResponse {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], shown.metrics.text())
}
