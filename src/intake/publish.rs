//! Publishing: with confirms, and `mandatory`, since a confirm alone also says yes to a message
//! that reached no queue.

use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::{BasicProperties, Channel as AmqpChannel, Confirmation};
use thiserror::Error;

/// Persistent: the message survives a restart of the broker.
const PERSISTENT: u8 = 2;

/// Why a message is not safely in a queue.
#[derive(Debug, Error)]
pub enum PublishError {
    /// The broker or the connection failed; it may or may not be there.
    #[error("the broker: {0}")]
    Broker(#[from] lapin::Error),
    /// No queue is bound for this channel name.
    #[error("no queue takes messages for channel {0:?}: is a worker configured for it?")]
    Unroutable(String),
    /// The queue refused it, for example because it is full.
    #[error("the queue of channel {0:?} refused it")]
    Refused(String),
}

/// A publisher on its own AMQP channel.
pub struct Publisher {
    amqp: AmqpChannel,
    exchange: String,
}

impl Publisher {
    /// Puts an AMQP channel into confirm mode.
    ///
    /// # Errors
    /// When the broker does not answer.
    pub async fn new(amqp: AmqpChannel, exchange: &str) -> lapin::Result<Self> {
        amqp.confirm_select(ConfirmSelectOptions::default()).await?;
        Ok(Self {
            amqp,
            exchange: exchange.to_owned(),
        })
    }

    /// Puts one message on a channel's queue and waits until the broker has it there.
    ///
    /// # Errors
    /// When it is not certain that the queue has it.
    pub async fn publish(
        &self,
        channel: &str,
        body: &[u8],
        message_id: Option<&str>,
    ) -> Result<(), PublishError> {
        let mut properties = BasicProperties::default()
            .with_delivery_mode(PERSISTENT)
            .with_content_type("application/json".into());
        if let Some(id) = message_id {
            properties = properties.with_message_id(id.into());
        }
        let mandatory = BasicPublishOptions {
            mandatory: true,
            ..BasicPublishOptions::default()
        };
        let confirmation = self
            .amqp
            .basic_publish(
                self.exchange.as_str().into(),
                channel.into(),
                mandatory,
                body,
                properties,
            )
            .await?
            .await?;
        match confirmation {
            Confirmation::Ack(None) => Ok(()),
            Confirmation::Ack(Some(_)) => Err(PublishError::Unroutable(channel.to_owned())),
            Confirmation::Nack(_) | Confirmation::NotRequested => {
                Err(PublishError::Refused(channel.to_owned()))
            }
        }
    }
}
