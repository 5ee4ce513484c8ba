//! Faults behind the provider: it has decided, and its answer is spoilt on the way.

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::Response;

use super::answer::{Answer, accepted, content_type, failed, html, retry_after};
use super::arrival::Arrival;
use super::fault::Fault;
use super::server::cut;
use super::unruly;

/// The start of an answer whose rest never comes.
const HALF: &[u8] = br#"{"status":"accepted","#;

/// What the caller gets of the provider's answer.
pub(super) fn deliver(arrival: &Arrival, answer: Answer) -> Response {
    match arrival.fault {
        Fault::CutAfterAccept => cut(),
        Fault::AcceptThen500 | Fault::AcceptThen500Forget => failed(),
        Fault::AcceptThen502 => html(StatusCode::BAD_GATEWAY),
        Fault::AcceptThen504 => html(StatusCode::GATEWAY_TIMEOUT),
        Fault::Endless => unruly::endless(),
        Fault::Flood => unruly::flood(),
        Fault::Empty200 => content_type(Response::new(Body::empty()), "application/json"),
        Fault::Html200 => html(StatusCode::OK),
        Fault::Garbage => unruly::garbage(),
        Fault::WrongLength => unruly::wrong_length(HALF.into()),
        Fault::RetryAfterIn202 => retry_after(plain(arrival, answer), "5"),
        Fault::NulInBody => with_nul(arrival, answer),
        Fault::Ok
        | Fault::Fail500Cached
        | Fault::Slow(_)
        | Fault::SlowAccept(_)
        | Fault::Hang
        | Fault::HangBefore
        | Fault::ErrorIn200
        | Fault::Lying2xx
        | Fault::Twice
        // Stopped in front; never here.
        | Fault::Drop
        | Fault::Refuse503
        | Fault::Fail500
        | Fault::Throttle(_)
        | Fault::ThrottleDate(_)
        | Fault::Unauthorized
        | Fault::Forbidden
        | Fault::Redirect => plain(arrival, answer),
    }
}

fn plain(arrival: &Arrival, answer: Answer) -> Response {
    answer.render(&arrival.message.reference, |number| {
        arrival.sandbox.message_id(number)
    })
}

/// NUL after the id and in a text: legal JSON that a database refuses.
fn with_nul(arrival: &Arrival, answer: Answer) -> Response {
    let Answer::Accepted(number) = answer else {
        return plain(arrival, answer);
    };
    let id = arrival.sandbox.message_id(number) + "\0";
    accepted(
        &id,
        &arrival.message.reference,
        Some("queued\0for delivery"),
    )
}
