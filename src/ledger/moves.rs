//! Every change of phase after the first claim: a compare-and-set in batches. One statement carries
//! any move; a shorter one carries what nearly every move is.

use std::collections::HashSet;
use std::time::Duration;

use uuid::Uuid;

use super::{Ledger, LedgerError, seconds};
use crate::domain::change::Change;
pub use crate::domain::change::DoubtAfter;
use crate::domain::phase::{IllegalMove, Phase};
use crate::domain::settle::Source;

/// A line of a notification's history.
#[derive(Clone, Debug)]
pub struct Note {
    /// Who: `worker`, `resolver`, or a person's name.
    pub actor: String,
    /// What kind of thing happened: `outcome`, `look-up`, `decision`, `person`.
    pub event: &'static str,
    /// What was tried or decided, and why, in words.
    pub detail: String,
}

/// One change of phase, tied to the attempt and the phase that it was decided for.
#[derive(Clone, Debug)]
pub struct Move {
    id: Uuid,
    attempt: u32,
    from: Phase,
    change: Change,
    provider_id: Option<String>,
    unless_expired: bool,
    text: Option<String>,
    note: Option<Note>,
}

impl Move {
    /// A move of the row's `attempt` between two phases.
    ///
    /// # Errors
    /// When the list of legal moves does not have it.
    pub fn new(id: Uuid, attempt: u32, from: Phase, to: Phase) -> Result<Self, IllegalMove> {
        Self::of(id, attempt, from, Change::to(to))
    }

    /// A decision about the row's `attempt`, as a move from the phase that it was made in.
    ///
    /// # Errors
    /// When the list of legal moves does not have it.
    pub fn of(id: Uuid, attempt: u32, from: Phase, change: Change) -> Result<Self, IllegalMove> {
        from.may_become(change.to)?;
        Ok(Self {
            id,
            attempt,
            from,
            change,
            provider_id: None,
            unless_expired: false,
            text: None,
            note: None,
        })
    }

    /// Due, or leased, for this long from now.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.change.wait = Some(wait);
        self
    }

    /// What becomes of the doubt; without this it ends.
    #[must_use]
    pub fn doubt(mut self, doubt: DoubtAfter) -> Self {
        self.change.doubt = doubt;
        self
    }

    /// What proves that it was sent, and the provider's id.
    #[must_use]
    pub fn proof(mut self, source: Source, provider_id: Option<String>) -> Self {
        self.change.source = Some(source);
        self.provider_id = provider_id;
        self
    }

    /// The attempt does not count against the cap.
    #[must_use]
    pub fn uncounted(mut self) -> Self {
        self.change.uncounted = true;
        self
    }

    /// A request of this attempt may have had an effect until now.
    #[must_use]
    pub fn requested(mut self) -> Self {
        self.change.requested = true;
        self
    }

    /// The next request goes out under the next generation's send key.
    #[must_use]
    pub fn new_key(mut self, new_key: bool) -> Self {
        self.change.new_key = new_key;
        self
    }

    /// A resolver pass that taught nothing; perhaps a settled look-up that found nothing.
    #[must_use]
    pub fn checked(mut self, empty_read: bool) -> Self {
        self.change.checked = true;
        self.change.empty_read = empty_read;
        self
    }

    /// It is sent again while in doubt.
    #[must_use]
    pub fn possible_duplicate(mut self) -> Self {
        self.change.possible_duplicate = true;
        self
    }

    /// Takes place only if the notification has not expired by then, by the database's clock.
    #[must_use]
    pub fn unless_expired(mut self) -> Self {
        self.unless_expired = true;
        self
    }

    /// The provider's last words, already cleaned.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        if !text.is_empty() {
            self.text = Some(text.to_owned());
        }
        self
    }

    /// A line for the history, written only if the move takes place.
    #[must_use]
    pub fn note(mut self, actor: &str, event: &'static str, detail: String) -> Self {
        self.note = Some(Note {
            actor: actor.to_owned(),
            event,
            detail,
        });
        self
    }

    /// The row that it is about.
    #[must_use]
    pub fn id(&self) -> Uuid {
        self.id
    }

    /// The phase that it leads to.
    #[must_use]
    pub fn to(&self) -> Phase {
        self.change.to
    }
}

