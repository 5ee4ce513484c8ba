//! Publishing: with confirms, and `mandatory`, since a confirm alone also says yes to a message
//! that reached no queue.

use std::io::Read as _;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::{BasicProperties, Channel as AmqpChannel, Confirmation};
use serde_json::json;
use thiserror::Error;

use super::decode::{Envelope, decode};
use super::subscription::connect;
use super::topology;
use crate::config::Config;

/// Persistent: the message survives a restart of the broker.
const PERSISTENT: u8 = 2;

/// How long the broker may take to say that a queue has a message. One that is short of memory or
/// disk reads nothing more from publishers, and says so to nobody who waits for a confirm.
const CONFIRM_LIMIT: Duration = Duration::from_secs(30);

/// Why a message is not safely in a queue.
#[derive(Debug, Error)]
pub enum PublishError {
    /// The broker or the connection failed; it may or may not be there.
    #[error("the broker: {0}")]
    Broker(#[from] lapin::Error),
    /// No queue is bound for this channel name.
    #[error("no queue takes messages for channel {0:?}: is a worker configured for it?")]
    Unroutable(String),
    /// No word from the broker; it may or may not be there.
    #[error("the broker: no confirm within {} s", CONFIRM_LIMIT.as_secs())]
    TooSlow,
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
        let mut properties =
            BasicProperties::default().with_content_type("application/json".into());
        if let Some(id) = message_id {
            properties = properties.with_message_id(id.into());
        }
        self.publish_with(channel, body, properties).await
    }

    /// As [`Publisher::publish`], with properties of its own; it is persistent whatever they say.
    ///
    /// # Errors
    /// When it is not certain that the queue has it.
    pub async fn publish_with(
        &self,
        channel: &str,
        body: &[u8],
        properties: BasicProperties,
    ) -> Result<(), PublishError> {
        let mandatory = BasicPublishOptions {
            mandatory: true,
            ..BasicPublishOptions::default()
        };
        let publish = async {
            self.amqp
                .basic_publish(
                    self.exchange.as_str().into(),
                    channel.into(),
                    mandatory,
                    body,
                    properties.with_delivery_mode(PERSISTENT),
                )
                .await?
                .await
        };
        let Ok(confirmation) = tokio::time::timeout(CONFIRM_LIMIT, publish).await else {
            return Err(PublishError::TooSlow);
        };
        match confirmation? {
            Confirmation::Ack(None) => Ok(()),
            Confirmation::Ack(Some(_)) => Err(PublishError::Unroutable(channel.to_owned())),
            Confirmation::Nack(_) | Confirmation::NotRequested => {
                Err(PublishError::Refused(channel.to_owned()))
            }
        }
    }
}

/// Puts one notification on its channel's queue, and waits until the broker has it there.
///
/// Either a whole message as JSON (`--json-body` or standard input with `-`), or its parts.
#[derive(clap::Args, Debug)]
pub struct PublishArgs {
    /// Channel name.
    #[arg(long)]
    channel: String,
    /// Stable name of the notification; the same key twice is one notification.
    #[arg(long, required_unless_present = "json_body")]
    key: Option<String>,
    /// Recipient: a phone number with its country code, or a mail address.
    #[arg(long, required_unless_present = "json_body")]
    to: Option<String>,
    /// Plain text.
    #[arg(long)]
    text: Option<String>,
    /// Subject of a mail.
    #[arg(long)]
    subject: Option<String>,
    /// HTML body of a mail.
    #[arg(long)]
    html: Option<String>,
    /// Not before this moment, such as 2027-01-31T09:00:00+01:00.
    #[arg(long)]
    send_at: Option<chrono::DateTime<chrono::Utc>>,
    /// Not after this moment.
    #[arg(long)]
    expires_at: Option<chrono::DateTime<chrono::Utc>>,
    /// The whole message, as docs/messages.md describes it; "-" reads standard input.
    #[arg(long, value_name = "JSON", conflicts_with_all = ["key", "to", "text", "subject", "html", "send_at", "expires_at"])]
    json_body: Option<String>,
}

/// Runs `nuncio publish`. The message is decoded first, as a worker would, so that what would be
/// quarantined is not published.
///
/// # Errors
/// When the message is not right, or it is not certain that its queue has it.
pub async fn run(config: &Config, args: &PublishArgs) -> anyhow::Result<String> {
    let channel = config
        .channels
        .iter()
        .find(|channel| *channel.name == args.channel)
        .with_context(|| format!("no channel {:?} in the configuration", args.channel))?;
    let body = body(args)?;
    let notification = decode(channel, &body, &Envelope::default())
        .map_err(|wrong| anyhow!("would be quarantined ({}): {}", wrong.reason, wrong.detail))?;
    let connection = connect(&config.broker, "nuncio publish").await?;
    let amqp = connection.create_channel().await?;
    // So that the first message can be published before the first worker runs.
    topology::declare(&amqp, &config.broker, channel).await?;
    let publisher = Publisher::new(amqp, &config.broker.exchange).await?;
    publisher.publish(&channel.name, &body, None).await?;
    // The broker has it; how the connection ends does not matter.
    let _ = connection.close(200, "done".into()).await;
    Ok(format!(
        "Published {} to queue {}.\nSee it with: nuncio explain --channel {} {:?}",
        notification.id, channel.queue, channel.name, notification.key
    ))
}

fn body(args: &PublishArgs) -> anyhow::Result<Vec<u8>> {
    match args.json_body.as_deref() {
        Some("-") => {
            let mut body = Vec::new();
            std::io::stdin().read_to_end(&mut body)?;
            return Ok(body);
        }
        Some(json) => return Ok(json.as_bytes().to_vec()),
        None => {}
    }
    let parts = [
        ("version", Some(json!(1))),
        ("key", args.key.as_ref().map(|v| json!(v))),
        ("channel", Some(json!(args.channel))),
        ("to", args.to.as_ref().map(|v| json!(v))),
        ("text", args.text.as_ref().map(|v| json!(v))),
        ("subject", args.subject.as_ref().map(|v| json!(v))),
        ("html", args.html.as_ref().map(|v| json!(v))),
        ("send_at", args.send_at.map(|v| json!(v))),
        ("expires_at", args.expires_at.map(|v| json!(v))),
    ];
    let given: serde_json::Map<_, _> = parts
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect();
    Ok(serde_json::to_vec(&given)?)
}
