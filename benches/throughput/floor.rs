//! The floor: consume, POST, ack, through the same HTTP client as nuncio. No ledger, so no promise.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Context as _;
use futures_util::StreamExt;
use lapin::Channel;
use lapin::message::Delivery;
use lapin::options::BasicAckOptions;
use nuncio::provider::Request;
use nuncio::provider::client::Client;
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use tokio::sync::mpsc;
use url::Url;

use crate::args::Line;
use crate::broker;
use crate::message::Message;

/// Deliveries under way; the same as nuncio's default.
pub(crate) const PREFETCH: u16 = 1000;

/// As in nuncio's configuration for the benchmark.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) async fn run(line: Line) -> anyhow::Result<()> {
    let (channel, mut deliveries) = broker::consume(&line.amqp, &line.queue, PREFETCH).await?;
    let provider = Provider::new(&line.provider)?;
    let (work, jobs) = async_channel::bounded::<Delivery>(line.in_flight);
    let (done, finished) = mpsc::unbounded_channel();
    for _ in 0..line.in_flight {
        let (jobs, done, provider) = (jobs.clone(), done.clone(), provider.clone());
        tokio::spawn(async move {
            while let Ok(delivery) = jobs.recv().await {
                match provider.send(&delivery.data).await {
                    Ok(_) => drop(done.send(delivery.delivery_tag)),
                    Err(error) => eprintln!("floor: {error:#}"),
                }
            }
        });
    }
    tokio::spawn(ack(channel, finished));
    while let Some(delivery) = deliveries.next().await {
        work.send(delivery?).await?;
    }
    Ok(())
}

/// Where messages go, and nuncio's client, so that what is compared is what happens around a request.
#[derive(Clone)]
pub(crate) struct Provider {
    client: Client,
    url: Url,
}

impl Provider {
    pub(crate) fn new(url: &str) -> anyhow::Result<Self> {
        Ok(Self {
            client: Client::new()?,
            url: url.parse()?,
        })
    }

    /// Sends one message; the provider's id for it.
    pub(crate) async fn send(&self, body: &[u8]) -> anyhow::Result<String> {
        #[derive(serde::Deserialize)]
        struct Accepted {
            id: String,
        }
        let message: Message<'_> = serde_json::from_slice(body)?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let request = Request {
            method: Method::POST,
            url: self.url.clone(),
            headers,
            credentials: None,
            body: message.request()?.into(),
        };
        let answer = self.client.exchange(request, REQUEST_TIMEOUT).await?;
        anyhow::ensure!((200..300).contains(&answer.status), "{}", answer.status);
        let accepted: Accepted =
            serde_json::from_slice(&answer.body).context("the provider's answer")?;
        Ok(accepted.id)
    }
}

/// Acks everything below the oldest unfinished delivery, with one frame for all that has finished
/// since the last.
async fn ack(channel: Channel, mut finished: mpsc::UnboundedReceiver<u64>) -> lapin::Result<()> {
    let (mut acked, mut ahead, mut some) = (0, BTreeSet::new(), Vec::new());
    while finished.recv_many(&mut some, 1000).await > 0 {
        ahead.extend(some.drain(..));
        let before = acked;
        while ahead.remove(&(acked + 1)) {
            acked += 1;
        }
        if acked > before {
            channel
                .basic_ack(acked, BasicAckOptions { multiple: true })
                .await?;
        }
    }
    Ok(())
}
