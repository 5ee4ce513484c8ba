//! Any bytes from the queue: a notification in which everything is in order, or a rejection that
//! says nothing of what was in the message.
//!
//! An input is a line `channel|message id|content type|event source|event id`, then the body.

use nuncio::config::Channel;
use nuncio::domain::identity::notification_id;
use nuncio::domain::mailbox::{address, is_no_header, mailbox};
use nuncio::domain::notification::{Kind, Notification};
use nuncio::domain::recipient::phone;
use nuncio::domain::segments::segments;
use nuncio::intake::decode::{BODY_LIMIT, Envelope, NAME_LIMIT, Rejection, decode};
use nuncio::provider::Message;
use serde_json::json;

use super::{channel, line, text};

/// Ends with a panic where the input is not read as it must be; else says what became of it.
pub fn hold(input: &[u8]) -> &'static str {
    let (head, body) = line(input);
    let mut head = head.split(|&byte| byte == b'|');
    let channel = channel(head.next().unwrap_or_default());
    let mut field = || {
        let field = head.next().filter(|field| !field.is_empty())?;
        Some(String::from_utf8_lossy(field).into_owned())
    };
    let envelope = Envelope {
        message_id: field(),
        content_type: field(),
        cloud_event: field().and_then(|source| Some((source, field()?))),
    };
    let read = decode(channel, body, &envelope);
    assert!(
        read == decode(channel, body, &envelope),
        "the same bytes were read in two ways"
    );
    match read {
        Ok(notification) => {
            assert!(body.len() <= BODY_LIMIT);
            is_in_order(channel, &notification);
            reads_back(channel, &notification);
            renders_the_same(channel, &notification);
            "read"
        }
        Err(rejection) => {
            says_nothing(channel, &rejection);
            rejection.reason
        }
    }
}

/// What the ledger's constraints and everybody behind intake rely on.
fn is_in_order(channel: &Channel, read: &Notification) {
    assert_eq!(read.channel, channel.name);
    assert_eq!(read.id, notification_id(&channel.name, &read.key));
    assert!((1..=NAME_LIMIT).contains(&read.key.len()), "key's length");
    let smtputf8 = channel.provider.smtputf8;
    let canonical = match channel.kind {
        Kind::Sms => phone(&read.to, channel.default_region),
        Kind::Email => address(&read.to, smtputf8),
    };
    assert!(
        canonical.as_ref() == Ok(&read.to),
        "a recipient that is not in canonical form"
    );
    assert_eq!(read.stream.is_some(), read.seq.is_some());
    if let Some(stream) = &read.stream {
        assert!((1..=NAME_LIMIT).contains(&stream.len()), "stream's length");
    }
    let content = &read.content;
    let given = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    assert!(match channel.kind {
        Kind::Sms => given(&content.text) && content.subject.is_none() && content.html.is_none(),
        Kind::Email => given(&content.subject) && (given(&content.text) || given(&content.html)),
    });
    for line in [&content.subject, &content.from, &content.reply_to] {
        let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        assert!(
            !(line.as_ref()).is_some_and(|line| line.contains(breaks) || is_no_header(line)),
            "a line break in a header"
        );
    }
    match channel.kind {
        Kind::Sms => {
            let text = content.text.as_deref().unwrap_or_default();
            assert!(segments(text) <= channel.max_segments, "too many segments");
        }
        Kind::Email => {
            for given in [&content.from, &content.reply_to].into_iter().flatten() {
                let canonical = mailbox(given, smtputf8);
                assert!(canonical.as_ref() == Ok(given), "not one mailbox");
            }
        }
    }
    let stored = serde_json::to_string(content).expect("content has a JSON form");
    // A backslash of the content's own comes out doubled, so "\u0000" in its JSON is a NUL, mostly.
    let escaped = stored.replace("\\\\", "").contains("\\u0000");
    let texts = [
        &read.key,
        &read.to,
        read.stream.as_ref().unwrap_or(&read.key),
    ];
    assert!(
        !escaped && !texts.into_iter().any(|text| text.contains('\0')),
        "U+0000 would break the write"
    );
}

/// Written as JSON and read again, it is what it was.
fn reads_back(channel: &Channel, read: &Notification) {
    let c = &read.content;
    let written = json!({
        "version": 1, "key": read.key, "channel": read.channel, "to": read.to, "text": c.text,
        "subject": c.subject, "html": c.html, "from": c.from, "reply_to": c.reply_to,
        "send_at": read.send_at, "expires_at": read.expires_at,
        "stream": read.stream, "seq": read.seq, "metadata": c.metadata,
    });
    let written = written.to_string();
    if written.len() <= BODY_LIMIT {
        let again = decode(channel, written.as_bytes(), &Envelope::default());
        assert!(
            again.as_ref() == Ok(read),
            "written and read again, it differs: {again:?}"
        );
    }
}

