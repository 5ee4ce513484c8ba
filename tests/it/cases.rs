//! Cases of `docs/cases.md` that no other module is about.

mod bodies;
mod isolation;
mod keys;
mod log;
mod once;
mod panic;
