//! Faults on real processes, a real Postgres and a real RabbitMQ. `scripts/test` runs a short,
//! seeded selection; `scripts/chaos` runs it long. docs/chaos.md says what is injected and what
//! came out.
//!
//! A [`schedule`] is drawn from a seed, can be printed and read back, and is carried out in a
//! [`round`], which ends with everything healed, the resolver run to the end, and the assertions
//! that have to hold after anything.

#![expect(
    clippy::expect_used,
    reason = "what a test did not expect ends it, with a message"
)]

#[path = "../it/harness/mod.rs"]
mod harness;

mod action;
mod clocks;
mod draw;
mod fleet;
mod load;
mod long;
mod promises;
mod round;
mod schedule;
mod selection;
mod servers;
mod tally;
mod witness;
