//! Where the services are.

use url::Url;

/// A URL that `scripts/test` puts into the environment. Without it a test fails; none is skipped.
pub fn url(name: &str) -> Url {
    let value = std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: run scripts/test, which starts Postgres and RabbitMQ")
    });
    Url::parse(&value).unwrap_or_else(|error| panic!("{name} is no URL: {error}"))
}

/// The words of NUNCIO_RABBITMQCTL, if it is set.
pub fn rabbitmqctl() -> Option<Vec<String>> {
    let words = std::env::var("NUNCIO_RABBITMQCTL").ok()?;
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    (!words.is_empty()).then_some(words)
}

/// A name that no other test of this machine has at this moment.
pub fn unique_name() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("nuncio_it_{}_{number}", std::process::id())
}
