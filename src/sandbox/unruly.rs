//! Bodies that no well-behaved server sends.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use hyper::body::Frame;
use tokio::time::{Sleep, sleep};

use super::answer::content_type;
use super::server::Broken;

/// Slow enough that no read is idle for long, fast enough that a read timeout never fires.
const DRIP: Duration = Duration::from_millis(400);
/// Time for the first bytes to leave before the connection breaks.
const BREAK: Duration = Duration::from_millis(20);
/// One chunk of a flood.
const FLOOD: Bytes = Bytes::from_static(&[b'x'; 16 * 1024]);

/// 200 and the right headers, then one byte every 400 ms for ever.
pub(super) fn endless() -> Response {
    stream(Unruly {
        pending: None,
        then: Then::Drip,
        timer: Box::pin(sleep(DRIP)),
    })
}

/// 200, then as many bytes as the client takes.
pub(super) fn flood() -> Response {
    stream(Unruly {
        pending: None,
        then: Then::Flood,
        timer: Box::pin(sleep(DRIP)),
    })
}

/// The start of `body`, announced as longer than it is; then the connection closes.
pub(super) fn wrong_length(body: Bytes) -> Response {
    let announced = HeaderValue::from(body.len() + 512);
    let timer = Box::pin(sleep(BREAK));
    let mut response = stream(Unruly {
        pending: Some(body),
        then: Then::Break,
        timer,
    });
    *response.status_mut() = StatusCode::ACCEPTED;
    response
        .headers_mut()
        .insert(header::CONTENT_LENGTH, announced);
    response
}

/// 202 with bytes that are no UTF-8, called JSON.
pub(super) fn garbage() -> Response {
    let bytes = Bytes::from_static(&[0xff, 0xfe, 0x00, b'{', 0x80, 0xc3, 0x28]);
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = StatusCode::ACCEPTED;
    content_type(response, "application/json")
}

fn stream(body: Unruly) -> Response {
    content_type(Response::new(Body::new(body)), "application/json")
}

struct Unruly {
    pending: Option<Bytes>,
    then: Then,
    timer: Pin<Box<Sleep>>,
}

#[derive(Clone, Copy)]
enum Then {
    Drip,
    Flood,
    Break,
}

impl hyper::body::Body for Unruly {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        if let Some(bytes) = self.pending.take() {
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        if let Then::Flood = self.then {
            return Poll::Ready(Some(Ok(Frame::data(FLOOD))));
        }
        if self.timer.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        if let Then::Break = self.then {
            return Poll::Ready(Some(Err(Broken)));
        }
        self.timer.set(sleep(DRIP));
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b" ")))))
    }
}
