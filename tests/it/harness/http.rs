//! Asking over HTTP.

use std::time::Duration;

use reqwest::Method;
use serde_json::Value;

/// An answer, read to its end.
#[derive(Clone, Debug)]
pub struct Answered {
    /// Status.
    pub status: u16,
    /// Body.
    pub text: String,
}

impl Answered {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text)
            .unwrap_or_else(|error| panic!("no JSON ({error}): {}", self.text))
    }
}

/// A client that asks programs and the sandbox.
#[derive(Clone, Debug)]
pub struct Http(reqwest::Client);

impl Http {
    /// With a limit that only a test that fails meets.
    pub fn new() -> Self {
        // A second call finds the provider installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .timeout(Duration::from_secs(90))
            .build();
        Self(client.expect("an HTTP client can be made"))
    }

    /// Asks; `None` when there was no answer.
    pub async fn try_ask(&self, method: Method, url: &str, body: String) -> Option<Answered> {
        let asked = self.0.request(method, url).body(body).send().await.ok()?;
        let status = asked.status().as_u16();
        let text = asked.text().await.ok()?;
        Some(Answered { status, text })
    }

    /// Asks something that must answer.
    pub async fn ask(&self, method: Method, url: &str, body: String) -> Answered {
        self.try_ask(method, url, body)
            .await
            .unwrap_or_else(|| panic!("no answer from {url}"))
    }

    /// GET.
    pub async fn get(&self, url: &str) -> Answered {
        self.ask(Method::GET, url, String::new()).await
    }
}
