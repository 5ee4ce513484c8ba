//! Retention: rows that rest, and have rested for long, are forgotten.
//!
//! A forgotten key is a key that was never seen: a redelivery of it would be sent again. Open and
//! parked rows are never forgotten, whatever their age.

use std::collections::BTreeMap;
use std::time::Duration;

use uuid::Uuid;

use super::{Ledger, LedgerError, seconds};
use crate::domain::phase::Phase;

impl Ledger {
    /// Up to `limit` rows that have rested for at least `age`, in the order in which they lie on
    /// the disk.
    ///
    /// `accepted_at` bounds the pages to read by its small index; `settled_at`, which has none,
    /// is what counts.
    ///
    /// # Errors
    /// When the database did not answer.
    pub async fn rested(&self, age: Duration, limit: u32) -> Result<Vec<Uuid>, LedgerError> {
        self.run(async |connection| {
            sqlx::query_scalar!(
                "select id from notification
                 where accepted_at < now() - make_interval(secs => $1)
                    and settled_at < now() - make_interval(secs => $1)
                 limit $2",
                seconds(age),
                i64::from(limit),
            )
            .fetch_all(connection)
            .await
        })
        .await
    }

    /// Deletes those of a batch of rows that have rested for at least `age`, with their history,
    /// and counts them by phase. Rows that somebody else is changing are left for the next pass.
    ///
    /// # Errors
    /// When the database did not answer; the rows may then be gone, and the call may be repeated.
    pub async fn forget(
        &self,
        batch: &[Uuid],
        age: Duration,
    ) -> Result<BTreeMap<Phase, u64>, LedgerError> {
        self.run(async |connection| {
            let phases = sqlx::query_scalar!(
                r#"
                with old as (
                    select id from notification
                    where id = any($1) and settled_at < now() - make_interval(secs => $2)
                        and phase not in ('queued', 'sending', 'parked')
                    for update skip locked
                )
                delete from notification n using old where n.id = old.id
                returning n.phase as "phase: Phase"
                "#,
                batch,
                seconds(age),
            )
            .fetch_all(connection)
            .await?;
            let mut counts = BTreeMap::new();
            for phase in phases {
                *counts.entry(phase).or_default() += 1;
            }
            Ok(counts)
        })
        .await
    }

    /// Counts, by phase, the rows that have rested for at least `age`.
    ///
    /// # Errors
    /// When the database did not answer.
    pub async fn count_rested(&self, age: Duration) -> Result<BTreeMap<Phase, u64>, LedgerError> {
        self.run(async |connection| {
            let counts = sqlx::query!(
                r#"select phase as "phase: Phase", count(*) as "rows!" from notification
                   where accepted_at < now() - make_interval(secs => $1)
                      and settled_at < now() - make_interval(secs => $1)
                   group by phase"#,
                seconds(age),
            )
            .fetch_all(connection)
            .await?;
            Ok(counts
                .into_iter()
                .map(|row| (row.phase, u64::try_from(row.rows).unwrap_or(0)))
                .collect())
        })
        .await
    }

    /// Deletes up to `limit` quarantined messages that last came at least `age` ago.
    ///
    /// # Errors
    /// When the database did not answer; the messages may then be gone.
    pub async fn forget_quarantined(&self, age: Duration, limit: u32) -> Result<u64, LedgerError> {
        self.run(async |connection| {
            let done = sqlx::query!(
                "delete from quarantine where id in (
                    select id from quarantine
                    where last_at < now() - make_interval(secs => $1)
                    order by id limit $2 for update skip locked)
                 and last_at < now() - make_interval(secs => $1)",
                seconds(age),
                i64::from(limit),
            )
            .execute(connection)
            .await?;
            Ok(done.rows_affected())
        })
        .await
    }

    /// Counts the quarantined messages that last came at least `age` ago.
    ///
    /// # Errors
    /// When the database did not answer.
    pub async fn count_quarantined(&self, age: Duration) -> Result<u64, LedgerError> {
        self.run(async |connection| {
            let rows = sqlx::query_scalar!(
                r#"select count(*) as "rows!" from quarantine
                   where last_at < now() - make_interval(secs => $1)"#,
                seconds(age),
            )
            .fetch_one(connection)
            .await?;
            Ok(u64::try_from(rows).unwrap_or(0))
        })
        .await
    }
}
