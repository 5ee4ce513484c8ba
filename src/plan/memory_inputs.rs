//! What a dedup memory is sized from. The default is the design's example.

use std::time::Duration;

use serde::Serialize;

/// A way in which a message comes again, and how late it can come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RedeliveryAge {
    /// What a person calls it: retry, lag, redrive, replay.
    pub name: String,
    /// The greatest age of a message that comes again this way.
    #[serde(serialize_with = "super::span::as_text")]
    pub age: Duration,
}

/// What a dedup memory is sized from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryInputs {
    /// Messages per second.
    pub rate: u32,
    /// Bytes per remembered key, index included.
    pub entry_bytes: u32,
    /// How many copies are kept (primary and standby: 2).
    pub copies: u32,
    /// How messages come again.
    pub ages: Vec<RedeliveryAge>,
    /// The windows to compare.
    #[serde(serialize_with = "super::span::all_as_text")]
    pub windows: Vec<Duration>,
    /// For a table of the last sequence number per producer and partition: producers.
    pub producers: u32,
    /// Partitions each of them writes to.
    pub partitions: u32,
    /// Bytes per row of that table.
    pub sequence_row_bytes: u32,
}

impl Default for MemoryInputs {
    /// The design's example.
    fn default() -> Self {
        const HOUR: u64 = 3_600;
        const DAY: u64 = 24 * HOUR;
        // The tenth retry of a backoff of 1, 2, … 512 s comes 1 + 2 + … + 512 = 1,023 s after the first try.
        let ages = [
            ("retry", 1_023),
            ("lag", 6 * HOUR),
            ("redrive", 2 * DAY),
            ("replay", 3 * DAY),
        ];
        Self {
            rate: 2_000,
            entry_bytes: 100,
            copies: 2,
            ages: ages
                .map(|(name, age)| RedeliveryAge {
                    name: name.to_owned(),
                    age: Duration::from_secs(age),
                })
                .to_vec(),
            windows: [300, HOUR, DAY, 7 * DAY].map(Duration::from_secs).to_vec(),
            producers: 400,
            partitions: 48,
            sequence_row_bytes: 32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_retry_age_is_the_sum_of_the_backoffs() {
        let waits: u64 = (0..10).map(|exponent| 1 << exponent).sum();
        assert_eq!(
            MemoryInputs::default().ages[0].age,
            Duration::from_secs(waits)
        );
    }
}
