//! The configuration, checked: nothing in here needs a second look.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rlibphonenumber::Region;
use secrecy::SecretString;

use crate::domain::notification::Kind;
use crate::domain::policy::Policy;
use crate::domain::schedule::Schedule;
use crate::provider::Provider;

/// Everything that `nuncio.toml` says.
pub struct Config {
    /// Where the ledger is.
    pub database: Database,
    /// Where notifications come from.
    pub broker: Broker,
    /// The one listener, for health, metrics and the console.
    pub http: Http,
    /// How doubt is settled.
    pub resolver: Resolver,
    /// How long a stopping process may take to finish what is in flight; longer than any
    /// provider's request timeout.
    pub shutdown_grace: Duration,
    /// How the log is written.
    pub log: Log,
    /// The channels, by name; at least one.
    pub channels: Vec<Arc<Channel>>,
    /// What is not wrong, but worth a look, in words.
    pub warnings: Vec<String>,
}

/// Where the ledger is.
pub struct Database {
    /// Postgres URL.
    pub url: SecretString,
    /// Connections in the pool, 1 or more.
    pub pool: u32,
    /// A pgbouncer in transaction mode stands in between: no named prepared statements.
    pub pgbouncer: bool,
}

/// Where notifications come from.
pub struct Broker {
    /// AMQP URL.
    pub url: SecretString,
    /// Unacknowledged deliveries that the broker may have under way to one consumer, 1 or more.
    pub prefetch: u16,
    /// The exchange to which producers publish.
    pub exchange: String,
}

/// The one listener.
pub struct Http {
    /// Address and port.
    pub listen: SocketAddr,
}

/// How doubt is settled.
pub struct Resolver {
    /// The pause between two passes.
    pub every: Duration,
    /// Rows looked at in one pass, 1 or more.
    pub batch: u32,
    /// Notifications that one pass may send again; what is above waits for the next pass, so that
    /// a provider that lost its log does not become a mass resend.
    pub max_resends: u32,
}

/// How the log is written.
pub struct Log {
    /// One line of text or of JSON for each event.
    pub format: LogFormat,
}

/// The form of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For machines.
    Json,
}

/// A named lane.
pub struct Channel {
    /// Its name.
    pub name: Arc<str>,
    /// What it carries.
    pub kind: Kind,
    /// The queue that it reads; no other channel reads it.
    pub queue: String,
    /// Whether that is a quorum queue; a classic one if not.
    pub quorum: bool,
    /// Deliveries after which the broker gives a message up. `None` leaves it to the broker.
    pub delivery_limit: Option<u32>,
    /// What to do when nothing can be known.
    pub policy: Policy,
    /// Who sends.
    pub provider: Provider,
    /// Requests under way at once in one process, 1 to 4,096. Also the most that a crash of one
    /// process can leave in doubt.
    pub concurrency: usize,
    /// How long a claim belongs to its owner; at least [`LEASE_MARGIN`] longer than the
    /// provider's request timeout.
    pub lease: Duration,
    /// Requests that may be made for one notification, 1 or more.
    pub max_sends: u32,
    /// The pauses between them.
    pub schedule: Schedule,
    /// How long a failing look-up is tried before a row counts as undecidable.
    pub resolve_within: Duration,
    /// The age after which a notification without a time of its own is not sent any more.
    pub expires_after: Option<Duration>,
    /// SMS: whose numbering plan a number without a country code belongs to; refused without one.
    pub default_region: Option<Region>,
    /// SMS: the most that one text may need, 1 to 255.
    pub max_segments: u32,
    /// The sender of a notification that names none.
    pub from: Option<String>,
}

/// What a lease must leave, beyond the request timeout, for the claim's commit before the request
/// and the outcome's commit after it. A shorter one lets the resolver pick up rows whose worker
/// is alive.
pub const LEASE_MARGIN: Duration = Duration::from_secs(5);
