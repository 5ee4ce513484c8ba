//! The log: one line an event, to stderr.
//!
//! Rules, for every line in this program: it may name a notification's id, a channel, a provider,
//! an attempt, a reason out of a closed list and an error of our own. It never holds a recipient,
//! content, a producer's key, a secret, a URL, or a provider's words that were not cleaned.
//!
//! A panic is such a line too: its place, and its message only where that is a fixed text of the
//! source. Others hold what the code was working on: a cut inside a character prints the whole text.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::IsTerminal as _;
use std::panic::PanicHookInfo;

use tracing::Level;
use tracing_subscriber::filter::{EnvFilter, filter_fn};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::LogFormat;

/// Starts the log. `RUST_LOG` sets the level of nuncio's own lines (`info` if unset); libraries
/// are held to warnings whatever it says, since at finer levels they print what they carry. Panics
/// go there too.
pub fn start(format: LogFormat) {
    let wanted = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let own =
        filter_fn(|event| event.target().starts_with("nuncio") || *event.level() <= Level::WARN);
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    let lines = match format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    // A second start, in a test, finds the first one in place.
    let _ = tracing_subscriber::registry()
        .with(lines.with_filter(own).with_filter(wanted))
        .try_init();
    std::panic::set_hook(Box::new(tell_of_panic));
}

fn tell_of_panic(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string);
    let place = place.as_deref().unwrap_or("an unknown place");
    let fixed = panic.payload().downcast_ref::<&'static str>();
    let said = fixed.map_or("(its message may hold content)", |text| text);
    tracing::error!("panicked at {place}: {said}");
    // Only if RUST_BACKTRACE asks for it; it names functions, and no values.
    let backtrace = Backtrace::capture();
    if backtrace.status() == BacktraceStatus::Captured {
        tracing::error!(%backtrace, "the way there");
    }
}
