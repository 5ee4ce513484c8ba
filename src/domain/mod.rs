//! What nuncio knows and decides: no I/O, no async, no clock, no randomness.
//!
//! A clock reading or a random number that a decision needs is an argument of it, so every
//! decision can be tested in a table and driven by a model checker.

pub mod capability;
pub mod change;
pub mod identity;
pub mod mailbox;
pub mod notification;
pub mod outcome;
pub mod phase;
pub mod policy;
pub mod recipient;
pub mod resolve;
pub mod schedule;
pub mod segments;
pub mod settle;
