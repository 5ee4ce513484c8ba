//! One channel at work: its slots, its queue of claimed work, its pause.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::LINGER;
use super::settler::Settler;
use crate::config::Channel;
use crate::domain::notification::Notification;
use crate::ledger::claim::Terms;
use crate::metrics::{self, Metrics};
use crate::provider::client::Client;
use crate::provider::{Message, Request, Unrenderable};

/// How long a channel rests when the provider refuses the account, the first time.
const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// The longest such rest: a healed account is noticed within a minute.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A claim that this process holds.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// The row.
    pub id: Uuid,
    /// The fence.
    pub attempt: u32,
    /// Requests made, this one included.
    pub sends: u32,
    /// An earlier attempt is in doubt.
    pub in_doubt: bool,
}

/// A claim with all that its request needs.
pub struct Job {
    /// Which claim.
    pub held: Held,
    /// What is sent.
    pub notification: Arc<Notification>,
    /// The request, whose hash is in the ledger.
    pub request: Request,
    /// When the claim ends, by this process's monotonic clock, counted from before it was made.
    pub lease_ends: Instant,
    /// The send slot.
    pub slot: OwnedSemaphorePermit,
}

/// One channel at work in this process.
pub struct Lane {
    /// Its configuration.
    pub channel: Arc<Channel>,
    /// What its claims have in common.
    pub terms: Terms,
    /// Free send slots. A claim is taken only with one in hand, so that what a crash can leave in
    /// doubt is bounded by the concurrency.
    pub slots: Arc<Semaphore>,
    /// Claimed work on its way to the send tasks.
    pub work: async_channel::Sender<Job>,
    /// The other end.
    pub jobs: async_channel::Receiver<Job>,
    /// Where decisions are written.
    pub settler: Settler,
    /// Carries requests.
    pub client: Client,
    /// What Prometheus is told.
    pub metrics: Arc<Metrics>,
    pause: Mutex<Pause>,
}

#[derive(Default)]
struct Pause {
    until: Option<Instant>,
    last: Duration,
}

impl Lane {
    /// A channel with all its slots free.
    #[must_use]
    pub fn new(
        channel: Arc<Channel>,
        settler: Settler,
        client: Client,
        metrics: Arc<Metrics>,
    ) -> Self {
        let (work, jobs) = async_channel::bounded(channel.concurrency);
        Self {
            slots: Arc::new(Semaphore::new(channel.concurrency)),
            terms: Terms {
                channel: channel.name.clone(),
                provider: channel.provider.name.clone(),
                lease: channel.lease,
                expires_after: channel.expires_after,
            },
            channel,
            work,
            jobs,
            settler,
            client,
            metrics,
            pause: Mutex::default(),
        }
    }

    /// The request for a notification under one of its send keys.
    ///
    /// # Errors
    /// When the provider has no form for it.
    pub fn request(
        &self,
        notification: &Notification,
        generation: u32,
    ) -> Result<Request, Unrenderable> {
        self.channel
            .provider
            .request(&Message::new(&self.channel, notification, generation))
    }

    /// Waits for up to `most` slots, at least one. `None` when told to stop.
    pub async fn take_slots(
        &self,
        most: usize,
        stop: &CancellationToken,
    ) -> Option<OwnedSemaphorePermit> {
        let mut slots = tokio::select! {
            () = stop.cancelled() => return None,
            slot = self.slots.clone().acquire_owned() => slot.ok()?,
        };
        self.fill_up(&mut slots, most);
        Some(slots)
    }

    /// As [`Lane::take_slots`], for `most` messages that are waiting. Where few slots are free, the
    /// messages must wait anyway: a moment more makes one claim out of several.
    pub async fn take_slots_for(
        &self,
        most: usize,
        stop: &CancellationToken,
    ) -> Option<OwnedSemaphorePermit> {
        let mut slots = self.take_slots(most, stop).await?;
        let enough = most.min(self.channel.concurrency / 4);
        if slots.num_permits() < enough {
            let missing = enough - slots.num_permits();
            let missing = u32::try_from(missing).unwrap_or(u32::MAX);
            let more = self.slots.clone().acquire_many_owned(missing);
            if let Ok(Ok(more)) = tokio::time::timeout(LINGER, more).await {
                slots.merge(more);
            }
            self.fill_up(&mut slots, most);
        }
        Some(slots)
    }

    /// Takes what is free.
    fn fill_up(&self, slots: &mut OwnedSemaphorePermit, most: usize) {
        let room = most.saturating_sub(slots.num_permits());
        let free = self.slots.available_permits().min(room);
        let free = u32::try_from(free).unwrap_or(u32::MAX);
        // Nothing is lost if somebody else was quicker.
        if let Ok(more) = self.slots.clone().try_acquire_many_owned(free) {
            slots.merge(more);
        }
    }

    /// The provider refuses the account: nothing new is claimed for a while. Each refusal after a
    /// pause doubles it. Says so once a pause; `why` goes to the log, so it holds no provider's words.
    pub fn rest(&self, why: &str) {
        let mut pause = self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if pause.until.is_some_and(|until| until > now) {
            return;
        }
        pause.last = (pause.last * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        pause.until = Some(now + pause.last);
        self.metrics
            .channel_paused
            .get_or_create(&metrics::channel(&self.channel.name))
            .set(1);
        tracing::error!(
            channel = %self.channel.name,
            provider = %self.channel.provider.name,
            seconds = pause.last.as_secs(),
            why,
            "the provider refuses the account: the channel rests"
        );
    }

    /// The provider takes messages: the account is well.
    pub fn account_is_well(&self) {
        let mut pause = self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        if pause.last > Duration::ZERO {
            *pause = Pause::default();
            self.metrics
                .channel_paused
                .get_or_create(&metrics::channel(&self.channel.name))
                .set(0);
            tracing::info!(channel = %self.channel.name, "the provider takes messages again");
        }
    }

    /// What is left of the rest, if the channel is resting.
    #[must_use]
    pub fn resting(&self) -> Option<Duration> {
        let pause = self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        let left = pause.until?.saturating_duration_since(Instant::now());
        (left > Duration::ZERO).then_some(left)
    }
}
