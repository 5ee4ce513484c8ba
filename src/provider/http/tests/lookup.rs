//! What the provider's log says.

use super::*;
use crate::domain::capability::LookUp;
use crate::domain::outcome::LookUpAnswer;

const SEND: &str = r#"
[providers.p.send]
url = "https://p.example/"
json = { to = "{{ to }}", ref = "{{ send_key }}" }
answers = [{ id = "$.id", means = "accepted" }]
"#;

fn by_reference(more: &str) -> Arc<dyn Adapter> {
    adapter(&format!(
        r#"auth = {{ bearer = "env:SEND" }}
        {SEND}
        [providers.p.lookup]
        by = "reference"
        url = "https://p.example/log?ref={{{{ send_key }}}}&since={{{{ after }}}}&until={{{{ before_unix }}}}"
        records = "$.records"
        reference = "$.meta.ref"
        id = "$.id"
        settle = "5m"
        retention = "30d"
        {more}"#
    ))
}

fn by_recipient(more: &str) -> Arc<dyn Adapter> {
    adapter(&format!(
        r#"{SEND}
        [providers.p.lookup]
        by = "recipient"
        url = "https://p.example/log?to={{{{ to }}}}"
        records = "$"
        to = "$.to"
        at = "$.at"
        id = "$.id"
        settle = "5m"
        retention = "30d"
        {more}"#
    ))
}

fn ask(adapter: &dyn Adapter, status: u16, body: &str) -> LookUpAnswer {
    adapter.found(&question(&content("hello")), &answer(status, &[], body))
}

fn found(ids: &[&str]) -> LookUpAnswer {
    LookUpAnswer::Found(ids.iter().map(|id| (*id).to_owned()).collect())
}

fn failed(answer: &LookUpAnswer) -> bool {
    matches!(answer, LookUpAnswer::Failed { .. })
}

#[test]
fn the_log_is_asked_for_the_reference_within_the_time() {
    let adapter = by_reference("auth = { header = \"X-Key\", value = \"env:READ\" }");
    assert!(matches!(
        adapter.capability().look_up,
        LookUp::ByReference { .. }
    ));
    let request = adapter
        .look_up(&question(&content("hello")))
        .expect("request");
    assert_eq!(request.method, "GET");
    assert_eq!(
        request.url.as_str(),
        format!("https://p.example/log?ref={KEY}&since=2026-11-29T11%3A59%3A00Z&until=1795953670")
    );
    assert!(request.body.is_empty());
    assert_eq!(request.on_the_wire().headers()["x-key"], "secret READ");
}

