//! What a provider promises. Declared per provider, never inferred from an answer.

use std::time::Duration;

/// What happens when the same idempotency key reaches the provider twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dedupe {
    /// Each request is a new message, whatever it carries.
    None,
    /// The first answer is given again; nothing is sent twice.
    Replay {
        /// How long the provider remembers a key, counted from the first request under it.
        window: Duration,
    },
    /// The second request is an error that means "I already have it".
    Tombstone {
        /// As for [`Dedupe::Replay`].
        window: Duration,
    },
    /// We choose the message's id at the provider; a second use of it is refused.
    ClientId {
        /// As for [`Dedupe::Replay`].
        window: Duration,
    },
}

impl Dedupe {
    /// How long a key is remembered; `None` when the provider does not dedupe.
    #[must_use]
    pub const fn window(self) -> Option<Duration> {
        match self {
            Self::None => None,
            Self::Replay { window } | Self::Tombstone { window } | Self::ClientId { window } => {
                Some(window)
            }
        }
    }
}

/// What the provider's log can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LookUp {
    /// There is no log that we can read.
    None,
    /// The log can be searched by our own reference (the send key): exact.
    ByReference {
        /// How long the log may lag before "not found" means anything.
        settle: Duration,
        /// How long the log keeps a record.
        retention: Duration,
    },
    /// The log can be searched by recipient and time only: two identical texts to one person
    /// cannot be told apart, so an answer is never proof of absence.
    ByRecipient {
        /// As for [`LookUp::ByReference`].
        settle: Duration,
        /// As for [`LookUp::ByReference`].
        retention: Duration,
    },
}

impl LookUp {
    /// Settle time and retention, where there is a log.
    #[must_use]
    pub const fn times(self) -> Option<(Duration, Duration)> {
        match self {
            Self::None => None,
            Self::ByReference { settle, retention } | Self::ByRecipient { settle, retention } => {
                Some((settle, retention))
            }
        }
    }

    /// Whether a settled "not found" proves that nothing was sent.
    #[must_use]
    pub const fn proves_absence(self) -> bool {
        matches!(self, Self::ByReference { .. })
    }
}

/// The two capabilities that decide what can be known about a message in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Capability {
    /// Whether a repeat under the same key is harmless, and for how long.
    pub dedupe: Dedupe,
    /// Whether, and how, the provider's log can be asked.
    pub look_up: LookUp,
}
