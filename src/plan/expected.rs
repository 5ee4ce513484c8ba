//! A count that is expected, and how far a measured one may stray from it.

use serde::Serialize;

use super::chance::Probability;

/// A count to expect, and its spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Expected {
    /// The mean, in messages (or requests).
    pub mean: f64,
    /// One standard deviation, in the same unit. Two counts in three fall within one of it, 19 in
    /// 20 within two.
    pub sd: f64,
}

impl Expected {
    /// A count of messages to which something happens independently: sd √(n p (1−p)).
    #[must_use]
    pub fn binomial(messages: u32, chance: Probability) -> Self {
        let messages = f64::from(messages);
        let (p, q) = (chance.get(), chance.not().get());
        Self {
            mean: messages * p,
            sd: (messages * p * q).sqrt(),
        }
    }

    /// How many standard deviations a measured count lies from the mean; `None` if the count
    /// could not vary and is right, infinite if it could not vary and is wrong.
    #[must_use]
    pub fn deviations(&self, measured: u64) -> Option<f64> {
        // Counts above 2³² do not occur in a demo; they would only read as that far off.
        let off = f64::from(u32::try_from(measured).unwrap_or(u32::MAX)) - self.mean;
        if self.sd > 1e-9 {
            Some(off / self.sd)
        } else {
            (off.abs() > 1e-6).then_some(f64::INFINITY.copysign(off))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binomial_count_has_its_textbook_spread() {
        let expected = Expected::binomial(1_000, Probability::clamped(0.1));
        assert!((expected.mean - 100.0).abs() < 1e-9 && (expected.sd - 90_f64.sqrt()).abs() < 1e-9);
        assert_eq!(expected.deviations(100).map(f64::round), Some(0.0));
        assert_eq!(expected.deviations(81).map(f64::round), Some(-2.0));
    }

    #[test]
    fn a_count_that_cannot_vary_is_right_or_infinitely_wrong() {
        let none = Expected::binomial(1_000, Probability::ZERO);
        assert_eq!(
            (none.deviations(0), none.deviations(1)),
            (None, Some(f64::INFINITY))
        );
    }
}
