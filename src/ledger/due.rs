//! Rows that the ledger owns and that are due: claimed by whoever has slots for them.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::claim::read_content;
use super::{Ledger, LedgerError, count, seconds};
use crate::domain::notification::Notification;
use crate::domain::phase::Phase;

/// A row that this process has just claimed from the queue of due rows.
#[derive(Debug)]
pub struct DueRow {
    /// What is to be sent.
    pub notification: Notification,
    /// The fence.
    pub attempt: u32,
    /// Requests made, this one included.
    pub sends: u32,
    /// Which send key to use.
    pub generation: u32,
    /// The provider that the ledger has for it.
    pub provider: String,
    /// What the request under this send key looked like, unless none was made.
    pub request_hash: Option<Vec<u8>>,
    /// It was put back while in doubt, and is sent again all the same.
    pub in_doubt: bool,
}

/// What a pass over the due rows of one channel did.
#[derive(Debug, Default)]
pub struct DuePage {
    /// Rows to send now.
    pub claimed: Vec<DueRow>,
    /// Rows that had become too old, and rest.
    pub expired: usize,
}

impl Ledger {
    /// Claims up to `limit` due rows of a channel, oldest first. Rows that another worker is
    /// claiming at the same moment are skipped.
    ///
    /// # Errors
    /// When the database did not answer. The rows may be claimed all the same:
    /// [`Ledger::claimed_by`] with the same token then finds them.
    pub async fn claim_due(
        &self,
        channel: &Arc<str>,
        provider: &str,
        lease: Duration,
        limit: usize,
        token: Uuid,
    ) -> Result<DuePage, LedgerError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.run(async |connection| {
            let rows = sqlx::query!(
                r#"
                with due as (
                    select id, case when expires_at <= now() then
                            case when doubt_since is null then 'expired' else 'unconfirmed' end
                        else 'sending' end::phase as becomes
                    from notification
                    where due_at <= now() and phase = 'queued' and channel = $1
                    order by due_at limit $2
                    for update skip locked
                )
                update notification n set
                    phase = due.becomes,
                    attempt = n.attempt + 1,
                    sends = n.sends + (due.becomes = 'sending')::int,
                    owner = $3,
                    -- Doubt stays with the provider that it is about until the new request is
                    -- stamped: should we die before, its log is the one to ask.
                    provider = case when n.doubt_since is null then $4 else n.provider end,
                    -- A row without a hash is given one before its request; empty until then.
                    request_hash = coalesce(n.request_hash, ''),
                    due_at = case when due.becomes = 'sending'
                        then now() + make_interval(secs => $5) end,
                    settled_at = case when due.becomes <> 'sending' then now() end,
                    first_request_at = case when due.becomes = 'sending'
                        then coalesce(n.first_request_at, now()) else n.first_request_at end,
                    last_request_at = case when due.becomes = 'sending'
                        then now() + make_interval(secs => $5) else n.last_request_at end
                from due where n.id = due.id
                returning
                    n.id, n.phase as "phase: Phase", n.key, n.recipient, n.content, n.stream, n.seq,
                    n.send_at, n.given_expires_at, n.attempt, n.sends, n.generation, n.provider,
                    n.request_hash as "request_hash!", n.doubt_since is not null as "in_doubt!"
                "#,
                &**channel,
                limit,
                token,
                provider,
                seconds(lease),
            )
            .fetch_all(connection)
            .await?;
            let mut page = DuePage::default();
            for row in rows {
                if row.phase != Phase::Sending {
                    page.expired += 1;
                    continue;
                }
                page.claimed.push(DueRow {
                    notification: Notification {
                        id: row.id,
                        channel: channel.clone(),
                        key: row.key,
                        to: row.recipient,
                        content: read_content(&row.content),
                        send_at: row.send_at,
                        expires_at: row.given_expires_at,
                        stream: row.stream,
                        seq: row.seq,
                    },
                    attempt: count(row.attempt),
                    sends: count(row.sends),
                    generation: count(row.generation),
                    provider: row.provider,
                    request_hash: Some(row.request_hash).filter(|hash| !hash.is_empty()),
                    in_doubt: row.in_doubt,
                });
            }
            Ok(page)
        })
        .await
    }

    /// What a try of [`Ledger::claim_due`] has claimed whose answer did not come: without this,
    /// rows for which no request was made would be in doubt when their lease ends. The lease is
    /// that of the try.
    ///
    /// # Errors
    /// When the database did not answer; the call may be repeated.
    pub async fn claimed_by(
        &self,
        channel: &Arc<str>,
        token: Uuid,
    ) -> Result<DuePage, LedgerError> {
        self.run(async |connection| {
            let rows = sqlx::query!(
                r#"select id, key, recipient, content, stream, seq, send_at, given_expires_at,
                          attempt, sends, generation, provider,
                          request_hash as "request_hash!",
                          doubt_since is not null as "in_doubt!"
                   from notification
                   where due_at is not null and phase = 'sending' and owner = $1 and channel = $2"#,
                token,
                &**channel,
            )
            .fetch_all(connection)
            .await?;
            let claimed = rows.into_iter().map(|row| DueRow {
                notification: Notification {
                    id: row.id,
                    channel: channel.clone(),
                    key: row.key,
                    to: row.recipient,
                    content: read_content(&row.content),
                    send_at: row.send_at,
                    expires_at: row.given_expires_at,
                    stream: row.stream,
                    seq: row.seq,
                },
                attempt: count(row.attempt),
                sends: count(row.sends),
                generation: count(row.generation),
                provider: row.provider,
                request_hash: Some(row.request_hash).filter(|hash| !hash.is_empty()),
                in_doubt: row.in_doubt,
            });
            Ok(DuePage {
                claimed: claimed.collect(),
                expired: 0,
            })
        })
        .await
    }

    /// Stores what the request of a held claim looks like and which provider gets it, before it is
    /// made: under a new send key (`new_key`) when another request is known under the present one.
    /// Says whether the claim is still held.
    ///
    /// # Errors
    /// When the database did not answer; no request may then be made.
    pub async fn stamp(
        &self,
        id: Uuid,
        attempt: u32,
        provider: &str,
        hash: [u8; 32],
        new_key: bool,
    ) -> Result<bool, LedgerError> {
        self.run(async |connection| {
            let done = sqlx::query!(
                "update notification set
                    request_hash = $3,
                    provider = $5,
                    generation = generation + $4::bool::int,
                    first_request_at = case when $4 then now() else first_request_at end
                 where id = $1 and attempt = $2 and phase = 'sending'",
                id,
                i32::try_from(attempt).unwrap_or(i32::MAX),
                &hash[..],
                new_key,
                provider,
            )
            .execute(connection)
            .await?;
            Ok(done.rows_affected() == 1)
        })
        .await
    }
}
