//! The ways of common gateways, each from its own file.

use super::*;
use crate::domain::outcome::{Doubt, NotSent, Outcome};

fn outcome(adapter: &dyn Adapter, status: u16, body: &str) -> Outcome {
    adapter.outcome(&answer(status, &[], body))
}

#[test]
fn json_with_a_key_in_a_header() {
    let adapter = adapter(
        r#"dedupe = { kind = "replay", window = "24h" }
        auth = { bearer = "env:TOKEN" }
        [providers.p.send]
        url = "http://127.0.0.1:8025/send"
        headers = { "Idempotency-Key" = "{{ send_key }}" }
        json = { to = "{{ to }}", text = "{{ text }}", reference = "{{ send_key }}" }
        answers = [{ json = { "$.status" = "accepted" }, id = "$.id", means = "accepted" }]"#,
    );
    let request = request(&*adapter, &content("hi")).expect("request");
    assert_eq!(request.url.as_str(), "http://127.0.0.1:8025/send");
    assert_eq!(request.headers["idempotency-key"], KEY, "unquoted");
    assert_eq!(
        body(&request),
        format!(r#"{{"reference":"{KEY}","text":"hi","to":"{TO}"}}"#)
    );
    assert!(matches!(
        outcome(&*adapter, 202, r#"{"status":"accepted","id":"m1"}"#),
        Outcome::Accepted { provider_id: Some(id), already: false } if id == "m1"
    ));
}

#[test]
fn form_and_basic_auth_with_a_numeric_error_code() {
    let adapter = adapter(
        r#"auth = { basic = { user = "AC1", password = "env:TOKEN" } }
        [providers.p.send]
        url = "https://api.example/2010/Accounts/AC1/Messages.json"
        form = { To = "{{ to }}", From = "{{ from | default('+15005550006') }}", Body = "{{ text }}" }
        not_processed = [429]
        answers = [
          { id = "$.sid", means = "accepted" },
          { status = 400, json = { "$.code" = 21610 }, text_of = "$.code", means = "opted-out" },
          { status = 400, json = { "$.code" = [21211, 21617, 30034] }, text_of = "$.code", means = "refused" },
        ]"#,
    );
    let request = request(&*adapter, &content("hi")).expect("request");
    assert_eq!(
        body(&request),
        "Body=hi&From=%2B15005550006&To=%2B4915112345678"
    );
    assert!(matches!(
        outcome(&*adapter, 201, r#"{"sid":"SM1","status":"queued"}"#),
        Outcome::Accepted { .. }
    ));
    assert!(matches!(
        outcome(&*adapter, 400, r#"{"code":21610,"message":"m"}"#),
        Outcome::Refused {
            opted_out: true,
            ..
        }
    ));
    assert!(matches!(
        outcome(&*adapter, 400, r#"{"code":21617}"#),
        Outcome::Refused {
            opted_out: false,
            ..
        }
    ));
    assert!(matches!(
        outcome(&*adapter, 429, r#"{"code":20429}"#),
        Outcome::NotSent {
            cause: NotSent::Throttled,
            ..
        }
    ));
    assert!(matches!(
        outcome(&*adapter, 401, r#"{"code":20003}"#),
        Outcome::NotSent {
            cause: NotSent::Account,
            ..
        }
    ));
    let Outcome::Unknown {
        cause: Doubt::Unintelligible,
        text,
        ..
    } = outcome(&*adapter, 400, r#"{"code":63999}"#)
    else {
        panic!("an unknown code is not retried blindly")
    };
    assert_eq!(text, r#"HTTP 400: {"code":63999}"#, "the raw code is shown");
    assert!(matches!(
        outcome(&*adapter, 500, r#"{"code":20500}"#),
        Outcome::Unknown {
            cause: Doubt::ServerError,
            ..
        }
    ));
}

#[test]
fn a_status_inside_a_200() {
    let adapter = adapter(
        r#"auth = { basic = { user = "key", password = "env:SECRET" } }
        [providers.p.send]
        url = "https://rest.example/sms/json"
        form = { to = "{{ to_digits }}", from = "ACME", text = "{{ text }}", client-ref = "{{ send_key }}" }
        [[providers.p.send.answers]]
        json = { "$.messages[*].status" = "0" }
        id = "$.messages[0]['message-id']"
        means = "accepted"
        [[providers.p.send.answers]]
        json = { "$.messages[*].status" = ["1", "10"] }
        means = "throttled"
        [[providers.p.send.answers]]
        json = { "$.messages[*].status" = ["4", "8", "9"] }
        text_of = "$.messages[0]['error-text']"
        means = "account"
        [[providers.p.send.answers]]
        json = { "$.messages[*].status" = ["2", "3", "6", "7", "11", "12", "15", "22"] }
        text_of = "$.messages[0]['error-text']"
        means = "refused""#,
    );
    let said = |status: &str| {
        outcome(
            &*adapter,
            200,
            &format!(
                r#"{{"messages":[{{"status":"{status}","message-id":"m","error-text":"why"}}]}}"#
            ),
        )
    };
    assert!(matches!(said("0"), Outcome::Accepted { .. }));
    assert!(matches!(
        said("1"),
        Outcome::NotSent {
            cause: NotSent::Throttled,
            ..
        }
    ));
    assert!(matches!(
        said("4"),
        Outcome::NotSent {
            cause: NotSent::Account,
            ..
        }
    ));
    assert!(matches!(said("7"), Outcome::Refused { text, .. } if text == "HTTP 200: why"));
    assert!(
        matches!(said("5"), Outcome::Unknown { .. }),
        "an internal error of theirs says nothing"
    );
}

#[test]
fn text_answers_of_an_old_gateway() {
    let adapter = adapter(
        r#"auth = { basic = { user = "kan", password = "env:SECRET" } }
        [providers.p.send]
        method = "GET"
        url = "http://localhost:13013/cgi-bin/sendsms?to={{ to }}&text={{ text }}"
        answers = [
          { status = 202, text = '^0: Accepted', means = "accepted" },
          { status = 200, text = '^OK: (?P<id>\d+)$', means = "accepted" },
          { text = '^ERR: 105\b', means = "refused" },
        ]"#,
    );
    let request = request(&*adapter, &content("50% & ü")).expect("request");
    assert_eq!(request.method, "GET");
    assert_eq!(
        request.url.query(),
        Some("to=%2B4915112345678&text=50%25%20%26%20%C3%BC")
    );
    assert!(matches!(
        outcome(&*adapter, 202, "0: Accepted for delivery"),
        Outcome::Accepted {
            provider_id: None,
            ..
        }
    ));
    assert!(
        matches!(outcome(&*adapter, 200, "OK: 123\n"), Outcome::Accepted { provider_id: Some(id), .. } if id == "123")
    );
    assert!(matches!(
        outcome(&*adapter, 200, "ERR: 105, Invalid Destination Address"),
        Outcome::Refused { .. }
    ));
    assert!(matches!(
        outcome(&*adapter, 200, "ERR: 114, Cannot route"),
        Outcome::Unknown { .. }
    ));
}

#[test]
fn mail_with_our_own_id_and_a_tombstone() {
    let adapter = adapter(
        r#"dedupe = { kind = "tombstone", window = "15m" }
        auth = { header = "api-key", value = "env:KEY" }
        [providers.p.send]
        url = "https://mail.example/v3/smtp/email"
        answers = [
          { status = 201, id = "$.messageId", means = "accepted" },
          { status = 400, json = { "$.code" = "duplicate_parameter" }, means = "already" },
        ]
        [providers.p.send.json]
        sender = { email = "{{ from }}" }
        to = [{ email = "{{ to }}" }]
        subject = "{{ subject }}"
        htmlContent = "{{ html }}"
        textContent = "{{ text }}"
        headers = { idempotencyKey = "{{ send_key }}" }"#,
    );
    let content = Content {
        subject: Some("Hi\r\nBcc: x@example.com".into()),
        from: Some("a@b.example".into()),
        ..content("t")
    };
    let message = Message {
        kind: Kind::Email,
        ..message("c@d.example", &content)
    };
    let request = adapter.request(&message).expect("request");
    assert_eq!(
        body(&request),
        format!(
            r#"{{"headers":{{"idempotencyKey":"{KEY}"}},"sender":{{"email":"a@b.example"}},"subject":"Hi\r\nBcc: x@example.com","textContent":"t","to":[{{"email":"c@d.example"}}]}}"#
        ),
        "a line end stays inside its JSON string; intake is where it is refused"
    );
    assert_eq!(
        outcome(&*adapter, 400, r#"{"code":"duplicate_parameter"}"#),
        Outcome::Accepted {
            provider_id: None,
            already: true
        }
    );
}
