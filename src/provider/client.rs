//! The one HTTP client: carries a request, says how far it got.
//!
//! | what happened | what it taught |
//! |---|---|
//! | name look-up, connection or TLS handshake failed | [`Failure::NotSent`] |
//! | timeout, reset, or an answer without end after the first byte was written | [`Failure::Unknown`] |
//! | a complete answer, whatever its status | an [`Answer`], which the adapter reads |

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use thiserror::Error;

use super::{Answer, Request};
use crate::domain::outcome::{Doubt, NotSent, Outcome};

/// The largest answer that is read, in bytes. A provider's answer is a few hundred; what goes on
/// beyond this is not one.
pub const BODY_LIMIT: usize = 64 * 1024;

/// How long a connection may take to be made. Shorter than any request timeout, so that a provider
/// that is not there shows as "not sent", not as a timeout that leaves doubt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Idle connections are closed by us before the provider does: a connection that the other side
/// closes at the moment we write to it leaves doubt. Common servers close after 60 to 75 s, some
/// after 5; this is a compromise with the cost of a new TLS handshake.
const POOL_IDLE: Duration = Duration::from_secs(4);

/// Why there is no complete answer.
#[derive(Debug, Error)]
pub enum Failure {
    /// No byte of the request can have left.
    #[error("{0}")]
    NotSent(String),
    /// The request may have arrived.
    #[error("{text}")]
    Unknown {
        /// Why nobody can say.
        cause: Doubt,
        /// In words.
        text: String,
    },
}

impl From<Failure> for Outcome {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NotSent(text) => Self::NotSent {
                cause: NotSent::Unreachable,
                retry_after: None,
                text,
            },
            Failure::Unknown { cause, text } => Self::Unknown {
                cause,
                look_after: None,
                text,
            },
        }
    }
}

/// Carries requests. Cheap to clone; connections are shared.
#[derive(Clone, Debug)]
pub struct Client(reqwest::Client);

impl Client {
    /// Redirects and retries off, bodies limited, connections kept for a few seconds.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    pub fn new() -> reqwest::Result<Self> {
        // A second call finds the provider installed, which is what it wants.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(POOL_IDLE)
            .pool_max_idle_per_host(usize::MAX)
            .tcp_nodelay(true)
            .user_agent(concat!("nuncio/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self(client))
    }

    /// Makes one request, at most once, within `limit` in total.
    ///
    /// # Errors
    /// [`Failure`], by how far the request got. Texts hold no URL, header or body of ours.
    pub async fn exchange(&self, request: Request, limit: Duration) -> Result<Answer, Failure> {
        let mut request = request.on_the_wire();
        *request.timeout_mut() = Some(limit);
        let sent = self.0.execute(request).await;
        let mut response = sent.map_err(|error| failure(error, limit))?;
        let status = response.status().as_u16();
        let headers = std::mem::take(response.headers_mut());
        let body = read(response, limit).await?;
        Ok(Answer {
            status,
            headers,
            body,
        })
    }
}

async fn read(mut response: reqwest::Response, limit: Duration) -> Result<Bytes, Failure> {
    let mut body = BytesMut::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| failure(error, limit))?
    {
        if body.len() + chunk.len() > BODY_LIMIT {
            return Err(Failure::Unknown {
                cause: Doubt::Unintelligible,
                text: format!("the answer is longer than {BODY_LIMIT} bytes"),
            });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

fn failure(error: reqwest::Error, limit: Duration) -> Failure {
    let error = error.without_url();
    if error.is_builder() {
        return Failure::NotSent(format!("no request could be made: {error}"));
    }
    if error.is_connect() {
        return Failure::NotSent(root_cause(&error));
    }
    if error.is_timeout() {
        return Failure::Unknown {
            cause: Doubt::Timeout,
            text: format!("no complete answer within {} s", limit.as_secs_f64()),
        };
    }
    Failure::Unknown {
        cause: Doubt::ConnectionLost,
        text: root_cause(&error),
    }
}

/// The innermost error says what happened; the ones around it only say that something did.
fn root_cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(inner) = innermost.source() {
        innermost = inner;
    }
    innermost.to_string()
}
