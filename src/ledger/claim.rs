//! The claim: the committed row that has to be there before any request.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{Ledger, LedgerError, seconds};
use crate::domain::notification::{Content, Notification};
use crate::domain::phase::Phase;

/// What all claims of a batch have in common. One value each: an array of equal ones would cost
/// Postgres more than it says.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The channel.
    pub channel: Arc<str>,
    /// The provider that they would be sent through.
    pub provider: Arc<str>,
    /// How long a claim is exclusively ours.
    pub lease: Duration,
    /// The age at which a notification expires, where the producer gave no time.
    pub expires_after: Option<Duration>,
}

/// A notification that wants a row.
#[derive(Clone)]
pub struct NewClaim {
    /// What came from the queue.
    pub notification: Arc<Notification>,
    /// What its request looks like.
    pub request_hash: [u8; 32],
}

/// What became of a [`NewClaim`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// A committed row in `sending` that this process owns, attempt 1.
    Claimed,
    /// A committed row that is due later.
    Queued,
    /// A committed row that will not be sent: it came too late.
    Expired,
    /// The same notification was there already, in this phase.
    Duplicate(Phase),
    /// The same key was there with other content.
    Conflict {
        /// Hash of the recipient and content that stand.
        standing: String,
        /// Hash of those that came now.
        arrived: String,
    },
}

impl Ledger {
    /// Claims a batch in one statement. The answers are in the batch's order.
    ///
    /// `token` names this try and its repeats: after a lost commit the same call with the same
    /// token finds its own rows and says [`Claim::Claimed`] for them.
    ///
    /// # Errors
    /// When the database did not answer; the rows may then be there, and the call may be repeated.
    pub async fn claim(
        &self,
        terms: &Terms,
        batch: &[NewClaim],
        token: Uuid,
    ) -> Result<Vec<Claim>, LedgerError> {
        // Sorted, so that two batches with the same keys lock them in the same order.
        let mut order: Vec<usize> = (0..batch.len()).collect();
        order.sort_by_key(|&i| batch[i].notification.id);
        let firsts: Vec<usize> = {
            let mut firsts = order.clone();
            firsts.dedup_by_key(|i| batch[*i].notification.id);
            firsts
        };
        let inserted = self.insert(terms, batch, &firsts, token).await?;
        let standing = if inserted.len() == firsts.len() {
            HashMap::new()
        } else {
            let missing: Vec<Uuid> = firsts
                .iter()
                .map(|&i| batch[i].notification.id)
                .filter(|id| !inserted.contains_key(id))
                .collect();
            self.standing(&missing).await?
        };

        let mut answers = vec![Claim::Claimed; batch.len()];
        let mut first: Option<&Notification> = None;
        for i in order {
            let this = &*batch[i].notification;
            let is_first = first.is_none_or(|first| first.id != this.id);
            if is_first {
                first = Some(this);
            }
            let stands = first.unwrap_or(this);
            answers[i] = match (inserted.get(&this.id), standing.get(&this.id)) {
                (Some(phase), _) if is_first => fresh(*phase),
                (Some(phase), _) => compare(&stands.to, &stands.content, this, *phase),
                (None, Some(row)) if is_first && row.is_ours(token) => Claim::Claimed,
                (None, Some(row)) => compare(&row.recipient, &row.content, this, row.phase),
                // Pruned between the two statements: it was there, so it was known.
                (None, None) => Claim::Duplicate(Phase::Sent),
            };
        }
        Ok(answers)
    }

