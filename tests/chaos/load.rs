//! The producer of a round. It keeps what it publishes, as a producer with an outbox does: what was
//! not confirmed, or what a deleted queue has taken along, is published again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fastrand::Rng;
use futures_util::future::try_join_all;
use lapin::Connection;
use nuncio::intake::publish::{PublishError, Publisher};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::harness::{Broker, Config, World, body};
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
    let of_channel = |channel: &str| {
        let key = |number| format!("{channel}-order-{number}");
        let channel = channel.to_owned();
        (1..=setting.messages).map(move |number| (channel.clone(), key(number)))
    };
    let mut all: Vec<Message> = CHANNELS.into_iter().flat_map(|channel| of_channel(channel).collect::<Vec<_>>()).collect();
    rng.shuffle(&mut all);
    all
}

/// A producer at work.
pub struct Load {
    orders: mpsc::UnboundedSender<Vec<Message>>,
    work: tokio::task::JoinHandle<()>,
    all: Vec<Message>,
    published: Arc<AtomicU64>,
}

impl Load {
    /// Begins to publish each message so often, over the setting's time.
    pub fn begin(world: &Arc<World>, config: &Config, setting: &Setting, all: &[Message]) -> Self {
        let published = Arc::new(AtomicU64::new(0));
        let (orders, inbox) = mpsc::unbounded_channel();
        let producer = Producer {
            world: world.clone(),
            exchange: config.exchange(),
            published: published.clone(),
            open: None,
        };
        let copies = setting.copies;
        let chunks: Vec<Vec<Message>> = all
            .chunks((CHUNK / copies).max(1))
            .map(|chunk| chunk.iter().flat_map(|m| std::iter::repeat_n(m.clone(), copies)).collect())
            .collect();
        let pause = setting.over / u32::try_from(chunks.len()).expect("a few hundred");
        Self {
            orders,
            work: tokio::spawn(producer.run(chunks, pause, inbox)),
            all: all.to_vec(),
            published,
        }
    }

    /// Publishes everything once more, when what is to be published is.
    pub fn replay(&self) {
        for chunk in self.all.chunks(CHUNK) {
            self.orders.send(chunk.to_vec()).expect("the producer works");
        }
    }

    /// Waits until everything is confirmed; says how many messages were.
    pub async fn end(self) -> u64 {
        drop(self.orders);
        if let Err(failed) = self.work.await {
            std::panic::resume_unwind(failed.into_panic());
        }
        self.published.load(Ordering::Acquire)
    }
}

struct Producer {
    world: Arc<World>,
    exchange: String,
    published: Arc<AtomicU64>,
    open: Option<(Connection, Publisher)>,
}

impl Producer {
    async fn run(
        mut self,
        chunks: Vec<Vec<Message>>,
        pause: Duration,
        mut orders: mpsc::UnboundedReceiver<Vec<Message>>,
    ) {
        let began = Instant::now();
        for (number, chunk) in (0_u32..).zip(&chunks) {
            tokio::time::sleep_until(began + pause * number).await;
            self.publish(chunk).await;
        }
        while let Some(chunk) = orders.recv().await {
            self.publish(&chunk).await;
        }
    }

    /// Until all of a chunk is confirmed.
    async fn publish(&mut self, chunk: &[Message]) {
        loop {
            let done = tokio::time::timeout(LIMIT, self.try_publish(chunk)).await;
            if let Ok(Ok(())) = done {
                break;
            }
            self.open = None;
            // The broker is on its way back; a retry at once would only be refused again.
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        for (channel, key) in chunk {
            let body = body(channel, key).to_string();
            self.world.was_published(channel, body.as_bytes());
        }
        self.published.fetch_add(chunk.len() as u64, Ordering::AcqRel);
    }

    async fn try_publish(&mut self, chunk: &[Message]) -> Result<(), PublishError> {
        let publisher = match &mut self.open {
            Some((_, publisher)) => publisher,
            none => &mut none.insert(connect(&self.world.broker, &self.exchange).await?).1,
        };
        let each = chunk.iter().map(|(channel, key)| {
            let body = body(channel, key).to_string();
            async move { publisher.publish(channel, body.as_bytes(), None).await }
        });
        // Not shared out over tasks: the first failure gives up the chunk.
        try_join_all(each).await.map(|_| ())
    }
}

async fn connect(broker: &Broker, exchange: &str) -> lapin::Result<(Connection, Publisher)> {
    let (connection, channel) = broker.try_channel().await?;
    let publisher = Publisher::new(channel, exchange).await?;
    Ok((connection, publisher))
}
