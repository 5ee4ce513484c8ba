//! Exchanges and queues: declared when missing, verified when there, never changed.

use std::sync::Arc;

use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Channel as AmqpChannel, ExchangeKind};

use super::subscription::{OpenError, connect, in_time};
use crate::config::{Broker, Channel};
use crate::worker::lane::Lane;

/// Where what a queue gives up goes: the exchange's name with this ending.
const DEAD: &str = ".dead";

/// The queue of what the broker gives up of a channel's queue.
#[must_use]
pub fn dead_queue(channel: &Channel) -> String {
    format!("{}{DEAD}", channel.queue)
}

/// Declares, and so verifies, what every channel needs.
///
/// # Errors
/// When the broker does not answer, or has something else under one of the names.
pub async fn verify(broker: &Broker, lanes: &[Arc<Lane>]) -> Result<(), OpenError> {
    in_time(async {
        let connection = connect(broker, "nuncio topology").await?;
        let amqp = connection.create_channel().await?;
        for lane in lanes {
            declare(&amqp, broker, &lane.channel).await?;
        }
        // The topology stands; how this connection ends does not matter.
        let _ = amqp.close(200, "done".into()).await;
        let _ = connection.close(200, "done".into()).await;
        Ok(())
    })
    .await
}

/// Declares what a channel needs: the exchange that producers publish to, the channel's queue bound
/// under the channel's name, and a dead-letter exchange and queue that hold what the broker gives up.
///
/// A queue or exchange that is there with other arguments is left as it is, and the broker's
/// refusal names the argument with both values.
///
/// # Errors
/// The broker's refusal, or a lost connection.
pub async fn declare(amqp: &AmqpChannel, broker: &Broker, channel: &Channel) -> lapin::Result<()> {
    let dead_exchange = format!("{}{DEAD}", broker.exchange);
    let dead_queue = dead_queue(channel);
    for exchange in [&broker.exchange, &dead_exchange] {
        let durable = ExchangeDeclareOptions {
            durable: true,
            ..ExchangeDeclareOptions::default()
        };
        amqp.exchange_declare(
            exchange.as_str().into(),
            ExchangeKind::Direct,
            durable,
            FieldTable::default(),
        )
        .await?;
    }
    queue(amqp, &dead_queue, kind(channel)).await?;
    bind(amqp, &dead_queue, &dead_exchange, &channel.queue).await?;

    let mut arguments = kind(channel);
    arguments.insert("x-dead-letter-exchange".into(), text(&dead_exchange));
    arguments.insert("x-dead-letter-routing-key".into(), text(&channel.queue));
    if let Some(limit) = channel.delivery_limit {
        arguments.insert(
            "x-delivery-limit".into(),
            AMQPValue::LongLongInt(limit.into()),
        );
    }
    queue(amqp, &channel.queue, arguments).await?;
    bind(amqp, &channel.queue, &broker.exchange, &channel.name).await
}

fn kind(channel: &Channel) -> FieldTable {
    let mut arguments = FieldTable::default();
    let kind = if channel.quorum { "quorum" } else { "classic" };
    arguments.insert("x-queue-type".into(), text(kind));
    arguments
}

fn text(value: &str) -> AMQPValue {
    AMQPValue::LongString(value.into())
}

async fn queue(amqp: &AmqpChannel, name: &str, arguments: FieldTable) -> lapin::Result<()> {
    amqp.queue_declare(name.into(), QueueDeclareOptions::durable(), arguments)
        .await?;
    Ok(())
}

async fn bind(
    amqp: &AmqpChannel,
    queue: &str,
    exchange: &str,
    routing_key: &str,
) -> lapin::Result<()> {
    amqp.queue_bind(
        queue.into(),
        exchange.into(),
        routing_key.into(),
        QueueBindOptions::default(),
        FieldTable::default(),
    )
    .await
}
