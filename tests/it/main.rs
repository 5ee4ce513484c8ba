//! Tests of the real programs on a real Postgres and a real RabbitMQ. `scripts/test` runs them.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what a test did not expect ends it, with a message"
)]

mod claim;
mod harness;
mod harness_tests;
mod in_flight;
mod kill;
mod replay;
mod shutdown;
mod stalled;
