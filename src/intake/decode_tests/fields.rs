//! What the fields may hold.

use super::*;

#[test]
fn nul_is_refused_in_every_text() {
    for name in ["key", "to", "text", "from", "stream"] {
        let body = sms(json!({name: format!("a{TEXT}\0"), "seq": 1}));
        let body = if name == "stream" {
            body
        } else {
            sms(json!({name: format!("a{TEXT}\0")}))
        };
        assert_eq!(reason("sms", &body), "nul_character", "{name}");
    }
    for name in ["subject", "html", "reply_to", "from", "to", "key", "text"] {
        let body = mail(json!({name: format!("a{TEXT}\0")}));
        assert_eq!(reason("email", &body), "nul_character", "{name}");
    }
    for metadata in [json!({"a": "x\0"}), json!({"a\0": "x"})] {
        let body = sms(json!({"metadata": metadata}));
        assert_eq!(reason("sms", &body), "nul_character");
    }
    let named = Envelope {
        message_id: Some("a\0b".into()),
        ..Envelope::default()
    };
    let body = sms(json!({"key": null}));
    assert_eq!(reason_in("sms", &body, &named), "nul_character");
    assert_eq!(
        reason("sms", &sms(json!({"channel": "sms\0"}))),
        "unknown_channel"
    );
}

#[test]
fn another_channels_message_is_refused() {
    assert_eq!(reason("sms", &sms(json!({"channel": "sms"}))), "");
    for other in ["email", "SMS", "", TEXT] {
        assert_eq!(
            reason("sms", &sms(json!({"channel": other}))),
            "unknown_channel"
        );
    }
}

#[test]
fn an_sms_has_a_text_and_nothing_of_a_mail() {
    for change in [
        json!({"text": null}),
        json!({"text": ""}),
        json!({"subject": TEXT}),
        json!({"html": TEXT}),
        json!({"reply_to": MAIL}),
    ] {
        assert_eq!(
            reason("sms", &sms(change.clone())),
            "bad_content",
            "{change}"
        );
    }
}

#[test]
fn a_mail_has_a_subject_and_a_body() {
    for change in [
        json!({"subject": null}),
        json!({"subject": ""}),
        json!({"text": null}),
        json!({"text": "", "html": ""}),
    ] {
        assert_eq!(
            reason("email", &mail(change.clone())),
            "bad_content",
            "{change}"
        );
    }
    assert_eq!(
        reason("email", &mail(json!({"text": null, "html": "<p>x"}))),
        ""
    );
    for subject in ["🔥".to_owned(), "ü".repeat(5000), "Hi {{name}}".into()] {
        assert_eq!(reason("email", &mail(json!({"subject": subject}))), "");
    }
}

#[test]
fn a_line_break_cannot_become_a_header() {
    let breaks = [
        "\r\n", "\n", "\r", "\u{2028}", "\u{2029}", "\u{85}", "\u{b}", "\u{1b}",
    ];
    for name in ["subject", "from", "reply_to"] {
        for line_break in breaks {
            let value = format!("Bob{line_break}Bcc: x@example.com");
            let body = mail(json!({name: value}));
            assert_eq!(
                reason("email", &body),
                "bad_content",
                "{name} {line_break:?}"
            );
        }
    }
    let body = sms(json!({"from": "Desk\r\nX: 1"}));
    assert_eq!(reason("sms", &body), "bad_content");
    for line_break in breaks {
        let body = mail(json!({"text": format!("a{line_break}b")}));
        assert_eq!(reason("email", &body), "", "a text may have lines");
    }
}

#[test]
fn an_encoded_word_cannot_hide_a_header() {
    let hidden = "=?utf-8?b?DQpCY2M6IHhAZXhhbXBsZS5jb20=?=";
    for name in ["subject", "from", "reply_to"] {
        let value = match name {
            "subject" => hidden.to_owned(),
            _ => format!("{hidden} <a@example.org>"),
        };
        let body = mail(json!({name: value}));
        assert_eq!(reason("email", &body), "bad_content", "{name}");
    }
    assert_eq!(reason("email", &mail(json!({"text": hidden}))), "");
}

