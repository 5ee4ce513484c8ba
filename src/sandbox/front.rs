//! Faults in front of the provider: the message never reaches it, and no key remembers them.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;

use super::answer::{failed, refused, retry_after};
use super::clock::{Clock, micros};
use super::fault::Fault;
use super::server::cut;

/// The answer to a request that gets no further, or None if it does.
pub(super) fn stopped(fault: Fault, clock: &Clock) -> Option<Response> {
    match fault {
        Fault::Drop => Some(cut()),
        Fault::Refuse503 => Some(retry_after(
            refused(StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
            "1",
        )),
        Fault::Fail500 => Some(failed()),
        Fault::Throttle(time) => Some(throttled(&seconds(time).to_string())),
        Fault::ThrottleDate(time) => Some(throttled(&date(time, clock))),
        Fault::Unauthorized => Some(refused(StatusCode::UNAUTHORIZED, "unauthorized")),
        Fault::Forbidden => Some(refused(StatusCode::FORBIDDEN, "forbidden")),
        Fault::Redirect => Some(redirect()),
        Fault::Ok
        | Fault::CutAfterAccept
        | Fault::AcceptThen500
        | Fault::AcceptThen500Forget
        | Fault::AcceptThen502
        | Fault::AcceptThen504
        | Fault::Fail500Cached
        | Fault::Slow(_)
        | Fault::SlowAccept(_)
        | Fault::Hang
        | Fault::HangBefore
        | Fault::Endless
        | Fault::Flood
        | Fault::ErrorIn200
        | Fault::Empty200
        | Fault::Html200
        | Fault::Garbage
        | Fault::NulInBody
        | Fault::Lying2xx
        | Fault::WrongLength
        | Fault::RetryAfterIn202
        | Fault::Twice => None,
    }
}

fn throttled(after: &str) -> Response {
    retry_after(refused(StatusCode::TOO_MANY_REQUESTS, "throttled"), after)
}

/// Whole seconds, rounded up.
fn seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

fn date(time: Duration, clock: &Clock) -> String {
    super::clock::http_date(clock.now_us().saturating_add(micros(time)))
}

fn redirect() -> Response {
    let mut response = refused(StatusCode::FOUND, "moved");
    let to = HeaderValue::from_static("/redirected");
    response.headers_mut().insert(header::LOCATION, to);
    response
}
