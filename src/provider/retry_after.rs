//! The `Retry-After` header: how long a provider asks us to wait.

use std::time::Duration;

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// Nobody means more than a year. The channel's `retry.longest_asked` cuts it much shorter; this
/// only keeps later arithmetic away from overflow.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);

/// What the answer asks for, if it asks in a way that can be understood.
///
/// Seconds stand for themselves. A date is taken relative to the answer's own `Date`, so that a
/// provider's clock may be wrong, and means nothing without one: our clock against theirs would be
/// a guess. What is past or negative is no wait at all; what is neither is as if it were absent.
#[must_use]
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let asked = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if asked.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) {
        let seconds: f64 = asked
            .parse()
            .ok()
            .filter(|seconds: &f64| seconds.is_finite())?;
        return Some(Duration::from_secs_f64(
            seconds.ceil().clamp(0.0, LONGEST.as_secs_f64()),
        ));
    }
    let until = httpdate::parse_http_date(asked).ok()?;
    let now = httpdate::parse_http_date(headers.get(DATE)?.to_str().ok()?.trim()).ok()?;
    Some(until.duration_since(now).unwrap_or_default().min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(retry_after_value: &str, date: Option<&str>) -> Option<u64> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, retry_after_value.parse().expect("header"));
        if let Some(date) = date {
            headers.insert(DATE, date.parse().expect("header"));
        }
        retry_after(&headers).map(|wait| wait.as_secs())
    }

    #[test]
    fn seconds_and_dates_are_understood_and_nonsense_is_as_if_absent() {
        let their_clock = Some("Wed, 21 Oct 2026 07:28:00 GMT"); // whatever ours says
        let table = [
            ("2", None, Some(2)),
            ("2", their_clock, Some(2)),
            (" 7 ", None, Some(7)),
            ("0", None, Some(0)),
            ("2.5", None, Some(3)),
            ("Wed, 21 Oct 2026 07:28:03 GMT", their_clock, Some(3)),
            ("Wed, 21 Oct 2026 07:27:00 GMT", their_clock, Some(0)),
            (
                "Wed, 21 Oct 2037 07:28:00 GMT",
                their_clock,
                Some(LONGEST.as_secs()),
            ),
            ("Wednesday, 21-Oct-26 07:28:09 GMT", their_clock, Some(9)),
            ("Wed, 21 Oct 2037 07:28:00 GMT", None, None),
            ("Wed, 21 Oct 2037 07:28:00 GMT", Some("yesterday"), None),
            ("-1", None, Some(0)),
            ("1e9", None, Some(LONGEST.as_secs())),
            ("1e999", None, None),
            ("99999999999999999999999999", None, Some(LONGEST.as_secs())),
            ("-99999999999999999999999999", None, Some(0)),
            ("abc", None, None),
            ("", None, None),
            ("NaN", None, None),
            ("inf", None, None),
            ("2 minutes", None, None),
        ];
        for (value, date, expected) in table {
            assert_eq!(asks(value, date), expected, "{value:?} at {date:?}");
        }
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }

    #[test]
    fn bytes_that_are_not_text_are_as_if_absent() {
        let mut headers = HeaderMap::new();
        let bytes = reqwest::header::HeaderValue::from_bytes(b"\xff\xfe").expect("header");
        headers.insert(RETRY_AFTER, bytes);
        assert_eq!(retry_after(&headers), None);
    }
}
