//! The consumer of one channel's queue: claims in batches, acks after the commit, and opens its
//! connection again whenever the stream of deliveries ends, for whatever reason it ended.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::stream::FuturesOrdered;
use futures_util::{FutureExt, StreamExt};
use lapin::message::Delivery;
use lapin::options::{BasicCancelOptions, BasicConsumeOptions, BasicQosOptions};
use lapin::types::FieldTable;
use lapin::{Channel as AmqpChannel, Connection, ConnectionProperties, Consumer};
use secrecy::ExposeSecret;
use thiserror::Error;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::batch::Intake;
use super::topology;
use crate::config::Broker;
use crate::metrics;
use crate::reconnect::Reconnect;
use crate::worker::lane::Lane;

/// How long connecting, declaring and subscribing may take together. lapin itself waits for ever
/// for a broker that accepts the connection and then says nothing.
const OPEN_LIMIT: Duration = Duration::from_secs(15);

/// How long the broker may take to hear that we leave.
const CLOSE_LIMIT: Duration = Duration::from_secs(3);

/// After so long without a delivery the queue is subscribed to again. Should the word that a queue
/// is deleted not reach its consumer, nothing would declare it again, and producers could publish
/// nothing, for as long as the connection stands.
const RENEW_AFTER: Duration = Duration::from_secs(15);

/// The most deliveries in one claim.
const BATCH: usize = 500;

/// Claims of one queue under way at once. With a second one, a message that comes while a commit is
/// on its way to the disk does not wait for it; Postgres writes both commits together.
const CLAIMS: usize = 2;

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
}

/// Connects, within a limit.
///
/// # Errors
/// When the broker refuses or does not answer.
pub async fn connect(broker: &Broker, name: &str) -> Result<Connection, OpenError> {
    let properties = ConnectionProperties::default().with_connection_name(name.into());
    let connecting = Connection::connect(broker.url.expose_secret(), properties);
    match tokio::time::timeout(OPEN_LIMIT, connecting).await {
        Ok(connection) => Ok(connection?),
        Err(_) => Err(OpenError::TooSlow),
    }
}

/// Declares, and so verifies, what every channel needs.
///
/// # Errors
/// When the broker does not answer, or has something else under one of the names.
pub async fn verify(broker: &Broker, lanes: &[Arc<Lane>]) -> Result<(), OpenError> {
    match tokio::time::timeout(OPEN_LIMIT, declare_all(broker, lanes)).await {
        Ok(declared) => declared,
        Err(_) => Err(OpenError::TooSlow),
    }
}

async fn declare_all(broker: &Broker, lanes: &[Arc<Lane>]) -> Result<(), OpenError> {
    let connection = connect(broker, "nuncio topology").await?;
    let amqp = connection.create_channel().await?;
    for lane in lanes {
        topology::declare(&amqp, broker, &lane.channel).await?;
    }
    // The topology stands; how this connection ends does not matter.
    let _ = amqp.close(200, "done".into()).await;
    let _ = connection.close(200, "done".into()).await;
    Ok(())
}

/// Reads one channel's queue until told to stop.
pub struct QueueReader {
    /// The channel.
    pub lane: Arc<Lane>,
    /// The broker.
    pub broker: Arc<Broker>,
    /// What happens to deliveries.
    pub intake: Intake,
    /// Whether the queue is being read at this moment.
    pub attached: Arc<AtomicBool>,
}

/// Deliveries with a slot each.
struct Batch {
    deliveries: Vec<Delivery>,
    slots: OwnedSemaphorePermit,
    last: u64,
}

/// A batch that was brought to the ledger.
struct Claimed {
    /// All of it is there.
    committed: bool,
    /// The delivery tag of its last delivery.
    last: u64,
    /// How many there were.
    deliveries: usize,
}

struct Subscription {
    connection: Connection,
    amqp: AmqpChannel,
    consumer: Consumer,
}

/// How a subscription ended.
#[derive(Default)]
struct Ended {
    /// Deliveries that were acked.
    acked: usize,
    /// The broker sent something that the AMQP library cannot read.
    unreadable: bool,
    /// The stream has said that it ends. It says so once, perhaps behind deliveries that wait still,
    /// and then nothing more.
    over: bool,
}

