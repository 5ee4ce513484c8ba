//! A notification, as accepted: every field checked, the recipient in canonical form.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::identity;

/// What a channel carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Text messages to E.164 numbers.
    Sms,
    /// Mail to addresses with an ASCII domain (A-labels).
    Email,
}

impl Kind {
    /// The name used in the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sms => "sms",
            Self::Email => "email",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the recipient will read, and what the producer attached to it.
///
/// Field order is the order in which it is stored, so its bytes are the same every time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// Plain text. Always there for an SMS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Subject of a mail, one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// HTML body of a mail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    /// Sender, where it is not the channel's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Where answers to a mail go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// The producer's own notes. Available to a provider's template; not part of what makes two
    /// notifications the same.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

impl Content {
    /// Whether a recipient would read the same. Metadata may differ: a producer that stamps a
    /// trace id on each publish has still published the same notification.
    #[must_use]
    pub fn reads_the_same_as(&self, other: &Self) -> bool {
        let read = |c: &Self| {
            (
                c.text.clone(),
                c.subject.clone(),
                c.html.clone(),
                c.from.clone(),
                c.reply_to.clone(),
            )
        };
        read(self) == read(other)
    }
}

/// One message to one recipient on one channel.
#[derive(Clone, PartialEq, Eq)]
pub struct Notification {
    /// The ledger's id, derived from channel and key.
    pub id: Uuid,
    /// The channel's name.
    pub channel: Arc<str>,
    /// The producer's stable name for it: 1 to 1,024 bytes of any Unicode but NUL.
    pub key: String,
    /// Recipient in canonical form: E.164 for SMS; for mail the domain in lower case and A-labels.
    pub to: String,
    /// What the recipient will read.
    pub content: Content,
    /// Not before this.
    pub send_at: Option<DateTime<Utc>>,
    /// Not after this, where the producer said so. (The ledger may hold a channel's default.)
    pub expires_at: Option<DateTime<Utc>>,
    /// Producer's name for a sequence of notifications of which only the newest is true.
    pub stream: Option<String>,
    /// Place in the stream.
    pub seq: Option<i64>,
}

impl Notification {
    /// The send key of a generation (1 or more) of this notification.
    #[must_use]
    pub fn send_key(&self, generation: u32) -> Uuid {
        identity::send_key(&self.channel, &self.key, generation)
    }
}

/// Says which notification, never what is in it or whom it is for.
impl fmt::Debug for Notification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notification")
            .field("id", &self.id)
            .field("channel", &self.channel)
            .finish_non_exhaustive()
    }
}
