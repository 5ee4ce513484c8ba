//! A worker's steps: delivery, claim, request, outcome, settling.

use nuncio::domain::outcome::{Doubt, NotSent};
use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy;
use nuncio::domain::settle::Attempt;

use crate::decisions;
use crate::process::{Held, Worker};
use crate::provider::{Flight, Learnt, Provider};
use crate::row::Row;
use crate::setting::{LEASE, Mutation, TIMEOUT};
use crate::state::State;
use crate::steps::{Steps, What, due};

const WHO: &str = "worker";

pub fn steps(steps: &mut Steps<'_>) {
    for (index, worker) in steps.state.workers.iter().enumerate() {
        // Two in the same state have the same steps.
        if index > 0 && steps.state.workers[index - 1] == *worker {
            continue;
        }
        match *worker {
            Worker::Idle => idle(steps, index),
            Worker::Delivered { token, left } => delivered(steps, index, token, left),
            Worker::Held(held) => claimed(steps, index, held),
            Worker::Requesting(held, flight) => requesting(steps, index, held, flight),
            Worker::Settling {
                attempt,
                sends,
                in_doubt,
                learnt,
            } => {
                let held = (attempt, sends, in_doubt);
                settling(steps, index, held, learnt);
            }
        }
        if *worker != Worker::Idle {
            killed(steps, index);
        }
    }
}

fn becoming(steps: &Steps<'_>, index: usize, worker: Worker) -> State {
    let mut next = steps.now();
    next.workers[index] = worker;
    next
}

fn killed(steps: &mut Steps<'_>, index: usize) {
    let mut next = becoming(steps, index, Worker::Idle);
    match steps.state.workers[index] {
        Worker::Delivered { .. } if !steps.setting.mutated(Mutation::AckBeforeTheClaim) => {
            next.queue += 1;
        }
        Worker::Requesting(_, flight) => next.provider.abandon(steps.setting, flight),
        Worker::Idle | Worker::Delivered { .. } | Worker::Held(_) | Worker::Settling { .. } => {}
    }
    steps.add(WHO, "is killed", 1, next);
}

fn idle(steps: &mut Steps<'_>, index: usize) {
    if steps.state.queue > 0 {
        let delivered = Worker::Delivered { token: 0, left: 0 };
        let mut next = becoming(steps, index, delivered);
        next.queue -= 1;
        steps.add(WHO, "takes a delivery", 0, next);
    }
    if due(steps.state, Phase::Queued) {
        let mut next = steps.now();
        let provider = next.provider_in_use(steps.setting);
        if let Some(row) = &mut next.row {
            let known = row.request;
            row.claim_due(steps.setting, provider, next.expired);
            if row.phase == Phase::Sending {
                let stamp = match known {
                    None => Some(false),
                    Some(bytes) if bytes != next.bytes => Some(true),
                    Some(_) => None,
                };
                next.workers[index] = Worker::Held(Held {
                    stamp,
                    ..held(row, provider, next.bytes, LEASE)
                });
            }
        }
        steps.add(WHO, "claims the due row", 0, next);
    }
}

fn held(row: &Row, provider: u8, bytes: u8, left: u8) -> Held {
    Held {
        attempt: row.attempt,
        sends: row.sends,
        in_doubt: row.doubt.is_some(),
        generation: row.generation,
        provider,
        bytes,
        left,
        stamp: None,
    }
}

