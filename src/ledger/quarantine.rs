//! Messages that could not become a row.

use sha2::{Digest, Sha256};

use super::{Ledger, LedgerError};

/// The largest body that is kept with its bytes; of a larger one only size and hash are.
pub const KEPT_BODY: usize = 256 * 1024;

/// A message to keep for a person.
#[derive(Clone, Debug)]
pub struct Quarantined {
    /// The queue that it came from.
    pub queue: String,
    /// A short name for the reason, for grouping.
    pub reason: &'static str,
    /// The reason in words. Says what is wrong, never what is in it.
    pub detail: String,
    /// The message.
    pub message: Message,
}

/// A message as it came: its bytes, and what the broker said beside them, as far as that can make
/// a key. Published again, it reads the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The bytes.
    pub body: Vec<u8>,
    /// The broker's message id, where there is one.
    pub message_id: Option<String>,
    /// Its content type.
    pub content_type: Option<String>,
    /// Source and id of a CloudEvent in binary mode.
    pub cloud_event: Option<(String, String)>,
}

impl Ledger {
    /// Keeps messages, each once: the same message for the same reason is counted, not repeated.
    /// One that was released or dropped before is held again.
    ///
    /// # Errors
    /// When the database did not answer; repeating the call is harmless but for the count.
    pub async fn quarantine(&self, messages: &[Quarantined]) -> Result<(), LedgerError> {
        for Quarantined {
            queue,
            reason,
            detail,
            message,
        } in messages
        {
            let body_sha256: [u8; 32] = Sha256::digest(&message.body).into();
            let kept: &[u8] = if message.body.len() > KEPT_BODY {
                &[]
            } else {
                &message.body
            };
            let size = i64::try_from(message.body.len()).unwrap_or(i64::MAX);
            // A bad message must never be what keeps it from being kept.
            let storable = |text: &str| text.replace('\0', "\u{fffd}");
            let given = |text: &Option<String>| text.as_deref().map(storable);
            let event = message.cloud_event.as_ref();
            let (source, id) = event
                .map(|(source, id)| (storable(source), storable(id)))
                .unzip();
            self.run(async |connection| {
                sqlx::query!(
                    "insert into quarantine
                        (queue, reason, detail, body, body_size, body_sha256, message_id,
                         content_type, event_source, event_id, digest)
                     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
                     on conflict (queue, digest, reason)
                     do update set seen = quarantine.seen + 1, last_at = now(),
                                   detail = excluded.detail, body = excluded.body, state = 'held'",
                    queue,
                    reason,
                    storable(detail),
                    kept,
                    size,
                    &body_sha256[..],
                    given(&message.message_id),
                    given(&message.content_type),
                    source,
                    id,
                    &digest(body_sha256, message)[..],
                )
                .execute(connection)
                .await
            })
            .await?;
        }
        Ok(())
    }
}

/// What makes two messages the same one.
fn digest(body_sha256: [u8; 32], message: &Message) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(body_sha256);
    let (source, id) = match &message.cloud_event {
        Some((source, id)) => (Some(source), Some(id)),
        None => (None, None),
    };
    let beside = [
        message.message_id.as_ref(),
        message.content_type.as_ref(),
        source,
        id,
    ];
    for text in beside {
        // A length before each, so that no two lists give the same bytes.
        hash.update(
            text.map_or(u64::MAX, |text| text.len() as u64)
                .to_be_bytes(),
        );
        hash.update(text.map_or("", String::as_str));
    }
    hash.finalize().into()
}
