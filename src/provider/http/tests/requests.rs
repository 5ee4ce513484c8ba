//! What goes out.

use super::*;

fn header<'r>(request: &'r Request, name: &str) -> Option<&'r str> {
    request
        .headers
        .get(name)
        .and_then(|value| value.to_str().ok())
}

#[test]
fn every_variable_reaches_the_request() {
    let adapter = sending(
        r#"url = "https://p.example/v1/{{ to_digits }}?ref={{ send_key }}"
        headers = { "X-Order" = "{{ metadata.order }}" }
        json = { to = "{{ to }}", text = "{{ text }}", from = "{{ from }}", until = "{{ expires_at }}", kind = "sms", parts = 2, urgent = true, tags = ["{{ send_key }}", "x"], nested = { subject = "{{ subject }}", html = "{{ html }}", reply = "{{ reply_to }}" } }"#,
    );
    let content = Content {
        subject: Some("s".into()),
        html: Some("<b>".into()),
        from: Some("Acme".into()),
        reply_to: Some("r".into()),
        metadata: [("order".into(), "42".into())].into(),
        ..content("hello")
    };
    let message = Message {
        expires_at: Some(at("2026-12-24T18:00:00Z")),
        ..message(TO, &content)
    };
    let request = adapter.request(&message).expect("request");
    assert_eq!(message.send_key.to_string(), KEY);
    assert_eq!(request.method, "POST");
    assert_eq!(
        request.url.as_str(),
        format!("https://p.example/v1/4915112345678?ref={KEY}")
    );
    assert_eq!(header(&request, "x-order"), Some("42"));
    assert_eq!(header(&request, "content-type"), Some("application/json"));
    assert_eq!(
        body(&request),
        format!(
            r#"{{"from":"Acme","kind":"sms","nested":{{"html":"<b>","reply":"r","subject":"s"}},"parts":2,"tags":["{KEY}","x"],"text":"hello","to":"{TO}","until":"2026-12-24T18:00:00Z","urgent":true}}"#
        )
    );
}

