//! What comes back.

use std::time::Duration;

use super::*;
use crate::domain::outcome::{Doubt, NotSent, Outcome};

/// A provider with one rule for each meaning.
pub(super) const EVERY_MEANING: &str = r#"
[providers.p.send]
url = "https://p.example/"
json = { to = "{{ to }}", key = "{{ send_key }}" }
not_processed = [429, 503]
answers = [
  { json = { "$.status" = ["accepted", "queued"] }, id = "$.id", means = "accepted" },
  { status = 409, json = { "$.error.code" = "duplicate" }, id = "$.error.id", means = "already" },
  { status = 409, json = { "$.error.code" = 1601 }, means = "in-progress" },
  { status = [409, 422], json = { "$.error.code" = 1600 }, means = "mismatch" },
  { json = { "$.error.code" = 21610 }, text_of = "$.error.message", means = "opted-out" },
  { json = { "$.error.code" = [21211, 21617] }, text_of = "$.error.code", means = "refused" },
  { json = { "$.error.code" = 30 }, means = "not-processed" },
  { json = { "$.error.code" = 31 }, means = "throttled" },
  { text = '(?i)account suspended', means = "account" },
  { status = "5xx", header = { "Idempotent-Replayed" = "true" }, means = "replayed-failure" },
  { status = 418, means = "unknown" },
]
"#;

fn refused(opted_out: bool, text: &str) -> Outcome {
    Outcome::Refused {
        opted_out,
        text: text.into(),
    }
}

fn not_sent(cause: NotSent, seconds: Option<u64>, text: &str) -> Outcome {
    Outcome::NotSent {
        cause,
        retry_after: seconds.map(Duration::from_secs),
        text: text.into(),
    }
}

fn unknown(cause: Doubt, seconds: Option<u64>, text: &str) -> Outcome {
    Outcome::Unknown {
        cause,
        look_after: seconds.map(Duration::from_secs),
        text: text.into(),
    }
}

pub(super) fn accepted(id: &str, already: bool) -> Outcome {
    Outcome::Accepted {
        provider_id: Some(id.into()),
        already,
    }
}

#[test]
fn every_meaning_gives_its_outcome() {
    let adapter = adapter(EVERY_MEANING);
    let wait = [("retry-after", "7")];
    let replayed = [("idempotent-replayed", "true")];
    type Row<'a> = (u16, &'a [(&'a str, &'a str)], &'a str, Outcome);
    let table: [Row<'_>; 15] = [
        (
            202,
            &[],
            r#"{"status":"accepted","id":"m1"}"#,
            accepted("m1", false),
        ),
        (
            200,
            &[],
            r#"{"status":"queued","id":17}"#,
            accepted("17", false),
        ),
        (
            409,
            &[],
            r#"{"error":{"code":"duplicate","id":"m0"}}"#,
            accepted("m0", true),
        ),
        (
            409,
            &wait,
            r#"{"error":{"code":1601}}"#,
            unknown(
                Doubt::InProgress,
                Some(7),
                r#"HTTP 409: {"error":{"code":1601}}"#,
            ),
        ),
        (
            422,
            &[],
            r#"{"error":{"code":1600}}"#,
            unknown(
                Doubt::KeyMismatch,
                None,
                r#"HTTP 422: {"error":{"code":1600}}"#,
            ),
        ),
        (
            400,
            &[],
            r#"{"error":{"code":21610,"message":"said\u0000 STOP"}}"#,
            refused(true, "HTTP 400: said\u{FFFD} STOP"),
        ),
        (
            200,
            &[],
            r#"{"error":{"code":21211.0}}"#,
            refused(false, "HTTP 200: 21211.0"),
        ),
        (
            200,
            &wait,
            r#"{"error":{"code":30}}"#,
            not_sent(
                NotSent::NotProcessed,
                Some(7),
                r#"HTTP 200: {"error":{"code":30}}"#,
            ),
        ),
        (
            200,
            &wait,
            r#"{"error":{"code":31}}"#,
            not_sent(
                NotSent::Throttled,
                Some(7),
                r#"HTTP 200: {"error":{"code":31}}"#,
            ),
        ),
        (
            400,
            &[],
            "Your Account Suspended",
            not_sent(NotSent::Account, None, "HTTP 400: Your Account Suspended"),
        ),
        (
            500,
            &replayed,
            "",
            unknown(Doubt::ReplayedFailure, None, "HTTP 500"),
        ),
        (500, &[], "", unknown(Doubt::ServerError, None, "HTTP 500")),
        (
            418,
            &[],
            "teapot",
            unknown(Doubt::ServerError, None, "HTTP 418: teapot"),
        ),
        (
            429,
            &wait,
            "slow down",
            not_sent(NotSent::Throttled, Some(7), "HTTP 429: slow down"),
        ),
        (
            503,
            &wait,
            "",
            not_sent(NotSent::NotProcessed, Some(7), "HTTP 503"),
        ),
    ];
    for (status, headers, body, expected) in table {
        assert_eq!(
            adapter.outcome(&answer(status, headers, body)),
            expected,
            "{status} {body}"
        );
    }
}

#[test]
fn without_a_rule_only_the_account_is_certain() {
    let adapter = sending("url = \"https://p.example/{{ to }}\"");
    let kind =
        |status| match adapter.outcome(&answer(status, &[("retry-after", "3")], "<h1>x</h1>")) {
            Outcome::NotSent { cause, .. } => cause.as_str(),
            Outcome::Unknown { cause, .. } => cause.as_str(),
            other @ (Outcome::Accepted { .. } | Outcome::Refused { .. }) => {
                panic!("{status}: {other:?}")
            }
        };
    for status in [301, 302, 303, 307, 308, 401, 402, 403, 404, 405] {
        assert_eq!(kind(status), "account_refused", "{status}");
    }
    for status in [
        200, 201, 202, 204, 206, 400, 406, 408, 409, 410, 413, 415, 422, 425, 429, 451, 499,
    ] {
        assert_eq!(kind(status), "unintelligible", "{status}");
    }
    for status in [500, 501, 502, 503, 504, 520, 599, 999] {
        assert_eq!(kind(status), "server_error", "{status}");
    }
}
