//! What a channel does when nothing can be known.

use std::fmt;

use serde::Serialize;

/// What to do with a notification in doubt that no evidence can settle.
///
/// There is no third choice: over a network that loses answers, "exactly once" is not on offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Never send again on a guess. What cannot be settled is parked for a person.
    AtMostOnce,
    /// Send again and count a possible duplicate, until the provider says yes.
    AtLeastOnce,
}

impl Policy {
    /// Both policies, the cautious one first.
    pub const ALL: [Self; 2] = [Self::AtMostOnce, Self::AtLeastOnce];

    /// The name used in the configuration, the ledger and the metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AtMostOnce => "at-most-once",
            Self::AtLeastOnce => "at-least-once",
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
