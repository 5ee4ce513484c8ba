//! What Prometheus is told. Labels are names from the configuration and from closed lists only:
//! never a recipient, a key or a provider's words.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::ledger::health::OpenRows;

/// A name out of the configuration, or out of a closed list. Made for every message, so neither
/// kind is copied.
#[derive(Clone, Debug)]
pub enum Name {
    /// From the configuration.
    Given(Arc<str>),
    /// From a closed list.
    Fixed(&'static str),
}

impl Name {
    fn as_str(&self) -> &str {
        match self {
            Self::Given(name) => name,
            Self::Fixed(name) => name,
        }
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Name {}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl From<&Arc<str>> for Name {
    fn from(name: &Arc<str>) -> Self {
        Self::Given(Arc::clone(name))
    }
}

impl From<&'static str> for Name {
    fn from(name: &'static str) -> Self {
        Self::Fixed(name)
    }
}

impl EncodeLabelValue for Name {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        self.as_str().encode(encoder)
    }
}

macro_rules! labels {
    ($($(#[$doc:meta])* $name:ident { $($field:ident),* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
        #[expect(missing_docs, reason = "a label is its name")]
        pub struct $name { $(pub $field: Name),* }
    )*};
}

labels! {
    /// One channel.
    ByChannel { channel }
    /// One channel, and what became of something on it.
    ByResult { channel, result }
    /// A reason.
    ByReason { reason }
    /// A phase.
    ByPhase { phase }
    /// One provider.
    ByProvider { provider }
    /// Rows in doubt.
    ByDoubt { channel, phase, cause }
}

type Gauge64 = Gauge<f64, AtomicU64>;

/// Every metric of a process.
#[derive(Debug)]
#[expect(
    missing_docs,
    reason = "the help text beside each name in `new` says it"
)]
pub struct Metrics {
    registry: Registry,
    pub received: Family<ByChannel, Counter>,
    pub sms_segments: Family<ByChannel, Counter>,
    pub claims: Family<ByResult, Counter>,
    pub duplicates_dropped: Family<ByChannel, Counter>,
    pub quarantined: Family<ByReason, Counter>,
    pub outcomes: Family<ByResult, Counter>,
    pub settled: Family<ByResult, Counter>,
    pub moves_lost: Counter,
    pub request_seconds: Family<ByProvider, Histogram, fn() -> Histogram>,
    pub verdicts: Family<ByResult, Counter>,
    pub possible_duplicates: Family<ByChannel, Counter>,
    pub consumer_attached: Family<ByChannel, Gauge>,
    pub channel_paused: Family<ByChannel, Gauge>,
    pub ledger_errors: Counter,
    pub resolver_last_success: Gauge64,
    open_rows: Family<ByPhase, Gauge>,
    stale_rows: Gauge,
    in_doubt: Family<ByDoubt, Gauge>,
    oldest_sending: Gauge64,
    oldest_doubt: Gauge64,
}

