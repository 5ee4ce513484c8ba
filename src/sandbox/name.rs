//! References and keys, kept small: nuncio's are UUIDs, and there are a hundred thousand of them.

use std::fmt;

use uuid::Uuid;

use super::draw::hash;

/// A reference or an idempotency key, equal only byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Name {
    /// A lower-case hyphenated UUID: 16 bytes instead of 36 and an allocation.
    Uuid(Uuid),
    Text(Box<str>),
}

impl Name {
    pub(super) fn new(text: &str) -> Self {
        if text.len() == 36
            && let Ok(uuid) = Uuid::try_parse(text)
            && uuid.hyphenated().encode_lower(&mut Uuid::encode_buffer()) == text
        {
            return Name::Uuid(uuid);
        }
        Name::Text(text.into())
    }

    /// Which of `count` shards it lives in.
    pub(super) fn shard(&self, count: usize) -> usize {
        let hash = match self {
            Name::Uuid(uuid) => hash(0, uuid.as_bytes()),
            Name::Text(text) => hash(0, text.as_bytes()),
        };
        usize::try_from(hash % count as u64).unwrap_or(0)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Name::Uuid(uuid) => uuid.hyphenated().fmt(f),
            Name::Text(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_spelling_of_a_uuid_is_packed() {
        let canonical = "67e55044-10b1-426f-9247-bb680e5fe0c8";
        assert!(matches!(Name::new(canonical), Name::Uuid(_)));
        assert_ne!(Name::new(canonical), Name::new(&canonical.to_uppercase()));
        for text in [
            canonical,
            "67E55044-10b1-426f-9247-bb680e5fe0c8",
            "order/1",
            "",
        ] {
            assert_eq!(Name::new(text).to_string(), text);
        }
    }
}