impl QueueReader {
    /// Reads, and opens again, until told to stop.
    pub async fn run(self, stop: CancellationToken) {
        let name = &self.lane.channel.name;
        let mut reconnect = Reconnect::default();
        // A message whose properties are not UTF-8 ends the connection before anybody sees it, and
        // the broker counts a delivery for everything that was under way. So as many as could be
        // are then read one by one: it alone comes to the delivery limit, and to the dead letters.
        let mut one_by_one = 0;
        while !stop.is_cancelled() {
            match self.open(one_by_one > 0).await {
                Ok(subscription) => {
                    self.attached(true);
                    tracing::info!(channel = %name, queue = %self.lane.channel.queue, "reading");
                    let ended = self.read(subscription, one_by_one, &stop).await;
                    self.attached(false);
                    if ended.acked > 0 {
                        reconnect.reset();
                    }
                    one_by_one = if ended.unreadable && one_by_one == 0 {
                        tracing::error!(channel = %name, "a message cannot be read; going on one by one until the broker gives it up at the delivery limit");
                        usize::from(self.broker.prefetch)
                    } else {
                        one_by_one.saturating_sub(ended.acked)
                    };
                    if !stop.is_cancelled() {
                        tracing::warn!(channel = %name, "the queue's stream ended; opening it again");
                    }
                }
                Err(error) => tracing::error!(channel = %name, %error, "the queue cannot be read"),
            }
            if !reconnect.pause(&stop).await {
                break;
            }
        }
    }

    fn attached(&self, yes: bool) {
        self.attached.store(yes, Ordering::Relaxed);
        let label = metrics::channel(&self.lane.channel.name);
        let gauge = self
            .lane
            .metrics
            .consumer_attached
            .get_or_create_owned(&label);
        gauge.set(i64::from(yes));
    }

    async fn open(&self, one_by_one: bool) -> Result<Subscription, OpenError> {
        match tokio::time::timeout(OPEN_LIMIT, self.subscribe(one_by_one)).await {
            Ok(subscription) => subscription,
            Err(_) => Err(OpenError::TooSlow),
        }
    }

    async fn subscribe(&self, one_by_one: bool) -> Result<Subscription, OpenError> {
        let channel = &self.lane.channel;
        let connection = connect(&self.broker, &format!("nuncio {}", channel.name)).await?;
        let amqp = connection.create_channel().await?;
        topology::declare(&amqp, &self.broker, channel).await?;
        let prefetch = if one_by_one { 1 } else { self.broker.prefetch };
        amqp.basic_qos(prefetch, BasicQosOptions::default()).await?;
        let consumer = self.consume(&amqp).await?;
        Ok(Subscription {
            connection,
            amqp,
            consumer,
        })
    }

    async fn consume(&self, amqp: &AmqpChannel) -> lapin::Result<Consumer> {
        amqp.basic_consume(
            self.lane.channel.queue.as_str().into(),
            "".into(),
            BasicConsumeOptions::default(),
            FieldTable::default(),
        )
        .await
    }

    /// Subscribes again on the same channel, which fails if the queue is gone. The old subscription
    /// ends first: an ack covers all deliveries with a lower tag, so those of two subscriptions must
    /// not be mixed.
    async fn renew(
        &self,
        subscription: &mut Subscription,
        waiting: &mut VecDeque<Delivery>,
        stop: &CancellationToken,
    ) -> Result<(), OpenError> {
        let Subscription { amqp, consumer, .. } = subscription;
        let renewed = async {
            let options = BasicCancelOptions::default();
            amqp.basic_cancel(consumer.tag(), options).await?;
            while let Some(delivery) = consumer.next().await {
                waiting.push_back(delivery?);
            }
            *consumer = self.consume(amqp).await?;
            Ok(())
        };
        tokio::select! {
            () = stop.cancelled() => Ok(()),
            renewed = tokio::time::timeout(OPEN_LIMIT, renewed) => {
                renewed.unwrap_or(Err(OpenError::TooSlow))
            }
        }
    }

    /// Reads one subscription to its end, or, where messages are read one by one, so many of them.
    /// Deliveries that were not claimed by then go back to the queue with the connection.
    async fn read(
        &self,
        mut subscription: Subscription,
        one_by_one: usize,
        stop: &CancellationToken,
    ) -> Ended {
        let mut waiting = VecDeque::new();
        let mut ended = Ended::default();
        let mut claims = FuturesOrdered::new();
        let at_once = if one_by_one > 0 { 1 } else { CLAIMS };
        let (mut reading, mut acking, mut channel_lost) = (true, true, false);
        let mut renewal = Instant::now() + RENEW_AFTER;
        while reading || !claims.is_empty() {
            tokio::select! {
                Some(Claimed { committed, last, deliveries }) = claims.next() => {
                    // An ack covers all before it, so none follows a batch that is not committed.
                    acking = acking && committed;
                    if acking && self.ack(&subscription.amqp, last).await {
                        ended.acked += deliveries;
                    } else {
                        channel_lost |= acking;
                        acking = false;
                    }
                    let enough = one_by_one > 0 && ended.acked >= one_by_one;
                    reading = reading && acking && !enough;
                }
                batch = self.next_batch(&mut subscription.consumer, &mut waiting, &mut ended, stop),
                    if reading && claims.len() < at_once =>
                {
                    renewal = Instant::now() + RENEW_AFTER;
                    match batch {
                        Some(batch) => claims.push_back(self.claim(batch, stop)),
                        // Claims under way may take long: nobody reads meanwhile.
                        None => {
                            reading = false;
                            self.attached(false);
                        }
                    }
                }
                () = tokio::time::sleep_until(renewal), if reading && claims.is_empty() => {
                    renewal = Instant::now() + RENEW_AFTER;
                    if !waiting.is_empty() || ended.over || self.lane.resting().is_some() {
                        continue;
                    }
                    if let Err(error) = self.renew(&mut subscription, &mut waiting, stop).await {
                        ended.unreadable |= matches!(&error, OpenError::Broker(e) if is_unreadable(e));
                        tracing::warn!(channel = %self.lane.channel.name, %error, "the queue cannot be subscribed to again");
                        reading = false;
                        self.attached(false);
                    }
                }
            }
        }
        if channel_lost {
            // The channel is no more: its stream says why, and ends.
            let end = async {
                while let Some(next) = subscription.consumer.next().await {
                    ended.unreadable |= next.is_err_and(|error| is_unreadable(&error));
                }
            };
            tokio::select! {
                () = stop.cancelled() => {}
                _ = tokio::time::timeout(OPEN_LIMIT, end) => {}
            }
        }
        // As good as it goes: a broker that is silent may not hold up what comes after.
        let close = async {
            if stop.is_cancelled() {
                let tag = subscription.consumer.tag();
                let _ = subscription
                    .amqp
                    .basic_cancel(tag, BasicCancelOptions::default())
                    .await;
            }
            let _ = subscription.connection.close(200, "done".into()).await;
        };
        let _ = tokio::time::timeout(CLOSE_LIMIT, close).await;
        ended
    }

