//! Sending: a claimed job becomes a request, an outcome, a decision.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::lane::{Held, Job, Lane};
use super::settler::Settled;
use crate::domain::change::Change;
use crate::domain::notification::{Kind, Notification};
use crate::domain::outcome::{Doubt, NotSent, Outcome};
use crate::domain::phase::{IllegalMove, Phase};
use crate::domain::segments::segments;
use crate::domain::settle::{Attempt, Settlement, Source, settle};
use crate::ledger::moves::Move;
use crate::metrics::{self, ByProvider, Metrics, result};
use crate::provider::client::Client;
use crate::provider::{Provider, Request};

/// Takes jobs until there are no more. One of a fixed number of tasks: cheaper than a task a
/// message.
pub async fn send_jobs(lane: Arc<Lane>, stop: CancellationToken) {
    while let Ok(job) = lane.jobs.recv().await {
        let coming = lane.settler.expect();
        let outcome = if stop.is_cancelled() {
            not_begun(NotSent::ShuttingDown, "the worker was stopping")
        } else if !lease_covers(&job, lane.channel.provider.request_timeout) {
            not_begun(NotSent::LeaseTooShort, "the claim would have ended first")
        } else {
            attempt(
                &lane.client,
                &lane.channel.provider,
                job.request,
                &lane.metrics,
            )
            .await
            .without(&job.notification)
        };
        count_segments(&lane, &job.notification, &outcome);
        drop(coming);
        finish(&lane, job.held, &outcome, job.slot).await;
    }
}

/// Makes one request to a provider and reads what it taught. The only place that does.
///
/// A panic in here is a fault of ours over a request that may have been made: doubt. It ends neither
/// the task, which is one of a fixed number, nor the pass of a resolver.
pub async fn attempt(
    client: &Client,
    provider: &Provider,
    request: Request,
    metrics: &Metrics,
) -> Outcome {
    let began = Instant::now();
    let tried = async {
        match client.exchange(request, provider.request_timeout).await {
            Ok(answer) => provider.adapter.outcome(&answer),
            Err(failure) => failure.into(),
        }
    };
    // What it leaves behind is dropped: nothing that a panic could have left half done is used again.
    let tried = AssertUnwindSafe(tried).catch_unwind().await;
    let outcome = tried.unwrap_or_else(|_| Outcome::Unknown {
        cause: Doubt::Unintelligible,
        look_after: None,
        text: "nuncio panicked over it, which is a fault of ours: see the log".into(),
    });
    metrics
        .request_seconds
        .get_or_create(&ByProvider {
            provider: (&provider.name).into(),
        })
        .observe(began.elapsed().as_secs_f64());
    outcome
}

/// Texts that the provider has accepted cost money by the SMS.
fn count_segments(lane: &Lane, notification: &Notification, outcome: &Outcome) {
    let text = notification.content.text.as_deref();
    if let (Kind::Sms, Some(text), Outcome::Accepted { already: false, .. }) =
        (lane.channel.kind, text, outcome)
    {
        let label = metrics::channel(&lane.channel.name);
        let counter = lane.metrics.sms_segments.get_or_create_owned(&label);
        counter.inc_by(segments(text).into());
    }
}

/// Invariant 1: enough of the lease is left for the whole request.
fn lease_covers(job: &Job, request_timeout: Duration) -> bool {
    job.lease_ends.saturating_duration_since(Instant::now()) >= request_timeout
}

fn not_begun(cause: NotSent, text: &str) -> Outcome {
    Outcome::NotSent {
        cause,
        retry_after: None,
        text: text.into(),
    }
}

