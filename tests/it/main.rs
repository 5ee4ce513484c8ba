//! Tests of the real programs on a real Postgres and a real RabbitMQ. `scripts/test` runs them.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what a test did not expect ends it, with a message"
)]

mod broker;
mod cases;
mod claim;
mod content;
mod dead_letters;
mod demo;
mod harness;
mod harness_tests;
mod http;
mod in_flight;
mod intake;
mod kill;
mod ledger;
mod ops;
mod proof;
mod quarantine;
mod replay;
mod replay_record;
mod sandbox;
mod shutdown;
mod stalled;
