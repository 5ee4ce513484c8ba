//! The on-call's hands, on a real Postgres.
//!
//! Every test has a database of its own on the server that NUNCIO_DATABASE_URL names; without one
//! the tests fail.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop at that line"
)]

mod explain;
mod harness;
mod list;
mod prune;
mod resolve;
