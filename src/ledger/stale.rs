//! Rows whose lease is past: taken over by a resolver, one attempt further, so that whoever held
//! them before can no longer change them.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use super::claim::read_content;
use super::{Ledger, LedgerError, count, seconds};
use crate::domain::notification::Notification;
use crate::domain::outcome::Doubt;

/// A row in doubt that this process has taken over.
#[derive(Debug)]
pub struct StaleRow {
    /// What may have been sent.
    pub notification: Notification,
    /// The fence, one above that of the attempt in doubt.
    pub attempt: u32,
    /// Requests made, or perhaps made.
    pub sends: u32,
    /// Which send key the last request carried.
    pub generation: u32,
    /// The provider of the last attempt.
    pub provider: String,
    /// What its request looked like.
    pub request_hash: Vec<u8>,
    /// Why it is in doubt.
    pub cause: Doubt,
    /// The doubt began under an earlier send key.
    pub older_key_in_doubt: bool,
    /// Passes that taught nothing so far.
    pub checks: u32,
    /// Settled look-ups by recipient that found nothing so far.
    pub empty_reads: u32,
    /// The earliest moment at which a request under this send key can have been made.
    pub first_request_at: DateTime<Utc>,
    /// The latest.
    pub last_request_at: DateTime<Utc>,
    /// The ages of those two moments and of the doubt, by the database's clock.
    pub key_age: Duration,
    /// See [`StaleRow::last_request_at`]; zero when that is still to come.
    pub last_request_age: Duration,
    /// Since the doubt began.
    pub doubt_age: Duration,
    /// Until `expires_at`: zero when it has passed, `None` when there is none.
    pub expires_in: Option<Duration>,
}

impl Ledger {
    /// Takes over up to `limit` rows whose lease is past, those that have waited longest first,
    /// for `lease`. Rows that another resolver is taking at the same moment are skipped. With
    /// `channels` given, rows of other channels are left alone.
    ///
    /// # Errors
    /// When the database did not answer. Rows taken all the same come back when the new lease ends.
    pub async fn take_over(
        &self,
        channels: &[String],
        limit: u32,
        lease: Duration,
        token: Uuid,
    ) -> Result<Vec<StaleRow>, LedgerError> {
        self.run(async |connection| take(connection, channels, limit, lease, token).await)
            .await
    }

    /// Says, before a replay is made, that a request may be under way until the lease ends: "not
    /// found" in the provider's log means nothing until the settle time after that. Says whether
    /// the row is still held.
    ///
    /// # Errors
    /// When the database did not answer; no request may then be made.
    pub async fn announce(&self, id: Uuid, attempt: u32) -> Result<bool, LedgerError> {
        self.run(async |connection| {
            let done = sqlx::query!(
                "update notification set last_request_at = due_at
                 where id = $1 and attempt = $2 and phase = 'sending'",
                id,
                i32::try_from(attempt).unwrap_or(i32::MAX),
            )
            .execute(connection)
            .await?;
            Ok(done.rows_affected() == 1)
        })
        .await
    }

    /// What [`Ledger::take_over`] would take, taken in a transaction that is rolled back.
    ///
    /// # Errors
    /// When the database did not answer.
    pub async fn peek_stale(
        &self,
        channels: &[String],
        limit: u32,
        lease: Duration,
    ) -> Result<Vec<StaleRow>, LedgerError> {
        self.run(async |connection| {
            let mut transaction = connection.begin().await?;
            let rows = take(&mut transaction, channels, limit, lease, Uuid::nil()).await?;
            transaction.rollback().await?;
            Ok(rows)
        })
        .await
    }

    /// Which of a provider's message ids belong to other notifications already.
    ///
    /// # Errors
    /// When the database did not answer.
    pub async fn bound_elsewhere(
        &self,
        provider: &str,
        ids: &[String],
        except: Uuid,
    ) -> Result<Vec<String>, LedgerError> {
        self.run(async |connection| {
            sqlx::query_scalar!(
                r#"select provider_id as "provider_id!" from notification
                   where provider_id = any($2) and provider = $1 and id <> $3"#,
                provider,
                ids,
                except,
            )
            .fetch_all(connection)
            .await
        })
        .await
    }
}

/// Seconds from the database, never below zero.
fn age(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

async fn take(
    connection: &mut PgConnection,
    channels: &[String],
    limit: u32,
    lease: Duration,
    token: Uuid,
) -> Result<Vec<StaleRow>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        with stale as (
            select id from notification
            where due_at <= now() and phase = 'sending' and channel = any($1)
            order by due_at limit $2
            for update skip locked
        )
        update notification n set
            attempt = n.attempt + 1,
            owner = $3,
            doubt_since = coalesce(n.doubt_since, n.due_at),
            doubt_cause = coalesce(n.doubt_cause, 'worker_lost'),
            doubt_generation = coalesce(n.doubt_generation, n.generation),
            due_at = now() + make_interval(secs => $4)
        from stale where n.id = stale.id
        returning
            n.id, n.channel, n.key, n.recipient, n.content, n.stream, n.seq, n.send_at,
            n.given_expires_at, n.attempt, n.sends, n.generation, n.provider, n.checks,
            n.empty_reads, n.request_hash as "request_hash!", n.doubt_cause as "cause!",
            n.doubt_generation < n.generation as "older_key_in_doubt!",
            coalesce(n.first_request_at, n.accepted_at) as "first_request_at!",
            coalesce(n.last_request_at, now()) as "last_request_at!",
            extract(epoch from now() - coalesce(n.first_request_at, n.accepted_at))::float8
                as "key_age!",
            extract(epoch from now() - n.last_request_at)::float8 as last_request_age,
            extract(epoch from now() - n.doubt_since)::float8 as "doubt_age!",
            extract(epoch from n.expires_at - now())::float8 as expires_in
        "#,
        channels,
        i64::from(limit),
        token,
        seconds(lease),
    )
    .fetch_all(connection)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| StaleRow {
            notification: Notification {
                id: row.id,
                channel: Arc::from(row.channel),
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
            request_hash: row.request_hash,
            cause: Doubt::from_name(&row.cause).unwrap_or(Doubt::WorkerLost),
            older_key_in_doubt: row.older_key_in_doubt,
            checks: count(row.checks),
            empty_reads: count(row.empty_reads),
            first_request_at: row.first_request_at,
            last_request_at: row.last_request_at,
            key_age: age(row.key_age),
            last_request_age: age(row.last_request_age.unwrap_or(0.0)),
            doubt_age: age(row.doubt_age),
            expires_in: row.expires_in.map(age),
        })
        .collect())
}
