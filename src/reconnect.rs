//! The pauses between tries to reach a server of our own: the database, the broker.
//!
//! The only file that uses the crate `backoff`, which is no longer maintained (RUSTSEC-2025-0012).

use std::time::Duration;

use backoff::ExponentialBackoff;
use backoff::backoff::Backoff as _;
use tokio_util::sync::CancellationToken;

/// Growing, jittered pauses: from 200 ms to 5 s, without end. A server that comes back is found
/// within 5 s, and a fleet of workers does not meet it all at once.
#[derive(Debug)]
pub struct Reconnect {
    pauses: ExponentialBackoff,
}

impl Default for Reconnect {
    fn default() -> Self {
        Self {
            pauses: ExponentialBackoff {
                current_interval: Duration::from_millis(200),
                initial_interval: Duration::from_millis(200),
                max_interval: Duration::from_secs(5),
                max_elapsed_time: None,
                ..ExponentialBackoff::default()
            },
        }
    }
}

impl Reconnect {
    /// Starts again from the shortest pause.
    pub fn reset(&mut self) {
        self.pauses.reset();
    }

    /// Waits for the next pause. Says whether to go on: `false` when `stop` came first.
    pub async fn pause(&mut self, stop: &CancellationToken) -> bool {
        let pause = self.pauses.next_backoff().unwrap_or(Duration::from_secs(5));
        tokio::select! {
            () = stop.cancelled() => false,
            () = tokio::time::sleep(pause) => true,
        }
    }
}
