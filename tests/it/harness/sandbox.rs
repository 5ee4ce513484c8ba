//! The provider of a test: nuncio's own sandbox, served in this process.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use nuncio::sandbox::{Fault, FaultPlan, Settings, serve};
use reqwest::Method;
use serde::Deserialize;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};
use uuid::Uuid;

use super::http::Http;

/// What arrived for one reference.
#[derive(Clone, Debug, Deserialize)]
pub struct Arrived {
    /// What was waited for came.
    pub reached: bool,
    /// Physical sends.
    pub accepted: u64,
    /// Every request: number, at, key, body_sha256, fault, answer.
    pub requests: Vec<Value>,
}

/// A sandbox that ends with its test.
pub struct Sandbox {
    /// Where it listens.
    pub address: SocketAddr,
    http: Http,
    _stop: DropGuard,
}

impl Sandbox {
    /// Serves one on a free port.
    pub async fn serve(settings: Settings) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener
            .local_addr()
            .expect("a bound socket has an address");
        let stop = CancellationToken::new();
        tokio::spawn(serve(listener, settings, stop.clone()));
        Self {
            address,
            http: Http::new(),
            _stop: stop.drop_guard(),
        }
    }

    /// Replaces the plan of faults; scripts begin anew.
    pub async fn plan(&self, plan: FaultPlan) {
        let plan = serde_json::to_string(&plan).expect("a plan has a JSON form");
        let answer = self.http.ask(Method::PUT, &self.at("faults"), plan).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    }

    /// Replaces the plan by scripts: faults for a reference, a recipient or `*`, one a request.
    pub async fn script<N: ToString>(&self, scripts: impl IntoIterator<Item = (N, Vec<Fault>)>) {
        let script: BTreeMap<String, Vec<Fault>> = scripts
            .into_iter()
            .map(|(name, faults)| (name.to_string(), faults))
            .collect();
        self.plan(FaultPlan {
            script,
            ..FaultPlan::default()
        })
        .await;
    }

    /// Waits until a message has been physically sent so often.
    pub async fn sent(&self, reference: Uuid, times: u64) -> Arrived {
        self.wait_for(reference, times, "&accepted=true").await
    }

    /// Waits until so many requests for a message have arrived.
    pub async fn asked(&self, reference: Uuid, times: u64) -> Arrived {
        self.wait_for(reference, times, "").await
    }

    /// Waits until so many requests for a message are no longer open.
    pub async fn answered(&self, reference: Uuid, times: u64) -> Arrived {
        self.wait_for(reference, times, "&answered=true").await
    }

    async fn wait_for(&self, reference: Uuid, times: u64, what: &str) -> Arrived {
        let arrived = self
            .arrived(&format!("{reference}&wait_for={times}&timeout=60s{what}"))
            .await;
        assert!(
            arrived.reached,
            "the sandbox waited in vain for {reference}, {times} times {what}: {arrived:?}"
        );
        arrived
    }

    /// What has arrived for a message until now.
    pub async fn so_far(&self, reference: Uuid) -> Arrived {
        self.arrived(&reference.to_string()).await
    }

    async fn arrived(&self, query: &str) -> Arrived {
        let url = self.at(&format!("requests?reference={query}"));
        serde_json::from_value(self.http.get(&url).await.json()).expect("as documented")
    }

    /// Physical sends of every reference that was seen.
    pub async fn counts(&self) -> BTreeMap<String, u64> {
        let counts = self.http.get(&self.at("counts")).await.json();
        serde_json::from_value(counts["references"].clone()).expect("as documented")
    }

    /// The totals: requests, sent, replays, holding and so on.
    pub async fn summary(&self) -> Value {
        self.http.get(&self.at("counts?summary=true")).await.json()
    }

    /// Lets go whatever hangs.
    pub async fn release(&self) {
        self.http
            .ask(Method::POST, &self.at("release"), String::new())
            .await;
    }

    fn at(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }
}
