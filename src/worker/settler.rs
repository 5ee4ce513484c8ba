//! One writer for the decisions of a process: it writes whatever has come in since its last
//! statement, so batches are one row when little happens and fill by themselves when much does.
//!
//! Without the two habits below all slots of a channel move in step: the first outcome of a batch
//! is written alone, its slot is claimed with alone, and the 127 others wait for two commits.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::ledger::Ledger;
use crate::ledger::moves::Move;
use crate::metrics::{Metrics, result};
use crate::reconnect::Reconnect;
use crate::worker::LINGER;

/// The most moves in one statement.
const BATCH: usize = 500;

/// A decision, and the slot that it frees once it is written.
pub struct Settled {
    /// The channel that it belongs to.
    pub channel: Arc<str>,
    /// The change of phase.
    pub change: Move,
    /// Given back when the change is committed, so that a claim without a written outcome always
    /// has a slot, and a stalled database stops new claims.
    pub slot: OwnedSemaphorePermit,
}

/// Hands decisions to the writer. Cheap to clone; the writer ends when all clones are gone.
#[derive(Clone)]
pub struct Settler {
    inbox: mpsc::Sender<Settled>,
    coming: Arc<AtomicUsize>,
}

/// An outcome that is on its way, until this is dropped.
pub struct Coming(Arc<AtomicUsize>);

impl Drop for Coming {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Settler {
    /// A settler, and its writer to be spawned.
    pub fn new(
        ledger: Ledger,
        metrics: Arc<Metrics>,
        abort: CancellationToken,
    ) -> (Self, impl Future<Output = ()> + Send) {
        let (inbox, receiver) = mpsc::channel(BATCH);
        let coming = Arc::default();
        let writer = Writer {
            ledger,
            metrics,
            abort,
            coming: Arc::clone(&coming),
        };
        (Self { inbox, coming }, writer.run(receiver))
    }

    /// Says that a request is being made, whose outcome will be handed over.
    #[must_use]
    pub fn expect(&self) -> Coming {
        self.coming.fetch_add(1, Ordering::Relaxed);
        Coming(self.coming.clone())
    }

    /// Hands over one decision.
    pub async fn settle(&self, settled: Settled) {
        if self.inbox.send(settled).await.is_err() {
            // Only after the grace time: the row's lease ends and the resolver finds it.
            tracing::warn!("an outcome came after the end and is left to the resolver");
        }
    }
}

/// Frees the slots of a batch together, so that the next claim is not of the first of them alone.
fn give_back(slots: impl Iterator<Item = OwnedSemaphorePermit>) {
    let mut together: Option<OwnedSemaphorePermit> = None;
    for slot in slots {
        match &mut together {
            Some(some) if Arc::ptr_eq(some.semaphore(), slot.semaphore()) => some.merge(slot),
            Some(_) | None => together = Some(slot),
        }
    }
}

struct Writer {
    ledger: Ledger,
    metrics: Arc<Metrics>,
    abort: CancellationToken,
    coming: Arc<AtomicUsize>,
}

impl Writer {
    async fn run(self, mut inbox: mpsc::Receiver<Settled>) {
        let mut batch = Vec::with_capacity(BATCH);
        while inbox.recv_many(&mut batch, BATCH).await > 0 {
            self.linger(&mut inbox, &mut batch).await;
            // The few that say more would make the statement of the many dearer.
            let (plain, other): (Vec<Settled>, Vec<Settled>) = batch
                .drain(..)
                .partition(|settled| settled.change.is_plainly_sent());
            self.settle(plain).await;
            self.settle(other).await;
        }
    }

    async fn settle(&self, batch: Vec<Settled>) {
        if batch.is_empty() {
            return;
        }
        let mut slots = Vec::with_capacity(batch.len());
        let mut channels = Vec::with_capacity(batch.len());
        let mut moves = Vec::with_capacity(batch.len());
        for settled in batch {
            moves.push(settled.change);
            channels.push(settled.channel);
            slots.push(settled.slot);
        }
        if let Some(took_place) = self.write(&moves).await {
            self.count(&channels, &moves, &took_place);
        }
        give_back(slots.into_iter());
    }

    /// While more outcomes are coming than are in hand, waits a moment for them: their slots are free
    /// a moment later, no request waits.
    async fn linger(&self, inbox: &mut mpsc::Receiver<Settled>, batch: &mut Vec<Settled>) {
        let until = Instant::now() + LINGER;
        while batch.len() < BATCH && self.coming.load(Ordering::Relaxed) > batch.len() {
            let room = BATCH - batch.len();
            match timeout_at(until, inbox.recv_many(batch, room)).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => return,
            }
        }
    }

    /// Writes until the database says what holds. A move that had been written by a try without an
    /// answer counts as lost here, which is the cautious way to be wrong.
    async fn write(&self, moves: &[Move]) -> Option<HashSet<Uuid>> {
        let mut reconnect = Reconnect::default();
        loop {
            match self.ledger.apply(moves).await {
                Ok(took_place) => return Some(took_place),
                Err(error) if error.is_about_the_data() => {
                    return Some(self.one_by_one(moves).await);
                }
                Err(error) => {
                    self.metrics.ledger_errors.inc();
                    tracing::warn!(%error, rows = moves.len(), "outcomes could not be written yet");
                    if !reconnect.pause(&self.abort).await {
                        tracing::warn!(rows = moves.len(), "outcomes are left to the resolver");
                        return None;
                    }
                }
            }
        }
    }

    /// One row that the database will not take must not hold up the others. That one stays in
    /// `sending` until its lease ends, and the resolver asks the provider about it.
    async fn one_by_one(&self, moves: &[Move]) -> HashSet<Uuid> {
        let mut took_place = HashSet::new();
        let mut reconnect = Reconnect::default();
        for change in moves {
            loop {
                let error = match self.ledger.apply(std::slice::from_ref(change)).await {
                    Ok(done) => {
                        took_place.extend(done);
                        break;
                    }
                    Err(error) => error,
                };
                self.metrics.ledger_errors.inc();
                if error.is_about_the_data() {
                    tracing::error!(%error, id = %change.id(), "an outcome cannot be written");
                    break;
                }
                if !reconnect.pause(&self.abort).await {
                    return took_place;
                }
            }
        }
        took_place
    }

    fn count(&self, channels: &[Arc<str>], moves: &[Move], took_place: &HashSet<Uuid>) {
        for (channel, change) in channels.iter().zip(moves) {
            if took_place.contains(&change.id()) {
                self.metrics
                    .settled
                    .get_or_create(&result(channel, change.to().as_str()))
                    .inc();
            } else {
                self.metrics.moves_lost.inc();
            }
        }
    }
}