#[test]
fn a_sender_and_a_reply_address_are_one_mailbox_each() {
    for name in ["from", "reply_to"] {
        for value in [
            "",
            "Desk",
            "a@example.org, b@example.org",
            "Smith, Bob <b@example.org>",
            "A <a@example.org>, B <b@example.org>",
            "jörg@example.org",
        ] {
            let body = mail(json!({name: value}));
            assert_eq!(reason("email", &body), "bad_content", "{name} {value}");
        }
    }
    let given = json!({"from": "Jörg <desk@BÜCHER.example>", "reply_to": "a@B.example"});
    let content = read("email", &mail(given)).expect("right").content;
    assert_eq!(
        (content.from.as_deref(), content.reply_to.as_deref()),
        (
            Some("Jörg <desk@xn--bcher-kva.example>"),
            Some("a@b.example")
        )
    );
    // An SMS comes from a number or a name.
    assert_eq!(reason("sms", &sms(json!({"from": "Desk"}))), "");
}

#[test]
fn a_text_of_too_many_sms_is_refused_whole() {
    for (text, expected) in [
        ("a".repeat(1530), ""),
        ("a".repeat(1531), "too_many_segments"),
        ("ě".repeat(670), ""),
        ("ě".repeat(671), "too_many_segments"),
    ] {
        assert_eq!(reason("sms", &sms(json!({"text": text}))), expected);
    }
    let long = mail(json!({"text": "a".repeat(5000)}));
    assert_eq!(reason("email", &long), "", "a mail has no segments");
}

#[test]
fn a_recipient_is_kept_in_its_one_form() {
    for to in [
        "+1 (555) 000-1234",
        " +15550001234",
        "\u{ff0b}1 555 000 1234",
    ] {
        let read = read("sms", &sms(json!({"to": to}))).expect("right");
        assert_eq!(read.to, TO);
    }
    let read = read("email", &mail(json!({"to": "info@BÜCHER.example"}))).expect("right");
    assert_eq!(read.to, "info@xn--bcher-kva.example");
}

#[test]
fn a_stream_and_its_seq_go_together() {
    for (change, expected) in [
        (json!({"stream": "s"}), "bad_stream"),
        (json!({"seq": 1}), "bad_stream"),
        (json!({"stream": "", "seq": 1}), "bad_stream"),
        (json!({"stream": "s".repeat(1025), "seq": 1}), "bad_stream"),
        (json!({"stream": "s".repeat(1024), "seq": 1}), ""),
        (json!({"stream": "s", "seq": i64::MIN}), ""),
    ] {
        assert_eq!(reason("sms", &sms(change)), expected);
    }
}

#[test]
fn a_recipient_that_is_not_one_is_refused_without_repeating_it() {
    for to in [
        "",
        "112",
        "15550001234",
        "0015550001234",
        "+15550001234x5",
        "+00 000",
        MAIL,
    ] {
        assert_eq!(
            reason("sms", &sms(json!({"to": to}))),
            "bad_recipient",
            "{to}"
        );
    }
    for to in [
        "",
        "mark",
        "mark@",
        "Mark <mark@example.org>",
        "mark@example.org,x@example.org",
        "mark@example.org\r\nBcc: x@example.org",
        "jörg@example.org",
        "info@bücher..example",
        TO,
    ] {
        assert_eq!(
            reason("email", &mail(json!({"to": to}))),
            "bad_recipient",
            "{to}"
        );
    }
}

#[test]
fn what_is_right_is_taken_as_it_is() {
    let body = mail(json!({
        "version": 1, "channel": "email", "to": "Mark@EXAMPLE.org", "html": "<b>\u{1F525}",
        "reply_to": "a@b.example", "send_at": "2027-01-31T09:00:00+01:00",
        "expires_at": "9999-12-31T23:59:59Z", "stream": "s", "seq": 7, "metadata": {"order": "42"}
    }));
    let read = read("email", &body).expect("right");
    assert_eq!(read.to, "Mark@example.org");
    // the channel has one, which is rendered, not stored: changing it makes no key conflict
    assert_eq!(read.content.from, None);
    assert_eq!(read.content.metadata["order"], "42");
    let at = read.send_at.expect("given").to_rfc3339();
    assert_eq!(at, "2027-01-31T08:00:00+00:00");
    assert_eq!((read.stream.as_deref(), read.seq), (Some("s"), Some(7)));
}
