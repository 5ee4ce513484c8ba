//! What a person on call asks the ledger: rows as they stand, and how they came to.

use std::time::Duration;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::claim::read_content;
use super::row::{Line, Row};
use super::{Ledger, LedgerError, count, seconds};
use crate::domain::notification::Content;
use crate::domain::outcome::Doubt;
use crate::domain::phase::Phase;

/// A point in time as a person gives it; the database's clock makes a time of an age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// This time.
    At(DateTime<Utc>),
    /// This long ago.
    Ago(Duration),
}

/// Which rows to show. The default is every row.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only these.
    pub ids: Option<Vec<Uuid>>,
    /// Only what is past its lease or parked; the oldest doubt comes first.
    pub stuck: bool,
    /// Only these phases; empty is all of them.
    pub phases: Vec<Phase>,
    /// Only this channel.
    pub channel: Option<String>,
    /// Only rows last sent, or to be sent, through this provider.
    pub provider: Option<String>,
    /// Only rows in doubt for this cause.
    pub cause: Option<Doubt>,
    /// Only what was accepted then or later.
    pub since: Option<Moment>,
    /// Only what was accepted before.
    pub until: Option<Moment>,
}

impl Ledger {
    /// Up to `limit` rows as they stand: the oldest doubt first when only stuck ones are asked
    /// for, else the newest first.
    ///
    /// # Errors
    /// When the database did not answer, which a filter that reads millions of rows may cause.
    pub async fn rows(&self, filter: &Filter, limit: u32) -> Result<Vec<Row>, LedgerError> {
        let (since, since_ago) = parts(filter.since);
        let (until, until_ago) = parts(filter.until);
        // Lets the planner use the small indexes of open and of parked rows.
        let open = !filter.phases.is_empty() && filter.phases.iter().all(|phase| !phase.rests());
        self.run(async |connection| {
            let rows = sqlx::query!(
                r#"
                select id, channel, key, recipient, stream, seq, send_at, expires_at, accepted_at,
                    phase as "phase: Phase", attempt, sends, generation, provider, due_at,
                    first_request_at, last_request_at, doubt_since, doubt_cause, checks,
                    possible_duplicates, provider_id, settled_by, settled_at, last_text,
                    now() as "now!"
                from notification
                where ($1::uuid[] is null or id = any($1))
                    and (not $2::bool or phase = 'parked' or (phase = 'sending' and due_at <= now()))
                    and (not $3::bool or due_at is not null or phase = 'parked')
                    and (cardinality($4::phase[]) = 0 or phase = any($4))
                    and ($5::text is null or channel = $5)
                    and ($6::text is null or provider = $6)
                    and ($7::text is null or $7 = coalesce(doubt_cause,
                        case when phase = 'sending' and due_at <= now() then 'worker_lost' end))
                    and accepted_at >=
                        coalesce($8::timestamptz, now() - make_interval(secs => $9), '-infinity')
                    and accepted_at <
                        coalesce($10::timestamptz, now() - make_interval(secs => $11), 'infinity')
                order by case when $2 then coalesce(doubt_since, due_at) end, accepted_at desc, id
                limit $12
                "#,
                filter.ids.as_deref(),
                filter.stuck,
                open,
                &filter.phases as &[Phase],
                filter.channel,
                filter.provider,
                filter.cause.map(Doubt::as_str),
                since,
                since_ago,
                until,
                until_ago,
                i64::from(limit),
            )
            .fetch_all(connection)
            .await?;
            Ok(rows
                .into_iter()
                .map(|row| Row {
                    id: row.id,
                    channel: row.channel,
                    key: row.key,
                    recipient: row.recipient,
                    stream: row.stream,
                    seq: row.seq,
                    send_at: row.send_at,
                    expires_at: row.expires_at,
                    accepted_at: row.accepted_at,
                    phase: row.phase,
                    attempt: count(row.attempt),
                    sends: count(row.sends),
                    generation: count(row.generation),
                    provider: row.provider,
                    due_at: row.due_at,
                    first_request_at: row.first_request_at,
                    last_request_at: row.last_request_at,
                    doubt_since: row.doubt_since,
                    doubt_cause: row.doubt_cause,
                    checks: count(row.checks),
                    possible_duplicates: count(row.possible_duplicates),
                    provider_id: row.provider_id,
                    settled_by: row.settled_by,
                    settled_at: row.settled_at,
                    last_text: row.last_text,
                    now: row.now,
                })
                .collect())
        })
        .await
    }

    /// The history of one notification, oldest line first.
    ///
    /// # Errors
    /// When the database did not answer.
    pub async fn history(&self, id: Uuid) -> Result<Vec<Line>, LedgerError> {
        self.run(async |connection| {
            let lines = sqlx::query!(
                "select at, attempt, actor, event, detail from history
                 where notification_id = $1 order by id",
                id,
            )
            .fetch_all(connection)
            .await?;
            Ok(lines
                .into_iter()
                .map(|line| Line {
                    at: line.at,
                    attempt: count(line.attempt),
                    actor: line.actor,
                    event: line.event,
                    detail: line.detail,
                })
                .collect())
        })
        .await
    }

    /// The content of one notification, for the person `by`. The line in the history that says
    /// so is part of the same statement: nobody sees content without leaving a trace.
    ///
    /// # Errors
    /// When the database did not answer; the line may then be there.
    pub async fn reveal(&self, id: Uuid, by: &str) -> Result<Option<Content>, LedgerError> {
        self.run(async |connection| {
            let bytes = sqlx::query_scalar!(
                "with shown as (
                    select id, attempt, content from notification where id = $1
                 ), noted as (
                    insert into history (notification_id, attempt, actor, event, detail)
                    select id, attempt, $2, 'person', 'content shown to ' || $2 from shown
                 )
                 select content from shown",
                id,
                by,
            )
            .fetch_optional(connection)
            .await?;
            Ok(bytes.map(|bytes| read_content(&bytes)))
        })
        .await
    }
}

/// A moment as the two parameters of a statement: a time, or seconds before the database's now.
pub(super) fn parts(moment: Option<Moment>) -> (Option<DateTime<Utc>>, Option<f64>) {
    match moment {
        Some(Moment::At(time)) => (Some(time), None),
        Some(Moment::Ago(age)) => (None, Some(seconds(age))),
        None => (None, None),
    }
}
