//! Requests held until somebody lets them go.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// The gate behind which `hang` and `hang_before` wait.
#[derive(Debug, Default)]
pub(super) struct Gate {
    openings: AtomicU64,
    opened: Notify,
    holding: AtomicU64,
}

/// The gate as a request found it on arrival; an opening after that lets it through, even one that
/// comes before the request waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrived(u64);

impl Gate {
    pub(super) fn arrive(&self) -> Arrived {
        Arrived(self.openings.load(Ordering::Acquire))
    }

    /// Waits for the first opening after `arrived`.
    pub(super) async fn wait(&self, arrived: Arrived) {
        self.holding.fetch_add(1, Ordering::Relaxed);
        let _held = Held(&self.holding);
        loop {
            let opened = self.opened.notified();
            tokio::pin!(opened);
            opened.as_mut().enable();
            if self.arrive().0 != arrived.0 {
                return;
            }
            opened.await;
        }
    }

    /// Lets everyone through who arrived before now; how many were waiting.
    pub(super) fn open(&self) -> u64 {
        self.openings.fetch_add(1, Ordering::Release);
        self.opened.notify_waiters();
        self.holding()
    }

    pub(super) fn holding(&self) -> u64 {
        self.holding.load(Ordering::Relaxed)
    }
}

struct Held<'a>(&'a AtomicU64);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
