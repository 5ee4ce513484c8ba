//! What the sandbox is started with.

use std::time::Duration;

use super::plan::FaultPlan;

/// Settings of one sandbox. The durations and `idempotency` can be overridden by `PUT /faults`.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The plan before anyone puts another.
    pub plan: FaultPlan,
    /// How long an idempotency key is remembered, from its first request.
    pub window: Duration,
    /// How long the log hides a record.
    pub log_lag: Duration,
    /// How long the log shows a record, from its acceptance.
    pub log_retention: Duration,
    /// Whether `Idempotency-Key` means anything. Off: it is accepted and ignored.
    pub idempotency: bool,
    /// Time between acceptance and answer of every request.
    pub latency: Duration,
    /// Keep totals only: no records, hence no log, no requests, no counts per reference, and rates
    /// drawn by arrival. For benchmarks.
    pub forget: bool,
    /// Keep the bytes of each request, for `GET /requests?bodies=true`. They count into memory.
    pub keep_bodies: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            plan: FaultPlan::default(),
            window: Duration::from_secs(24 * 3600),
            log_lag: Duration::ZERO,
            log_retention: Duration::from_secs(30 * 24 * 3600),
            idempotency: true,
            latency: Duration::ZERO,
            forget: false,
            keep_bodies: false,
        }
    }
}

/// Durations as people write them ("2s", "24h") in JSON.
pub(super) mod optional_duration {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(
        time: &Option<Duration>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => to.collect_str(&humantime::format_duration(*time)),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Duration>, D::Error> {
        let Some(text) = Option::<String>::deserialize(from)? else {
            return Ok(None);
        };
        let time = humantime::parse_duration(&text);
        time.map(Some)
            .map_err(|error| D::Error::custom(format!("duration {text:?}: {error}")))
    }
}
