//! How large a dedup memory must be to catch the redeliveries a system really has.

use std::time::Duration;

use serde::Serialize;

use super::memory_inputs::MemoryInputs;

/// What one window costs and catches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WindowRow {
    /// How long a key is remembered.
    #[serde(serialize_with = "super::span::as_text")]
    pub window: Duration,
    /// Keys held once the window is full.
    pub keys: u64,
    /// Bytes for them, all copies.
    pub bytes: u64,
    /// The names of the redeliveries that are never older than the window.
    pub catches: Vec<String>,
}

/// The sizes of every window, and of the table that needs none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryPlan {
    /// What it was computed from.
    pub inputs: MemoryInputs,
    /// One row per window.
    pub windows: Vec<WindowRow>,
    /// Rows of a per-producer sequence table, whatever the window.
    pub sequence_rows: u64,
    /// Its bytes, one copy.
    pub sequence_bytes: u64,
}

/// Sizes the memory. Windows are counted in whole seconds; sums too large for 64 bits saturate.
#[must_use]
pub fn size_memory(inputs: MemoryInputs) -> MemoryPlan {
    let per_key = u64::from(inputs.entry_bytes) * u64::from(inputs.copies);
    let row = |window: Duration| {
        let keys = window.as_secs().saturating_mul(u64::from(inputs.rate));
        let caught = inputs
            .ages
            .iter()
            .filter(|redelivery| redelivery.age <= window);
        WindowRow {
            window,
            keys,
            bytes: keys.saturating_mul(per_key),
            catches: caught.map(|redelivery| redelivery.name.clone()).collect(),
        }
    };
    let sequence_rows = u64::from(inputs.producers) * u64::from(inputs.partitions);
    MemoryPlan {
        windows: inputs.windows.iter().map(|window| row(*window)).collect(),
        sequence_rows,
        sequence_bytes: sequence_rows.saturating_mul(u64::from(inputs.sequence_row_bytes)),
        inputs,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::memory_inputs::RedeliveryAge, *};

    #[test]
    fn every_number_of_the_design_s_memory_table_holds() {
        let plan = size_memory(MemoryInputs::default());
        let rows: Vec<_> = plan
            .windows
            .iter()
            .map(|row| {
                (
                    row.window.as_secs(),
                    row.keys,
                    row.bytes,
                    row.catches.join(" "),
                )
            })
            .collect();
        let row = |window, keys, bytes, catches: &str| (window, keys, bytes, catches.to_owned());
        assert_eq!(
            rows,
            [
                row(300, 600_000, 120_000_000, ""),
                row(3_600, 7_200_000, 1_440_000_000, "retry"),
                row(86_400, 172_800_000, 34_560_000_000, "retry lag"),
                row(
                    604_800,
                    1_209_600_000,
                    241_920_000_000,
                    "retry lag redrive replay"
                ),
            ]
        );
        assert_eq!((plan.sequence_rows, plan.sequence_bytes), (19_200, 614_400));
    }

    #[test]
    fn a_window_as_long_as_the_age_catches_it() {
        let age = RedeliveryAge {
            name: "retry".into(),
            age: Duration::from_secs(60),
        };
        let windows = vec![Duration::from_secs(59), Duration::from_secs(60)];
        let plan = size_memory(MemoryInputs {
            ages: vec![age],
            windows,
            ..MemoryInputs::default()
        });
        assert!(plan.windows[0].catches.is_empty());
        assert_eq!(plan.windows[1].catches, ["retry"]);
    }
}
