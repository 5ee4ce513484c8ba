//! Names that are derived, never invented: the row's id and the send key.

use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

/// What goes to the provider as Idempotency-Key and as our reference.
///
/// A lower-case hyphenated UUID (version 8) made from the first 16 bytes of a SHA-256 over channel,
/// key and generation, so that a key's length and characters never reach a provider. 36 characters
/// fit every provider's reference field that we know of (the tightest takes 40).
///
/// Keys are compared byte for byte: two Unicode spellings of one word are two keys.
#[must_use]
pub fn send_key(channel: &str, key: &str, generation: u32) -> Uuid {
    let mut hash = Sha256::new();
    // lengths first, so that ("a", "bc") and ("ab", "c") differ
    hash.update((channel.len() as u64).to_be_bytes());
    hash.update(channel.as_bytes());
    hash.update((key.len() as u64).to_be_bytes());
    hash.update(key.as_bytes());
    hash.update(generation.to_be_bytes());
    let digest: [u8; 32] = hash.finalize().into();
    let mut first = [0; 16];
    first.copy_from_slice(&digest[..16]);
    Builder::from_custom_bytes(first).into_uuid()
}

/// The ledger's primary key: the send key of generation 1. One index serves both the uniqueness
/// of (channel, key) and the look-up by reference.
#[must_use]
pub fn notification_id(channel: &str, key: &str) -> Uuid {
    send_key(channel, key, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_send_key_is_a_lower_case_hyphenated_uuid_that_never_changes() {
        assert_eq!(
            send_key("sms", "order/42:shipped", 1).to_string(),
            send_key("sms", "order/42:shipped", 1).to_string()
        );
        let text = send_key("sms", "order/42:shipped", 1).to_string();
        assert_eq!(text.len(), 36);
        assert_eq!(text, text.to_lowercase());
        assert_eq!(&text[14..15], "8");
    }

    #[test]
    fn hostile_keys_stay_distinct() {
        let long = "x".repeat(255);
        let keys = [
            format!("{long}a"),
            format!("{long}b"),
            "clé-☃".into(),
            "a\r\nX-Evil: 1".into(),
            " a ".into(),
            "a".into(),
            "é".into(),
            "e\u{301}".into(),
        ];
        let ids: std::collections::HashSet<_> = keys.iter().map(|k| send_key("c", k, 1)).collect();
        assert_eq!(ids.len(), keys.len());
        assert_ne!(send_key("ab", "c", 1), send_key("a", "bc", 1));
        assert_ne!(send_key("a", "b", 1), send_key("a", "b", 2));
    }
}
