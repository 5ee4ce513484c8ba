//! An overview for a person: what is stuck, by cause.

use chrono::{DateTime, Utc};

use super::story::{Filter, parts};
use super::{Ledger, LedgerError};
use crate::domain::outcome::Doubt;

/// Stuck rows that have channel, provider and cause in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StuckGroup {
    /// The channel's name.
    pub channel: String,
    /// The provider of their last attempts.
    pub provider: String,
    /// Why nobody can say.
    pub cause: String,
    /// Rows that wait for a person.
    pub parked: i64,
    /// Rows past their lease, which wait for the resolver.
    pub past_lease: i64,
    /// When the oldest doubt began.
    pub oldest: DateTime<Utc>,
    /// The database's clock when it answered.
    pub now: DateTime<Utc>,
}

impl Ledger {
    /// Every stuck row that the filter lets through, counted by channel, provider and cause, the
    /// group with the oldest doubt first. Ids and phases of the filter are not looked at.
    ///
    /// # Errors
    /// When the database did not answer.
    pub async fn stuck_groups(&self, filter: &Filter) -> Result<Vec<StuckGroup>, LedgerError> {
        let (since, since_ago) = parts(filter.since);
        let (until, until_ago) = parts(filter.until);
        self.run(async |connection| {
            sqlx::query_as!(
                StuckGroup,
                r#"
                select channel, provider, coalesce(doubt_cause, 'worker_lost') as "cause!",
                    count(*) filter (where phase = 'parked') as "parked!",
                    count(*) filter (where phase = 'sending') as "past_lease!",
                    min(coalesce(doubt_since, due_at)) as "oldest!", now() as "now!"
                from notification
                where (phase = 'parked' or (phase = 'sending' and due_at <= now()))
                    and ($1::text is null or channel = $1)
                    and ($2::text is null or provider = $2)
                    and ($3::text is null or $3 = coalesce(doubt_cause, 'worker_lost'))
                    and accepted_at >=
                        coalesce($4::timestamptz, now() - make_interval(secs => $5), '-infinity')
                    and accepted_at <
                        coalesce($6::timestamptz, now() - make_interval(secs => $7), 'infinity')
                group by 1, 2, 3 order by 6, 1, 2, 3
                "#,
                filter.channel,
                filter.provider,
                filter.cause.map(Doubt::as_str),
                since,
                since_ago,
                until,
                until_ago,
            )
            .fetch_all(connection)
            .await
        })
        .await
    }
}