#[test]
fn only_records_with_our_reference_are_ours() {
    let adapter = by_reference("");
    let record = |id: &str, key: &str| format!(r#"{{"id":"{id}","meta":{{"ref":"{key}"}}}}"#);
    let log = |records: &[String]| format!(r#"{{"records":[{}]}}"#, records.join(","));
    let other = "00000000-0000-8000-8000-000000000000";
    assert_eq!(
        ask(&*adapter, 200, &log(&[record("a", KEY)])),
        found(&["a"])
    );
    assert_eq!(
        ask(
            &*adapter,
            200,
            &log(&[record("a", other), record("b", KEY)])
        ),
        found(&["b"])
    );
    assert_eq!(
        ask(
            &*adapter,
            200,
            &log(&[record("b", KEY), record("a", KEY), record("b", KEY)])
        ),
        found(&["a", "b"]),
        "two records show a duplicate, one record twice does not"
    );
    assert_eq!(
        ask(
            &*adapter,
            200,
            &log(&[format!(r#"{{"meta":{{"ref":"{KEY}"}}}}"#)])
        ),
        found(&[KEY])
    );
    assert_eq!(
        ask(
            &*adapter,
            200,
            &format!(r#"{{"records":{}}}"#, record("a", KEY))
        ),
        found(&["a"])
    );
}

#[test]
fn absent_is_believed_only_when_the_log_said_so() {
    let adapter =
        by_reference("absent = { status = 404, json = { \"$.error\" = \"no_such_reference\" } }");
    assert_eq!(
        ask(&*adapter, 200, r#"{"records":[]}"#),
        LookUpAnswer::Absent
    );
    assert_eq!(
        ask(&*adapter, 404, r#"{"error":"no_such_reference"}"#),
        LookUpAnswer::Absent
    );
    let table = [
        (200, ""),
        (200, "[]"),
        (200, "{}"),
        (200, r#"{"records":null}"#),
        (200, r#"{"records":"none"}"#),
        (200, r#"{"error":"rate limited"}"#),
        (200, "<html>login</html>"),
        (302, r#"{"records":[]}"#),
        (401, r#"{"records":[]}"#),
        (404, "not found"),
        (404, r#"{"error":"no such route"}"#),
        (429, ""),
        (500, r#"{"records":[]}"#),
        (200, r#"{"records":[{"id":"x","meta":{"ref":"another"}}]}"#),
        (200, r#"{"records":[{"id":"x"}]}"#),
    ];
    for (status, body) in table {
        let said = ask(&*adapter, status, body);
        assert!(failed(&said), "{status} {body}: {said:?}");
    }
}

#[test]
fn a_record_of_ours_that_does_not_count_leaves_the_log_believable() {
    let adapter = by_reference("where = { \"$.status\" = [\"queued\", \"sent\"] }");
    let log = |status: &str| {
        format!(r#"{{"records":[{{"id":"a","status":"{status}","meta":{{"ref":"{KEY}"}}}}]}}"#)
    };
    assert_eq!(ask(&*adapter, 200, &log("queued")), found(&["a"]));
    assert_eq!(ask(&*adapter, 200, &log("rejected")), LookUpAnswer::Absent);
}

#[test]
fn a_log_that_says_when_it_is_complete_is_believed_about_that() {
    let adapter = by_reference("complete = { \"$.more\" = false }");
    let foreign = r#"{"id":"x","meta":{"ref":"another"}}"#;
    assert_eq!(
        ask(
            &*adapter,
            200,
            &format!(r#"{{"records":[{foreign}],"more":false}}"#)
        ),
        LookUpAnswer::Absent
    );
    assert!(failed(&ask(
        &*adapter,
        200,
        &format!(r#"{{"records":[{foreign}],"more":true}}"#)
    )));
    assert!(failed(&ask(&*adapter, 200, r#"{"records":[]}"#)));
    let ours = format!(r#"{{"records":[{{"id":"a","meta":{{"ref":"{KEY}"}}}}],"more":true}}"#);
    assert_eq!(ask(&*adapter, 200, &ours), found(&["a"]));
}

#[test]
fn by_recipient_number_and_time_must_fit() {
    let adapter = by_recipient("where = { \"$.direction\" = \"out\" }\ntext = \"$.text\"");
    let record = |to: &str, at: &str, text: &str| {
        format!(r#"[{{"id":"a","direction":"out","to":"{to}","at":{at},"text":"{text}"}}]"#)
    };
    let in_time = "\"2026-11-29T12:00:05Z\"";
    let ours = [
        record(TO, in_time, "hello"),
        record("4915112345678", in_time, "hello"),
        record("+49 151 12345678", in_time, " hello "),
        record(TO, "\"2026-11-29T13:01:09+01:00\"", "hello"),
        record(TO, "1795953600", "hello"),
        record(TO, "1795953600000", "hello"),
        record(TO, "\"1795953540\"", "hello"),
        record(TO, "1795953600.5", "hello"),
        record(TO, "\"Sun, 29 Nov 2026 12:00:00 +0000\"", "hello"),
    ];
    for body in ours {
        assert_eq!(ask(&*adapter, 200, &body), found(&["a"]), "{body}");
    }
    let foreign = [
        "[]".to_owned(),
        record("+4915112345679", in_time, "hello"),
        record(TO, "\"2026-11-29T11:58:59Z\"", "hello"),
        record(TO, "\"2026-11-29T12:01:11Z\"", "hello"),
        record(TO, in_time, "hallo"),
        record(TO, in_time, "hello").replace("out", "in"),
    ];
    for body in foreign {
        assert_eq!(ask(&*adapter, 200, &body), LookUpAnswer::Absent, "{body}");
    }
    let unreadable = [
        record(TO, "\"2026-11-29 12:00:05\"", "hello"),
        record(TO, "null", "hello"),
        record(TO, "1e400", "hello"),
        record(TO, "1e300", "hello"),
        record(TO, in_time, "hello").replace("\"to\"", "\"recipient\""),
        record(TO, in_time, "hello").replace("\"id\":\"a\",", ""),
    ];
    for body in unreadable {
        let said = ask(&*adapter, 200, &body);
        assert!(failed(&said), "{body}: {said:?}");
    }
}

#[test]
fn a_failed_look_up_repeats_neither_the_number_nor_what_breaks_a_terminal() {
    let adapter = by_recipient("");
    let said = adapter.found(
        &question(&content("hello")),
        &answer(
            429,
            &[("retry-after", "9")],
            "\u{1b}[2Jno log for 4915112345678",
        ),
    );
    assert_eq!(
        said,
        LookUpAnswer::Failed {
            retry_after: Some(std::time::Duration::from_secs(9)),
            text: "the log did not answer: HTTP 429: \u{FFFD}[2Jno log for [recipient]".into()
        }
    );
}

#[test]
fn mistakes_in_a_look_up_are_found_in_the_file() {
    let table = [
        (
            "by = \"reference\"",
            "url = \"https://p.example/log\"",
            "must ask for {{ send_key }}",
        ),
        (
            "by = \"reference\"",
            "records = \"$.records[*]\"",
            "name the array itself",
        ),
        (
            "by = \"reference\"",
            "absent = { status = 404 }",
            "may come from a wrong URL",
        ),
        (
            "by = \"reference\"",
            "to = \"$.to\"",
            "lookup.to: unknown key",
        ),
        ("by = \"reference\"", "", "lookup.reference: is missing"),
        ("by = \"recipient\"", "", "lookup.at: is missing"),
        (
            "by = \"luck\"",
            "",
            "expected \"reference\" or \"recipient\"",
        ),
        ("", "", "lookup.by: is missing"),
    ];
    for (by, more, expected) in table {
        let shown = errors(&format!("{SEND}\n[providers.p.lookup]\n{by}\n{more}\n"));
        assert!(shown.contains(expected), "{by} {more}\n{shown}");
    }
}
