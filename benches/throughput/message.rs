//! The messages, and the request that each becomes.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

/// The channel's name, which is also the routing key.
pub(crate) const CHANNEL: &str = "bench";

/// Size of a message, in bytes: a text of three SMS parts and what goes with it.
const SIZE: usize = 500;

/// The message with a number, as a producer would publish it.
pub(crate) fn body(number: u64) -> Vec<u8> {
    let text = |text: &str| {
        format!(
            r#"{{"version":1,"key":"order-{number:08}:shipped","channel":"{CHANNEL}","to":"+15551{:06}","text":"{text}","metadata":{{"published_us":"{}","order":"{number:08}"}}}}"#,
            number % 1_000_000,
            now_us(),
        )
    };
    let words = "Your parcel is on its way and will be with you between nine and noon. ".repeat(8);
    let room = SIZE.saturating_sub(text("").len());
    text(&words[..room.min(words.len())]).into_bytes()
}

/// Microseconds since 1970.
pub(crate) fn now_us() -> u128 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_micros())
}

/// What the floor and the naive way read of a message.
#[derive(Deserialize)]
pub(crate) struct Message<'a> {
    pub(crate) key: &'a str,
    to: &'a str,
    text: &'a str,
    metadata: Metadata<'a>,
}

#[derive(Deserialize)]
struct Metadata<'a> {
    published_us: &'a str,
}

/// What they send: the same fields as nuncio's template in `nuncio.rs`.
#[derive(Serialize)]
struct Outgoing<'a> {
    published_us: &'a str,
    reference: &'a str,
    text: &'a str,
    to: &'a str,
}

impl Message<'_> {
    /// The body of the request to the provider.
    pub(crate) fn request(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(&Outgoing {
            published_us: self.metadata.published_us,
            reference: self.key,
            text: self.text,
            to: self.to,
        })
    }
}