fn request_seconds() -> Histogram {
    // 2 ms to 65 s: from a provider next door to past every sane request timeout.
    Histogram::new(exponential_buckets(0.002, 2.0, 16))
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// All of them, at zero.
    #[must_use]
    pub fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("nuncio"),
            received: Family::default(),
            sms_segments: Family::default(),
            claims: Family::default(),
            duplicates_dropped: Family::default(),
            quarantined: Family::default(),
            outcomes: Family::default(),
            settled: Family::default(),
            moves_lost: Counter::default(),
            request_seconds: Family::new_with_constructor(request_seconds),
            verdicts: Family::default(),
            possible_duplicates: Family::default(),
            consumer_attached: Family::default(),
            channel_paused: Family::default(),
            ledger_errors: Counter::default(),
            resolver_last_success: Gauge64::default(),
            open_rows: Family::default(),
            stale_rows: Gauge::default(),
            in_doubt: Family::default(),
            oldest_sending: Gauge64::default(),
            oldest_doubt: Gauge64::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let r = &mut self.registry;
        r.register(
            "received",
            "Deliveries taken from the queue",
            self.received.clone(),
        );
        r.register(
            "sms_segments",
            "SMS that accepted texts are sent as: what a provider bills",
            self.sms_segments.clone(),
        );
        r.register(
            "claims",
            "Notifications brought to the ledger, by what became of them",
            self.claims.clone(),
        );
        r.register("duplicates_dropped", "Notifications that were known already; zero for ever means that dedup was never tested", self.duplicates_dropped.clone());
        r.register(
            "quarantined",
            "Messages that could not become a row",
            self.quarantined.clone(),
        );
        r.register(
            "outcomes",
            "Requests to providers, by what they taught",
            self.outcomes.clone(),
        );
        r.register(
            "settled",
            "Changes of phase by a sender",
            self.settled.clone(),
        );
        r.register(
            "moves_lost",
            "Changes of phase that came too late: somebody else had decided",
            self.moves_lost.clone(),
        );
        r.register(
            "request_seconds",
            "Time from request to complete answer",
            self.request_seconds.clone(),
        );
        r.register(
            "resolver_verdicts",
            "Decisions of the resolver",
            self.verdicts.clone(),
        );
        r.register(
            "possible_duplicates",
            "Notifications sent again while in doubt",
            self.possible_duplicates.clone(),
        );
        r.register(
            "consumer_attached",
            "1 while the channel's queue is being read",
            self.consumer_attached.clone(),
        );
        r.register(
            "channel_paused",
            "1 while a channel rests because the provider refuses the account",
            self.channel_paused.clone(),
        );
        r.register(
            "ledger_errors",
            "Statements that the database did not carry out",
            self.ledger_errors.clone(),
        );
        r.register(
            "resolver_last_success_timestamp_seconds",
            "When the last resolver pass ended well, Unix time",
            self.resolver_last_success.clone(),
        );
        r.register(
            "open_rows",
            "Rows in queued and sending",
            self.open_rows.clone(),
        );
        r.register(
            "stale_rows",
            "Rows in sending past their lease: on the stuck list",
            self.stale_rows.clone(),
        );
        r.register(
            "in_doubt_rows",
            "Rows in doubt by phase and cause",
            self.in_doubt.clone(),
        );
        r.register(
            "oldest_sending_seconds",
            "Age of the oldest row in sending",
            self.oldest_sending.clone(),
        );
        r.register(
            "oldest_doubt_seconds",
            "Age of the oldest doubt",
            self.oldest_doubt.clone(),
        );
    }

    /// Takes over a reading of the ledger.
    pub fn show(&self, rows: &OpenRows) {
        let phase = |phase: &'static str| {
            self.open_rows.get_or_create_owned(&ByPhase {
                phase: phase.into(),
            })
        };
        phase("queued").set(rows.queued);
        phase("sending").set(rows.sending);
        self.stale_rows.set(rows.stale);
        self.oldest_sending.set(rows.oldest_sending_seconds);
        self.oldest_doubt.set(rows.oldest_doubt_seconds);
        // Causes that are no longer there must not stay at their last value.
        self.in_doubt.clear();
        for row in &rows.in_doubt {
            self.in_doubt
                .get_or_create_owned(&ByDoubt {
                    channel: Name::Given(row.channel.as_str().into()),
                    phase: Name::Given(row.phase.as_str().into()),
                    cause: Name::Given(row.cause.as_str().into()),
                })
                .set(row.rows);
        }
    }

    /// The text that a scrape gets.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

/// The label of one channel.
#[must_use]
pub fn channel(channel: &Arc<str>) -> ByChannel {
    ByChannel {
        channel: channel.into(),
    }
}

/// The label of one result on one channel.
#[must_use]
pub fn result(channel: &Arc<str>, result: &'static str) -> ByResult {
    ByResult {
        channel: channel.into(),
        result: result.into(),
    }
}
