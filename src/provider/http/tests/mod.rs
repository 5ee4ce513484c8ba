//! The declarative provider from the outside: a file goes in, requests and outcomes come out.

mod answers;
mod dialects;
mod hostile;
mod injection;
mod lookup;
mod proof;
mod requests;

use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::config;
use crate::domain::identity::send_key;
use crate::domain::notification::{Content, Kind};
use crate::provider::{Adapter, Answer, Message, Question, Request, Unrenderable};

/// Reads a file with one channel, whose provider is called `p`.
fn config(provider: &str) -> Result<config::Config, config::ConfigErrors> {
    let channel = "[channels.sms]\nkind = \"sms\"\npolicy = \"at-most-once\"\nprovider = \"p\"\nresolve_within = \"90d\"\n";
    let env = |name: &str| {
        Some(match name {
            "NUNCIO_DATABASE_URL" => "postgres://db/nuncio".to_owned(),
            "NUNCIO_AMQP_URL" => "amqp://mq".to_owned(),
            _ => format!("secret {name}"),
        })
    };
    config::parse(
        "test.toml",
        &format!("{channel}[providers.p]\nkind = \"http\"\n{provider}"),
        &env,
    )
}

fn adapter(provider: &str) -> Arc<dyn Adapter> {
    let config = config(provider).unwrap_or_else(|errors| panic!("{errors}"));
    config.channels[0].provider.adapter.clone()
}

fn errors(provider: &str) -> String {
    config(provider)
        .err()
        .map(|errors| errors.to_string())
        .unwrap_or_default()
}

/// A provider that differs only in what its `send` says.
fn sending(send: &str) -> Arc<dyn Adapter> {
    adapter(&format!("[providers.p.send]\n{send}\n{ACCEPTING}"))
}

const ACCEPTING: &str = "[[providers.p.send.answers]]\nid = \"$.id\"\nmeans = \"accepted\"\n";

const TO: &str = "+4915112345678";
const KEY: &str = "963aeca2-058b-84df-8e53-36f685807b4a";

fn content(text: &str) -> Content {
    Content {
        text: Some(text.into()),
        ..Content::default()
    }
}

fn message<'a>(to: &'a str, content: &'a Content) -> Message<'a> {
    Message {
        send_key: send_key("sms", "order/42", 1),
        kind: Kind::Sms,
        to,
        content,
        default_from: None,
        expires_at: None,
    }
}

fn request(adapter: &dyn Adapter, content: &Content) -> Result<Request, Unrenderable> {
    adapter.request(&message(TO, content))
}

fn body(request: &Request) -> &str {
    std::str::from_utf8(&request.body).expect("UTF-8")
}

fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Answer {
    let headers: HeaderMap = headers
        .iter()
        .map(|(name, value)| {
            let name = HeaderName::from_bytes(name.as_bytes()).expect("name");
            (name, HeaderValue::from_str(value).expect("value"))
        })
        .collect();
    Answer {
        status,
        headers,
        body: Bytes::copy_from_slice(body.as_bytes()),
    }
}

fn at(time: &str) -> DateTime<Utc> {
    time.parse().expect("time")
}

fn question(content: &Content) -> Question<'_> {
    Question {
        message: message(TO, content),
        from: at("2026-11-29T12:00:00Z"),
        until: at("2026-11-29T12:00:10Z"),
    }
}
