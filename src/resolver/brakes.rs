//! What keeps a stalled provider or a lost log from becoming a mass resend.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::domain::resolve::Verdict;

/// Look-ups of one provider that may fail in a row before the pass asks it no more: a log that is
/// down is not asked once a row.
const FAILURES: u32 = 5;

/// When a row that was held back is looked at again.
const HELD_BACK: Duration = Duration::from_secs(30);

/// The limits of one pass.
#[derive(Debug)]
pub struct Brakes {
    resends_left: AtomicU32,
    failures: Mutex<HashMap<Arc<str>, u32>>,
}

impl Brakes {
    /// A pass that may send this many notifications again while in doubt.
    #[must_use]
    pub fn new(max_resends: u32) -> Self {
        Self {
            resends_left: AtomicU32::new(max_resends),
            failures: Mutex::default(),
        }
    }

    /// Turns a resend above the cap into a wait.
    #[must_use]
    pub fn hold_back(&self, verdict: Verdict) -> Verdict {
        if !matches!(verdict, Verdict::SendAgain { .. }) {
            return verdict;
        }
        let take_one = |left: u32| left.checked_sub(1);
        match self
            .resends_left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take_one)
        {
            Ok(_) => verdict,
            Err(_) => Verdict::Wait {
                pause: HELD_BACK,
                empty_read: false,
            },
        }
    }

    /// Whether this provider's log has failed too often in this pass.
    #[must_use]
    pub fn look_ups_rest(&self, provider: &Arc<str>) -> bool {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.get(provider).is_some_and(|n| *n >= FAILURES)
    }

    /// Counts a look-up.
    pub fn looked_up(&self, provider: &Arc<str>, answered: bool) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let n = failures.entry(provider.clone()).or_default();
        *n = if answered { 0 } else { n.saturating_add(1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resends_above_the_cap_wait() {
        let brakes = Brakes::new(2);
        let again = || Verdict::SendAgain { new_key: false };
        assert_eq!(brakes.hold_back(again()), again());
        assert_eq!(brakes.hold_back(Verdict::Park), Verdict::Park);
        assert_eq!(brakes.hold_back(again()), again());
        assert!(matches!(brakes.hold_back(again()), Verdict::Wait { .. }));
    }

    #[test]
    fn a_log_that_fails_five_times_in_a_row_is_left_alone() {
        let brakes = Brakes::new(0);
        let provider: Arc<str> = "p".into();
        for _ in 0..4 {
            brakes.looked_up(&provider, false);
        }
        brakes.looked_up(&provider, true);
        for _ in 0..5 {
            assert!(!brakes.look_ups_rest(&provider));
            brakes.looked_up(&provider, false);
        }
        assert!(brakes.look_ups_rest(&provider));
    }
}
