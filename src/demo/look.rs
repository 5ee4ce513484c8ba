//! What the ledger says.

use sqlx::PgPool;

use super::count::Row;
use crate::domain::phase::Phase;

/// All channels in one look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) rows: u64,
    /// Rows neither at rest nor parked.
    pub(super) open: u64,
    /// Claims whose outcome nobody doubts yet.
    pub(super) claims: u64,
    /// Changes of any row so far: it stands still when nothing moves.
    pub(super) attempts: u64,
}

impl Look {
    pub(super) fn at_rest(self) -> u64 {
        self.rows - self.open
    }
}

/// Takes a look.
pub(super) async fn look(pool: &PgPool) -> sqlx::Result<Look> {
    let seen = sqlx::query!(
        r#"select count(*) as "rows!",
                  count(*) filter (where due_at is not null) as "open!",
                  count(*) filter (where phase = 'sending' and doubt_since is null) as "claims!",
                  coalesce(sum(attempt), 0)::bigint as "attempts!"
           from notification"#
    )
    .fetch_one(pool)
    .await?;
    let count = |n: i64| u64::try_from(n).unwrap_or(0);
    Ok(Look {
        rows: count(seen.rows),
        open: count(seen.open),
        claims: count(seen.claims),
        attempts: count(seen.attempts),
    })
}

/// The rows of a channel, by key.
pub(super) async fn rows(pool: &PgPool, channel: &str) -> sqlx::Result<Vec<Row>> {
    let rows = sqlx::query!(
        r#"select key, phase as "phase: Phase", generation, possible_duplicates, settled_by,
                  coalesce(doubt_cause = 'worker_lost', false) as "worker_lost!"
           from notification where channel = $1 order by key"#,
        channel,
    )
    .fetch_all(pool)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Row {
            key: row.key,
            phase: row.phase,
            generations: u32::try_from(row.generation).unwrap_or(1),
            possible_duplicates: u32::try_from(row.possible_duplicates).unwrap_or(0),
            worker_lost: row.worker_lost,
            settled_by: row.settled_by,
        })
        .collect())
}

/// Messages of a queue that could not become a row.
pub(super) async fn quarantined(pool: &PgPool, queue: &str) -> sqlx::Result<u64> {
    let seen = sqlx::query_scalar!(
        r#"select coalesce(sum(seen), 0)::bigint as "seen!" from quarantine where queue = $1"#,
        queue,
    )
    .fetch_one(pool)
    .await?;
    Ok(u64::try_from(seen).unwrap_or(0))
}
