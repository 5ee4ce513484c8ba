//! What the ledger says, read in a session of the test's own.

use chrono::{DateTime, Utc};
use nuncio::domain::phase::Phase;
use sqlx::{FromRow, PgConnection, PgPool};
use uuid::Uuid;

/// One notification's row.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct Row {
    pub id: Uuid,
    pub channel: String,
    pub key: String,
    pub recipient: String,
    pub phase: Phase,
    pub attempt: i32,
    pub sends: i32,
    pub generation: i32,
    pub provider: String,
    pub request_hash: Option<Vec<u8>>,
    pub owner: Option<Uuid>,
    pub due_at: Option<DateTime<Utc>>,
    pub doubt_since: Option<DateTime<Utc>>,
    pub doubt_cause: Option<String>,
    pub checks: i32,
    pub empty_reads: i32,
    pub possible_duplicates: i32,
    pub provider_id: Option<String>,
    pub settled_by: Option<String>,
    pub settled_at: Option<DateTime<Utc>>,
    pub last_text: Option<String>,
}

/// One line of a notification's history.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Line {
    pub attempt: i32,
    pub actor: String,
    pub event: String,
    pub detail: String,
}

/// One quarantined message.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Quarantined {
    pub id: i64,
    pub queue: String,
    pub reason: String,
    pub detail: String,
    pub body: Vec<u8>,
    pub body_size: i64,
    pub body_sha256: Vec<u8>,
    pub message_id: Option<String>,
    pub seen: i64,
    pub state: String,
}

/// Every row, by channel and key.
pub(super) async fn all(pool: &PgPool) -> Vec<Row> {
    sqlx::query_as("select * from notification order by channel, key")
        .fetch_all(pool)
        .await
        .expect("the ledger can be read")
}

/// One row.
pub(super) async fn one(pool: &PgPool, channel: &str, key: &str) -> Option<Row> {
    sqlx::query_as("select * from notification where channel = $1 and key = $2")
        .bind(channel)
        .bind(key)
        .fetch_optional(pool)
        .await
        .expect("the ledger can be read")
}

/// What was tried and decided about one row, in order.
pub(super) async fn history(pool: &PgPool, id: Uuid) -> Vec<Line> {
    sqlx::query_as("select * from history where notification_id = $1 order by id")
        .bind(id)
        .fetch_all(pool)
        .await
        .expect("the ledger can be read")
}

/// The quarantine, in order.
pub(super) async fn quarantine(pool: &PgPool) -> Vec<Quarantined> {
    sqlx::query_as("select * from quarantine order by id")
        .fetch_all(pool)
        .await
        .expect("the ledger can be read")
}

/// The first rows and their history, without content, for a person.
pub(super) async fn told(session: &mut PgConnection) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar(
        "select format('%s %s: %s, attempt %s, sends %s, due %s, doubt %s since %s, %s',
                n.channel, n.key, n.phase, n.attempt, n.sends, n.due_at, n.doubt_cause,
                n.doubt_since, (select jsonb_agg(format('%s %s: %s', h.attempt, h.event, h.detail)
                    order by h.id) from history h where h.notification_id = n.id))
         from notification n order by (n.due_at is null), n.channel, n.key limit 30",
    )
    .fetch_all(session)
    .await
}

/// Every column of every row and of all history, as text: equal exactly when nothing has changed.
pub(super) async fn snapshot(pool: &PgPool) -> Vec<String> {
    sqlx::query_scalar(
        "select 'row ' || to_jsonb(n)::text from notification n
         union all select 'history ' || to_jsonb(h)::text from history h order by 1",
    )
    .fetch_all(pool)
    .await
    .expect("the ledger can be read")
}