#[test]
fn a_field_that_is_one_placeholder_without_a_value_is_left_out() {
    let adapter = sending(
        r#"url = "https://p.example/"
        headers = { "X-From" = "{{ from }}" }
        json = { to = "{{ to }}", from = "{{ from }}", list = ["{{ from }}", "{{ to }}"], note = "{{ metadata.note }}", sender = "{{ from | default('ACME') }}" }"#,
    );
    let request = request(&*adapter, &content("x")).expect("request");
    assert_eq!(
        body(&request),
        format!(r#"{{"list":["{TO}"],"sender":"ACME","to":"{TO}"}}"#)
    );
    assert_eq!(header(&request, "x-from"), None);
}

#[test]
fn a_placeholder_within_text_must_have_a_value() {
    let adapter = sending(
        r#"url = "https://p.example/"
        json = { to = "{{ to }}", text = "{{ subject }}: {{ text }}" }"#,
    );
    let refused = request(&*adapter, &content("secret words")).err();
    assert_eq!(
        refused,
        Some(Unrenderable::Message(
            "body: the message has no `subject`".into()
        ))
    );

    let adapter = sending("url = \"https://p.example/{{ metadata.account }}/{{ to }}\"");
    let refused = request(&*adapter, &content("secret words")).err();
    assert_eq!(
        refused,
        Some(Unrenderable::Message(
            "url: the message has no `metadata.account`".into()
        ))
    );
}

#[test]
fn a_form_is_encoded_and_may_repeat_a_field() {
    let adapter = sending(
        r#"url = "https://p.example/"
        form = { To = "{{ to }}", Body = "{{ text }}", Tag = ["a b", "{{ send_key }}"], From = "{{ from }}", Parts = 3 }"#,
    );
    let request = request(&*adapter, &content("1+1=2 & ü\r\n%")).expect("request");
    assert_eq!(
        header(&request, "content-type"),
        Some("application/x-www-form-urlencoded")
    );
    assert_eq!(
        body(&request),
        format!(
            "Body=1%2B1%3D2%20%26%20%C3%BC%0D%0A%25&Parts=3&Tag=a%20b&Tag={KEY}&To=%2B4915112345678"
        )
    );
}

#[test]
fn a_text_body_encodes_what_it_is_told_to() {
    let adapter = sending(
        r#"url = "https://p.example/"
        content_type = "application/xml"
        body = "<sms to='{{ to | e }}'>{{ text | e }}</sms><!--{{ text | json }} {{ text | urlencode }}-->""#,
    );
    let request = request(&*adapter, &content("a<b \"&\"")).expect("request");
    assert_eq!(header(&request, "content-type"), Some("application/xml"));
    assert_eq!(
        body(&request),
        "<sms to='+4915112345678'>a&lt;b &quot;&amp;&quot;</sms><!--\"a<b \\\"&\\\"\" a%3Cb%20%22%26%22-->"
    );
}

#[test]
fn the_same_message_gives_the_same_bytes_and_credentials_are_no_part_of_them() {
    let file = |auth: &str, json: &str| {
        adapter(&format!(
            "{auth}\n[providers.p.send]\nurl = \"https://p.example/\"\njson = {{ {json} }}\n{ACCEPTING}"
        ))
    };
    let one = file(
        "auth = { bearer = \"env:A\" }",
        "to = \"{{ to }}\", text = \"{{ text }}\", all = \"{{ metadata }}\"",
    );
    let other = file(
        "auth = { bearer = \"env:B\" }",
        "text = \"{{ text }}\", all = \"{{ metadata }}\", to = \"{{ to }}\"",
    );
    let content = Content {
        metadata: ["z", "a", "m"].map(|name| (name.into(), "1".into())).into(),
        ..content("hello")
    };
    let hash = |adapter: &dyn Adapter, content| {
        request(adapter, content)
            .map(|request| request.hash())
            .expect("request")
    };
    let first = hash(&*one, &content);
    for _ in 0..50 {
        assert_eq!(hash(&*one, &content), first);
    }
    assert_eq!(
        hash(&*other, &content),
        first,
        "neither the secret nor the order of lines in the file"
    );
    assert_ne!(hash(&*one, &super::content("hallo")), first);

    let sent = |adapter: &dyn Adapter| {
        request(adapter, &content)
            .map(|request| request.on_the_wire().headers().clone())
            .expect("request")
    };
    assert_ne!(sent(&*one), sent(&*other));
}

#[test]
fn credentials_go_out_and_are_seen_nowhere_else() {
    let table = [
        ("{ bearer = \"env:T\" }", "authorization", "Bearer secret T"),
        (
            "{ basic = { user = \"u\", password = \"env:P\" } }",
            "authorization",
            "Basic dTpzZWNyZXQgUA==",
        ),
        (
            "{ header = \"X-Api-Key\", value = \"env:K\" }",
            "x-api-key",
            "secret K",
        ),
    ];
    let with = |auth: &str| {
        adapter(&format!(
            "auth = {auth}\n[providers.p.send]\nurl = \"https://p.example/{{{{ to }}}}\"\n{ACCEPTING}"
        ))
    };
    for (auth, name, value) in table {
        let request = request(&*with(auth), &content("x")).expect("request");
        assert!(request.headers.is_empty());
        assert!(!format!("{:?}", request.credentials).contains("secret"));
        let sent = request.clone().on_the_wire();
        assert_eq!(
            (sent.url(), &sent.headers()[name]),
            (&request.url, &HeaderValue::from_static(value))
        );
    }
    let request = request(
        &*with("{ query = { user = \"nuncio\", password = \"env:P\" } }"),
        &content("x"),
    )
    .expect("request");
    assert_eq!(request.url.query(), None);
    assert!(!format!("{:?}", request.credentials).contains("secret"));
    assert_eq!(
        request.on_the_wire().url().query(),
        Some("password=secret%20P&user=nuncio")
    );
}

#[test]
fn query_credentials_follow_the_query_of_the_message() {
    let adapter = adapter(&format!(
        "auth = {{ query = {{ key = \"env:K\" }} }}\n[providers.p.send]\nurl = \"https://p.example/?to={{{{ to }}}}\"\n{ACCEPTING}"
    ));
    let request = request(&*adapter, &content("x")).expect("request");
    assert_eq!(request.url.query(), Some("to=%2B4915112345678"));
    assert_eq!(
        request.on_the_wire().url().query(),
        Some("to=%2B4915112345678&key=secret%20K")
    );
}

#[test]
fn mistakes_in_a_request_are_found_in_the_file() {
    let table = [
        (
            "url = \"https://{{ text }}.example/{{ to }}\"",
            "must be written out, without a placeholder",
        ),
        (
            "url = \"https://p.example{{ to }}\"",
            "must be written out, without a placeholder",
        ),
        ("url = \"/{{ to }}\"", "without a placeholder"),
        ("url = \"p.example/send\"", "not a URL"),
        (
            "url = \"ftp://p.example/{{ to }}\"",
            "expected https:// or http://",
        ),
        (
            "url = \"https://u:p@p.example/{{ to }}\"",
            "credentials belong into `auth`",
        ),
        (
            "url = \"https://p.example/{{ to }}#x\"",
            "a fragment never reaches",
        ),
        (
            "url = \"https://p.example/{{ to | urlencode }}\"",
            "filter urlencode is unknown",
        ),
        (
            "url = \"https://p.example/{{ after }}{{ to }}\"",
            "unknown variable `after`",
        ),
        (
            "url = \"https://p.example/{{ to }}\"\nheaders = { \"Host\" = \"x\" }",
            "written by the HTTP client",
        ),
        (
            "url = \"https://p.example/{{ to }}\"\nheaders = { \"a b\" = \"x\" }",
            "not the name of a header",
        ),
        (
            "url = \"https://p.example/{{ to }}\"\nmethod = \"GET\"\nbody = \"x\"\ncontent_type = \"text/plain\"",
            "a GET has no body",
        ),
        (
            "url = \"https://p.example/{{ to }}\"\nmethod = \"BREW\"",
            "expected \"GET\", \"POST\", \"PUT\" or \"PATCH\"",
        ),
        (
            "url = \"https://p.example/{{ to }}\"\nbody = \"x\"",
            "content_type: is missing",
        ),
        (
            "url = \"https://p.example/\"\njson = { to = \"{ to }}\" }",
            "a placeholder begins with {{",
        ),
        (
            "url = \"https://p.example/\"\nform = { to = \"{{ to }}\", x = 1.5 }",
            "expected a string, an integer, true or false",
        ),
        ("json = { to = \"{{ to }}\" }", "send.url: is missing"),
    ];
    for (send, expected) in table {
        let shown = errors(&format!("[providers.p.send]\n{send}\n{ACCEPTING}"));
        assert!(shown.contains(expected), "{send}\n{shown}");
    }
}