/// A redelivery, a retry and a replay render the bytes of the first request.
fn renders_the_same(channel: &Channel, read: &Notification) {
    let render = || {
        let message = Message::new(channel, read, 1);
        let request = channel.provider.adapter.request(&message);
        request.map(|request| request.hash())
    };
    assert!(render() == render(), "two requests for one notification");
}

/// What is wrong is said in one of these sentences, so a rejection cannot hold content.
fn says_nothing(channel: &Channel, rejection: &Rejection) {
    text::is_clean(&rejection.detail, 200);
    let mut said = numbers_out(&rejection.detail).replace(&*channel.name, "CHANNEL");
    if let Some(field) = said.split('`').nth(1).filter(|f| FIELDS.contains(f)) {
        said = said.replace(&format!("`{field}`"), "`FIELD`");
    }
    assert!(
        SENTENCES.contains(&(rejection.reason, &*said)),
        "a sentence that may hold content: {rejection:?}"
    );
}

/// Each run of digits becomes `#`: sizes, places and versions.
fn numbers_out(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if !c.is_ascii_digit() {
            out.push(c);
        } else if !out.ends_with('#') {
            out.push('#');
        }
    }
    out
}

const FIELDS: [&str; 17] = [
    "version",
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
    "seq",
    "metadata",
    "id",
    "source",
    "data",
];

const SENTENCES: &[(&str, &str)] = &[
    ("too_large", "# bytes; at most # are read"),
    ("not_json", "not valid JSON at line # column #"),
    ("wrong_shape", "not a JSON object"),
    ("wrong_shape", "missing field `FIELD` at line # column #"),
    ("wrong_shape", "duplicate field `FIELD` at line # column #"),
    (
        "wrong_shape",
        "a value of the wrong type or form at line # column #",
    ),
    (
        "wrong_shape",
        "a field that version # does not have, at line # column #",
    ),
    ("unknown_version", "version #; this program knows up to #"),
    ("unknown_version", "version # never existed"),
    (
        "unknown_channel",
        "names another channel than CHANNEL, which reads this queue",
    ),
    (
        "missing_key",
        "no key, no message id and no CloudEvent id: a redelivery could not be told from a new one",
    ),
    ("bad_key", "the key has # bytes; at most #"),
    (
        "nul_character",
        "a text contains U+#, which the ledger cannot store",
    ),
    (
        "bad_recipient",
        "\"to\" is not one phone number that can be reached from abroad, such as +#; extensions and letters are none",
    ),
    (
        "bad_recipient",
        "\"to\" is a phone number without a country code, and the channel has no default_region",
    ),
    (
        "bad_recipient",
        "\"to\" is not one mail address, such as ann@example.org",
    ),
    (
        "bad_recipient",
        "\"to\" has letters beyond ASCII before the @, which the provider does not declare to take (smtputf#)",
    ),
    ("too_many_segments", "the text needs # SMS; at most #"),
    ("bad_stream", "stream has # bytes; # to #"),
    ("bad_stream", "stream and seq go together"),
    ("bad_content", "an SMS needs a text"),
    ("bad_content", "an SMS has no subject, html or reply_to"),
    ("bad_content", "a mail needs a subject"),
    ("bad_content", "a mail needs a text or an html"),
    (
        "bad_content",
        "subject, from or reply_to has a control character, a line break or an encoded word (=?...?=)",
    ),
    (
        "bad_content",
        "\"from\" is not one mail address, such as ann@example.org",
    ),
    (
        "bad_content",
        "\"from\" has letters beyond ASCII before the @, which the provider does not declare to take (smtputf#)",
    ),
    (
        "bad_content",
        "\"from\" has a name that is not one: a comma, a colon and the like belong in quotes",
    ),
    (
        "bad_content",
        "\"reply_to\" is not one mail address, such as ann@example.org",
    ),
    (
        "bad_content",
        "\"reply_to\" has letters beyond ASCII before the @, which the provider does not declare to take (smtputf#)",
    ),
    (
        "bad_content",
        "\"reply_to\" has a name that is not one: a comma, a colon and the like belong in quotes",
    ),
];
