//! Waiting for what a test is about, instead of for a while.

use std::time::{Duration, Instant};

/// How long a condition may take to hold. Far longer than anything here takes on a busy machine:
/// only a test that fails waits this long.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Waits until `look` finds what it looks for. `what` names it for the message of a test that
/// waited in vain.
pub async fn wait_until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(
            began.elapsed() < PATIENCE,
            "waited {} s in vain: {what}",
            PATIENCE.as_secs()
        );
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Runs something to its end from where nothing can be awaited: a `drop`. `None` when it failed.
pub(super) fn aside<T: Send + 'static, E>(
    work: impl Future<Output = Result<T, E>> + Send + 'static,
) -> Option<T> {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .ok()?;
        runtime.block_on(work).ok()
    })
    .join()
    .ok()?
}
