//! One batch of deliveries: decoded, rendered, claimed, quarantined where needed, and handed on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use lapin::BasicProperties;
use lapin::message::Delivery;
use lapin::types::{FieldTable, ShortString};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::decode::{Envelope, Rejection, decode};
use crate::domain::notification::Notification;
use crate::ledger::claim::{Claim, NewClaim};
use crate::ledger::quarantine::{Message, Quarantined};
use crate::ledger::{Ledger, LedgerError};
use crate::metrics::{self, ByReason, result};
use crate::provider::{Request, Unrenderable};
use crate::reconnect::Reconnect;
use crate::worker::lane::{Held, Job, Lane};

/// Why a message is quarantined over which our own code panicked.
const FAULT: &str = "fault_of_nuncio";

/// What happens to deliveries, up to the moment at which they may be acked.
#[derive(Clone)]
pub struct Intake {
    /// Where they are claimed.
    pub ledger: Ledger,
}

/// A delivery that could become a row.
struct Candidate {
    request: Request,
    delivery: Delivery,
}

impl Intake {
    /// Brings a batch to the ledger and hands what was claimed to the send tasks, one slot each.
    /// When it says `true`, every delivery of the batch is committed as a row, a duplicate or a
    /// quarantine record, and may be acked. `false`: told to stop before the database answered.
    pub async fn take(
        &self,
        lane: &Lane,
        batch: Vec<Delivery>,
        mut slots: OwnedSemaphorePermit,
        stop: &CancellationToken,
    ) -> bool {
        let label = metrics::channel(&lane.channel.name);
        lane.metrics
            .received
            .get_or_create(&label)
            .inc_by(batch.len() as u64);
        let mut rejected = Vec::new();
        let mut claims = Vec::with_capacity(batch.len());
        let mut candidates = Vec::with_capacity(batch.len());
        for delivery in batch {
            match read(lane, &delivery) {
                Ok((claim, request)) => {
                    claims.push(claim);
                    candidates.push(Candidate { request, delivery });
                }
                Err(rejection) => rejected.push(quarantined(lane, &delivery, rejection)),
            }
        }
        let began = Instant::now();
        let Some(answers) = self.claim(lane, &claims, stop).await else {
            return false;
        };
        let mut jobs = Vec::with_capacity(candidates.len());
        for ((claim, candidate), answer) in claims.into_iter().zip(candidates).zip(answers) {
            let name = &lane.channel.name;
            lane.metrics
                .claims
                .get_or_create(&result(name, answered(&answer)))
                .inc();
            match answer {
                Ok(Claim::Claimed) => jobs.push((claim.notification, candidate.request)),
                Ok(Claim::Queued | Claim::Expired) => {}
                Ok(Claim::Duplicate(_)) => {
                    lane.metrics.duplicates_dropped.get_or_create(&label).inc();
                }
                Ok(Claim::Conflict { standing, arrived }) => {
                    let rejection = Rejection {
                        reason: "key_conflict",
                        detail: format!(
                            "the key {} stands with other content: {standing} stands, {arrived} arrived",
                            claim.notification.id
                        ),
                    };
                    rejected.push(quarantined(lane, &candidate.delivery, rejection));
                }
                Err(rejection) => {
                    rejected.push(quarantined(lane, &candidate.delivery, rejection));
                }
            }
        }
        // What is claimed is sent, whatever becomes of the bad ones: their lease runs.
        hand_on(lane, jobs, began, &mut slots).await;
        self.quarantine(lane, &rejected, stop).await
    }

    /// Claims, until the database says what holds. Repeats carry the same token, so a claim whose
    /// commit was not confirmed is found to be ours. The halves of a batch that the database refuses
    /// have tokens of their own: a row of the left half is a duplicate in the right one, not ours.
    async fn claim(
        &self,
        lane: &Lane,
        claims: &[NewClaim],
        stop: &CancellationToken,
    ) -> Option<Vec<Result<Claim, Rejection>>> {
        if claims.is_empty() {
            return Some(Vec::new());
        }
        let token = Uuid::new_v4();
        let mut reconnect = Reconnect::default();
        loop {
            match self.ledger.claim(&lane.terms, claims, token).await {
                Ok(answers) => return Some(answers.into_iter().map(Ok).collect()),
                Err(error) if error.is_about_the_data() && claims.len() == 1 => {
                    return Some(vec![Err(unstorable(&error))]);
                }
                Err(error) if error.is_about_the_data() => {
                    let (left, right) = claims.split_at(claims.len() / 2);
                    let mut answers = Box::pin(self.claim(lane, left, stop)).await?;
                    answers.extend(Box::pin(self.claim(lane, right, stop)).await?);
                    return Some(answers);
                }
                Err(error) => {
                    lane.metrics.ledger_errors.inc();
                    tracing::warn!(channel = %lane.channel.name, %error, rows = claims.len(), "not claimed yet");
                    if !reconnect.pause(stop).await {
                        return None;
                    }
                }
            }
        }
    }

