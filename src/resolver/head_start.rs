//! After trouble with the database, living workers go first.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Resolver;

/// How long workers have to write what they know once the database takes writes again. A settler
/// that waits for it tries at least every 7.5 s; see [`crate::reconnect`].
const HEAD_START: Duration = Duration::from_secs(10);

/// How often the database is asked whether it takes writes.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl Resolver {
    /// Waits, after a pass that broke off, until the database takes writes again, and then until
    /// workers that waited for it have written their outcomes.
    ///
    /// Leases go on ending while the database is away. A resolver that came back first would take
    /// over rows whose outcome a living worker holds in its hand: at-least-once would send them
    /// again, at-most-once would park them. An outage that no pass fell into was shorter than the
    /// time between two passes.
    ///
    /// Ends early when told to stop.
    pub async fn let_workers_go_first(&self, stop: &CancellationToken) {
        let there_again = async {
            while !matches!(self.ledger.writable().await, Ok(true)) {
                tokio::time::sleep(LOOK_EVERY).await;
            }
            tokio::time::sleep(HEAD_START).await;
        };
        stop.run_until_cancelled(there_again).await;
    }
}
