//! Time as the sandbox stamps it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, SecondsFormat};
use tokio::time::Instant;

/// A wall clock that is read once and then driven by tokio's, so that stamps never go back and
/// tests can move time.
#[derive(Debug)]
pub(super) struct Clock {
    wall: Duration,
    started: Instant,
}

impl Clock {
    pub(super) fn start() -> Self {
        Clock {
            wall: wall(),
            started: Instant::now(),
        }
    }

    /// Now, in microseconds since 1970.
    pub(super) fn now_us(&self) -> u64 {
        micros(self.wall + self.started.elapsed())
    }

    /// Start-up, in microseconds since 1970: tells the ids of two runs apart.
    pub(super) fn started_us(&self) -> u64 {
        micros(self.wall)
    }
}

/// The machine's clock, in microseconds since 1970: the one a publisher in another process reads.
pub(super) fn wall_us() -> u64 {
    micros(wall())
}

pub(super) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// RFC 3339 in UTC with microseconds.
pub(super) fn rfc3339(us: u64) -> String {
    let time = i64::try_from(us)
        .ok()
        .and_then(DateTime::from_timestamp_micros);
    time.unwrap_or_default()
        .to_rfc3339_opts(SecondsFormat::Micros, true)
}

/// The form of a Retry-After date, as in "Sun, 06 Nov 1994 08:49:37 GMT".
pub(super) fn http_date(us: u64) -> String {
    let time = i64::try_from(us)
        .ok()
        .and_then(DateTime::from_timestamp_micros);
    time.unwrap_or_default()
        .format("%a, %d %b %Y %H:%M:%S GMT")
        .to_string()
}

fn wall() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}
