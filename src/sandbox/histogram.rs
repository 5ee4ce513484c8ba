//! A histogram of microseconds: fixed memory, about 6 % wide buckets, no locks.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

/// 16 buckets for each power of two.
const STEPS: usize = 16;
const BUCKETS: usize = 61 * STEPS;

/// Times of any length in microseconds.
#[derive(Debug)]
pub(super) struct Histogram {
    buckets: Vec<AtomicU64>,
    max: AtomicU64,
}

impl Histogram {
    pub(super) fn new() -> Self {
        Histogram {
            buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
            max: 0.into(),
        }
    }

    pub(super) fn record(&self, us: u64) {
        self.buckets[bucket(us)].fetch_add(1, Ordering::Relaxed);
        self.max.fetch_max(us, Ordering::Relaxed);
    }

    pub(super) fn clear(&self) {
        self.buckets
            .iter()
            .for_each(|bucket| bucket.store(0, Ordering::Relaxed));
        self.max.store(0, Ordering::Relaxed);
    }

    /// Count, p50, p99 and maximum; null if nothing was recorded.
    pub(super) fn summary(&self) -> Value {
        let counts: Vec<u64> = self
            .buckets
            .iter()
            .map(|b| b.load(Ordering::Relaxed))
            .collect();
        let count: u64 = counts.iter().sum();
        if count == 0 {
            return Value::Null;
        }
        let max = self.max.load(Ordering::Relaxed);
        let below = |percent: u64| {
            let rank = (count * percent).div_ceil(100);
            let reached = counts.iter().scan(0, |sum, n| {
                *sum += n;
                Some(*sum)
            });
            let at = reached.take_while(|sum| *sum < rank).count();
            upper(at).min(max)
        };
        json!({"count": count, "p50_us": below(50), "p99_us": below(99), "max_us": max})
    }
}

fn bucket(us: u64) -> usize {
    if us < STEPS as u64 {
        return usize::try_from(us).unwrap_or(0);
    }
    let power = us.ilog2();
    let step = (us >> (power - 4)) & 15;
    (power as usize - 3) * STEPS + usize::try_from(step).unwrap_or(0)
}

/// The largest value that falls into a bucket.
fn upper(bucket: usize) -> u64 {
    if bucket < STEPS {
        return bucket as u64;
    }
    let (power, step) = (bucket / STEPS + 3, (bucket % STEPS) as u64);
    let next = u128::from(step + 17) << (power - 4);
    u64::try_from(next - 1).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_lies_in_a_bucket_at_most_a_sixteenth_wide() {
        for us in (0..64)
            .map(|power| 1_u64 << power)
            .flat_map(|us| [us - 1, us, us + us / 3])
        {
            let upper = upper(bucket(us));
            assert!(upper >= us && upper - us <= us / 16, "{us}: {upper}");
        }
        assert_eq!(upper(bucket(u64::MAX)), u64::MAX);
    }

    #[test]
    fn percentiles_name_the_bucket_that_holds_them() {
        let histogram = Histogram::new();
        (1..=1000).for_each(|us| histogram.record(us));
        let summary = histogram.summary();
        assert_eq!(
            (&summary["count"], &summary["max_us"]),
            (&json!(1000), &json!(1000))
        );
        assert_eq!(
            (&summary["p50_us"], &summary["p99_us"]),
            (&json!(511), &json!(991))
        );
    }
}
