//! The choices, under the names that this module's formulas use.

pub use crate::domain::capability::{Dedupe, LookUp as Lookup};
pub use crate::domain::policy::Policy;
