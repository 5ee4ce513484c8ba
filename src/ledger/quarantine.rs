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
    /// The bytes as they came.
    pub body: Vec<u8>,
    /// The broker's message id, where there is one.
    pub message_id: Option<String>,
}

impl Ledger {
    /// Keeps messages, each once: the same bytes for the same reason are counted, not repeated.
    ///
    /// # Errors
    /// When the database did not answer; repeating the call is harmless but for the count.
    pub async fn quarantine(&self, messages: &[Quarantined]) -> Result<(), LedgerError> {
        for message in messages {
            let digest: [u8; 32] = Sha256::digest(&message.body).into();
            let kept: &[u8] = if message.body.len() > KEPT_BODY {
                &[]
            } else {
                &message.body
            };
            let size = i64::try_from(message.body.len()).unwrap_or(i64::MAX);
            // A bad message must never be what keeps it from being kept.
            let storable = |text: &str| text.replace('\0', "\u{fffd}");
            let message_id = message.message_id.as_deref().map(storable);
            let detail = storable(&message.detail);
            self.run(async |connection| {
                sqlx::query!(
                    "insert into quarantine
                        (queue, reason, detail, body, body_size, body_sha256, message_id)
                     values ($1, $2, $3, $4, $5, $6, $7)
                     on conflict (queue, body_sha256, reason)
                     do update set seen = quarantine.seen + 1, last_at = now(),
                                   detail = excluded.detail",
                    message.queue,
                    message.reason,
                    detail,
                    kept,
                    size,
                    &digest[..],
                    message_id,
                )
                .execute(connection)
                .await
            })
            .await?;
        }
        Ok(())
    }
}