    /// Brings a batch to the ledger.
    async fn claim(&self, batch: Batch, stop: &CancellationToken) -> Claimed {
        let deliveries = batch.deliveries.len();
        let committed = self
            .intake
            .take(&self.lane, batch.deliveries, batch.slots, stop)
            .await;
        Claimed {
            committed,
            last: batch.last,
            deliveries,
        }
    }

    async fn ack(&self, amqp: &AmqpChannel, last: u64) -> bool {
        match super::batch::ack_up_to(amqp, last).await {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(channel = %self.lane.channel.name, %error, "could not ack; the messages come again and are dropped as duplicates");
                false
            }
        }
    }

    /// The next deliveries, as many as there are slots for. `None` at the end of the stream, or
    /// when told to stop. May be dropped: what it has read by then stays in `waiting`.
    async fn next_batch(
        &self,
        consumer: &mut Consumer,
        waiting: &mut VecDeque<Delivery>,
        ended: &mut Ended,
        stop: &CancellationToken,
    ) -> Option<Batch> {
        if !self.fill(consumer, waiting, ended, stop).await {
            return None;
        }
        let most = waiting.len().min(BATCH);
        let slots = self.lane.take_slots_for(most, stop).await?;
        let deliveries: Vec<Delivery> = waiting.drain(..slots.num_permits()).collect();
        let last = deliveries.last()?.delivery_tag;
        Some(Batch {
            deliveries,
            slots,
            last,
        })
    }

    /// Waits until there is at least one delivery, and takes what else is there already. `false`
    /// at the end of the stream, or when told to stop.
    async fn fill(
        &self,
        consumer: &mut Consumer,
        waiting: &mut VecDeque<Delivery>,
        ended: &mut Ended,
        stop: &CancellationToken,
    ) -> bool {
        while let Some(rest) = self.lane.resting() {
            tokio::select! {
                () = stop.cancelled() => return false,
                () = tokio::time::sleep(rest) => {}
            }
        }
        if waiting.is_empty() {
            if ended.over {
                return false;
            }
            let next = tokio::select! {
                () = stop.cancelled() => return false,
                next = consumer.next() => next,
            };
            match next {
                Some(Ok(delivery)) => waiting.push_back(delivery),
                Some(Err(error)) => {
                    self.broke_off(&error, ended);
                    return false;
                }
                None => return false,
            }
        }
        while waiting.len() < BATCH {
            match consumer.next().now_or_never() {
                Some(Some(Ok(delivery))) => waiting.push_back(delivery),
                Some(Some(Err(error))) => {
                    self.broke_off(&error, ended);
                    break;
                }
                Some(None) => {
                    ended.over = true;
                    break;
                }
                None => break,
            }
        }
        true
    }

    /// Says why the broker ended the stream, which it tells once: deliveries unacked for too long,
    /// a connection closed by an operator, a message that the AMQP library cannot read.
    fn broke_off(&self, error: &lapin::Error, ended: &mut Ended) {
        ended.unreadable = is_unreadable(error);
        ended.over = true;
        tracing::warn!(channel = %self.lane.channel.name, %error, "the stream ended");
    }
}

/// Whether the broker sent a message that the AMQP library cannot read, which ends the connection.
pub(super) fn is_unreadable(error: &lapin::Error) -> bool {
    matches!(error.kind(), lapin::ErrorKind::ParsingError(_))
}
