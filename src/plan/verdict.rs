//! Which policy is cheaper, and at which price of a lost message that turns.

use serde::Serialize;

use super::{
    capability::Policy,
    cost::{Priced, Prices},
    situation::Situation,
};

/// Which policy is cheaper at these prices.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// This one, by so much per million messages.
    Cheaper {
        /// The cheaper policy.
        policy: Policy,
        /// The difference, in the currency of the prices, above 0.
        saves: f64,
    },
    /// They cost the same, to a millionth.
    Same,
}

/// Where the answer turns, when only the price of a lost message moves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BreakEven {
    /// At-least-once is cheaper once a lost message costs more than this.
    At {
        /// The price of a lost message.
        lost_price: f64,
        /// The same in doubled messages; `None` if those cost nothing.
        ratio: Option<f64>,
    },
    /// One policy is never dearer than the other, whatever a lost message costs.
    Always {
        /// That policy.
        policy: Policy,
    },
    /// The policies do the same on this channel.
    NoDifference,
}

/// The answer to "which policy?" for one channel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Decision {
    /// At-most-once, per million.
    pub at_most_once: Priced,
    /// At-least-once, per million.
    pub at_least_once: Priced,
    /// Which is cheaper.
    pub verdict: Verdict,
    /// Where that turns.
    pub break_even: BreakEven,
}

/// Prices both policies on the same channel.
#[must_use]
pub fn decide(situation: &Situation, prices: &Prices) -> Decision {
    let [at_most_once, at_least_once] =
        Policy::ALL.map(|policy| Priced::new(policy, situation, prices));
    Decision {
        at_most_once,
        at_least_once,
        verdict: verdict(&at_most_once, &at_least_once),
        break_even: break_even(&at_most_once, &at_least_once, prices),
    }
}

fn verdict(once: &Priced, again: &Priced) -> Verdict {
    let difference = once.cost.total - again.cost.total;
    // Costs are sums over hundreds of courses; below this they differ by rounding only.
    if difference.abs() <= 1e-6 * once.cost.total.max(again.cost.total) {
        return Verdict::Same;
    }
    let policy = if difference > 0.0 {
        Policy::AtLeastOnce
    } else {
        Policy::AtMostOnce
    };
    Verdict::Cheaper {
        policy,
        saves: difference.abs(),
    }
}

fn break_even(once: &Priced, again: &Priced, prices: &Prices) -> BreakEven {
    // A millionth of a message per million: rounding, not a difference.
    const NOTHING: f64 = 1e-6;
    let saved = once.counts.lost.mean - again.counts.lost.mean;
    let paid = (again.cost.doubled + again.cost.parked) - (once.cost.doubled + once.cost.parked);
    if saved > NOTHING && paid > NOTHING {
        let lost_price = paid / saved;
        let ratio = Some(lost_price / prices.doubled).filter(|ratio| ratio.is_finite());
        BreakEven::At { lost_price, ratio }
    } else if saved > NOTHING || paid < -NOTHING {
        BreakEven::Always {
            policy: Policy::AtLeastOnce,
        }
    } else if paid > NOTHING {
        BreakEven::Always {
            policy: Policy::AtMostOnce,
        }
    } else {
        BreakEven::NoDifference
    }
}
