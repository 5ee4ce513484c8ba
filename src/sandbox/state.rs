//! Everything one sandbox holds.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use super::book::Book;
use super::clock::Clock;
use super::entry::Sent;
use super::histogram::Histogram;
use super::keys::Keys;
use super::message::Message;
use super::name::Name;
use super::plan::{ActivePlan, FaultPlan, PlanError};
use super::release::Gate;
use super::settings::Settings;
use super::tally::Tally;

/// The state shared by all connections.
#[derive(Debug)]
pub(super) struct Sandbox {
    pub(super) settings: Settings,
    pub(super) clock: Clock,
    pub(super) book: Book,
    pub(super) keys: Arc<Keys>,
    pub(super) tally: Tally,
    /// From publishing to arrival here, for messages that say when they were published.
    pub(super) delays: Histogram,
    pub(super) gate: Gate,
    plan: RwLock<Arc<ActivePlan>>,
    next: AtomicU64,
}

impl Sandbox {
    pub(super) fn new(settings: Settings) -> Result<Self, PlanError> {
        let plan = ActivePlan::check(settings.plan.clone())?;
        Ok(Sandbox {
            settings,
            clock: Clock::start(),
            book: Book::new(),
            keys: Arc::new(Keys::new()),
            tally: Tally::new(),
            delays: Histogram::new(),
            gate: Gate::default(),
            plan: RwLock::new(Arc::new(plan)),
            next: AtomicU64::new(1),
        })
    }

    pub(super) fn plan(&self) -> Arc<ActivePlan> {
        self.plan
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn put_plan(&self, plan: FaultPlan) -> Result<(), PlanError> {
        let plan = Arc::new(ActivePlan::check(plan)?);
        *self.plan.write().unwrap_or_else(PoisonError::into_inner) = plan;
        Ok(())
    }

    /// Forgets what was seen and sent, and all keys; the plan stays, half-used scripts included.
    pub(super) fn reset(&self) {
        self.book.clear();
        self.keys.clear();
        self.tally.clear();
        self.delays.clear();
    }

    /// A number never given before.
    pub(super) fn next(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// A message id; two runs give different ones.
    pub(super) fn message_id(&self, number: u64) -> String {
        format!("sbx-{:x}-{number:08x}", self.clock.started_us())
    }

    /// Physically sends a message, so far as a sandbox does; its number.
    pub(super) fn accept(&self, name: &Name, message: &Message) -> u64 {
        let id = self.next();
        self.tally.sent.add();
        if !self.settings.forget {
            let at_us = self.clock.now_us();
            let (to, text_hash) = (message.to.as_str().into(), message.text_hash());
            let nth = self.book.accept(
                name,
                Sent {
                    id,
                    at_us,
                    to,
                    text_hash,
                },
            );
            self.tally.sent_again(nth);
        }
        id
    }

    pub(super) fn window(&self, plan: &FaultPlan) -> Duration {
        plan.window.unwrap_or(self.settings.window)
    }

    pub(super) fn latency(&self, plan: &FaultPlan) -> Duration {
        plan.latency.unwrap_or(self.settings.latency)
    }

    pub(super) fn log_lag(&self, plan: &FaultPlan) -> Duration {
        plan.log_lag.unwrap_or(self.settings.log_lag)
    }

    pub(super) fn log_retention(&self, plan: &FaultPlan) -> Duration {
        plan.log_retention.unwrap_or(self.settings.log_retention)
    }

    pub(super) fn idempotency(&self, plan: &FaultPlan) -> bool {
        plan.idempotency.unwrap_or(self.settings.idempotency)
    }
}
