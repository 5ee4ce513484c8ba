//! What comes back.

use std::time::Duration;

use super::*;
use crate::domain::outcome::{Doubt, NotSent, Outcome};

/// A provider with one rule for each meaning.
const EVERY_MEANING: &str = r#"
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

fn accepted(id: &str, already: bool) -> Outcome {
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

#[test]
fn a_success_status_without_proof_is_not_acceptance() {
    let adapter = adapter(EVERY_MEANING);
    let table = [
        (200, r#"{"status":"error","code":14}"#),
        (200, "ERROR:14"),
        (200, ""),
        (200, "<html>It works!</html>"),
        (201, r#"{"status":"accepted"}"#),
        (201, r#"{"status":"accepted","id":""}"#),
        (201, r#"{"status":"accepted","id":null}"#),
        (201, r#"{"status":"accepted","id":{"x":1}}"#),
        (201, r#"{"status":"accepted","id":"m1""#),
        (204, ""),
        (200, "[]"),
        (200, "null"),
    ];
    for (status, body) in table {
        let outcome = adapter.outcome(&answer(status, &[], body));
        assert!(
            matches!(
                outcome,
                Outcome::Unknown {
                    cause: Doubt::Unintelligible,
                    ..
                }
            ),
            "{body}: {outcome:?}"
        );
    }
    // and a success body under a failure status neither
    let outcome = adapter.outcome(&answer(502, &[], r#"{"status":"accepted","id":"m1"}"#));
    assert!(matches!(
        outcome,
        Outcome::Unknown {
            cause: Doubt::ServerError,
            ..
        }
    ));
}

#[test]
fn two_parts_of_which_one_is_refused_are_not_accepted() {
    let adapter = adapter(
        r#"[providers.p.send]
        url = "https://p.example/{{ to }}"
        answers = [
          { json = { "$.messages[*].status" = "0" }, id = "$.messages[0]['message-id']", means = "accepted" },
          { json = { "$.messages[*].status" = ["4", "5"] }, means = "refused" },
        ]"#,
    );
    let kind = |body: &str| match adapter.outcome(&answer(200, &[], body)) {
        Outcome::Accepted { .. } => "accepted",
        Outcome::Refused { .. } => "refused",
        Outcome::NotSent { .. } => "not sent",
        Outcome::Unknown { .. } => "unknown",
    };
    assert_eq!(
        kind(r#"{"messages":[{"status":"0","message-id":"a"},{"status":"0","message-id":"b"}]}"#),
        "accepted"
    );
    assert_eq!(
        kind(r#"{"messages":[{"status":"0","message-id":"a"},{"status":"4"}]}"#),
        "unknown"
    );
    assert_eq!(
        kind(r#"{"messages":[{"status":"4"},{"status":"5"}]}"#),
        "refused"
    );
    assert_eq!(kind(r#"{"messages":[]}"#), "unknown");
    assert_eq!(
        kind(r#"{"messages":[{"status":0,"message-id":"a"}]}"#),
        "unknown"
    );
}

#[test]
fn an_id_may_be_in_a_header_or_in_text() {
    let adapter = adapter(
        r#"[providers.p.send]
        url = "https://p.example/{{ to }}"
        answers = [
          { status = 202, id = "header:X-Message-Id", means = "accepted" },
          { status = 200, text = '^OK: (?P<id>\w+)$', means = "accepted" },
        ]"#,
    );
    assert_eq!(
        adapter.outcome(&answer(202, &[("x-message-id", " abc ")], "")),
        accepted("abc", false)
    );
    assert_eq!(
        adapter.outcome(&answer(200, &[], "OK: 123\r\n")),
        accepted("123", false)
    );
    for unproved in [
        answer(202, &[], ""),
        answer(202, &[("x-message-id", "")], ""),
        answer(200, &[], "OK: "),
        answer(200, &[], "NOT OK: 1"),
    ] {
        assert!(
            matches!(adapter.outcome(&unproved), Outcome::Unknown { .. }),
            "{unproved:?}"
        );
    }
}

#[test]
fn an_earlier_acceptance_needs_its_id_where_nothing_else_proves_it() {
    let adapter = adapter(
        r#"[providers.p.send]
        url = "https://p.example/{{ to }}"
        answers = [
          { status = "2xx", header = { "Idempotent-Replayed" = "true" }, id = "$.id", means = "already" },
          { status = 409, id = "$.id", means = "already" },
          { status = "2xx", id = "$.id", means = "accepted" },
        ]"#,
    );
    let replayed = [("idempotent-replayed", "TRUE")];
    assert_eq!(
        adapter.outcome(&answer(200, &replayed, r#"{"id":"a"}"#)),
        accepted("a", true)
    );
    assert_eq!(
        adapter.outcome(&answer(200, &[], r#"{"id":"a"}"#)),
        accepted("a", false)
    );
    assert!(matches!(
        adapter.outcome(&answer(200, &replayed, "{}")),
        Outcome::Unknown { .. }
    ));
    let without_id = Outcome::Accepted {
        provider_id: None,
        already: true,
    };
    assert_eq!(adapter.outcome(&answer(409, &[], "")), without_id);
}

#[test]
fn rules_that_prove_nothing_are_mistakes() {
    let table = [
        ("{ means = \"accepted\" }", "\"accepted\" needs proof"),
        (
            "{ status = 202, means = \"accepted\" }",
            "\"accepted\" needs proof",
        ),
        (
            "{ status = 202, header = { \"X\" = \"y\" }, means = \"accepted\" }",
            "\"accepted\" needs proof",
        ),
        (
            "{ text = '', means = \"accepted\" }",
            "matches an empty body",
        ),
        (
            "{ text = '.*', means = \"accepted\" }",
            "matches an empty body",
        ),
        (
            "{ status = \"2xx\", means = \"already\" }",
            "\"already\" needs proof",
        ),
        (
            "{ means = \"refused\" }",
            "a success status alone says nothing",
        ),
        (
            "{ status = [200, 400], means = \"throttled\" }",
            "a success status alone says nothing",
        ),
        ("{ status = [], means = \"refused\" }", "must not be empty"),
        (
            "{ status = \"6xx\", means = \"refused\" }",
            "expected a status",
        ),
        (
            "{ json = { \"$.a\" = {} }, means = \"refused\" }",
            "expected a string, a number, true or false",
        ),
        ("{ status = 400 }", "means: is missing"),
        (
            "{ status = 400, means = \"refused\", txt = 'x' }",
            "unknown key, did you mean `text`?",
        ),
    ];
    for (rule, expected) in table {
        let shown = errors(&format!(
            "[providers.p.send]\nurl = \"https://p.example/{{{{ to }}}}\"\nanswers = [{rule}, {{ id = \"$.id\", means = \"accepted\" }}]"
        ));
        assert!(shown.contains(expected), "{rule}\n{shown}");
    }
}
