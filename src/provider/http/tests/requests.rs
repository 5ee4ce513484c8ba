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
        Some(Unrenderable("body: the message has no `subject`".into()))
    );

    let adapter = sending("url = \"https://p.example/{{ metadata.account }}/{{ to }}\"");
    let refused = request(&*adapter, &content("secret words")).err();
    assert_eq!(
        refused,
        Some(Unrenderable(
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

    let credentials = |adapter: &dyn Adapter| {
        request(adapter, &content)
            .ok()
            .and_then(|request| request.credentials)
    };
    assert_ne!(credentials(&*one), credentials(&*other));
    assert!(!format!("{:?}", credentials(&*one)).contains("secret"));
}

#[test]
fn credentials_go_into_one_header() {
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
    for (auth, name, value) in table {
        let adapter = adapter(&format!(
            "auth = {auth}\n[providers.p.send]\nurl = \"https://p.example/{{{{ to }}}}\"\n{ACCEPTING}"
        ));
        let credentials = request(&*adapter, &content("x"))
            .ok()
            .and_then(|request| request.credentials);
        let (found, secret) = credentials.expect("credentials");
        assert_eq!((found.as_str(), secret.to_str().ok()), (name, Some(value)));
    }
}

#[test]
fn no_value_breaks_out_of_a_url() {
    let adapter = sending(
        "url = \"https://p.example/a/{{ text }}/b?q={{ text }}&r=1\"\nheaders = { \"X-To\" = \"{{ to }}\" }",
    );
    let table = [
        (
            "x/../../etc",
            "/a/x%2F..%2F..%2Fetc/b",
            "q=x%2F..%2F..%2Fetc&r=1",
        ),
        (
            "a&admin=1#f?g",
            "/a/a%26admin%3D1%23f%3Fg/b",
            "q=a%26admin%3D1%23f%3Fg&r=1",
        ),
        (
            "@evil.example:80/",
            "/a/%40evil.example%3A80%2F/b",
            "q=%40evil.example%3A80%2F&r=1",
        ),
        (
            "\r\nHost: evil",
            "/a/%0D%0AHost%3A%20evil/b",
            "q=%0D%0AHost%3A%20evil&r=1",
        ),
        ("%2e%2e", "/a/%252e%252e/b", "q=%252e%252e&r=1"),
        ("a\\b", "/a/a%5Cb/b", "q=a%5Cb&r=1"),
        ("\0", "/a/%00/b", "q=%00&r=1"),
    ];
    for (text, path, query) in table {
        let url = request(&*adapter, &content(text)).expect("request").url;
        assert_eq!(
            (url.host_str(), url.path(), url.query()),
            (Some("p.example"), path, Some(query))
        );
    }
    for text in [".", ".."] {
        let refused = request(&*adapter, &content(text)).err();
        assert_eq!(
            refused,
            Some(Unrenderable("url: a value leads to another place".into())),
            "{text}"
        );
    }
}

#[test]
fn no_value_breaks_out_of_a_header() {
    let adapter = sending(
        "url = \"https://p.example/{{ to }}\"\nheaders = { \"X-Text\" = \"t={{ text }}\" }",
    );
    for text in ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\0b", "a\u{7f}", "a\tb"] {
        let refused = request(&*adapter, &content(text)).err();
        assert_eq!(
            refused,
            Some(Unrenderable(
                "header x-text: a value has a control character".into()
            )),
            "{text:?}"
        );
    }
    let refused = request(&*adapter, &content("ü")).err();
    assert_eq!(
        refused,
        Some(Unrenderable("header x-text: a value is not ASCII".into()))
    );
}

#[test]
fn a_message_is_never_read_as_a_template() {
    let adapter = sending(
        "url = \"https://p.example/\"\njson = { to = \"{{ to }}\", text = \"» {{ text }}\" }",
    );
    let request = request(&*adapter, &content("{{ send_key }}{% for x in 1 %}")).expect("request");
    assert_eq!(
        body(&request),
        format!(r#"{{"text":"» {{{{ send_key }}}}{{% for x in 1 %}}","to":"{TO}"}}"#)
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
