//! What the provider's promises change: the same channel with each kind of provider.

use std::time::Duration;

use serde::Serialize;

use super::{
    capability::{Dedupe, Lookup},
    cost::Prices,
    situation::Situation,
    verdict::{Decision, decide},
};

/// One kind of provider on the same channel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// What it promises, in a few words.
    pub provider: &'static str,
    /// What it does with a second request under the same key.
    pub dedupe: Dedupe,
    /// What its log can say.
    pub lookup: Lookup,
    /// Counts, costs and the cheaper policy.
    pub decision: Decision,
}

/// Decides for four kinds of provider: no promise, a fuzzy log, an exact log, a remembered key.
#[must_use]
pub fn compare_capabilities(situation: &Situation, prices: &Prices) -> [Comparison; 4] {
    const SETTLE: Duration = Duration::from_secs(10 * 60);
    const RETENTION: Duration = Duration::from_secs(30 * 24 * 3_600);
    const WINDOW: Duration = Duration::from_secs(24 * 3_600);
    let fuzzy = Lookup::ByRecipient {
        settle: SETTLE,
        retention: RETENTION,
    };
    let exact = Lookup::ByReference {
        settle: SETTLE,
        retention: RETENTION,
    };
    [
        ("no promise at all", Dedupe::None, Lookup::None),
        ("log by recipient (fuzzy)", Dedupe::None, fuzzy),
        ("log by reference (exact)", Dedupe::None, exact),
        (
            "remembers the key, 24 h",
            Dedupe::Replay { window: WINDOW },
            Lookup::None,
        ),
    ]
    .map(|(provider, dedupe, lookup)| Comparison {
        provider,
        dedupe,
        lookup,
        decision: decide(
            &Situation {
                dedupe,
                lookup,
                ..*situation
            },
            prices,
        ),
    })
}
