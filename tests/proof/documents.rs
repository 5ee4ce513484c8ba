//! The tests that documents name exist.
