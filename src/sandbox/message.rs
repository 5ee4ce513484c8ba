//! The body of `POST /send`, as far as the sandbox reads it.

use serde::Deserialize;
use serde::de::IgnoredAny;
use sha2::{Digest, Sha256};

/// A SHA-256 digest.
pub(super) type Hash = [u8; 32];

/// One message; fields not named here count into the body's hash only.
#[derive(Debug, Deserialize)]
pub(super) struct Message {
    pub(super) to: String,
    pub(super) reference: String,
    text: Option<String>,
    published_us: Option<Stamp>,
    metadata: Option<Metadata>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Metadata {
    Stamped { published_us: Stamp },
    Other(IgnoredAny),
}

/// Microseconds since 1970, as a number or as text, since metadata values are often text.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Stamp {
    Number(u64),
    Text(String),
    Other(IgnoredAny),
}

impl Message {
    pub(super) fn parse(body: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(body)
    }

    pub(super) fn text_hash(&self) -> Hash {
        sha256(self.text.as_deref().unwrap_or_default().as_bytes())
    }

    /// When it was published, in microseconds since 1970, if it says so.
    pub(super) fn published_us(&self) -> Option<u64> {
        let nested = match &self.metadata {
            Some(Metadata::Stamped { published_us }) => Some(published_us),
            Some(Metadata::Other(_)) | None => None,
        };
        match nested.or(self.published_us.as_ref())? {
            Stamp::Number(us) => Some(*us),
            Stamp::Text(text) => text.parse().ok(),
            Stamp::Other(_) => None,
        }
    }
}

pub(super) fn sha256(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}

pub(super) fn hex(hash: &Hash) -> String {
    const DIGITS: [u8; 16] = *b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble & 15)]);
    hash.iter()
        .flat_map(|byte| [digit(byte >> 4), digit(*byte)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published(body: &str) -> Option<u64> {
        Message::parse(body.as_bytes()).ok()?.published_us()
    }

    #[test]
    fn the_time_of_publishing_is_found_as_number_or_text_or_left_out() {
        let with = |field: &str| published(&format!(r#"{{"to":"a","reference":"b",{field}}}"#));
        assert_eq!(with(r#""metadata":{"published_us":"12","x":1}"#), Some(12));
        assert_eq!(with(r#""metadata":{"published_us":12}"#), Some(12));
        assert_eq!(with(r#""published_us":12"#), Some(12));
        assert_eq!(with(r#""metadata":{"published_us":[1]}"#), None);
        assert_eq!(with(r#""metadata":["x"],"published_us":{}"#), None);
    }

    #[test]
    fn a_digest_is_printed_in_lower_case_hexadecimal() {
        assert!(hex(&sha256(b"")).starts_with("e3b0c44298fc1c14"));
    }
}
