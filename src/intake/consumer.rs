//! The consumer of one channel's queue: claims in batches, acks after the commit, and opens its
//! connection again whenever the stream of deliveries ends, for whatever reason it ended.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::stream::FuturesOrdered;
use futures_util::{FutureExt, StreamExt};
use lapin::message::Delivery;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::batch::Intake;
use super::subscription::{OpenError, Subscription, is_unreadable};
use crate::config::Broker;
use crate::metrics;
use crate::reconnect::Reconnect;
use crate::worker::lane::Lane;

/// After so long without a delivery the queue is subscribed to again. Should the word that a queue
/// is deleted not reach its consumer, nothing would declare it again, and producers could publish
/// nothing, for as long as the connection stands.
const RENEW_AFTER: Duration = Duration::from_secs(15);

/// The most deliveries in one claim.
const BATCH: usize = 500;

/// Claims of one queue under way at once. With a second one, a message that comes while a commit is
/// on its way to the disk does not wait for it; Postgres writes both commits together.
const CLAIMS: usize = 2;

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

/// How a subscription ended.
#[derive(Default)]
struct Ended {
    /// Deliveries that were acked.
    acked: usize,
    /// The broker sent something that the AMQP library cannot read.
    unreadable: bool,
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
        let prefetch = if one_by_one { 1 } else { self.broker.prefetch };
        Subscription::open(&self.broker, &self.lane.channel, prefetch).await
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
                    if acking && self.ack(&subscription, last).await {
                        ended.acked += deliveries;
                    } else {
                        channel_lost |= acking;
                        acking = false;
                    }
                    let enough = one_by_one > 0 && ended.acked >= one_by_one;
                    reading = reading && acking && !enough;
                }
                batch = self.next_batch(&mut subscription, &mut waiting, &mut ended, stop),
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
                    if !waiting.is_empty() || self.lane.resting().is_some() {
                        continue;
                    }
                    let renewed = tokio::select! {
                        () = stop.cancelled() => continue,
                        renewed = subscription.renew(&mut waiting) => renewed,
                    };
                    if let Err(error) = renewed {
                        tracing::warn!(channel = %self.lane.channel.name, %error, "the queue cannot be subscribed to again");
                        ended.unreadable |= error.is_unreadable();
                        reading = false;
                        self.attached(false);
                    }
                }
            }
        }
        if channel_lost {
            tokio::select! {
                () = stop.cancelled() => {}
                unreadable = subscription.ends_unreadable() => ended.unreadable |= unreadable,
            }
        }
        subscription.close().await;
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

    async fn ack(&self, subscription: &Subscription, last: u64) -> bool {
        match subscription.ack_up_to(last).await {
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
        subscription: &mut Subscription,
        waiting: &mut VecDeque<Delivery>,
        ended: &mut Ended,
        stop: &CancellationToken,
    ) -> Option<Batch> {
        if !self.fill(subscription, waiting, ended, stop).await {
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
        subscription: &mut Subscription,
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
            let next = tokio::select! {
                () = stop.cancelled() => return false,
                next = subscription.next() => next,
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
            match subscription.next().now_or_never() {
                Some(Some(Ok(delivery))) => waiting.push_back(delivery),
                Some(Some(Err(error))) => {
                    self.broke_off(&error, ended);
                    break;
                }
                Some(None) | None => break,
            }
        }
        true
    }

    /// Says why the broker ended the stream, which it tells once: deliveries unacked for too long,
    /// a connection closed by an operator, a message that the AMQP library cannot read.
    fn broke_off(&self, error: &lapin::Error, ended: &mut Ended) {
        ended.unreadable = is_unreadable(error);
        tracing::warn!(channel = %self.lane.channel.name, %error, "the stream ended");
    }
}
