//! Requests to a provider that does everything wrong, through the real client, the declarative
//! provider and the real worker.

mod account;
mod certificate;
mod connections;
mod markers;
mod stages;