/// Decides what becomes of a claim after its outcome, and hands that to the settler.
pub(super) async fn finish(lane: &Lane, held: Held, outcome: &Outcome, slot: OwnedSemaphorePermit) {
    let name = &lane.channel.name;
    lane.metrics
        .outcomes
        .get_or_create(&result(name, label(outcome)))
        .inc();
    match outcome {
        Outcome::NotSent {
            cause: NotSent::Account,
            text,
            ..
        } => lane.rest(text.split(':').next().unwrap_or_default()),
        Outcome::Accepted { .. } => lane.account_is_well(),
        Outcome::NotSent { .. } | Outcome::Refused { .. } | Outcome::Unknown { .. } => {}
    }
    let attempt = Attempt {
        number: held.attempt,
        sends: held.sends,
        max_sends: lane.channel.max_sends,
        in_doubt: held.in_doubt,
    };
    let decided = settle(attempt, outcome, &lane.channel.schedule, fastrand::f64());
    match as_move(held, outcome, decided) {
        Ok(change) => {
            let settled = Settled {
                channel: name.clone(),
                change,
                slot,
            };
            lane.settler.settle(settled).await;
        }
        Err(error) => tracing::error!(%error, id = %held.id, "a decision is not legal"),
    }
}

/// The sender's decision as the ledger's move, with a line of history unless all went well.
fn as_move(held: Held, outcome: &Outcome, decided: Settlement) -> Result<Move, IllegalMove> {
    let change = Change::settled(&decided, outcome);
    let change = Move::of(held.id, held.attempt, Phase::Sending, change)?;
    let change = match decided {
        Settlement::Sent { provider_id } => {
            let sent = change.proof(Source::Answer, provider_id);
            if !held.in_doubt {
                return Ok(sent);
            }
            sent
        }
        Settlement::Failed
        | Settlement::Queued { .. }
        | Settlement::Doubt { .. }
        | Settlement::Parked { .. } => change,
    };
    let (text, told) = tell(outcome);
    Ok(change.text(text).note("worker", "outcome", told))
}

/// An outcome's name among the metrics.
#[must_use]
pub fn label(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Accepted { already: false, .. } => "accepted",
        Outcome::Accepted { already: true, .. } => "accepted_already",
        Outcome::Refused {
            opted_out: false, ..
        } => "refused",
        Outcome::Refused {
            opted_out: true, ..
        } => "opted_out",
        Outcome::NotSent { cause, .. } => cause.as_str(),
        Outcome::Unknown { cause, .. } => cause.as_str(),
    }
}

/// The provider's words, and the outcome in ours.
#[must_use]
pub fn tell(outcome: &Outcome) -> (&str, String) {
    let said = |words: &str, text: &str| {
        if text.is_empty() {
            words.to_owned()
        } else {
            format!("{words}: {text}")
        }
    };
    match outcome {
        Outcome::Accepted { already: true, .. } => ("", "the provider has it already".into()),
        Outcome::Accepted { .. } => ("", "accepted".into()),
        Outcome::Refused {
            opted_out: true,
            text,
        } => (text, said("refused, the recipient opted out", text)),
        Outcome::Refused { text, .. } => (text, said("refused", text)),
        Outcome::NotSent { cause, text, .. } => (text, said(not_sent_words(*cause), text)),
        Outcome::Unknown { cause, text, .. } => (text, said(doubt_words(*cause), text)),
    }
}

fn not_sent_words(cause: NotSent) -> &'static str {
    match cause {
        NotSent::Unreachable => "certainly not sent, the provider could not be reached",
        NotSent::Throttled => "certainly not sent, the provider wants us to slow down",
        NotSent::NotProcessed => "certainly not sent, the provider did not process it",
        NotSent::Account => "certainly not sent, the provider refuses the account",
        NotSent::NoForm => "certainly not sent, the provider has no form for it as configured now",
        NotSent::LeaseTooShort => "certainly not sent, no request was made",
        NotSent::ShuttingDown => "certainly not sent, no request was made",
    }
}

/// Why a notification is in doubt, for a tired reader.
#[must_use]
pub fn doubt_words(cause: Doubt) -> &'static str {
    match cause {
        Doubt::Timeout => "in doubt, it timed out after the request left",
        Doubt::ConnectionLost => "in doubt, the connection ended after the request left",
        Doubt::ServerError => "in doubt, the provider answered with an error that says nothing",
        Doubt::Unintelligible => "in doubt, the provider's answer proves nothing",
        Doubt::InProgress => "in doubt, the provider is still working on an earlier request",
        Doubt::KeyMismatch => {
            "in doubt, the provider knows this key with another body: a fault of ours"
        }
        Doubt::ReplayedFailure => "in doubt, the provider repeats a stored failure",
        Doubt::WorkerLost => "in doubt, the worker that held it did not come back",
    }
}