/// The claim, acked with its commit. A kill between the two is the broker delivering again.
fn delivered(steps: &mut Steps<'_>, index: usize, token: u8, left: u8) {
    let mut next = steps.now();
    let (token, left) = if token == 0 {
        next.tokens += 1;
        (next.tokens, LEASE)
    } else {
        (token, left)
    };
    let provider = next.provider_in_use(steps.setting);
    let row = match next.row {
        None => {
            let row = Row::claimed(provider, next.bytes, token, next.expired);
            next.row = Some(row);
            let mut unsure = next.clone();
            unsure.workers[index] = Worker::Delivered { token, left };
            steps.add(WHO, "claims, and the commit is not confirmed", 1, unsure);
            row
        }
        Some(row) => row,
    };
    let ours = row.owner == token && row.attempt == 1;
    let claims = if steps.setting.mutated(Mutation::RedeliveryClaimsAgain) {
        row.phase == Phase::Sending
    } else {
        ours && row.phase == Phase::Sending
    };
    next.workers[index] = if claims {
        // What it has rendered is what it has claimed with.
        Worker::Held(held(&row, row.provider, row.request.unwrap_or(0), left))
    } else {
        Worker::Idle
    };
    let what = if claims {
        "claims"
    } else {
        "drops a duplicate"
    };
    steps.add(WHO, what, 0, next);
}

fn claimed(steps: &mut Steps<'_>, index: usize, held: Held) {
    if let Some(new_key) = held.stamp {
        let mut next = steps.now();
        let stands = next
            .row
            .as_mut()
            .is_some_and(|row| row.stamp(held.attempt, held.provider, held.bytes, new_key));
        next.workers[index] = if stands {
            Worker::Held(Held {
                generation: held.generation + u8::from(new_key),
                stamp: None,
                ..held
            })
        } else {
            Worker::Idle
        };
        steps.add(WHO, "stamps the row", 0, next);
        return;
    }
    if held.left < TIMEOUT && !steps.setting.mutated(Mutation::NoLeaseCheck) {
        let late = Learnt::NotSent(NotSent::LeaseTooShort);
        let next = becoming(steps, index, settling_with(held, late));
        steps.add(WHO, "came back too late to begin", 0, next);
        return;
    }
    let flight = Provider::flight(steps.setting, held.provider, held.generation, held.bytes);
    let mut next = becoming(steps, index, Worker::Requesting(held, flight));
    next.request_goes_out(held.attempt, TIMEOUT);
    next.seen.sent_in_doubt |=
        held.in_doubt && steps.setting.policy == Policy::AtMostOnce && next.seen.forced == 0;
    steps.add(WHO, "makes its request", 0, next);
}

fn settling_with(held: Held, learnt: Learnt) -> Worker {
    Worker::Settling {
        attempt: held.attempt,
        sends: held.sends,
        in_doubt: held.in_doubt,
        learnt,
    }
}

fn requesting(steps: &mut Steps<'_>, index: usize, held: Held, flight: Flight) {
    let provider = steps.state.provider.clone();
    for (after, learnt, faults) in provider.reactions(steps.setting, flight) {
        let mut next = becoming(steps, index, settling_with(held, learnt));
        next.provider = after.clone();
        steps.add(WHO, What::Heard("gets its answer", learnt), faults, next);
        if after != provider {
            let lost = Learnt::Unknown(Doubt::ConnectionLost);
            let mut next = becoming(steps, index, settling_with(held, lost));
            next.provider = after;
            let what = What::Heard("loses its answer", learnt);
            steps.add(WHO, what, faults + 1, next);
        }
    }
    let gave_up = Learnt::Unknown(Doubt::Timeout);
    let mut next = becoming(steps, index, settling_with(held, gave_up));
    next.provider.abandon(steps.setting, flight);
    steps.add(WHO, "gives up waiting", 1, next);
}

fn settling(steps: &mut Steps<'_>, index: usize, held: (u8, u8, bool), learnt: Learnt) {
    let (attempt, sends, in_doubt) = held;
    let claim = Attempt {
        number: attempt.into(),
        sends: sends.into(),
        max_sends: steps.setting.max_sends.into(),
        in_doubt,
    };
    let change = decisions::settle(steps.setting, claim, learnt);
    let mut next = steps.now();
    let done = next.write(steps.setting, attempt, Phase::Sending, &change);
    if done {
        steps.add(
            WHO,
            "settles, and the commit is not confirmed",
            1,
            next.clone(),
        );
    }
    next.workers[index] = Worker::Idle;
    let what = if done {
        What::Wrote(change.to)
    } else {
        What::Plain("settles nothing: somebody else decided")
    };
    steps.add(WHO, what, 0, next);
}
