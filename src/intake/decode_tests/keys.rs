//! Where the key comes from, and what may be one.

use super::*;

#[test]
fn a_key_has_1_to_1024_bytes_of_anything() {
    assert_eq!(reason("sms", &sms(json!({"key": null}))), "missing_key");
    assert_eq!(reason("sms", &sms(json!({"key": ""}))), "missing_key");
    for (key, expected) in [
        ("k".repeat(1024), ""),
        ("k".repeat(1025), "bad_key"),
        ("é".repeat(512), ""),
        (format!("{}k", "é".repeat(512)), "bad_key"),
        ("f".repeat(4000), "bad_key"),
        ("clé-☃".into(), ""),
        ("a\r\nX-Evil: 1".into(), ""),
        (" a ".into(), ""),
        (" ".into(), ""),
    ] {
        let size = key.len();
        assert_eq!(reason("sms", &sms(json!({"key": key}))), expected, "{size}");
    }
}

#[test]
fn keys_are_compared_byte_for_byte() {
    let long = "x".repeat(255);
    let keys = [
        format!("{long}a"),
        format!("{long}b"),
        " a ".into(),
        "a".into(),
        "A".into(),
        "é".into(),
        "e\u{301}".into(),
    ];
    let ids: std::collections::HashSet<_> = keys
        .iter()
        .map(|key| read("sms", &sms(json!({"key": key}))).expect("right").id)
        .collect();
    assert_eq!(ids.len(), keys.len());
}

#[test]
fn the_key_comes_from_the_message_then_the_message_id_then_the_event() {
    let event = |source: &str, id: &str| Some((source.to_owned(), id.to_owned()));
    let envelope = |message_id: Option<&str>, cloud_event| Envelope {
        message_id: message_id.map(ToOwned::to_owned),
        content_type: Some("application/json".into()),
        cloud_event,
    };
    let table = [
        (
            Some("own"),
            envelope(Some("id"), event("/s", "e")),
            Some("own"),
        ),
        (None, envelope(Some("id"), event("/s", "e")), Some("id")),
        (None, envelope(None, event("/s", "e")), Some("/s e")),
        (None, envelope(Some(""), event("/s", "e")), Some("/s e")),
        (None, envelope(Some(""), None), None),
        (None, envelope(None, event("", "e")), None),
        (None, envelope(None, event("/s", "")), None),
        (None, envelope(None, event("/s a", "b")), None),
        (Some(""), envelope(Some("id"), event("/s", "e")), None),
    ];
    for (own, envelope, expected) in table {
        let read = decode(&channel("sms"), &sms(json!({"key": own})), &envelope);
        let key = match read {
            Ok(notification) => Some(notification.key),
            Err(rejection) => {
                assert_eq!(rejection.reason, "missing_key");
                None
            }
        };
        assert_eq!(key.as_deref(), expected, "{own:?} {envelope:?}");
    }
}

#[test]
fn a_structured_cloud_event_is_unwrapped() {
    let structured = |media_type: &str, message_id: Option<&str>| Envelope {
        message_id: message_id.map(ToOwned::to_owned),
        content_type: Some(media_type.into()),
        cloud_event: None,
    };
    let event = |id: &str, data: Value| {
        let event =
            json!({"specversion": "1.0", "type": "t", "source": "/s", "id": id, "data": data});
        event.to_string().into_bytes()
    };
    let right = json!({"to": TO, "text": TEXT});
    for media_type in [
        "application/cloudevents+json",
        "application/cloudevents+json; charset=UTF-8",
        "Application/CloudEvents+JSON",
    ] {
        let envelope = structured(media_type, None);
        let read = decode(&channel("sms"), &event("e", right.clone()), &envelope);
        assert_eq!(read.expect("right").key, "/s e", "{media_type}");
    }
    let envelope = structured("application/cloudevents+json", None);
    let named = structured("application/cloudevents+json", Some("id"));
    let read = decode(&channel("sms"), &event("e", right.clone()), &named);
    assert_eq!(read.expect("right").key, "id");
    let with_key = json!({"key": "own", "to": TO, "text": TEXT});
    let read = decode(&channel("sms"), &event("", with_key), &envelope);
    assert_eq!(read.expect("right").key, "own");

    let wrong = [
        (event("", right.clone()), "missing_key"),
        (event("e", json!([TO])), "wrong_shape"),
        (
            event("e", json!({"to": TO, "text": TEXT, TEXT: 1})),
            "wrong_shape",
        ),
        (
            event("e", json!({"version": 7, "new": TEXT})),
            "unknown_version",
        ),
        (event("e", json!(null)), "wrong_shape"),
        (sms(json!({})), "wrong_shape"),
        (
            br#"{"source":"/s","id":"e","id":"f","data":{}}"#.to_vec(),
            "wrong_shape",
        ),
        (b"{".to_vec(), "not_json"),
    ];
    for (body, expected) in wrong {
        let shown = String::from_utf8_lossy(&body).into_owned();
        assert_eq!(reason_in("sms", &body, &envelope), expected, "{shown}");
    }
}
