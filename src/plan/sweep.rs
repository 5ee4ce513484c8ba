//! The same question over a range of one input: does the answer turn nearby?

use clap::ValueEnum;
use serde::Serialize;

use super::{
    chance::Probability,
    cost::Prices,
    figures::{percent, plain},
    situation::Situation,
    verdict::decide,
};

/// Which input moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sweep {
    /// The price of a lost message against that of a doubled one
    PriceRatio,
    /// How many answers get lost (what at-least-once pays for)
    AnswerLoss,
    /// How many requests get lost (what at-most-once pays for)
    RequestLoss,
    /// How often a worker dies with the message in flight
    Crash,
}

impl Sweep {
    /// Every sweep.
    pub const ALL: [Self; 4] = [
        Self::PriceRatio,
        Self::AnswerLoss,
        Self::RequestLoss,
        Self::Crash,
    ];

    /// What moves, as the chart's heading says it.
    #[must_use]
    pub const fn heading(self) -> &'static str {
        match self {
            Self::PriceRatio => "price of a lost : a doubled message",
            Self::AnswerLoss => "share of answers lost",
            Self::RequestLoss => "share of requests lost",
            Self::Crash => "share of attempts in which the worker dies",
        }
    }
}

/// One value of the input that moves.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepPoint {
    /// The value, written for the chart.
    pub label: String,
    /// The value: a probability, or the price of a lost message.
    pub value: f64,
    /// Whether it is the value that was asked about.
    pub given: bool,
    /// Cost per million messages under at-most-once.
    pub at_most_once: f64,
    /// Cost per million messages under at-least-once.
    pub at_least_once: f64,
}

/// Decides at an eighth to eight times the given value, doubling. A value of 0 is swept from
/// 0.01 (a probability: 0.01 %) instead, and probabilities above one half are left out.
#[must_use]
pub fn sweep(over: Sweep, situation: &Situation, prices: &Prices) -> Vec<SweepPoint> {
    let centre = match over {
        Sweep::PriceRatio => prices.lost,
        Sweep::AnswerLoss => situation.answer_loss.get(),
        Sweep::RequestLoss => situation.request_loss.get(),
        Sweep::Crash => situation.crash.get(),
    };
    let start = match over {
        _ if centre > 0.0 => centre / 8.0,
        Sweep::PriceRatio => 0.01,
        Sweep::AnswerLoss | Sweep::RequestLoss | Sweep::Crash => 0.0001,
    };
    (0..7)
        .map(|step| start * f64::from(1 << step))
        .filter(|value| over == Sweep::PriceRatio || *value <= 0.5 || *value == centre)
        .map(|value| point(over, value, value == centre, situation, prices))
        .collect()
}

fn point(
    over: Sweep,
    value: f64,
    given: bool,
    situation: &Situation,
    prices: &Prices,
) -> SweepPoint {
    let (mut situation, mut prices) = (*situation, *prices);
    let chance = Probability::clamped(value);
    match over {
        Sweep::PriceRatio => prices.lost = value,
        Sweep::AnswerLoss => situation.answer_loss = chance,
        Sweep::RequestLoss => situation.request_loss = chance,
        Sweep::Crash => situation.crash = chance,
    }
    let label = match over {
        Sweep::PriceRatio if prices.doubled > 0.0 => ratio(value / prices.doubled),
        Sweep::PriceRatio => plain(value),
        Sweep::AnswerLoss | Sweep::RequestLoss | Sweep::Crash => percent(chance),
    };
    let decision = decide(&situation, &prices);
    SweepPoint {
        label,
        value,
        given,
        at_most_once: decision.at_most_once.cost.total,
        at_least_once: decision.at_least_once.cost.total,
    }
}

/// `4:1`, or `1:64` rather than `0.016:1`.
fn ratio(ratio: f64) -> String {
    if ratio > 0.0 && ratio < 1.0 {
        format!("1:{}", plain(1.0 / ratio))
    } else {
        format!("{}:1", plain(ratio))
    }
}
