//! What a person sees of quarantined messages, and decides about them.

use chrono::{DateTime, Utc};

use super::quarantine::Message;
use super::story::{Moment, parts};
use super::{Ledger, LedgerError};

/// A message that could not become a row, without its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuarantinedRow {
    /// The ledger's number for it.
    pub id: i64,
    /// The queue that it came from.
    pub queue: String,
    /// A short name for the reason.
    pub reason: String,
    /// The reason in words.
    pub detail: String,
    /// Size of the body in bytes.
    pub body_size: i64,
    /// SHA-256 of the body.
    pub body_sha256: Vec<u8>,
    /// Whether the bytes of the body are kept.
    pub kept: bool,
    /// The broker's message id.
    pub message_id: Option<String>,
    /// How often the same message came.
    pub seen: i64,
    /// When it came first.
    pub first_at: DateTime<Utc>,
    /// When it came last.
    pub last_at: DateTime<Utc>,
    /// `held`, `released` or `dropped`.
    pub state: String,
    /// The database's clock when it answered.
    pub now: DateTime<Utc>,
}

/// One thing that a person did with a quarantined message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuarantineLine {
    /// When.
    pub at: DateTime<Utc>,
    /// Who.
    pub actor: String,
    /// What: `released`, `dropped` or `shown`.
    pub event: String,
    /// In words.
    pub detail: String,
}

/// Which quarantined messages. The default is every one.
#[derive(Clone, Debug, Default)]
pub struct QuarantineFilter {
    /// Only these.
    pub ids: Option<Vec<i64>>,
    /// Only these reasons; empty is all of them.
    pub reasons: Vec<String>,
    /// Only this queue.
    pub queue: Option<String>,
    /// Only what came last then or later.
    pub since: Option<Moment>,
    /// Only what came last before.
    pub until: Option<Moment>,
    /// Only what is held: not what was released or dropped and has not come again.
    pub held: bool,
}

impl Ledger {
    /// Up to `limit` quarantined messages, all unless given, by when they last came, the newest
    /// first.
    ///
    /// # Errors
    /// When the database did not answer.
    pub async fn quarantined(
        &self,
        filter: &QuarantineFilter,
        limit: Option<u32>,
    ) -> Result<Vec<QuarantinedRow>, LedgerError> {
        let (since, since_ago) = parts(filter.since);
        let (until, until_ago) = parts(filter.until);
        self.run(async |connection| {
            sqlx::query_as!(
                QuarantinedRow,
                r#"select id, queue, reason, detail, body_size, body_sha256, message_id, seen,
                    first_at, last_at, state, octet_length(body) = body_size as "kept!",
                    now() as "now!"
                 from quarantine
                 where ($1::bigint[] is null or id = any($1))
                    and (cardinality($2::text[]) = 0 or reason = any($2))
                    and ($3::text is null or queue = $3)
                    and (not $4::bool or state = 'held')
                    and last_at >=
                        coalesce($5::timestamptz, now() - make_interval(secs => $6), '-infinity')
                    and last_at <
                        coalesce($7::timestamptz, now() - make_interval(secs => $8), 'infinity')
                 order by last_at desc, id desc limit $9"#,
                filter.ids.as_deref(),
                &filter.reasons,
                filter.queue,
                filter.held,
                since,
                since_ago,
                until,
                until_ago,
                limit.map(i64::from),
            )
            .fetch_all(connection)
            .await
        })
        .await
    }

    /// A held message, to be published again, with how often it has come. `None` when it is not
    /// held, or its bytes are not kept.
    ///
    /// # Errors
    /// When the database did not answer.
    pub async fn held_message(&self, id: i64) -> Result<Option<(Message, i64)>, LedgerError> {
        self.run(async |connection| {
            let row = sqlx::query!(
                "select body, message_id, content_type, event_source, event_id, seen
                 from quarantine
                 where id = $1 and state = 'held' and octet_length(body) = body_size",
                id,
            )
            .fetch_optional(connection)
            .await?;
            Ok(row.map(|row| {
                let message = Message {
                    body: row.body,
                    message_id: row.message_id,
                    content_type: row.content_type,
                    cloud_event: row.event_source.zip(row.event_id),
                };
                (message, row.seen)
            }))
        })
        .await
    }

    /// The bytes of a quarantined message, for the person `by`; empty where they are not kept. As
    /// with [`Ledger::reveal`], the line in its history that says so is part of the statement.
    ///
    /// # Errors
    /// When the database did not answer; the line may then be there.
    pub async fn reveal_quarantined(
        &self,
        id: i64,
        by: &str,
    ) -> Result<Option<Vec<u8>>, LedgerError> {
        self.run(async |connection| {
            sqlx::query_scalar!(
                "with shown as (
                    select id, body from quarantine where id = $1
                 ), noted as (
                    insert into quarantine_history (quarantine_id, actor, event, detail)
                    select id, $2, 'shown', 'content shown to ' || $2 from shown
                 )
                 select body from shown",
                id,
                by,
            )
            .fetch_optional(connection)
            .await
        })
        .await
    }

    /// Marks a message as released, and lets its bytes go: the queue has them. Says `false`, and
    /// changes nothing, when it has come again since it had been `seen` so often, or is not held.
    ///
    /// # Errors
    /// When the database did not answer; it may then be marked, and the call may be repeated.
    pub async fn released(
        &self,
        id: i64,
        seen: i64,
        by: &str,
        detail: &str,
    ) -> Result<bool, LedgerError> {
        self.run(async |connection| {
            let done = sqlx::query!(
                "with released as (
                    update quarantine set state = 'released', body = ''
                    where id = $1 and seen = $2 and state = 'held'
                    returning id
                 )
                 insert into quarantine_history (quarantine_id, actor, event, detail)
                 select id, $3, 'released', $4 from released",
                id,
                seen,
                by,
                detail,
            )
            .execute(connection)
            .await?;
            Ok(done.rows_affected() == 1)
        })
        .await
    }

    /// Drops those of some messages that are held: their bytes go, and what is known of them
    /// stays, with who dropped them and why. Says how many.
    ///
    /// # Errors
    /// When the database did not answer; they may then be dropped, and the call may be repeated.
    pub async fn drop_quarantined(
        &self,
        ids: &[i64],
        by: &str,
        reason: &str,
    ) -> Result<u64, LedgerError> {
        self.run(async |connection| {
            let done = sqlx::query!(
                "with dropped as (
                    update quarantine set state = 'dropped', body = ''
                    where id = any($1) and state = 'held'
                    returning id
                 )
                 insert into quarantine_history (quarantine_id, actor, event, detail)
                 select id, $2, 'dropped', $3 from dropped",
                ids,
                by,
                reason,
            )
            .execute(connection)
            .await?;
            Ok(done.rows_affected())
        })
        .await
    }

    /// What people did with a quarantined message, oldest first.
    ///
    /// # Errors
    /// When the database did not answer.
    pub async fn quarantine_history(&self, id: i64) -> Result<Vec<QuarantineLine>, LedgerError> {
        self.run(async |connection| {
            sqlx::query_as!(
                QuarantineLine,
                "select at, actor, event, detail from quarantine_history
                 where quarantine_id = $1 order by id",
                id,
            )
            .fetch_all(connection)
            .await
        })
        .await
    }
}
