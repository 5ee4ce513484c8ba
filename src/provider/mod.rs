//! Providers: what to ask, how to read what came back. Adapters do no I/O.
//!
//! An [`Adapter`] turns a message into a [`Request`] and an [`Answer`] into an
//! [`Outcome`]; the one HTTP client in [`client`] carries both. So an adapter can be tested,
//! fuzzed and reasoned about as plain functions, and nobody else decides about timeouts,
//! redirects and retries.

pub mod clean;
pub mod client;
pub mod http;
pub mod retry_after;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use thiserror::Error;
use url::Url;
use uuid::Uuid;

use crate::config::Channel;
use crate::domain::capability::Capability;
use crate::domain::notification::{Content, Kind, Notification};
use crate::domain::outcome::{LookUpAnswer, Outcome};

/// What an adapter renders: one notification under one send key.
#[derive(Clone, Copy)]
pub struct Message<'a> {
    /// Idempotency key and reference in one.
    pub send_key: Uuid,
    /// What kind of channel it goes out on.
    pub kind: Kind,
    /// Recipient in canonical form.
    pub to: &'a str,
    /// What the recipient will read.
    pub content: &'a Content,
    /// The sender, where the content names none.
    pub default_from: Option<&'a str>,
    /// Not after this, for providers that take a validity.
    pub expires_at: Option<DateTime<Utc>>,
}

impl<'a> Message<'a> {
    /// A notification of a channel under one of its send keys.
    #[must_use]
    pub fn new(channel: &'a Channel, notification: &'a Notification, generation: u32) -> Self {
        Self {
            send_key: notification.send_key(generation),
            kind: channel.kind,
            to: &notification.to,
            content: &notification.content,
            default_from: channel.from.as_deref(),
            expires_at: notification.expires_at,
        }
    }
}

/// A question to a provider's log.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The message that is in doubt.
    pub message: Message<'a>,
    /// The earliest moment at which a request for it can have arrived.
    pub from: DateTime<Utc>,
    /// The latest.
    pub until: DateTime<Utc>,
}

/// What proves to a provider who we are.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// A header; its value is marked as sensitive.
    Header(HeaderName, HeaderValue),
    /// Query parameters, percent-encoded: the only way into many small gateways.
    Query(SecretString),
}

/// One HTTP request, complete. The same notification under the same key gives the same bytes,
/// always.
#[derive(Clone)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// Where to, without credentials; may hold content (a recipient in a query), so it is never
    /// printed.
    pub url: Url,
    /// Headers but credentials.
    pub headers: HeaderMap,
    /// Credentials: no part of [`Request::hash`], so that a rotated secret does not look like
    /// another message.
    pub credentials: Option<Credentials>,
    /// The body.
    pub body: Bytes,
}

impl Request {
    /// The request as it goes out, credentials and all. Never to be printed.
    #[must_use]
    pub fn on_the_wire(mut self) -> reqwest::Request {
        match self.credentials {
            None => {}
            Some(Credentials::Header(name, value)) => {
                self.headers.insert(name, value);
            }
            Some(Credentials::Query(secret)) => {
                let own = self.url.query().filter(|query| !query.is_empty());
                let query = match own {
                    Some(own) => format!("{own}&{}", secret.expose_secret()),
                    None => secret.expose_secret().to_owned(),
                };
                self.url.set_query(Some(&query));
            }
        }
        let mut request = reqwest::Request::new(self.method, self.url);
        *request.headers_mut() = self.headers;
        *request.body_mut() = Some(self.body.into());
        request
    }

    /// What "the same bytes" means for invariant 7: a SHA-256 over method, URL, headers and body.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.method.as_str());
        hash.update([0]);
        hash.update(self.url.as_str());
        for (name, value) in &self.headers {
            hash.update([0]);
            hash.update(name.as_str());
            hash.update([1]);
            hash.update(value.as_bytes());
        }
        hash.update([0, 0]);
        hash.update(&self.body);
        hash.finalize().into()
    }
}

/// A complete answer: status, headers and the whole body, within the client's limit.
#[derive(Clone, Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// Body, at most [`client::BODY_LIMIT`] bytes. Untrusted.
    pub body: Bytes,
}

/// Why a message cannot be put into a request for this provider. Certainly not sent.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum Unrenderable {
    /// It lacks something, or has a value that the request cannot carry.
    #[error("{0}")]
    Message(String),
    /// Our own code could not stand it.
    #[error("nuncio panicked over it, which is a fault of ours: see the log")]
    Fault,
}

/// One provider's dialect.
pub trait Adapter: Send + Sync {
    /// What the provider promises.
    fn capability(&self) -> Capability;

    /// The request that sends a message.
    ///
    /// # Errors
    /// [`Unrenderable`] when the message has no form for this provider.
    fn request(&self, message: &Message<'_>) -> Result<Request, Unrenderable>;

    /// What an answer to [`Adapter::request`] says. Never `Accepted` without positive proof.
    fn outcome(&self, answer: &Answer) -> Outcome;

    /// The request that asks the provider's log, where there is one.
    fn look_up(&self, question: &Question<'_>) -> Option<Request>;

    /// What an answer to [`Adapter::look_up`] says. Records that do not satisfy the question are
    /// left out, whatever the provider's filter did.
    fn found(&self, question: &Question<'_>, answer: &Answer) -> LookUpAnswer;
}

/// A configured account with a provider.
#[derive(Clone)]
pub struct Provider {
    /// Its name in the configuration.
    pub name: Arc<str>,
    /// Its dialect.
    pub adapter: Arc<dyn Adapter>,
    /// Total time that one request may take, from connecting to the last byte of the answer.
    pub request_timeout: Duration,
    /// Whether it takes mail addresses with letters beyond ASCII before the `@`.
    pub smtputf8: bool,
}

impl Provider {
    /// As [`Adapter::request`]. A panic in there is about one message, and ends nobody's task.
    ///
    /// # Errors
    /// When the message has no form for this provider.
    pub fn request(&self, message: &Message<'_>) -> Result<Request, Unrenderable> {
        catch_unwind(AssertUnwindSafe(|| self.adapter.request(message)))
            .unwrap_or(Err(Unrenderable::Fault))
    }
}