impl Ledger {
    /// Carries out a batch of moves in one statement and says which took place. A move whose row
    /// is no longer at its attempt and phase changes nothing: somebody else decided. A batch in
    /// which all are [plainly sent](Move::is_plainly_sent) costs Postgres a tenth less.
    ///
    /// # Errors
    /// When the database did not answer. The moves may then have taken place; repeating them is
    /// harmless, but reports as lost those that had.
    pub async fn apply(&self, moves: &[Move]) -> Result<HashSet<Uuid>, LedgerError> {
        let mut sorted: Vec<&Move> = moves.iter().collect();
        sorted.sort_by_key(|m| m.id);
        let took_place = if sorted.iter().all(|m| m.is_plainly_sent()) {
            self.sent(&sorted).await?
        } else {
            self.change(&sorted).await?
        };
        Ok(took_place.into_iter().collect())
    }

    /// What nearly every move is: an answer that proves acceptance, and nothing else to say. Writes
    /// what [`Ledger::change`] would.
    async fn sent(&self, moves: &[&Move]) -> Result<Vec<Uuid>, LedgerError> {
        let ids: Vec<Uuid> = moves.iter().map(|m| m.id).collect();
        let attempts: Vec<i32> = moves.iter().map(|m| m.attempt()).collect();
        let provider_ids: Vec<Option<&str>> =
            moves.iter().map(|m| m.provider_id.as_deref()).collect();
        self.run(async |connection| {
            sqlx::query_scalar!(
                r#"
                update notification n set
                    phase = 'sent',
                    due_at = null,
                    settled_at = now(),
                    doubt_since = null,
                    doubt_cause = null,
                    doubt_generation = null,
                    settled_by = 'answer',
                    provider_id = coalesce(u.provider_id, n.provider_id),
                    checks = 0
                from unnest($1::uuid[], $2::int[], $3::text[]) as u(id, attempt, provider_id)
                where n.id = u.id and n.attempt = u.attempt and n.phase = 'sending'
                returning n.id
                "#,
                &ids,
                &attempts,
                &provider_ids as &[Option<&str>],
            )
            .fetch_all(connection)
            .await
        })
        .await
    }

