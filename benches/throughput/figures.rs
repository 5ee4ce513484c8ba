//! Medians, and how far the runs lie apart.

use serde::Serialize;

/// Several runs of one figure.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// `None` of nothing, and of runs in which the figure was not to be had.
    pub(crate) fn of(runs: impl IntoIterator<Item = Option<f64>>) -> Option<Self> {
        let mut runs: Vec<f64> = runs.into_iter().collect::<Option<_>>()?;
        runs.sort_by(f64::total_cmp);
        let (min, max) = (*runs.first()?, *runs.last()?);
        let (low, high) = (runs[(runs.len() - 1) / 2], runs[runs.len() / 2]);
        Some(Self {
            median: f64::midpoint(low, high),
            min,
            max,
        })
    }
}
