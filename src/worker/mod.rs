//! A notification's way from the claim to rest: slots, sending, settling, and the rows that come
//! due again.

pub mod due;
pub mod lane;
pub mod send;
pub mod settler;

use std::time::Duration;

/// How long a statement may wait for more rows when more are certain to come: about a commit, since
/// that is what it saves. Longer would leave slots idle; shorter would not gather a batch.
const LINGER: Duration = Duration::from_millis(1);
