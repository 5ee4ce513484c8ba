//! The resolver: the only code that settles doubt.
//!
//! [`Resolver::pass`] takes over rows whose lease is past, asks what [`resolve`] wants asked, with
//! no transaction open, and writes what it decides, with the reason. Any number of instances may
//! run at once: each takes rows that no other is taking, and every write names its attempt.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{FutureExt as _, StreamExt, stream};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::config::Channel;
use crate::domain::capability::{Capability, Dedupe, LookUp};
use crate::domain::outcome::{LookUpAnswer, Outcome};
use crate::domain::resolve::{Case, Evidence, Verdict, resolve};
use crate::ledger::stale::StaleRow;
use crate::ledger::{Ledger, LedgerError};
use crate::metrics::{Metrics, channel as channel_label, result};
use crate::provider::client::Client;
use crate::provider::{Message, Provider, Question, Request};
use crate::worker::send::attempt;

mod brakes;
mod head_start;
mod report;
mod verdict;

pub use brakes::Brakes;
pub use report::Report;

/// Rows that are asked about at the same time.
const AT_ONCE: usize = 16;

/// What a take-over adds to the time that its questions may take: room for the writes.
const LEASE_MARGIN: Duration = Duration::from_secs(20);

/// How long a page of rows has been in this process's hands, and how long it may be.
#[derive(Clone, Copy)]
struct Hold {
    since: Instant,
    until: Instant,
}

/// What a resolver needs. Shared by the passes of one process.
pub struct Resolver {
    /// Where the rows are.
    pub ledger: Ledger,
    /// Carries questions.
    pub client: Client,
    /// What Prometheus is told.
    pub metrics: Arc<Metrics>,
    /// The channels whose rows it takes, by name.
    pub channels: HashMap<Arc<str>, Arc<Channel>>,
    /// Every configured provider: a row is asked about where it was sent, whatever its channel
    /// uses now.
    pub providers: HashMap<Arc<str>, Provider>,
    /// Rows in one take-over.
    pub batch: u32,
    /// Notifications that one pass may send again while in doubt.
    pub max_resends: u32,
}

impl Resolver {
    /// Takes channels and their providers from the configuration.
    #[must_use]
    pub fn new(
        ledger: Ledger,
        client: Client,
        metrics: Arc<Metrics>,
        config: &crate::config::Config,
    ) -> Self {
        let providers = config
            .channels
            .iter()
            .map(|c| (c.provider.name.clone(), c.provider.clone()))
            .collect();
        Self {
            ledger,
            client,
            metrics,
            channels: config
                .channels
                .iter()
                .map(|c| (c.name.clone(), c.clone()))
                .collect(),
            providers,
            batch: config.resolver.batch,
            max_resends: config.resolver.max_resends,
        }
    }

