//! A connection to the broker, and one subscription to a channel's queue on it.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::StreamExt;
use lapin::message::Delivery;
use lapin::options::{BasicAckOptions, BasicCancelOptions, BasicConsumeOptions, BasicQosOptions};
use lapin::types::FieldTable;
use lapin::{Channel as AmqpChannel, Connection, ConnectionProperties, Consumer};
use secrecy::ExposeSecret;
use thiserror::Error;

use super::topology;
use crate::config::{Broker, Channel};

/// How long connecting, declaring and subscribing may take together. lapin itself waits for ever
/// for a broker that accepts the connection and then says nothing.
const OPEN_LIMIT: Duration = Duration::from_secs(15);

/// How long the broker may take to hear that we leave.
const CLOSE_LIMIT: Duration = Duration::from_secs(3);

/// Why a queue is not being read.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The broker refused, or the connection failed.
    #[error("the broker: {0}")]
    Broker(#[from] lapin::Error),
    /// No answer.
    #[error("the broker did not answer within {} s", OPEN_LIMIT.as_secs())]
    TooSlow,
}

impl OpenError {
    /// Whether a queue or exchange is there with other arguments than ours: a matter for a person,
    /// not for another try. The broker's text names the argument and both values.
    #[must_use]
    pub fn is_mismatch(&self) -> bool {
        use lapin::protocol::{AMQPErrorKind, AMQPSoftError};
        let Self::Broker(error) = self else {
            return false;
        };
        matches!(error.kind(), lapin::ErrorKind::ProtocolError(e)
            if matches!(e.kind(), AMQPErrorKind::Soft(AMQPSoftError::PRECONDITIONFAILED)))
    }

    /// As [`is_unreadable`].
    pub(super) fn is_unreadable(&self) -> bool {
        matches!(self, Self::Broker(error) if is_unreadable(error))
    }
}

/// Whether the broker sent a message that the AMQP library cannot read, which ends the connection.
pub(super) fn is_unreadable(error: &lapin::Error) -> bool {
    matches!(error.kind(), lapin::ErrorKind::ParsingError(_))
}

/// Connects, within a limit.
///
/// # Errors
/// When the broker refuses or does not answer.
pub async fn connect(broker: &Broker, name: &str) -> Result<Connection, OpenError> {
    let properties = ConnectionProperties::default().with_connection_name(name.into());
    let connecting = Connection::connect(broker.url.expose_secret(), properties);
    in_time(async { Ok(connecting.await?) }).await
}

pub(super) async fn in_time<T>(
    opening: impl Future<Output = Result<T, OpenError>>,
) -> Result<T, OpenError> {
    tokio::time::timeout(OPEN_LIMIT, opening)
        .await
        .unwrap_or(Err(OpenError::TooSlow))
}

/// A queue that is being read.
pub(super) struct Subscription {
    queue: String,
    connection: Connection,
    amqp: AmqpChannel,
    consumer: Consumer,
    /// The stream has ended. lapin says so once, and then nothing more for ever.
    over: bool,
}

impl Subscription {
    /// Connects, declares what the channel needs, and subscribes.
    pub(super) async fn open(
        broker: &Broker,
        channel: &Channel,
        prefetch: u16,
    ) -> Result<Self, OpenError> {
        in_time(async {
            let connection = connect(broker, &format!("nuncio {}", channel.name)).await?;
            let amqp = connection.create_channel().await?;
            topology::declare(&amqp, broker, channel).await?;
            amqp.basic_qos(prefetch, BasicQosOptions::default()).await?;
            let consumer = consume(&amqp, &channel.queue).await?;
            Ok(Self {
                queue: channel.queue.clone(),
                connection,
                amqp,
                consumer,
                over: false,
            })
        })
        .await
    }

    /// The next delivery, or what broke the stream off, which is the last thing that it says. `None`
    /// at the end, however often it is asked. May be dropped: nothing is lost.
    pub(super) async fn next(&mut self) -> Option<lapin::Result<Delivery>> {
        if self.over {
            return None;
        }
        let next = self.consumer.next().await;
        self.over = !matches!(next, Some(Ok(_)));
        next
    }

    /// Subscribes again on the same AMQP channel, which fails if the queue is gone. The old
    /// subscription ends first, with what it still brings put into `waiting`: an ack covers all
    /// deliveries with a lower tag, so those of two subscriptions must not be mixed.
    pub(super) async fn renew(
        &mut self,
        waiting: &mut VecDeque<Delivery>,
    ) -> Result<(), OpenError> {
        in_time(async {
            let tag = self.consumer.tag();
            self.amqp
                .basic_cancel(tag, BasicCancelOptions::default())
                .await?;
            while let Some(delivery) = self.next().await {
                waiting.push_back(delivery?);
            }
            self.consumer = consume(&self.amqp, &self.queue).await?;
            self.over = false;
            Ok(())
        })
        .await
    }

    /// Acks everything up to this tag with one frame. Only ever on the AMQP channel that the
    /// deliveries came on: tags start again at one on the next.
    pub(super) async fn ack_up_to(&self, last: u64) -> lapin::Result<()> {
        self.amqp
            .basic_ack(last, BasicAckOptions { multiple: true })
            .await
    }

    /// Reads on until the stream has said why it ends. `true`: over a message that the AMQP library
    /// cannot read.
    pub(super) async fn ends_unreadable(&mut self) -> bool {
        let end = async {
            let mut unreadable = false;
            while let Some(next) = self.next().await {
                unreadable |= next.is_err_and(|error| is_unreadable(&error));
            }
            unreadable
        };
        let end = tokio::time::timeout(OPEN_LIMIT, end).await;
        end.unwrap_or(false)
    }

    /// Leaves, as good as it goes: a broker that is silent may not hold up what comes after.
    pub(super) async fn close(self) {
        let close = async {
            let tag = self.consumer.tag();
            let options = BasicCancelOptions::default();
            let _ = self.amqp.basic_cancel(tag, options).await;
            let _ = self.connection.close(200, "done".into()).await;
        };
        let _ = tokio::time::timeout(CLOSE_LIMIT, close).await;
    }
}

async fn consume(amqp: &AmqpChannel, queue: &str) -> lapin::Result<Consumer> {
    amqp.basic_consume(
        queue.into(),
        "".into(),
        BasicConsumeOptions::default(),
        FieldTable::default(),
    )
    .await
}
