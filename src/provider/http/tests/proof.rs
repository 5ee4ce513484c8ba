//! Nothing is accepted without proof.

use super::answers::{EVERY_MEANING, accepted};
use super::*;
use crate::domain::outcome::{Doubt, Outcome};

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
