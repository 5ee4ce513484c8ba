//! The producer of a round. It keeps what it publishes, as a producer with an outbox does: what was
//! not confirmed, or what a deleted queue has taken along, is published again.

use std::time::Duration;

use fastrand::Rng;
use futures_util::future::try_join_all;
use lapin::Connection;
use nuncio::intake::publish::{PublishError, Publisher};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::harness::{Broker, Config, PATIENCE, World, body};
use crate::schedule::Setting;

/// The channels of a round.
pub const CHANNELS: [&str; 4] = ["amo", "alo", "amo-full", "alo-log"];

/// Messages that are published at the same time.
const CHUNK: usize = 20;

/// How long a chunk may take before the connection is given up: a broker without memory never
/// answers.
const LIMIT: Duration = Duration::from_secs(5);

/// A channel and a key.
pub type Message = (String, String);

/// What a setting publishes, each message once, in an order drawn from the seed.
pub fn messages(setting: &Setting, rng: &mut Rng) -> Vec<Message> {
    let mut all: Vec<Message> = CHANNELS
        .into_iter()
        .flat_map(|channel| (1..=setting.messages).map(move |number| (channel, number)))
        .map(|(channel, number)| (channel.to_owned(), format!("{channel}-order-{number}")))
        .collect();
    rng.shuffle(&mut all);
    all
}

/// A producer, and what it is told to publish again.
pub struct Producer<'w> {
    world: &'w World,
    exchange: String,
    open: Option<(Connection, Publisher)>,
    /// Messages that the broker has confirmed.
    pub confirmed: u64,
}

/// Orders to a producer; it is done when this is gone.
pub struct Orders {
    again: mpsc::UnboundedSender<Vec<Message>>,
    all: Vec<Message>,
}

impl Orders {
    /// For these messages, and where the producer takes orders.
    pub fn about(all: &[Message]) -> (Self, mpsc::UnboundedReceiver<Vec<Message>>) {
        let (again, inbox) = mpsc::unbounded_channel();
        let all = all.to_vec();
        (Self { again, all }, inbox)
    }

    /// Publishes everything once more, after all that was to be published before.
    pub fn replay(&self) {
        for chunk in self.all.chunks(CHUNK) {
            let _ = self.again.send(chunk.to_vec());
        }
    }
}

impl<'w> Producer<'w> {
    /// Not connected yet.
    pub fn new(world: &'w World, config: &Config) -> Self {
        Self {
            world,
            exchange: config.exchange(),
            open: None,
            confirmed: 0,
        }
    }

    /// Publishes each message so often, over the setting's time.
    pub async fn publish_all(&mut self, all: &[Message], setting: &Setting) {
        let chunks: Vec<&[Message]> = all.chunks((CHUNK / setting.copies).max(1)).collect();
        let pause = setting.over / u32::try_from(chunks.len()).expect("a few hundred");
        let began = Instant::now();
        for (number, chunk) in (0_u32..).zip(chunks) {
            tokio::time::sleep_until(began + pause * number).await;
            let copies = chunk
                .iter()
                .flat_map(|message| std::iter::repeat_n(message, setting.copies));
            self.publish(&copies.cloned().collect::<Vec<_>>()).await;
        }
    }

    /// Publishes what it is told, until nobody tells it any more.
    pub async fn obey(&mut self, mut orders: mpsc::UnboundedReceiver<Vec<Message>>) {
        while let Some(chunk) = orders.recv().await {
            self.publish(&chunk).await;
        }
    }

    /// Until all of a chunk is confirmed.
    async fn publish(&mut self, chunk: &[Message]) {
        let began = Instant::now();
        loop {
            let done = tokio::time::timeout(LIMIT, self.try_publish(chunk)).await;
            if let Ok(Ok(())) = done {
                break;
            }
            assert!(
                began.elapsed() < PATIENCE,
                "nothing can be published: {done:?}"
            );
            self.open = None;
            // The broker is on its way back; a retry at once would only be refused again.
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        for (channel, key) in chunk {
            let body = body(channel, key).to_string();
            self.world.was_published(channel, body.as_bytes());
        }
        self.confirmed += chunk.len() as u64;
    }

    async fn try_publish(&mut self, chunk: &[Message]) -> Result<(), PublishError> {
        let publisher = match &mut self.open {
            Some((_, publisher)) => &*publisher,
            none => {
                &none
                    .insert(connect(&self.world.broker, &self.exchange).await?)
                    .1
            }
        };
        let each = chunk.iter().map(|(channel, key)| {
            let body = body(channel, key).to_string();
            async move { publisher.publish(channel, body.as_bytes(), None).await }
        });
        // The first failure gives up the chunk.
        try_join_all(each).await.map(|_| ())
    }
}

async fn connect(broker: &Broker, exchange: &str) -> lapin::Result<(Connection, Publisher)> {
    let (connection, channel) = broker.try_channel().await?;
    let publisher = Publisher::new(channel, exchange).await?;
    Ok((connection, publisher))
}
