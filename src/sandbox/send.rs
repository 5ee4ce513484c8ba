//! `POST /send`: in front of the provider, in the provider, and behind it.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use bytes::Bytes;

use super::answer::{Answer, Refusal, bad_request};
use super::arrival::Arrival;
use super::clock::micros;
use super::fault::Fault;
use super::keys::{Claim, Ticket};
use super::message::Message;
use super::server::cut;
use super::state::Sandbox;
use super::{edge, front};

/// Refused as a bad number.
const BAD_NUMBER: &str = "+15550000001";
/// Refused as opted out.
const OPTED_OUT: &str = "+15550000002";

pub(super) async fn send(
    State(sandbox): State<Arc<Sandbox>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    sandbox.tally.requests.add();
    let message = match Message::parse(&body) {
        Ok(message) => message,
        Err(error) => {
            sandbox.tally.malformed.add();
            return bad_request(&error.to_string());
        }
    };
    let arrival = Arrival::record(sandbox, message, &headers, &body);
    if let Fault::SlowAccept(_) = arrival.fault {
        // In its own task: a provider that is slow to accept does so after the client gave up too.
        return tokio::spawn(arrival.run()).await.unwrap_or_else(|_| cut());
    }
    arrival.run().await
}

impl Arrival {
    async fn run(mut self) -> Response {
        let response = match front::stopped(self.fault, &self.sandbox.clock) {
            Some(response) => response,
            None => self.handle().await,
        };
        self.answered(&response);
        response
    }

    async fn handle(&self) -> Response {
        let claim = self.claim();
        self.hold_before().await;
        let (answer, replayed, ticket) = match claim {
            None => (self.process(), false, None),
            Some(Claim::Fresh(mut ticket)) => {
                let answer = self.process();
                self.remember(&mut ticket, answer);
                (answer, false, Some(ticket))
            }
            Some(Claim::Replay(answer)) => (answer, true, None),
            Some(Claim::Mismatch) => (Answer::Mismatch, false, None),
            Some(Claim::InProgress) => (Answer::InProgress, false, None),
        };
        self.hold_after().await;
        drop(ticket);
        self.count(answer, replayed);
        let mut response = edge::deliver(self, answer);
        if replayed {
            let yes = HeaderValue::from_static("true");
            response.headers_mut().insert("idempotent-replayed", yes);
        }
        response
    }

    fn claim(&self) -> Option<Claim> {
        let (sandbox, key) = (&self.sandbox, self.key.as_ref()?);
        let window = micros(sandbox.window(&self.plan.plan));
        Some(
            sandbox
                .keys
                .claim(key, self.body_hash, sandbox.clock.now_us(), window),
        )
    }

    /// The provider's decision on a message that it sees for the first time.
    fn process(&self) -> Answer {
        if self.fault == Fault::Fail500Cached {
            return Answer::Failed;
        } else if self.fault == Fault::ErrorIn200 {
            return Answer::ErrorIn200;
        }
        match self.message.to.as_str() {
            BAD_NUMBER => Answer::Refused(Refusal::BadNumber),
            OPTED_OUT => Answer::Refused(Refusal::OptedOut),
            _ if self.fault == Fault::Lying2xx => Answer::Accepted(self.sandbox.next()),
            _ => Answer::Accepted(self.accept()),
        }
    }

    fn accept(&self) -> u64 {
        let id = self.sandbox.accept(&self.name, &self.message);
        if self.fault == Fault::Twice {
            self.sandbox.accept(&self.name, &self.message);
        }
        id
    }

    fn remember(&self, ticket: &mut Ticket, answer: Answer) {
        if self.fault != Fault::AcceptThen500Forget {
            ticket.remember(answer);
        }
    }

    fn count(&self, answer: Answer, replayed: bool) {
        let tally = &self.sandbox.tally;
        if replayed {
            tally.replays.add();
        } else if answer == Answer::Mismatch {
            tally.mismatches.add();
        } else if answer == Answer::InProgress {
            tally.in_progress.add();
        }
    }

    async fn hold_before(&self) {
        if let Fault::SlowAccept(time) = self.fault {
            tokio::time::sleep(time).await;
        } else if self.fault == Fault::HangBefore {
            self.sandbox.gate.wait(self.gate).await;
        }
    }

    async fn hold_after(&self) {
        let latency = self.sandbox.latency(&self.plan.plan);
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        if let Fault::Slow(time) = self.fault {
            tokio::time::sleep(time).await;
        } else if self.fault == Fault::Hang {
            self.sandbox.gate.wait(self.gate).await;
        }
    }
}
