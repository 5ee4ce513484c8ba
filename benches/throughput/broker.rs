//! The queue: declared by nuncio's own code, filled before a run.

use std::sync::Arc;

use anyhow::Context as _;
use lapin::options::{
    BasicConsumeOptions, BasicPublishOptions, BasicQosOptions, ConfirmSelectOptions,
    ExchangeDeleteOptions, QueueDeleteOptions,
};
use lapin::types::FieldTable;
use lapin::{
    BasicProperties, Channel, Connection, ConnectionProperties, Consumer, PublisherConfirm,
};
use nuncio::config::Config;
use nuncio::intake::topology;

use crate::message::{CHANNEL, body};

/// Prefix of everything that the benchmark makes in the broker.
pub(crate) const EXCHANGE: &str = "nuncio_bench";

/// The queue that every worker reads.
pub(crate) const QUEUE: &str = "nuncio_bench.queue";

/// Confirms that may be outstanding while a queue is filled.
const WINDOW: usize = 2000;

/// Subscribes a worker.
pub(crate) async fn consume(
    url: &str,
    queue: &str,
    prefetch: u16,
) -> lapin::Result<(Channel, Consumer)> {
    let channel = open(url).await?;
    channel
        .basic_qos(prefetch, BasicQosOptions::default())
        .await?;
    let consumer = channel
        .basic_consume(
            queue.into(),
            "".into(),
            BasicConsumeOptions::default(),
            FieldTable::default(),
        )
        .await?;
    Ok((channel, consumer))
}

async fn open(url: &str) -> lapin::Result<Channel> {
    let connection = Connection::connect(url, ConnectionProperties::default()).await?;
    connection.create_channel().await
}

/// The producer's side.
pub(crate) struct Producer {
    channel: Channel,
    config: Arc<Config>,
}

impl Producer {
    pub(crate) async fn open(url: &str, config: Arc<Config>) -> anyhow::Result<Self> {
        let channel = open(url).await.context("RabbitMQ")?;
        channel
            .confirm_select(ConfirmSelectOptions::default())
            .await?;
        Ok(Self { channel, config })
    }

    /// An empty durable quorum queue, new for every run.
    pub(crate) async fn empty_queue(&self) -> anyhow::Result<()> {
        self.delete_queue().await?;
        for lane in &self.config.channels {
            topology::declare(&self.channel, &self.config.broker, lane).await?;
        }
        Ok(())
    }

    /// Puts messages into the queue and waits until the broker has them all on disk.
    pub(crate) async fn fill(&self, messages: u64) -> anyhow::Result<()> {
        let mut outstanding = Vec::with_capacity(WINDOW);
        for number in 0..messages {
            outstanding.push(self.publish(number).await?);
            if outstanding.len() == WINDOW {
                confirmed(outstanding.drain(..)).await?;
            }
        }
        confirmed(outstanding.drain(..)).await
    }

    /// Publishes one message; the confirm is the caller's to await.
    pub(crate) async fn publish(&self, number: u64) -> lapin::Result<PublisherConfirm> {
        let persistent = BasicProperties::default().with_delivery_mode(2);
        self.channel
            .basic_publish(
                EXCHANGE.into(),
                CHANNEL.into(),
                BasicPublishOptions::default(),
                &body(number),
                persistent,
            )
            .await
    }

    async fn delete_queue(&self) -> lapin::Result<()> {
        for queue in [QUEUE.to_owned(), format!("{QUEUE}.dead")] {
            self.channel
                .queue_delete(queue.into(), QueueDeleteOptions::default())
                .await?;
        }
        Ok(())
    }

    /// Leaves nothing behind.
    pub(crate) async fn delete_all(&self) -> lapin::Result<()> {
        self.delete_queue().await?;
        for exchange in [EXCHANGE.to_owned(), format!("{EXCHANGE}.dead")] {
            self.channel
                .exchange_delete(exchange.into(), ExchangeDeleteOptions::default())
                .await?;
        }
        Ok(())
    }
}

/// Waits until the broker has taken every one of them.
pub(crate) async fn confirmed(
    outstanding: impl IntoIterator<Item = PublisherConfirm>,
) -> anyhow::Result<()> {
    for confirm in outstanding {
        anyhow::ensure!(confirm.await?.is_ack(), "the broker refused a message");
    }
    Ok(())
}