    /// Any moves, in one statement.
    async fn change(&self, moves: &[&Move]) -> Result<Vec<Uuid>, LedgerError> {
        let each = || moves.iter();
        let ids: Vec<Uuid> = each().map(|m| m.id).collect();
        let attempts: Vec<i32> = each().map(|m| m.attempt()).collect();
        let froms: Vec<&str> = each().map(|m| m.from.as_str()).collect();
        let tos: Vec<&str> = each().map(|m| m.change.to.as_str()).collect();
        let waits: Vec<Option<f64>> = each().map(|m| m.change.wait.map(seconds)).collect();
        let keeps: Vec<bool> = each().map(|m| m.change.doubt == DoubtAfter::Kept).collect();
        let causes: Vec<Option<&str>> = each()
            .map(|m| match m.change.doubt {
                DoubtAfter::Because(cause) => Some(cause.as_str()),
                DoubtAfter::Ended | DoubtAfter::Kept => None,
            })
            .collect();
        let sources: Vec<Option<&str>> = each()
            .map(|m| m.change.source.map(Source::as_str))
            .collect();
        let provider_ids: Vec<Option<&str>> = each().map(|m| m.provider_id.as_deref()).collect();
        let flags: Vec<i32> = each().map(|m| m.flags()).collect();
        let texts: Vec<Option<&str>> = each().map(|m| m.text.as_deref()).collect();
        // Most moves have no note, so these are not one a row.
        let noted: Vec<(&Move, &Note)> = each()
            .filter_map(|m| Some((*m, m.note.as_ref()?)))
            .collect();
        let noted_ids: Vec<Uuid> = noted.iter().map(|(m, _)| m.id).collect();
        let noted_attempts: Vec<i32> = noted.iter().map(|(m, _)| m.attempt()).collect();
        let actors: Vec<&str> = noted.iter().map(|(_, note)| &*note.actor).collect();
        let events: Vec<&str> = noted.iter().map(|(_, note)| note.event).collect();
        let details: Vec<&str> = noted.iter().map(|(_, note)| &*note.detail).collect();
        self.run(async |connection| {
            sqlx::query_scalar!(
                r#"
                with u as (
                    select * from unnest(
                        $1::uuid[], $2::int[], $3::text[], $4::text[], $5::float8[], $6::bool[],
                        $7::text[], $8::text[], $9::text[], $10::int[], $11::text[])
                    as u(id, attempt, was, becomes, wait, keeps_doubt, cause, source, provider_id,
                         flags, said)
                ), moved as (
                    update notification n set
                        phase = u.becomes::phase,
                        due_at = now() + make_interval(secs => u.wait),
                        settled_at = case
                            when u.becomes not in ('queued', 'sending', 'parked') then now() end,
                        doubt_since = case when u.keeps_doubt then n.doubt_since
                            when u.cause is not null then coalesce(n.doubt_since, now()) end,
                        doubt_cause = case when u.keeps_doubt then n.doubt_cause else u.cause end,
                        doubt_generation = case when u.keeps_doubt then n.doubt_generation
                            when u.cause is not null then coalesce(n.doubt_generation, n.generation) end,
                        settled_by = u.source,
                        provider_id = coalesce(u.provider_id, n.provider_id),
                        sends = n.sends - (u.flags & 1),
                        last_request_at = case when u.flags & 2 > 0 then now()
                            else n.last_request_at end,
                        generation = n.generation + (u.flags & 4) / 4,
                        first_request_at = case when u.flags & 4 = 0 then n.first_request_at end,
                        request_hash = case when u.flags & 4 = 0 then n.request_hash end,
                        checks = case when u.flags & 8 > 0 then n.checks + 1 else 0 end,
                        -- A new request can be in the log that was empty before.
                        empty_reads = case when u.becomes = 'queued' then 0
                            else n.empty_reads + (u.flags & 16) / 16 end,
                        possible_duplicates = n.possible_duplicates + (u.flags & 32) / 32,
                        last_text = coalesce(u.said, n.last_text)
                    from u
                    where n.id = u.id and n.attempt = u.attempt and n.phase = u.was::phase
                        and (u.flags & 64 = 0 or coalesce(n.expires_at > now(), true))
                    returning n.id, n.attempt
                ), noted as (
                    insert into history (notification_id, attempt, actor, event, detail)
                    select moved.id, moved.attempt, h.actor, h.event, h.detail
                    from unnest($12::uuid[], $13::int[], $14::text[], $15::text[], $16::text[])
                        as h(id, attempt, actor, event, detail)
                    join moved on moved.id = h.id and moved.attempt = h.attempt
                )
                select id from moved
                "#,
                &ids,
                &attempts,
                &froms as &[&str],
                &tos as &[&str],
                &waits as &[Option<f64>],
                &keeps,
                &causes as &[Option<&str>],
                &sources as &[Option<&str>],
                &provider_ids as &[Option<&str>],
                &flags,
                &texts as &[Option<&str>],
                &noted_ids,
                &noted_attempts,
                &actors as &[&str],
                &events as &[&str],
                &details as &[&str],
            )
            .fetch_all(connection)
            .await
        })
        .await
    }
}

impl Move {
    /// Whether all that it says is: this attempt's request was accepted.
    #[must_use]
    pub fn is_plainly_sent(&self) -> bool {
        let sent = Change {
            source: Some(Source::Answer),
            ..Change::to(Phase::Sent)
        };
        self.from == Phase::Sending
            && self.change == sent
            && !self.unless_expired
            && self.text.is_none()
            && self.note.is_none()
    }

    fn attempt(&self) -> i32 {
        i32::try_from(self.attempt).unwrap_or(i32::MAX)
    }

    /// The yes-or-no parts as one number a row, since each array costs on the way.
    fn flags(&self) -> i32 {
        [
            self.change.uncounted,
            self.change.requested,
            self.change.new_key,
            self.change.checked,
            self.change.empty_read,
            self.change.possible_duplicate,
            self.unless_expired,
        ]
        .into_iter()
        .enumerate()
        .map(|(bit, set)| i32::from(set) << bit)
        .sum()
    }
}
