//! A request from its arrival to its answer.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::response::Response;

use super::clock::wall_us;
use super::entry::{Outcome, Seen};
use super::fault::Fault;
use super::message::{Hash, Message, sha256};
use super::name::Name;
use super::plan::ActivePlan;
use super::release::Arrived;
use super::server::is_cut;
use super::state::Sandbox;

/// A request that was written down and has met its fault.
pub(super) struct Arrival {
    pub(super) sandbox: Arc<Sandbox>,
    pub(super) plan: Arc<ActivePlan>,
    pub(super) message: Message,
    pub(super) name: Name,
    /// None without the header, and with idempotency switched off.
    pub(super) key: Option<Name>,
    pub(super) body_hash: Hash,
    pub(super) fault: Fault,
    pub(super) gate: Arrived,
    seq: u64,
    answered: bool,
}

impl Arrival {
    pub(super) fn record(
        sandbox: Arc<Sandbox>,
        message: Message,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Self {
        let (plan, seq, gate) = (sandbox.plan(), sandbox.next(), sandbox.gate.arrive());
        if let Some(published_us) = message.published_us() {
            sandbox
                .delays
                .record(wall_us().saturating_sub(published_us));
        }
        let key = idempotency_key(headers);
        let name = Name::new(&message.reference);
        let draw = |number| plan.fault(&message.reference, &message.to, number);
        let (fault, body_hash) = if sandbox.settings.forget {
            (draw(seq), key.as_ref().map_or([0; 32], |_| sha256(body)))
        } else {
            let body_hash = sha256(body);
            let seen = Seen {
                seq,
                at_us: sandbox.clock.now_us(),
                key: key.clone(),
                body_hash,
                body: sandbox.settings.keep_bodies.then(|| body.into()),
                fault: Fault::Ok,
                outcome: Outcome::Open,
            };
            (sandbox.book.arrive(&name, seen, draw), body_hash)
        };
        sandbox.tally.fault(fault);
        let key = key.filter(|_| sandbox.idempotency(&plan.plan));
        let answered = sandbox.settings.forget;
        Arrival {
            sandbox,
            plan,
            message,
            name,
            key,
            body_hash,
            fault,
            gate,
            seq,
            answered,
        }
    }

    /// Writes down how it was answered.
    pub(super) fn answered(&mut self, response: &Response) {
        if !std::mem::replace(&mut self.answered, true) {
            let outcome = if is_cut(response) {
                Outcome::Cut
            } else {
                Outcome::Status(response.status().as_u16())
            };
            self.sandbox.book.answer(&self.name, self.seq, outcome);
        }
    }
}

impl Drop for Arrival {
    /// Not answered by now: the client went away and its connection was dropped.
    fn drop(&mut self) {
        if !self.answered {
            self.sandbox
                .book
                .answer(&self.name, self.seq, Outcome::Gone);
        }
    }
}

fn idempotency_key(headers: &HeaderMap) -> Option<Name> {
    let key = headers.get("idempotency-key")?;
    let key = String::from_utf8_lossy(key.as_bytes());
    (!key.is_empty()).then(|| Name::new(&key))
}
