//! What the metrics and the readiness check ask the ledger.

use super::{Ledger, LedgerError, STATEMENT_LIMIT, within};

/// A reading of the open rows, by the database's clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpenRows {
    /// Rows in `queued`.
    pub queued: i64,
    /// Rows in `sending`.
    pub sending: i64,
    /// Rows in `sending` past their lease: on the stuck list.
    pub stale: i64,
    /// Age of the oldest row in `sending`, in seconds since its last claim or look.
    pub oldest_sending_seconds: f64,
    /// Age of the oldest doubt, in seconds.
    pub oldest_doubt_seconds: f64,
    /// Rows in doubt by channel, phase and cause.
    pub in_doubt: Vec<InDoubt>,
}

/// Rows of one channel that are in doubt for one cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InDoubt {
    /// Channel name.
    pub channel: String,
    /// `sending` or `parked`.
    pub phase: String,
    /// Why nobody can say.
    pub cause: String,
    /// How many rows.
    pub rows: i64,
}

impl Ledger {
    /// Says whether the ledger can be written: it is there, and not read-only.
    ///
    /// # Errors
    /// When it did not answer.
    pub async fn writable(&self) -> Result<bool, LedgerError> {
        let mut connection = self.pool.acquire().await?;
        let asked = within(STATEMENT_LIMIT, async {
            sqlx::query_scalar!(
                r#"select (current_setting('transaction_read_only') = 'on') as "read_only!""#
            )
            .fetch_one(&mut *connection)
            .await
        })
        .await;
        if !matches!(asked, Ok(false)) {
            // A session stays read-only when its server is that no more, or is another by now.
            connection.close_on_drop();
        }
        asked.map(|read_only| !read_only)
    }

    /// Counts the open rows. Reads the small indexes of open and parked rows only.
    ///
    /// # Errors
    /// When it did not answer.
    pub async fn open_rows(&self) -> Result<OpenRows, LedgerError> {
        self.run(async |connection| {
            let total = sqlx::query!(
                r#"select
                    count(*) filter (where phase = 'queued') as "queued!",
                    count(*) filter (where phase = 'sending') as "sending!",
                    count(*) filter (where phase = 'sending' and due_at <= now()) as "stale!",
                    coalesce(extract(epoch from now() - min(first_request_at)
                        filter (where phase = 'sending')), 0)::float8 as "oldest_sending!"
                   from notification where due_at is not null"#
            )
            .fetch_one(&mut *connection)
            .await?;
            let in_doubt = sqlx::query!(
                r#"select channel, phase::text as "phase!", doubt_cause as "cause!",
                          count(*) as "rows!",
                          extract(epoch from now() - min(doubt_since))::float8 as "oldest!"
                   from notification
                   where (due_at is not null or phase = 'parked') and doubt_since is not null
                   group by 1, 2, 3 order by 1, 2, 3"#
            )
            .fetch_all(connection)
            .await?;
            Ok(OpenRows {
                queued: total.queued,
                sending: total.sending,
                stale: total.stale,
                oldest_sending_seconds: total.oldest_sending,
                oldest_doubt_seconds: in_doubt.iter().map(|row| row.oldest).fold(0.0, f64::max),
                in_doubt: in_doubt
                    .into_iter()
                    .map(|row| InDoubt {
                        channel: row.channel,
                        phase: row.phase,
                        cause: row.cause,
                        rows: row.rows,
                    })
                    .collect(),
            })
        })
        .await
    }
}
