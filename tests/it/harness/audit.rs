//! What has to hold after every test: the five assertions that people who run such systems gave.

use std::collections::{BTreeMap, BTreeSet};

use nuncio::domain::identity::send_key;
use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy;
use sha2::{Digest, Sha256};

use super::config::Config;
use super::rows::Row;
use super::wait::wait_until;
use super::world::World;

/// What an audit may allow. The default allows nothing.
#[derive(Clone, Debug, Default)]
pub struct Audit {
    /// Keys of at-most-once notifications that a person had sent again.
    pub sent_again_by_a_person: BTreeSet<String>,
    /// Further texts that may be in no log.
    pub secrets: Vec<String>,
    /// Statements about requests for which no committed claim was to be seen (a provider that
    /// asked the ledger for each request notes them).
    pub requests_without_a_claim: Vec<String>,
}

impl World {
    /// Asserts what holds at rest, with workers stopped or idle.
    pub async fn audit(&self, config: &Config) {
        self.audit_with(config, &Audit::default()).await;
    }

    /// As [`World::audit`], with what this test allows.
    pub async fn audit_with(&self, config: &Config, audit: &Audit) {
        self.sends_keep_the_policy(config, audit).await;
        self.nothing_has_vanished().await;
        assert!(
            audit.requests_without_a_claim.is_empty(),
            "requests without a committed claim: {:#?}",
            audit.requests_without_a_claim
        );
        self.nothing_is_held().await;
        self.logs_are_clean(&audit.secrets);
    }

    /// 1: sends per notification, and the keys that they were made under.
    async fn sends_keep_the_policy(&self, config: &Config, audit: &Audit) {
        let mut counts = self.sandbox.counts().await;
        for row in self.rows().await {
            let of_channel = config.channels.iter().find(|c| c.name == row.channel);
            let policy = of_channel.expect("the channel is configured").policy;
            let mut sent = 0;
            for generation in 1..=row.generation.unsigned_abs() {
                let key = send_key(&row.channel, &row.key, generation).to_string();
                sent += counts.remove(&key).unwrap_or(0);
            }
            let forced = audit.sent_again_by_a_person.contains(&row.key);
            assert!(
                policy == Policy::AtLeastOnce || sent <= 1 || forced,
                "at-most-once, and sent {sent} times: {row:?}"
            );
            self.check_certainty(policy, sent, &row).await;
        }
        counts.retain(|_, sent| *sent > 0);
        let strangers: BTreeMap<String, u64> = counts;
        assert!(
            strangers.is_empty(),
            "sent, and no row knows it: {strangers:?}"
        );
    }

    async fn check_certainty(&self, policy: Policy, sent: u64, row: &Row) {
        match row.phase {
            Phase::Sent => assert!(sent >= 1, "recorded as sent, and never was: {row:?}"),
            Phase::Failed
            | Phase::Expired
            | Phase::Superseded
            | Phase::Suppressed
            | Phase::Cancelled => assert_eq!(sent, 0, "certainly not sent, and it was: {row:?}"),
            Phase::Parked | Phase::Unconfirmed => {}
            Phase::Queued | Phase::Sending => {
                panic!("not at rest ({policy}): {row:?}")
            }
        }
        let known = 1 + u64::from(row.possible_duplicates.unsigned_abs());
        assert!(sent <= known, "sent {sent} times, {known} known: {row:?}");
        if row.generation > 1 {
            let told = self.history(&row.channel, &row.key).await;
            assert!(
                told.iter()
                    .any(|line| line.event == "decision" || line.event == "person"),
                "a new send key without a recorded decision: {row:?}"
            );
        }
    }

    /// 2: every published message is a row or in quarantine; what is stuck is on the list.
    async fn nothing_has_vanished(&self) {
        let rows: BTreeSet<(String, String)> = self
            .rows()
            .await
            .into_iter()
            .map(|row| (row.channel, row.key))
            .collect();
        let quarantined: BTreeSet<Vec<u8>> = self
            .quarantine()
            .await
            .into_iter()
            .map(|message| message.body_sha256)
            .collect();
        let published = self
            .published
            .lock()
            .expect("no holder of it panics")
            .clone();
        for message in published {
            let key = message.key();
            let kept = quarantined.contains(&Sha256::digest(&message.body).to_vec());
            let row = key.is_some_and(|key| rows.contains(&(message.channel.clone(), key)));
            assert!(
                row || kept,
                "published, and neither a row nor in quarantine: {} on {}",
                String::from_utf8_lossy(&message.body),
                message.channel
            );
        }
        let past: i64 = sqlx::query_scalar(
            "select count(*) from notification where phase = 'sending' and due_at <= now()",
        )
        .fetch_one(&self.database.pool)
        .await
        .expect("the ledger can be read");
        let ledger = nuncio::ledger::Ledger::open(&self.database.url.to_string().into(), 1, false)
            .expect("the URL can be read");
        let listed = ledger.open_rows().await.expect("the ledger can be read");
        ledger.close().await;
        assert_eq!(
            past, listed.stale,
            "rows past their lease and off the stuck list"
        );
    }

    /// 4: no message waits or is unacked, no transaction stands open.
    async fn nothing_is_held(&self) {
        let mut read = false;
        for (queue, (ready, consumers)) in self.broker.queues().await {
            assert_eq!(ready, 0, "messages wait in {queue}");
            read |= consumers > 0;
        }
        // A queue without a consumer has no unacked messages. The counts of one with are late by
        // up to 5 s for a quorum queue.
        if read {
            wait_until("no message is unacked", async || {
                let depths = self.broker.depths().await.unwrap_or_default();
                depths
                    .values()
                    .all(|depth| depth.unacked == 0)
                    .then_some(())
            })
            .await;
        }
        let open: i64 = sqlx::query_scalar(
            "select count(*) from pg_stat_activity
             where datname = current_database() and state like 'idle in transaction%'",
        )
        .fetch_one(&self.database.pool)
        .await
        .expect("the database answers");
        assert_eq!(open, 0, "sessions idle in a transaction");
    }

    /// 5: no panic, and nothing of what was published, in any log.
    fn logs_are_clean(&self, more: &[String]) {
        let published = self.published.lock().expect("no holder of it panics");
        let secrets: BTreeSet<String> = published
            .iter()
            .flat_map(super::publisher::Message::secrets)
            .chain(more.iter().cloned())
            .collect();
        for (program, log) in self.outputs.all() {
            assert!(!log.contains("panicked at"), "{program} panicked:\n{log}");
            let told = secrets.iter().find(|secret| log.contains(secret.as_str()));
            assert_eq!(told, None, "content or a recipient in the log of {program}");
        }
    }
}
