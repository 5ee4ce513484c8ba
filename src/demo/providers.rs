//! The providers: one sandbox for each channel, in this process, and what they count.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context as _;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::args::DemoArgs;
use super::lanes::{LANES, Lane};
use crate::sandbox;

/// The three, until dropped.
pub(super) struct Providers {
    addresses: HashMap<&'static str, SocketAddr>,
    client: reqwest::Client,
    _stop: DropGuard,
}

/// What a provider counted.
#[derive(Debug, Default)]
pub(super) struct Counted {
    /// Physical sends by reference; also references that were never sent.
    pub(super) sends: HashMap<String, u32>,
    /// Requests.
    pub(super) requests: u64,
}

/// Starts them on free ports.
pub(super) async fn open(args: &DemoArgs) -> anyhow::Result<Providers> {
    // A second call finds one installed, which is what it wants.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let stop = CancellationToken::new();
    let mut addresses = HashMap::new();
    for lane in &LANES {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .context("the demo's providers find no port")?;
        addresses.insert(lane.name, listener.local_addr()?);
        tokio::spawn(sandbox::serve(listener, lane.settings(args), stop.clone()));
    }
    Ok(Providers {
        addresses,
        client: reqwest::Client::builder().build()?,
        _stop: stop.drop_guard(),
    })
}

#[derive(Deserialize)]
struct Summary {
    requests: u64,
}

#[derive(Deserialize)]
struct Sends {
    references: HashMap<String, u32>,
}

impl Providers {
    /// Where a lane's provider listens.
    pub(super) fn address(&self, lane: &Lane) -> SocketAddr {
        self.addresses[lane.name]
    }

    /// Requests that all of them got until now.
    pub(super) async fn requests(&self) -> anyhow::Result<u64> {
        let mut sum = 0;
        for lane in &LANES {
            sum += self.requests_of(lane).await?;
        }
        Ok(sum)
    }

    /// Everything that a lane's provider counted.
    pub(super) async fn count(&self, lane: &Lane) -> anyhow::Result<Counted> {
        let sends: Sends = self.get(lane, "/counts").await?;
        Ok(Counted {
            requests: self.requests_of(lane).await?,
            sends: sends.references,
        })
    }

    async fn requests_of(&self, lane: &Lane) -> anyhow::Result<u64> {
        let summary: Summary = self.get(lane, "/counts?summary=true").await?;
        Ok(summary.requests)
    }

    async fn get<T: DeserializeOwned>(&self, lane: &Lane, path: &str) -> anyhow::Result<T> {
        let url = format!("http://{}{path}", self.address(lane));
        let answer = self.client.get(url).send().await?.bytes().await?;
        Ok(serde_json::from_slice(&answer)?)
    }
}
