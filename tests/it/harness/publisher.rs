//! A producer.

use std::sync::Arc;
use std::sync::Mutex;

use lapin::Connection;
use nuncio::intake::publish::Publisher as Confirmed;
use serde_json::{Value, json};

/// Every message that was published in a world, in order.
pub(super) type Published = Arc<Mutex<Vec<Message>>>;

/// A message as it was published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) channel: String,
    pub(super) body: Vec<u8>,
    pub(super) message_id: Option<String>,
}

impl Message {
    /// The key that it names, where it can be read that easily.
    pub(super) fn key(&self) -> Option<String> {
        let body: Value = serde_json::from_slice(&self.body).ok()?;
        let key = body["key"].as_str().map(str::to_owned);
        key.or_else(|| self.message_id.clone())
    }

    /// What may appear in no log: recipient and text.
    pub(super) fn secrets(&self) -> Vec<String> {
        let Ok(body) = serde_json::from_slice::<Value>(&self.body) else {
            return Vec::new();
        };
        let texts = ["to", "text", "subject", "html"].map(|name| body[name].as_str());
        let long = |text: &&str| text.len() >= 8;
        texts
            .into_iter()
            .flatten()
            .filter(long)
            .map(str::to_owned)
            .collect()
    }
}

/// The recipient of every [`body`] with this key: a number that depends on the key alone.
pub fn recipient(key: &str) -> String {
    let number = key
        .bytes()
        .fold(7_u64, |n, byte| (n * 131 + u64::from(byte)) % 100_000_000);
    format!("+4479{number:08}")
}

/// A message as a producer would write it. The same key gives the same bytes.
pub fn body(channel: &str, key: &str) -> Value {
    json!({
        "version": 1,
        "channel": channel,
        "key": key,
        "to": recipient(key),
        "text": format!("content of {key}"),
    })
}

/// A connection that publishes with confirms.
pub struct Publisher {
    confirmed: Confirmed,
    published: Published,
    _connection: Connection,
}

impl Publisher {
    pub(super) fn new(confirmed: Confirmed, connection: Connection, published: Published) -> Self {
        Self {
            confirmed,
            published,
            _connection: connection,
        }
    }

    /// Publishes the [`body`] of a key, and waits until the queue has it.
    pub async fn send(&self, channel: &str, key: &str) {
        self.json(channel, &body(channel, key)).await;
    }

    /// Publishes many, each as [`Publisher::send`] does, without waiting for one before the next.
    pub async fn send_all(&self, messages: impl IntoIterator<Item = (String, String)>) {
        let sends = messages
            .into_iter()
            .map(|(channel, key)| async move { self.send(&channel, &key).await });
        futures_util::future::join_all(sends).await;
    }

    /// Publishes a JSON message.
    pub async fn json(&self, channel: &str, message: &Value) {
        self.raw(channel, message.to_string().as_bytes(), None)
            .await;
    }

    /// Publishes any bytes.
    pub async fn raw(&self, channel: &str, body: &[u8], message_id: Option<&str>) {
        self.confirmed
            .publish(channel, body, message_id)
            .await
            .expect("the queue takes a message");
        let message = Message {
            channel: channel.to_owned(),
            body: body.to_vec(),
            message_id: message_id.map(str::to_owned),
        };
        self.published
            .lock()
            .expect("no holder of it panics")
            .push(message);
    }
}
