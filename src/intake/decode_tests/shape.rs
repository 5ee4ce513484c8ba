//! Bytes, JSON, types and versions.

use super::*;

#[test]
fn what_is_not_json_is_said_to_be_so() {
    let whole = sms(json!({}));
    let nested = format!(
        r#"{{"metadata":{{"a":{}{}}}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    let bodies: [&[u8]; 11] = [
        b"",
        b" \n",
        br#"{"to":"+1"#,
        br#"{"to":"+1555""#,
        b"\xff\xfe\x00",
        b"{\"text\":\"\xff\xfe\"}",
        br#"{"text":"\ud83d"}"#,
        br#"{"text":"\ude00\ud83d"}"#,
        b"{'to': 'x'}",
        b"\xef\xbb\xbf{}",
        b"{\"to\":\"a\0b\"}",
    ];
    for body in bodies {
        assert_eq!(reason("sms", body), "not_json", "{body:?}");
    }
    for end in 1..whole.len() {
        assert_eq!(reason("sms", &whole[..end]), "not_json", "cut at {end}");
    }
    let two = [&whole[..], &whole[..]].concat();
    assert_eq!(reason("sms", &two), "not_json", "two messages in one");
    assert_eq!(reason("sms", nested.as_bytes()), "wrong_shape");
    assert_eq!(reason("sms", "[".repeat(200).as_bytes()), "wrong_shape");
    let deep = format!("{}1{}", r#"{"version":"#.repeat(200), "}".repeat(200));
    assert_eq!(reason("sms", deep.as_bytes()), "wrong_shape");
}

#[test]
fn json_of_another_shape_is_refused() {
    let in_our_order = json!([
        1,
        KEY,
        "sms",
        TO,
        TEXT,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        {}
    ]);
    let bodies = [
        json!(null),
        json!([]),
        json!({}),
        json!("x"),
        json!(17),
        json!(true),
        json!([{"key": KEY, "to": TO, "text": TEXT}]),
        in_our_order,
        json!({"key": KEY, "text": TEXT}),
    ];
    for body in bodies {
        let bytes = body.to_string().into_bytes();
        assert_eq!(reason("sms", &bytes), "wrong_shape", "{body}");
    }
}

#[test]
fn a_wrong_type_is_refused_in_every_field() {
    let names = [
        "key",
        "channel",
        "to",
        "text",
        "subject",
        "html",
        "from",
        "reply_to",
        "send_at",
        "expires_at",
        "stream",
    ];
    for name in names {
        for wrong in [json!(17), json!(["x"]), json!({"a": TEXT}), json!(false)] {
            let body = sms(json!({name: wrong}));
            assert_eq!(reason("sms", &body), "wrong_shape", "{name} {wrong}");
        }
    }
    let changes = [
        json!({"version": "1"}),
        json!({"version": -1}),
        json!({"version": 1.5}),
        json!({"stream": "s", "seq": "1"}),
        json!({"stream": "s", "seq": 1.5}),
        json!({"stream": "s", "seq": 1e40}),
        json!({"to": null}),
        json!({"metadata": {"a": 1}}),
        json!({"metadata": [TEXT]}),
        json!({"metadata": TEXT}),
        json!({"send_at": TEXT}),
        json!({"send_at": "2027-01-31T09:00:00"}),
        json!({"send_at": "2027-02-30T09:00:00Z"}),
        json!({"expires_at": "tomorrow"}),
        json!({"expires_at": "2027-01-31"}),
    ];
    for change in changes {
        assert_eq!(
            reason("sms", &sms(change.clone())),
            "wrong_shape",
            "{change}"
        );
    }
}

#[test]
fn a_field_that_is_there_twice_or_unknown_is_refused() {
    let twice = |field: &str| {
        format!(r#"{{"key":"{KEY}","to":"{TO}","text":"{TEXT}",{field}}}"#).into_bytes()
    };
    let fields = [
        r#""to":"+15550001235""#.to_owned(),
        format!(r#""to":"{TO}""#),
        format!(r#""key":"{KEY}""#),
        format!(r#""text":"{TEXT}""#),
        r#""recipient":"x""#.into(),
        r#""To":"x""#.into(),
        format!(r#""{TEXT}":1"#),
        format!(r#""{TO}":1"#),
        // Repeated, either would break the quarantine's own write or a terminal.
        r#""a\u0000b":1"#.into(),
        r#""\u001b[31m":1"#.into(),
    ];
    for field in fields {
        assert_eq!(reason("sms", &twice(&field)), "wrong_shape", "{field}");
    }
    let said = decode(&channel("sms"), &twice(r#""to":"x""#), &Envelope::default());
    let detail = said.expect_err("twice").detail;
    assert!(detail.starts_with("duplicate field `to`"), "{detail}");
}

#[test]
fn a_newer_version_is_told_from_a_mistake() {
    for change in [
        json!({"version": 2}),
        json!({"version": 99, "priority": "high"}),
        json!({"version": 2, "to": [TO], "text": null}),
        json!({"version": 2, "metadata": {"a": {"b": 1}}}),
        json!({"version": 5_000_000_000_u64}),
        json!({"version": 0}),
    ] {
        assert_eq!(
            reason("sms", &sms(change.clone())),
            "unknown_version",
            "{change}"
        );
    }
    assert_eq!(reason("sms", br#"{"version":3}"#), "unknown_version");
    assert_eq!(
        reason("sms", &sms(json!({"version": 1, "priority": 1}))),
        "wrong_shape"
    );
    assert_eq!(reason("sms", br#"[2]"#), "wrong_shape");
}

#[test]
fn a_body_above_the_limit_is_not_read() {
    let padded = |size: usize| {
        let mut body = sms(json!({}));
        body.resize(size, b' ');
        body
    };
    assert_eq!(reason("sms", &padded(BODY_LIMIT)), "");
    assert_eq!(reason("sms", &padded(BODY_LIMIT + 1)), "too_large");
    assert_eq!(reason("sms", &vec![b'['; 1 << 20]), "too_large");
}

#[test]
fn null_is_as_good_as_absent() {
    let body = sms(json!({
        "version": null, "channel": null, "subject": null, "html": null, "from": null,
        "reply_to": null, "send_at": null, "expires_at": null, "stream": null, "seq": null,
        "metadata": null
    }));
    assert_eq!(reason("sms", &body), "");
}
