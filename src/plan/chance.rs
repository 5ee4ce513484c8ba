//! A probability that cannot be 110 % by mistake.

use std::{fmt, str::FromStr};

use serde::Serialize;

/// A probability, from 0 to 1 inclusive. Parses from `0.001` or `0.1%`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Probability(f64);

/// Why a text is no probability. Displays as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChanceError(String);

impl fmt::Display for ChanceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is not a probability from 0 to 1 (0.001) or 0% to 100% (0.1%)",
            self.0
        )
    }
}

impl std::error::Error for ChanceError {}

impl Probability {
    /// Never.
    pub const ZERO: Self = Self(0.0);
    /// Always.
    pub const ONE: Self = Self(1.0);

    /// `value` moved into 0 to 1; NaN becomes 0.
    #[must_use]
    pub const fn clamped(value: f64) -> Self {
        if value.is_nan() {
            Self::ZERO
        } else {
            Self(value.clamp(0.0, 1.0))
        }
    }

    /// The number, 0 to 1.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The probability that it does not happen.
    #[must_use]
    pub const fn not(self) -> Self {
        Self(1.0 - self.0)
    }

    /// The probability that both of two independent things happen.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 * other.0)
    }

    /// The probability that at least one of two independent things happens.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not()
    }
}

impl FromStr for Probability {
    type Err = ChanceError;

    fn from_str(text: &str) -> Result<Self, ChanceError> {
        let (number, scale) = match text.trim().strip_suffix('%') {
            Some(percent) => (percent.trim_end(), 100.0),
            None => (text.trim(), 1.0),
        };
        number
            .parse::<f64>()
            .map(|value| value / scale)
            .ok()
            .filter(|value| (0.0..=1.0).contains(value))
            .map(Self)
            .ok_or_else(|| ChanceError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_and_a_percentage_are_the_same_probability() {
        assert_eq!("0.25".parse(), Ok(Probability(0.25)));
        assert_eq!("25%".parse(), Ok(Probability(0.25)));
        assert_eq!("25 %".parse(), Ok(Probability(0.25)));
    }

    #[test]
    fn what_is_no_probability_is_refused() {
        for text in ["", "%", "ten", "-0.1", "1.1", "101%", "NaN", "inf"] {
            assert!(text.parse::<Probability>().is_err(), "{text}");
        }
    }
}
