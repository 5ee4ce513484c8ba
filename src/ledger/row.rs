//! A row as it stands, and a line of its history, for people to read.

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use crate::domain::identity;
use crate::domain::outcome::Doubt;
use crate::domain::phase::Phase;

/// A row as it stands. Holds no content; the recipient is whole, and masked by whoever prints it.
#[derive(Clone, Debug)]
pub struct Row {
    /// The ledger's id, which is the send key of generation 1.
    pub id: Uuid,
    /// The channel's name.
    pub channel: String,
    /// The producer's name for it. Any Unicode but NUL: escape it before it is printed.
    pub key: String,
    /// Recipient in canonical form.
    pub recipient: String,
    /// Sequence of notifications of which only the newest is true.
    pub stream: Option<String>,
    /// Place in the stream.
    pub seq: Option<i64>,
    /// Not before this.
    pub send_at: Option<DateTime<Utc>>,
    /// Not after this.
    pub expires_at: Option<DateTime<Utc>>,
    /// When the row was committed.
    pub accepted_at: DateTime<Utc>,
    /// Where it stands.
    pub phase: Phase,
    /// The fence: a decision names the attempt that it is about.
    pub attempt: u32,
    /// Requests made, or perhaps made.
    pub sends: u32,
    /// Which send key is in use.
    pub generation: u32,
    /// The provider of the last attempt, or of the first to come.
    pub provider: String,
    /// When somebody has to look at it: due, or the end of the lease.
    pub due_at: Option<DateTime<Utc>>,
    /// The earliest moment at which a request under this send key can have been made.
    pub first_request_at: Option<DateTime<Utc>>,
    /// The latest.
    pub last_request_at: Option<DateTime<Utc>>,
    /// Since when nobody can say; see [`Row::in_doubt_since`] for a lease that nobody took over.
    pub doubt_since: Option<DateTime<Utc>>,
    /// Why, by name; see [`Row::cause`].
    pub doubt_cause: Option<String>,
    /// Resolver passes that taught nothing.
    pub checks: u32,
    /// Times that it was sent again while in doubt.
    pub possible_duplicates: u32,
    /// The provider's own id for it.
    pub provider_id: Option<String>,
    /// What proves that it was sent.
    pub settled_by: Option<String>,
    /// When it came to rest.
    pub settled_at: Option<DateTime<Utc>>,
    /// The provider's last words.
    pub last_text: Option<String>,
    /// The database's clock when it answered. Every age is counted from here.
    pub now: DateTime<Utc>,
}

impl Row {
    /// In `sending`, and the lease has ended.
    #[must_use]
    pub fn past_lease(&self) -> bool {
        self.phase == Phase::Sending && self.due_at.is_some_and(|due| due <= self.now)
    }

    /// A worker holds it and may be making its request; the resolver's turn comes after that.
    ///
    /// Claims, and only they, put the last possible request at the end of the lease.
    #[must_use]
    pub fn held_by_a_worker(&self) -> bool {
        self.phase == Phase::Sending && !self.past_lease() && self.due_at == self.last_request_at
    }

    /// When the doubt began: recorded, or with the end of a lease that nobody has taken over yet.
    #[must_use]
    pub fn in_doubt_since(&self) -> Option<DateTime<Utc>> {
        self.doubt_since
            .or_else(|| self.due_at.filter(|_| self.past_lease()))
    }

    /// Why nobody can say whether it was sent.
    #[must_use]
    pub fn cause(&self) -> Option<Doubt> {
        match &self.doubt_cause {
            Some(name) => Doubt::from_name(name),
            None => self.past_lease().then_some(Doubt::WorkerLost),
        }
    }

    /// `expires_at` has passed.
    #[must_use]
    pub fn expired(&self) -> bool {
        self.expires_at.is_some_and(|end| end <= self.now)
    }

    /// How long ago something was; negative for what is to come.
    #[must_use]
    pub fn since(&self, then: DateTime<Utc>) -> TimeDelta {
        self.now - then
    }

    /// The send key of a generation (1 or more).
    #[must_use]
    pub fn send_key(&self, generation: u32) -> Uuid {
        identity::send_key(&self.channel, &self.key, generation)
    }
}

/// A line of a notification's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// When it was written, by the database's clock.
    pub at: DateTime<Utc>,
    /// The attempt that it is about.
    pub attempt: u32,
    /// `worker`, `resolver`, or a person's name.
    pub actor: String,
    /// What kind of thing happened.
    pub event: String,
    /// What was tried or decided, and why, in words.
    pub detail: String,
}
