//! A notification's way from the claim to rest: slots, sending, settling, and the rows that come
//! due again.

pub mod due;
pub mod lane;
pub mod send;
pub mod settler;
