//! Durations and times on the command line.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::ledger::story::Moment;

/// Longer ages are typing errors, and overflow a database interval sooner or later.
const LONGEST: Duration = Duration::from_secs(100 * 366 * 86_400);

/// An age such as `90d`, above zero.
pub(super) fn age(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => Err("must be longer than zero".to_owned()),
        Ok(age) if age > LONGEST => Err("must not be longer than a hundred years".to_owned()),
        Ok(age) => Ok(age),
        Err(_) => Err("expected a span of time such as 30s, 15min, 2h or 90d".to_owned()),
    }
}

/// A time, or how long ago.
pub(super) fn moment(text: &str) -> Result<Moment, String> {
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Ok(Moment::At(time.with_timezone(&Utc)));
    }
    age(text).map(Moment::Ago).map_err(|_| {
        "expected how long ago, such as 2h, or a time such as 2026-02-11T04:12:00Z".to_owned()
    })
}

/// An age as words have it.
pub(super) fn span(age: Duration) -> String {
    super::words::span(TimeDelta::from_std(age).unwrap_or(TimeDelta::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_time_with_its_zone_or_an_age() {
        let time = "2026-02-11T04:12:00Z".parse().ok();
        assert_eq!(
            moment("2026-02-11T05:12:00+01:00").ok(),
            time.map(Moment::At)
        );
        assert_eq!(moment("2h"), Ok(Moment::Ago(Duration::from_secs(7200))));
        for wrong in [
            "",
            "2",
            "yesterday",
            "2026-02-11T04:12:00",
            "0s",
            "9999999y",
        ] {
            assert!(moment(wrong).is_err(), "{wrong}");
        }
    }
}
