//! What the provider answers, before anything happens to the answer on its way.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;
use serde_json::{Value, json};

/// The provider's own answer to a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// 202 with this message id.
    Accepted(u64),
    /// 400 with its code.
    Refused(Refusal),
    /// 200 with an error inside.
    ErrorIn200,
    /// 500, and the key remembers it.
    Failed,
    /// 409: the key was used with another body.
    Mismatch,
    /// 409: the first request with this key is not done.
    InProgress,
}

/// Why a message is refused for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    BadNumber,
    OptedOut,
}

impl Refusal {
    fn code(self) -> &'static str {
        match self {
            Refusal::BadNumber => "bad_number",
            Refusal::OptedOut => "opted_out",
        }
    }
}

/// The body of a 202, in the order that the page shows.
#[derive(Serialize)]
struct Accepted<'a> {
    status: &'static str,
    id: &'a str,
    reference: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'static str>,
}

impl Answer {
    /// The answer as it leaves the provider. `id` renders a message id.
    pub(super) fn render(self, reference: &str, id: impl FnOnce(u64) -> String) -> Response {
        match self {
            Answer::Accepted(number) => accepted(&id(number), reference, None),
            Answer::Refused(why) => refused(StatusCode::BAD_REQUEST, why.code()),
            Answer::ErrorIn200 => respond(StatusCode::OK, &json!({"status": "error", "code": 14})),
            Answer::Failed => failed(),
            Answer::Mismatch => {
                let body = json!({"status": "error", "code": "key_mismatch"});
                respond(StatusCode::CONFLICT, &body)
            }
            Answer::InProgress => {
                let body = json!({"status": "error", "code": "in_progress"});
                retry_after(respond(StatusCode::CONFLICT, &body), "1")
            }
        }
    }
}

/// 202; `message` is for a fault that hides something in it.
pub(super) fn accepted(id: &str, reference: &str, message: Option<&'static str>) -> Response {
    respond(
        StatusCode::ACCEPTED,
        &Accepted {
            status: "accepted",
            id,
            reference,
            message,
        },
    )
}

/// A refusal with its code.
pub(super) fn refused(status: StatusCode, code: &str) -> Response {
    respond(status, &json!({"status": "refused", "code": code}))
}

/// A refusal of a request that makes no sense, with the reason for a person.
pub(super) fn bad_request(message: &str) -> Response {
    let body = json!({"status": "refused", "code": "bad_request", "message": message});
    respond(StatusCode::BAD_REQUEST, &body)
}

/// 500 in the provider's own words.
pub(super) fn failed() -> Response {
    let body = json!({"status": "error", "code": "internal"});
    respond(StatusCode::INTERNAL_SERVER_ERROR, &body)
}

/// A page as a proxy in front of the provider writes it.
pub(super) fn html(status: StatusCode) -> Response {
    let text = format!("<html><head><title>{status}</title></head><body>{status}</body></html>\n");
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    content_type(response, "text/html; charset=utf-8")
}

/// 200 with JSON.
pub(super) fn ok(body: &Value) -> Response {
    respond(StatusCode::OK, body)
}

/// JSON under a status. What is put here always serializes; should it not, the body is empty.
fn respond(status: StatusCode, body: &impl Serialize) -> Response {
    let bytes = serde_json::to_vec(body).unwrap_or_default();
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    content_type(response, "application/json")
}

pub(super) fn content_type(mut response: Response, value: &'static str) -> Response {
    set(
        response.headers_mut(),
        header::CONTENT_TYPE,
        HeaderValue::from_static(value),
    );
    response
}

/// Adds a Retry-After; a value that is no header value is left out.
pub(super) fn retry_after(mut response: Response, value: &str) -> Response {
    if let Ok(value) = HeaderValue::from_str(value) {
        set(response.headers_mut(), header::RETRY_AFTER, value);
    }
    response
}

fn set(headers: &mut HeaderMap, name: header::HeaderName, value: HeaderValue) {
    headers.insert(name, value);
}
