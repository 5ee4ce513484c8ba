//! nuncio sends notifications for other services: it takes them from RabbitMQ, records in a
//! Postgres ledger that each is `sending` and then that it is `sent`, and calls an SMS or email
//! provider in between. When an answer is lost it asks the provider's log, or repeats the request
//! under the same key, and otherwise does what the channel's policy says. It never claims "exactly
//! once".
//!
//! # The way of a message
//!
//! | step | where | what |
//! |---|---|---|
//! | read | [`intake::consumer`], [`intake::subscription`] | deliveries of one queue, in batches, each with a send slot in hand |
//! | decode | [`intake::decode`] | bytes to a [`domain::notification::Notification`], or the reason it is quarantined |
//! | render | [`provider`] | the request, and the hash of its bytes |
//! | claim | [`ledger::claim`] | one statement, committed: claimed, queued, duplicate, conflict |
//! | ack | [`intake::consumer`] | one frame for the batch, after the commit and before any request |
//! | send | [`worker::send`] | one request through [`provider::client`], classified by how far it got |
//! | decide | [`domain::settle`] | a pure function of attempt and outcome |
//! | settle | [`worker::settler`], [`ledger::moves`] | the compare-and-set that every change of phase goes through |
//!
//! Rows that come due again ([`worker::due`]) enter the same line at "render". Rows whose lease is
//! past belong to the [`resolver`], which asks, and decides by [`domain::resolve`]. What that cannot
//! settle is a person's: [`ops`].
//!
//! # What holds
//!
//! 1. No request without a committed claim, with enough lease left for the whole request.
//! 2. No ack before the ledger knows, and none that waits for a provider.
//! 3. Every change of phase is compare-and-set on id, attempt and phase.
//! 4. Doubt ends only by evidence.
//! 5. At-most-once: no request while in doubt, except a replay inside the provider's window with
//!    the same key and the same bytes.
//! 6. At-least-once: doubt ends as sent or in another send, unless the message expired, its attempts
//!    are used up, or a person closed it.
//! 7. Same generation, same key, same bytes.
//! 8. The database's clock decides; a worker's clock only measures durations.
//! 9. Nothing of the database is held across a provider call: a pool of one is enough.
//! 10. Nothing vanishes: published = rows + duplicates + quarantined.
//! 11. Another provider only when the earlier attempts certainly had no effect.
//! 12. Content, recipients and secrets never reach a log, a metric or an error text
//!     ([`telemetry`] has the rules).
//!
//! The README lists the test of each.
//!
//! # The rest
//!
//! [`config`] reads the one TOML file and reports every mistake at once. [`app`] builds a process and
//! drains it. [`web`] answers probes, with [`metrics`]. [`sandbox`] is a provider to try things
//! against, [`plan`] the arithmetic of policies. [`reconnect`] has the pauses between tries to reach
//! the database or the broker, [`table`] the look of tables, [`check`] the command of that name.

pub mod app;
pub mod check;
pub mod config;
pub mod demo;
pub mod domain;
pub mod intake;
pub mod ledger;
pub mod metrics;
pub mod ops;
pub mod plan;
pub mod provider;
pub mod reconnect;
pub mod resolver;
pub mod sandbox;
pub mod table;
pub mod telemetry;
pub mod web;
pub mod worker;
