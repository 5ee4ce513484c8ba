//! The choices: the channel's policy, and what its provider promises (design, sections 2 and 8).

use std::time::Duration;

use serde::Serialize;

/// What to do when nothing can be known about an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Never sends again while in doubt, except a replay the provider is sure to recognise.
    AtMostOnce,
    /// Sends again when nothing can be known, and counts a possible duplicate.
    AtLeastOnce,
}

impl Policy {
    /// Both policies, in the order in which they are shown.
    pub const ALL: [Self; 2] = [Self::AtMostOnce, Self::AtLeastOnce];

    /// The name used in configuration, tables and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AtMostOnce => "at-most-once",
            Self::AtLeastOnce => "at-least-once",
        }
    }
}

/// What the provider does with a second request under the same key.
///
/// `window` is how long it remembers the key, from the first request under it. The three kinds
/// that remember prevent the second message equally well, so the counts do not tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dedupe {
    /// Sends it again.
    None,
    /// Gives the first answer again.
    Replay {
        /// How long the key is remembered.
        window: Duration,
    },
    /// Gives an error that means "already have it".
    Tombstone {
        /// How long the key is remembered.
        window: Duration,
    },
    /// We choose the message id, and its reuse is refused.
    ClientId {
        /// How long the id is remembered.
        window: Duration,
    },
}

impl Dedupe {
    /// How long the provider remembers a key; zero if it never does.
    #[must_use]
    pub const fn window(self) -> Duration {
        match self {
            Self::None => Duration::ZERO,
            Self::Replay { window } | Self::Tombstone { window } | Self::ClientId { window } => {
                window
            }
        }
    }
}

/// What the provider's own log can say about an attempt.
///
/// "Not found" counts only between `settle` (how long the log may lag) and `retention` (how long
/// it keeps an entry), both from the attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// There is no log to ask, or it cannot be asked about one message.
    None,
    /// Exact: asked by our reference.
    ByReference {
        /// How long the log may lag.
        settle: Duration,
        /// How long the log keeps an entry.
        retention: Duration,
    },
    /// Fuzzy: asked by recipient and time. Other senders' messages to them can be in the way.
    ByRecipient {
        /// How long the log may lag.
        settle: Duration,
        /// How long the log keeps an entry.
        retention: Duration,
    },
}
