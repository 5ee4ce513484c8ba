//! Durations as one word, in units of fixed length: `400d`, `1h30m`. Calendar units would make
//! 400 days read as a year, a month and four days.

use std::time::Duration;

use serde::Serializer;

/// Writes a duration so that [`parse`] reads it back, to the millisecond.
pub(super) fn compact(duration: Duration) -> String {
    let mut left = duration.as_millis();
    if left == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    for (unit, name) in [
        (86_400_000, "d"),
        (3_600_000, "h"),
        (60_000, "m"),
        (1_000, "s"),
        (1, "ms"),
    ] {
        if left >= unit {
            text += &format!("{}{name}", left / unit);
            left %= unit;
        }
    }
    text
}

/// Reads `15m`, `1h30m`, `45d`. The error is a sentence.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|error| format!("{text:?} is not a duration like 15m: {error}"))
}

pub(super) fn as_text<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&compact(*span))
}

pub(super) fn all_as_text<S: Serializer>(
    spans: &[Duration],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(spans.iter().map(|span| compact(*span)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_written_in_units_of_fixed_length() {
        for text in ["0s", "250ms", "17m3s", "1h30m", "400d", "7d1s"] {
            assert_eq!(parse(text).map(compact), Ok(text.to_owned()));
        }
    }
}
