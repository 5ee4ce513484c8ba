//! Counts times prices: what a policy costs.

use serde::Serialize;

use super::{
    capability::Policy,
    predict::{Prediction, predict},
    situation::Situation,
};

/// Counts and costs are given per this many messages.
const MILLION: u32 = 1_000_000;

/// What things cost, in any one currency. Each 0 or more.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Prices {
    /// One message that never arrives.
    pub lost: f64,
    /// One message that arrives once more than it should.
    pub doubled: f64,
    /// Minutes a person spends on one parked message.
    pub parked_minutes: f64,
    /// One minute of that person.
    pub minute: f64,
}

impl Prices {
    /// One parked message.
    #[must_use]
    pub fn parked(&self) -> f64 {
        self.parked_minutes * self.minute
    }
}

/// What a policy costs per million messages, in the currency of the prices.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// For the lost ones, parked or not.
    pub lost: f64,
    /// For the doubled ones.
    pub doubled: f64,
    /// For the time spent on parked ones.
    pub parked: f64,
    /// All three.
    pub total: f64,
    /// Hours of a person's time in it.
    pub person_hours: f64,
}

/// A policy's counts and costs per million messages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Priced {
    /// Which policy.
    pub policy: Policy,
    /// What happens.
    pub counts: Prediction,
    /// What that costs.
    pub cost: Cost,
}

impl Priced {
    /// Predicts and prices a million messages under one policy.
    pub(super) fn new(policy: Policy, situation: &Situation, prices: &Prices) -> Self {
        let counts = predict(MILLION, policy, situation);
        Self {
            policy,
            counts,
            cost: cost(&counts, prices),
        }
    }
}

fn cost(counts: &Prediction, prices: &Prices) -> Cost {
    let lost = counts.lost.mean * prices.lost;
    let doubled = counts.duplicates.mean * prices.doubled;
    let parked = counts.parked.mean * prices.parked();
    let person_hours = counts.parked.mean * prices.parked_minutes / 60.0;
    Cost {
        lost,
        doubled,
        parked,
        total: lost + doubled + parked,
        person_hours,
    }
}