    async fn quarantine(
        &self,
        lane: &Lane,
        rejected: &[Quarantined],
        stop: &CancellationToken,
    ) -> bool {
        let mut reconnect = Reconnect::default();
        while let Err(error) = self.ledger.quarantine(rejected).await {
            lane.metrics.ledger_errors.inc();
            tracing::warn!(channel = %lane.channel.name, %error, "not quarantined yet");
            if !reconnect.pause(stop).await {
                return false;
            }
        }
        for message in rejected {
            let reason = ByReason {
                reason: message.reason.into(),
            };
            lane.metrics.quarantined.get_or_create(&reason).inc();
            tracing::warn!(
                channel = %lane.channel.name,
                reason = message.reason,
                detail = message.detail,
                "a message is quarantined"
            );
        }
        true
    }
}

async fn hand_on(
    lane: &Lane,
    claimed: Vec<(Arc<Notification>, Request)>,
    began: Instant,
    slots: &mut OwnedSemaphorePermit,
) {
    for (notification, request) in claimed {
        let Some(slot) = slots.split(1) else {
            return;
        };
        let job = Job {
            held: Held {
                id: notification.id,
                attempt: 1,
                sends: 1,
                in_doubt: false,
            },
            notification,
            request,
            lease_ends: began + lane.channel.lease,
            slot,
        };
        // The receiver lives as long as the lane.
        let _ = lane.work.send(job).await;
    }
}

fn read(lane: &Lane, delivery: &Delivery) -> Result<(NewClaim, Request), Rejection> {
    let channel = &lane.channel;
    let decoded = || decode(channel, &delivery.data, &envelope(&delivery.properties));
    // A message that our code cannot stand must not end the task that reads the queue.
    let decoded = catch_unwind(AssertUnwindSafe(decoded));
    let notification = decoded.unwrap_or_else(|_| {
        Err(Rejection {
            reason: FAULT,
            detail: Unrenderable::Fault.to_string(),
        })
    })?;
    let request = lane.request(&notification, 1).map_err(|wrong| Rejection {
        reason: match wrong {
            Unrenderable::Message(_) => "no_form",
            Unrenderable::Fault => FAULT,
        },
        detail: format!("provider {}: {wrong}", channel.provider.name),
    })?;
    let claim = NewClaim {
        notification: Arc::new(notification),
        request_hash: request.hash(),
    };
    Ok((claim, request))
}

fn unstorable(error: &LedgerError) -> Rejection {
    let code = match error {
        LedgerError::Database(sqlx::Error::Database(error)) => error.code().unwrap_or_default(),
        LedgerError::Database(_)
        | LedgerError::TooSlow
        | LedgerError::Newer(_)
        | LedgerError::Schema(_) => "".into(),
    };
    Rejection {
        reason: "unstorable",
        detail: format!("the database refuses it (SQLSTATE {code})"),
    }
}

fn answered(answer: &Result<Claim, Rejection>) -> &'static str {
    match answer {
        Ok(Claim::Claimed) => "claimed",
        Ok(Claim::Queued) => "queued",
        Ok(Claim::Expired) => "expired",
        Ok(Claim::Duplicate(_)) => "duplicate",
        Ok(Claim::Conflict { .. }) => "conflict",
        Err(_) => "unstorable",
    }
}

fn quarantined(lane: &Lane, delivery: &Delivery, rejection: Rejection) -> Quarantined {
    let beside = envelope(&delivery.properties);
    Quarantined {
        queue: lane.channel.queue.clone(),
        reason: rejection.reason,
        detail: rejection.detail,
        message: Message {
            body: delivery.data.clone(),
            message_id: beside.message_id,
            content_type: beside.content_type,
            cloud_event: beside.cloud_event,
        },
    }
}

fn envelope(properties: &BasicProperties) -> Envelope {
    Envelope {
        message_id: properties.message_id().as_ref().map(ToString::to_string),
        content_type: properties.content_type().as_ref().map(ToString::to_string),
        cloud_event: properties.headers().as_ref().and_then(cloud_event),
    }
}

/// Source and id of a CloudEvent in AMQP's binary mode. A header of another type is as good as none.
fn cloud_event(headers: &FieldTable) -> Option<(String, String)> {
    let header = |name: &str| {
        ["cloudEvents:", "cloudEvents_"]
            .into_iter()
            .find_map(|prefix| {
                let name = ShortString::from(format!("{prefix}{name}"));
                let value = headers.inner().get(&name)?;
                value.as_long_string().map(ToString::to_string)
            })
    };
    Some((header("source")?, header("id")?))
}
