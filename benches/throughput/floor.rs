//! The floor: consume, POST, ack. No ledger, so no promise; nothing that sends a message over HTTP
//! does less.

use std::collections::BTreeSet;

use anyhow::Context as _;
use futures_util::StreamExt;
use lapin::Channel;
use lapin::message::Delivery;
use lapin::options::BasicAckOptions;
use tokio::sync::mpsc;

use crate::args::Line;
use crate::broker;
use crate::message::Message;

/// Deliveries under way; the same as nuncio's default.
pub(crate) const PREFETCH: u16 = 1000;

pub(crate) async fn run(line: Line) -> anyhow::Result<()> {
    let (channel, mut deliveries) = broker::consume(&line.amqp, &line.queue, PREFETCH).await?;
    let client = http_client()?;
    let (work, jobs) = async_channel::bounded::<Delivery>(line.in_flight);
    let (done, finished) = mpsc::unbounded_channel();
    for _ in 0..line.in_flight {
        let (jobs, done, client) = (jobs.clone(), done.clone(), client.clone());
        let provider = line.provider.clone();
        tokio::spawn(async move {
            while let Ok(delivery) = jobs.recv().await {
                match post(&client, &provider, &delivery.data).await {
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

/// A client with nothing added.
pub(crate) fn http_client() -> anyhow::Result<reqwest::Client> {
    Ok(reqwest::Client::builder().tcp_nodelay(true).build()?)
}

/// Sends one message; the provider's id for it.
pub(crate) async fn post(
    client: &reqwest::Client,
    provider: &str,
    body: &[u8],
) -> anyhow::Result<String> {
    #[derive(serde::Deserialize)]
    struct Accepted {
        id: String,
    }
    let message: Message<'_> = serde_json::from_slice(body)?;
    let response = client
        .post(provider)
        .header("content-type", "application/json")
        .body(message.request()?)
        .send()
        .await?;
    anyhow::ensure!(response.status().is_success(), "{}", response.status());
    let answer: Accepted =
        serde_json::from_slice(&response.bytes().await?).context("the provider's answer")?;
    Ok(answer.id)
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