    async fn insert(
        &self,
        terms: &Terms,
        batch: &[NewClaim],
        rows: &[usize],
        token: Uuid,
    ) -> Result<HashMap<Uuid, Phase>, LedgerError> {
        let each = || rows.iter().map(|&i| &batch[i]);
        let of = || each().map(|claim| &*claim.notification);
        let ids: Vec<Uuid> = of().map(|n| n.id).collect();
        let keys: Vec<&str> = of().map(|n| &*n.key).collect();
        let recipients: Vec<&str> = of().map(|n| &*n.to).collect();
        let contents: Vec<Vec<u8>> = of().map(|n| stored(&n.content)).collect();
        let streams: Vec<Option<&str>> = of().map(|n| n.stream.as_deref()).collect();
        let seqs: Vec<Option<i64>> = of().map(|n| n.seq).collect();
        let send_ats: Vec<_> = of().map(|n| n.send_at).collect();
        let expires_ats: Vec<_> = of().map(|n| n.expires_at).collect();
        let hashes: Vec<&[u8]> = each().map(|c| &c.request_hash[..]).collect();
        self.run(async |connection| {
            let rows = sqlx::query!(
                r#"
                insert into notification (
                    id, channel, key, recipient, content, stream, seq, send_at,
                    given_expires_at, expires_at, provider, request_hash,
                    phase, attempt, sends, owner, due_at, first_request_at, last_request_at, settled_at)
                select
                    u.id, $10, u.key, u.recipient, u.content, u.stream, u.seq, u.send_at,
                    u.expires_at, p.expires_at, $11, u.request_hash,
                    p.phase, p.now::int, p.now::int,
                    case when p.now then $14::uuid end,
                    case p.phase when 'sending' then now() + make_interval(secs => $12)
                                 when 'queued' then u.send_at end,
                    case when p.now then now() end,
                    case when p.now then now() + make_interval(secs => $12) end,
                    case when p.phase = 'expired' then now() end
                from unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[], $5::text[],
                            $6::bigint[], $7::timestamptz[], $8::timestamptz[], $9::bytea[])
                    as u(id, key, recipient, content, stream, seq, send_at, expires_at, request_hash)
                cross join lateral (
                    select coalesce(
                        u.expires_at, greatest(u.send_at, now()) + make_interval(secs => $13)
                    ) as expires_at
                ) e
                cross join lateral (
                    select e.expires_at, d.phase, d.phase = 'sending' as now
                    from (select case
                        when e.expires_at <= now() then 'expired'
                        when u.send_at > now() then 'queued'
                        else 'sending' end::phase as phase) d
                ) p
                on conflict (id) do nothing
                returning id, phase as "phase: Phase"
                "#,
                &ids,
                &keys as &[&str],
                &recipients as &[&str],
                &contents,
                &streams as &[Option<&str>],
                &seqs as &[Option<i64>],
                &send_ats as _,
                &expires_ats as _,
                &hashes as &[&[u8]],
                &*terms.channel,
                &*terms.provider,
                seconds(terms.lease),
                terms.expires_after.map(seconds),
                token,
            )
            .fetch_all(connection)
            .await?;
            Ok(rows.into_iter().map(|row| (row.id, row.phase)).collect())
        })
        .await
    }

    async fn standing(&self, ids: &[Uuid]) -> Result<HashMap<Uuid, Standing>, LedgerError> {
        self.run(async |connection| {
            let rows = sqlx::query!(
                r#"select id, phase as "phase: Phase", attempt, owner, recipient, content
                   from notification where id = any($1)"#,
                ids,
            )
            .fetch_all(connection)
            .await?;
            Ok(rows
                .into_iter()
                .map(|row| {
                    let standing = Standing {
                        phase: row.phase,
                        attempt: row.attempt,
                        owner: row.owner,
                        recipient: row.recipient,
                        content: read_content(&row.content),
                    };
                    (row.id, standing)
                })
                .collect())
        })
        .await
    }
}

/// A row that was there before.
struct Standing {
    phase: Phase,
    attempt: i32,
    owner: Option<Uuid>,
    recipient: String,
    content: Content,
}

impl Standing {
    /// Made by an earlier try of the same claim, whose commit was not confirmed to us.
    fn is_ours(&self, token: Uuid) -> bool {
        self.owner == Some(token) && self.attempt == 1 && self.phase == Phase::Sending
    }
}

fn fresh(phase: Phase) -> Claim {
    match phase {
        Phase::Queued => Claim::Queued,
        Phase::Expired => Claim::Expired,
        Phase::Sending
        | Phase::Parked
        | Phase::Sent
        | Phase::Failed
        | Phase::Superseded
        | Phase::Suppressed
        | Phase::Cancelled
        | Phase::Unconfirmed => Claim::Claimed,
    }
}

fn compare(to: &str, content: &Content, arrived: &Notification, phase: Phase) -> Claim {
    if to == arrived.to && content.reads_the_same_as(&arrived.content) {
        Claim::Duplicate(phase)
    } else {
        Claim::Conflict {
            standing: fingerprint(to, content),
            arrived: fingerprint(&arrived.to, &arrived.content),
        }
    }
}

/// Enough of a hash to tell two contents apart without showing either.
fn fingerprint(to: &str, content: &Content) -> String {
    let mut hash = Sha256::new();
    hash.update(to);
    hash.update([0]);
    hash.update(stored(&Content {
        metadata: std::collections::BTreeMap::new(),
        ..content.clone()
    }));
    let digest: [u8; 32] = hash.finalize().into();
    digest[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Content as the ledger keeps it.
pub(super) fn stored(content: &Content) -> Vec<u8> {
    // A struct of strings and string maps has a JSON form, always.
    serde_json::to_vec(content).unwrap_or_default()
}

/// Content as the ledger kept it.
pub(super) fn read_content(bytes: &[u8]) -> Content {
    serde_json::from_slice(bytes).unwrap_or_default()
}
