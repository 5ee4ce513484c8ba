//! Rows that the ledger owns and that have come due: retries, rows with a `send_at`, and what a
//! person or the resolver put back. They enter the same line as what comes from the queue.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::lane::{Held, Job, Lane};
use super::send::finish;
use crate::domain::outcome::{NotSent, Outcome};
use crate::ledger::due::DueRow;
use crate::ledger::{Ledger, LedgerError};
use crate::metrics::result;
use crate::reconnect::Reconnect;

/// How often the due rows are looked at: `send_at` and Retry-After are kept to the second.
const EVERY: Duration = Duration::from_millis(500);

/// The most rows in one claim.
const PAGE: usize = 200;

/// One claim of due rows, with the slots that its rows are sent in.
struct Try {
    token: Uuid,
    lease_ends: Instant,
    slots: OwnedSemaphorePermit,
}

/// Claims due rows of a channel until told to stop.
pub async fn claim_due_rows(lane: Arc<Lane>, ledger: Ledger, stop: CancellationToken) {
    let mut reconnect = Reconnect::default();
    let mut unanswered = None;
    loop {
        let pause = match lane.resting() {
            Some(rest) => rest,
            None => match pass(&lane, &ledger, &stop, &mut unanswered).await {
                Ok(full) => {
                    reconnect.reset();
                    if full { Duration::ZERO } else { EVERY }
                }
                Err(error) => {
                    lane.metrics.ledger_errors.inc();
                    tracing::warn!(channel = %lane.channel.name, %error, "due rows could not be claimed");
                    if !reconnect.pause(&stop).await {
                        return;
                    }
                    continue;
                }
            },
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// One look at the due rows of a channel. Says whether there may be more. A claim without an answer
/// stays in `unanswered`, and is asked about before another is made.
async fn pass(
    lane: &Lane,
    ledger: &Ledger,
    stop: &CancellationToken,
    unanswered: &mut Option<Try>,
) -> Result<bool, LedgerError> {
    let channel = &lane.channel;
    let answer = if let Some(earlier) = unanswered {
        ledger.claimed_by(&channel.name, earlier.token).await
    } else {
        let Some(slots) = lane.take_slots(PAGE, stop).await else {
            return Ok(false);
        };
        let wanted = slots.num_permits();
        let new = unanswered.insert(Try {
            token: Uuid::new_v4(),
            lease_ends: Instant::now() + channel.lease,
            slots,
        });
        let provider = &channel.provider.name;
        ledger
            .claim_due(&channel.name, provider, channel.lease, wanted, new.token)
            .await
    };
    let page = answer?;
    let Some(Try {
        lease_ends,
        mut slots,
        ..
    }) = unanswered.take()
    else {
        return Ok(false);
    };
    let wanted = slots.num_permits();
    let full = page.claimed.len() + page.expired == wanted;
    for (what, rows) in [("due", page.claimed.len()), ("expired", page.expired)] {
        if rows > 0 {
            lane.metrics
                .claims
                .get_or_create(&result(&channel.name, what))
                .inc_by(rows as u64);
        }
    }
    for row in page.claimed {
        if let Some(slot) = slots.split(1) {
            begin(lane, ledger, row, lease_ends, slot).await;
        }
    }
    Ok(full)
}

/// Renders the request of a claimed row again. Where it differs from what is in the ledger (the
/// configuration changed, or a new send key is due), the ledger is told before the request is made;
/// a row of which it cannot be told goes back, and does not hold up the others.
/// Another provider's log says nothing about a doubt that is this one's, even under the same bytes:
/// it gets a send key of its own.
async fn begin(
    lane: &Lane,
    ledger: &Ledger,
    row: DueRow,
    lease_ends: Instant,
    slot: OwnedSemaphorePermit,
) {
    let held = Held {
        id: row.notification.id,
        attempt: row.attempt,
        sends: row.sends,
        in_doubt: row.in_doubt,
    };
    let mut generation = row.generation;
    let mut rendered = lane.request(&row.notification, generation);
    if let (Ok(request), Some(known)) = (&rendered, &row.request_hash)
        && (request.hash()[..] != known[..] || row.provider != *lane.channel.provider.name)
    {
        generation += 1;
        rendered = lane.request(&row.notification, generation);
    }
    let request = match rendered {
        Ok(request) => request,
        Err(wrong) => {
            let outcome = Outcome::NotSent {
                cause: NotSent::NoForm,
                retry_after: None,
                text: wrong.to_string(),
            };
            finish(lane, held, &outcome, slot).await;
            return;
        }
    };
    let new_key = generation != row.generation;
    let provider = &*lane.channel.provider.name;
    let known = row.request_hash.is_some() && !new_key;
    if !known {
        let stamped = ledger.stamp(held.id, row.attempt, provider, request.hash(), new_key);
        match stamped.await {
            Ok(true) => {}
            Ok(false) => {
                lane.metrics.moves_lost.inc();
                return;
            }
            Err(error) => {
                lane.metrics.ledger_errors.inc();
                let outcome = Outcome::NotSent {
                    cause: NotSent::LeaseTooShort,
                    retry_after: None,
                    text: format!("the ledger could not be told of the request: {error}"),
                };
                finish(lane, held, &outcome, slot).await;
                return;
            }
        }
    }
    let job = Job {
        held,
        notification: Arc::new(row.notification),
        request,
        lease_ends,
        slot,
    };
    // The receiver lives as long as the lane.
    let _ = lane.work.send(job).await;
}
