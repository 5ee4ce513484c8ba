//! The HTTP client.
/// The largest answer that is read, in bytes.
pub const BODY_LIMIT: usize = 64 * 1024;
