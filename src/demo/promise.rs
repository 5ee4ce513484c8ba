//! What each channel promises, and whether it was kept. Pure.

use std::fmt;

use super::count::{Counts, Observed};

/// What a channel's policy and its provider's capabilities promise together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Promise {
    /// Nothing goes out twice, and what did not go out is parked, where a person sees it.
    NeverTwice,
    /// Everything goes out, some of it perhaps more than once.
    NeverLost,
    /// Everything goes out, nothing twice, and nobody has to look.
    EachOnce,
}

/// Something that must not be, and how often it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Breach {
    /// Published, but the ledger has no row.
    Missing(u64),
    /// Quarantined, although nothing was wrong with it.
    Quarantined(u64),
    /// Neither at rest nor parked when the demo gave up waiting.
    Open(u64),
    /// The provider got a request that the ledger knows nothing of.
    Stranger(u64),
    /// The ledger says sent, the provider never did.
    FalseSent(u64),
    /// Went out more often than the ledger counted as possible.
    Unexplained(u64),
    /// Went out more than once.
    Twice(u64),
    /// Never went out, and is not on the parked list.
    LostSilently(u64),
    /// Never went out.
    Lost(u64),
    /// Left for a person.
    Parked(u64),
    /// Given up.
    Failed(u64),
}

/// Everything that was broken; nothing when the promise held.
pub(super) fn breaches(promise: Promise, observed: &Observed) -> Vec<Breach> {
    let counts = observed.counts();
    let of_all = [
        Breach::Missing(observed.published.saturating_sub(counts.rows)),
        Breach::Quarantined(observed.quarantined),
        Breach::Open(counts.open),
        Breach::Stranger(observed.strangers),
        Breach::FalseSent(counts.false_sent),
        Breach::Unexplained(counts.unexplained),
    ];
    let own = match promise {
        Promise::NeverTwice => vec![
            Breach::Twice(counts.twice),
            Breach::LostSilently(counts.lost_silently),
        ],
        Promise::NeverLost => vec![
            Breach::Lost(counts.lost),
            Breach::Parked(counts.parked),
            Breach::Failed(counts.failed),
        ],
        Promise::EachOnce => vec![
            Breach::Lost(counts.lost),
            Breach::Twice(counts.twice),
            Breach::Parked(counts.parked),
            Breach::Failed(counts.failed),
        ],
    };
    let happened = |breach: &Breach| breach.count() > 0;
    of_all.into_iter().chain(own).filter(happened).collect()
}

/// What was kept, in words.
pub(super) fn kept(promise: Promise, counts: &Counts) -> String {
    match promise {
        Promise::NeverTwice => format!(
            "none went out twice, and the {} that never went out are all among the {} parked ({} of them left by killed workers)",
            counts.lost, counts.parked, counts.parked_by_kills
        ),
        Promise::NeverLost => format!(
            "every one went out, {} of them more than once ({} extra), none is parked",
            counts.twice, counts.duplicates
        ),
        Promise::EachOnce => "every one went out, none twice, none is parked".into(),
    }
}

impl Breach {
    fn count(self) -> u64 {
        match self {
            Self::Missing(n)
            | Self::Quarantined(n)
            | Self::Open(n)
            | Self::Stranger(n)
            | Self::FalseSent(n)
            | Self::Unexplained(n)
            | Self::Twice(n)
            | Self::LostSilently(n)
            | Self::Lost(n)
            | Self::Parked(n)
            | Self::Failed(n) => n,
        }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Self::Missing(_) => "published without a row in the ledger",
            Self::Quarantined(_) => "quarantined",
            Self::Open(_) => "still open when nothing moved any more",
            Self::Stranger(_) => "requested without a row in the ledger",
            Self::FalseSent(_) => "sent by the ledger's account, but never by the provider's",
            Self::Unexplained(_) => "sent more often than the ledger counted as possible",
            Self::Twice(_) => "sent more than once",
            Self::LostSilently(_) => "never sent, and not on the parked list",
            Self::Lost(_) => "never sent",
            Self::Parked(_) => "parked",
            Self::Failed(_) => "given up",
        };
        write!(f, "{} {words}", self.count())
    }
}
