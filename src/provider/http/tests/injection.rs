//! What a message must not be able to do to a request.

use super::*;

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
            Some(Unrenderable::Message(
                "url: a value leads to another place".into()
            )),
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
            Some(Unrenderable::Message(
                "header x-text: a value has a control character".into()
            )),
            "{text:?}"
        );
    }
    let refused = request(&*adapter, &content("ü")).err();
    assert_eq!(
        refused,
        Some(Unrenderable::Message(
            "header x-text: a value is not ASCII".into()
        ))
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