    /// One pass over every row whose lease is past. Stops early, between pages, when told to.
    ///
    /// # Errors
    /// When the database did not answer. What was decided until then is written.
    pub async fn pass(&self, stop: &CancellationToken) -> Result<Report, LedgerError> {
        let brakes = Brakes::new(self.max_resends);
        let names: Vec<String> = self.channels.keys().map(ToString::to_string).collect();
        let mut report = Report::default();
        while !stop.is_cancelled() {
            let lease = self.lease();
            let since = Instant::now();
            let hold = Hold {
                since,
                until: since + lease,
            };
            let rows = self
                .ledger
                .take_over(&names, self.batch, lease, Uuid::new_v4())
                .await?;
            let full = rows.len() >= usize::try_from(self.batch).unwrap_or(usize::MAX);
            report.taken += rows.len();
            let mut decisions = stream::iter(rows)
                .map(|row| self.settle(row, hold, &brakes))
                .buffer_unordered(AT_ONCE);
            // Every row that was begun is finished, also when the database fails one of them.
            let mut failed = None;
            while let Some(decided) = decisions.next().await {
                match decided {
                    Ok(written) => report.add(written),
                    Err(error) => failed = Some(error),
                }
            }
            if let Some(error) = failed {
                return Err(error);
            }
            if !full {
                break;
            }
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        self.metrics
            .resolver_last_success
            .set(now.unwrap_or_default().as_secs_f64());
        Ok(report)
    }

    /// What a pass would do, read and asked for real, replayed and written not at all.
    ///
    /// # Errors
    /// When the database did not answer.
    pub async fn dry_pass(&self) -> Result<Report, LedgerError> {
        let brakes = Brakes::new(self.max_resends);
        let names: Vec<String> = self.channels.keys().map(ToString::to_string).collect();
        let rows = self
            .ledger
            .peek_stale(&names, self.batch, self.lease())
            .await?;
        let mut report = Report {
            dry_run: true,
            taken: rows.len(),
            ..Report::default()
        };
        for row in rows {
            let Some(channel) = self.channels.get(&row.notification.channel) else {
                continue;
            };
            let (case, _) = self.decide(&row, channel, None, &brakes).await?;
            let verdict = resolve(&case, &channel.schedule, 1.0);
            report.add(verdict::Written {
                key: row.notification.key.clone(),
                channel: row.notification.channel.clone(),
                told: verdict::tell(&row, &case, &verdict),
                name: verdict::name(&verdict),
                took_place: true,
            });
        }
        Ok(report)
    }

    fn lease(&self) -> Duration {
        let longest = self
            .providers
            .values()
            .map(|p| p.request_timeout)
            .max()
            .unwrap_or_default();
        // A replay and a look-up, for each row that waits its turn behind AT_ONCE others.
        let turns = self.batch.div_ceil(AT_ONCE as u32);
        longest * 2 * turns + LEASE_MARGIN
    }

    async fn settle(
        &self,
        row: StaleRow,
        hold: Hold,
        brakes: &Brakes,
    ) -> Result<verdict::Written, LedgerError> {
        // Only rows of these channels are taken over.
        let Some(channel) = self.channels.get(&row.notification.channel) else {
            return Ok(verdict::Written::nothing(&row));
        };
        let (case, requested) = self.decide(&row, channel, Some(hold), brakes).await?;
        let decided = resolve(&case, &channel.schedule, fastrand::f64());
        let decided = brakes.hold_back(decided);
        self.count(&channel.name, &decided);
        let name = verdict::name(&decided);
        let told = verdict::tell(&row, &case, &decided);
        let took_place = match verdict::as_move(&row, &case, &decided, requested, &told) {
            Ok(change) => self
                .ledger
                .apply(&[change])
                .await?
                .contains(&row.notification.id),
            Err(error) => {
                tracing::error!(%error, id = %row.notification.id, "a decision is not legal");
                false
            }
        };
        if !took_place {
            self.metrics.moves_lost.inc();
        }
        Ok(verdict::Written {
            key: row.notification.key.clone(),
            channel: row.notification.channel.clone(),
            told,
            name,
            took_place,
        })
    }

    /// Asks until nothing more is to be asked. Says also whether a request was made. Without a
    /// hold (a dry run) no replay is made.
    ///
    /// A replay is announced in the ledger first: should this process die with it on its way, the
    /// next one must not believe a log that cannot show it yet.
    async fn decide(
        &self,
        row: &StaleRow,
        channel: &Channel,
        hold: Option<Hold>,
        brakes: &Brakes,
    ) -> Result<(Case, bool), LedgerError> {
        let provider = self.providers.get(&*row.provider);
        let request = provider.and_then(|p| render(row, channel, p));
        let mut case = case(row, channel, provider, request.as_ref());
        let since = hold.map_or_else(Instant::now, |hold| hold.since);
        let mut announced = false;
        let mut requested = false;
        loop {
            case.since_read = since.elapsed();
            case.expired = row.expires_in.is_some_and(|left| left <= case.since_read);
            let asked = match (resolve(&case, &channel.schedule, 1.0), provider, &request) {
                (Verdict::Replay, Some(provider), Some(request)) => {
                    let Some(hold) = hold else {
                        return Ok((case, false));
                    };
                    if !announced {
                        let id = row.notification.id;
                        if !self.ledger.announce(id, row.attempt).await? {
                            return Ok((case, false));
                        }
                        announced = true;
                        // That took its time: decided again.
                        continue;
                    }
                    requested = true;
                    let outcome = self.replay(provider, request, hold.until).await;
                    Evidence::Replay(outcome.without(&row.notification))
                }
                (Verdict::LookUp, Some(provider), _) => {
                    Evidence::LookUp(self.look_up(row, channel, provider, brakes).await?)
                }
                _ => return Ok((case, requested)),
            };
            if let Evidence::Replay(Outcome::Unknown { cause, .. }) = &asked {
                case.cause = if requested { *cause } else { case.cause };
            }
            case.evidence = asked;
        }
    }

    async fn replay(&self, provider: &Provider, request: &Request, lease_ends: Instant) -> Outcome {
        let left = lease_ends.saturating_duration_since(Instant::now());
        if left < provider.request_timeout {
            return Outcome::NotSent {
                cause: crate::domain::outcome::NotSent::LeaseTooShort,
                retry_after: None,
                text: "the claim would have ended first".into(),
            };
        }
        attempt(&self.client, provider, request.clone(), &self.metrics).await
    }

    async fn look_up(
        &self,
        row: &StaleRow,
        channel: &Channel,
        provider: &Provider,
        brakes: &Brakes,
    ) -> Result<LookUpAnswer, LedgerError> {
        let question = Question {
            message: Message::new(channel, &row.notification, row.generation),
            from: row.first_request_at,
            until: row.last_request_at,
        };
        let asked = async {
            let Some(request) = provider.adapter.look_up(&question) else {
                return failed("the provider's log cannot be asked about this");
            };
            match self
                .client
                .exchange(request, provider.request_timeout)
                .await
            {
                Ok(answer) => provider.adapter.found(&question, &answer),
                Err(failure) => failed(&failure.to_string()),
            }
        };
        let answer = if brakes.look_ups_rest(&provider.name) {
            failed("look-ups rest: several failed in a row")
        } else {
            // A panic over one row must not end the pass, and all passes after it.
            let asked = AssertUnwindSafe(asked).catch_unwind().await;
            asked.unwrap_or_else(|_| {
                failed("nuncio panicked over the log, which is a fault of ours: see its own log")
            })
        };
        brakes.looked_up(
            &provider.name,
            !matches!(answer, LookUpAnswer::Failed { .. }),
        );
        let LookUpAnswer::Found(ids) = answer else {
            return Ok(answer);
        };
        if provider.adapter.capability().look_up.proves_absence() {
            return Ok(LookUpAnswer::Found(ids));
        }
        let taken = self
            .ledger
            .bound_elsewhere(&provider.name, &ids, row.notification.id)
            .await?;
        let ours: Vec<String> = ids.into_iter().filter(|id| !taken.contains(id)).collect();
        Ok(if ours.is_empty() {
            LookUpAnswer::Absent
        } else {
            LookUpAnswer::Found(ours)
        })
    }

    fn count(&self, channel: &Arc<str>, decided: &Verdict) {
        let name = verdict::name(decided);
        self.metrics
            .verdicts
            .get_or_create(&result(channel, name))
            .inc();
        if matches!(decided, Verdict::SendAgain { .. }) {
            self.metrics
                .possible_duplicates
                .get_or_create(&channel_label(channel))
                .inc();
        }
    }
}

fn failed(text: &str) -> LookUpAnswer {
    LookUpAnswer::Failed {
        retry_after: None,
        text: text.to_owned(),
    }
}

fn render(row: &StaleRow, channel: &Channel, provider: &Provider) -> Option<Request> {
    let message = Message::new(channel, &row.notification, row.generation);
    provider.request(&message).ok()
}

fn case(
    row: &StaleRow,
    channel: &Channel,
    provider: Option<&Provider>,
    request: Option<&Request>,
) -> Case {
    // A provider that is no longer configured cannot be asked.
    let capability = provider.map_or(
        Capability {
            dedupe: Dedupe::None,
            look_up: LookUp::None,
        },
        |p| p.adapter.capability(),
    );
    Case {
        policy: channel.policy,
        capability,
        evidence: Evidence::None,
        cause: row.cause,
        key_age: row.key_age,
        since_read: Duration::ZERO,
        last_request_age: row.last_request_age,
        doubt_age: row.doubt_age,
        expired: false,
        request_unchanged: request.is_some_and(|r| r.hash()[..] == row.request_hash[..]),
        older_key_in_doubt: row.older_key_in_doubt,
        sends_left: row.sends < channel.max_sends,
        empty_reads: row.empty_reads,
        checks: row.checks,
        request_timeout: provider.map_or(Duration::ZERO, |p| p.request_timeout),
        resolve_within: channel.resolve_within,
    }
}
