//! What one attempt taught, and what one look-up taught.
//!
//! An outcome is classified by how far the request got, never by "an error happened":
//! see the table in [`crate::provider::client`].

use std::fmt;
use std::time::Duration;

use super::notification::Notification;
use crate::provider::clean::{clean, redact};

/// Shorter texts tell nothing, and are found in words that do not repeat them.
const SHORTEST_TELLING: usize = 6;

/// What one attempt to send taught.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The provider has it, and its answer proves that.
    Accepted {
        /// The provider's own id for the message, where it gave one.
        provider_id: Option<String>,
        /// The answer says that an earlier request under this key had been accepted.
        already: bool,
    },
    /// The provider will never take this message.
    Refused {
        /// The recipient asked not to be written to.
        opted_out: bool,
        /// The provider's words, cleaned and cut.
        text: String,
    },
    /// Certainly had no effect; another try may.
    NotSent {
        /// Why nothing happened.
        cause: NotSent,
        /// How long the provider asked us to wait.
        retry_after: Option<Duration>,
        /// The provider's or the network's words, cleaned and cut.
        text: String,
    },
    /// May or may not have had an effect.
    Unknown {
        /// Why nobody can say.
        cause: Doubt,
        /// When the provider said that it will know more.
        look_after: Option<Duration>,
        /// The provider's or the network's words, cleaned and cut.
        text: String,
    },
}

/// Why an attempt certainly had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NotSent {
    /// Name look-up, connection or TLS handshake failed: no byte of the request left.
    Unreachable,
    /// Too many requests, from a provider that says such a request was not processed.
    Throttled,
    /// The provider documents this answer as "not processed".
    NotProcessed,
    /// The account, not the message, was refused: bad credentials, suspended, wrong URL, redirect.
    Account,
    /// The provider has no form for it under the present configuration: no request was made.
    NoForm,
    /// The lease would have ended before the request could: no request was made.
    LeaseTooShort,
    /// The worker was told to stop before the request began.
    ShuttingDown,
}

/// Why an attempt's effect is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Doubt {
    /// No complete answer within the request timeout.
    Timeout,
    /// The connection ended after the request's first byte was written.
    ConnectionLost,
    /// An answer that says nothing about the message: 500, 502, 504 and their kind.
    ServerError,
    /// An answer that nobody has described: a success status without the proof that the contract
    /// demands, or a refusal of an unknown kind.
    Unintelligible,
    /// The provider says an earlier request under this key is still being worked on.
    InProgress,
    /// The provider says this key was used with another body: our own bug.
    KeyMismatch,
    /// The provider gives a stored failure again and will do so as long as it knows the key.
    ReplayedFailure,
    /// The worker that held the claim never came back.
    WorkerLost,
}

impl NotSent {
    /// The name used in the ledger and the metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Throttled => "throttled",
            Self::NotProcessed => "not_processed",
            Self::Account => "account_refused",
            Self::NoForm => "no_form",
            Self::LeaseTooShort => "lease_too_short",
            Self::ShuttingDown => "shutting_down",
        }
    }

    /// Whether the attempt counts against the notification's attempt cap. A request that was
    /// never made does not, nor does trouble that would meet every message alike.
    #[must_use]
    pub const fn uses_an_attempt(self) -> bool {
        match self {
            Self::Throttled | Self::NotProcessed => true,
            Self::Unreachable
            | Self::Account
            | Self::NoForm
            | Self::LeaseTooShort
            | Self::ShuttingDown => false,
        }
    }
}

impl Doubt {
    /// Every cause.
    pub const ALL: [Self; 8] = [
        Self::Timeout,
        Self::ConnectionLost,
        Self::ServerError,
        Self::Unintelligible,
        Self::InProgress,
        Self::KeyMismatch,
        Self::ReplayedFailure,
        Self::WorkerLost,
    ];

    /// The name used in the ledger and the metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::ConnectionLost => "connection_lost",
            Self::ServerError => "server_error",
            Self::Unintelligible => "unintelligible",
            Self::InProgress => "in_progress",
            Self::KeyMismatch => "key_mismatch",
            Self::ReplayedFailure => "replayed_failure",
            Self::WorkerLost => "worker_lost",
        }
    }

    /// Reads a name written by [`Doubt::as_str`].
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|d| d.as_str() == name)
    }
}

impl Outcome {
    /// Takes recipient, text and subject out of the provider's words: providers like to repeat
    /// them in an error.
    #[must_use]
    pub fn without(mut self, notification: &Notification) -> Self {
        match &mut self {
            Self::Accepted { .. } => {}
            Self::Refused { text, .. }
            | Self::NotSent { text, .. }
            | Self::Unknown { text, .. } => {
                let mut told = redact(text, &notification.to).into_owned();
                let content = &notification.content;
                for part in [&content.text, &content.subject].into_iter().flatten() {
                    // Cleaned as the words were, or it would not be found in them.
                    let part = clean(part, part.len());
                    if part.len() >= SHORTEST_TELLING {
                        told = told.replace(&part, "[content]");
                    }
                }
                *text = told;
            }
        }
        self
    }
}

impl fmt::Display for NotSent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the provider's log said about one notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookUpAnswer {
    /// Records that are ours: the provider's ids, at least one. For a look-up by recipient,
    /// records that are already bound to another notification have been taken out.
    Found(Vec<String>),
    /// The log answered, and has no record of ours.
    Absent,
    /// The log did not answer in a way that means anything. Never the same as [`Self::Absent`].
    Failed {
        /// How long the provider asked us to wait.
        retry_after: Option<Duration>,
        /// What went wrong, cleaned and cut.
        text: String,
    },
}
