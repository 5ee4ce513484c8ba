//! The records of one reference.

use super::fault::Fault;
use super::message::Hash;
use super::name::Name;

/// Everything known of one reference.
#[derive(Debug, Default)]
pub(super) struct Entry {
    /// In order of arrival.
    pub(super) requests: Vec<Seen>,
    /// In order of acceptance.
    pub(super) sends: Vec<Sent>,
}

/// A request that arrived, whatever became of it.
#[derive(Debug)]
pub(super) struct Seen {
    /// Unique in this sandbox.
    pub(super) seq: u64,
    pub(super) at_us: u64,
    pub(super) key: Option<Name>,
    pub(super) body_hash: Hash,
    pub(super) body: Option<Box<[u8]>>,
    pub(super) fault: Fault,
    pub(super) outcome: Outcome,
}

/// What the caller got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Not answered yet.
    Open,
    /// An answer with this status; with some faults its body never ends or is cut.
    Status(u16),
    /// The connection was closed without an answer.
    Cut,
    /// The caller closed the connection before the answer.
    Gone,
}

/// A message physically sent.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) id: u64,
    pub(super) at_us: u64,
    pub(super) to: Box<str>,
    pub(super) text_hash: Hash,
}
