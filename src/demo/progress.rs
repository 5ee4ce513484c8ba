//! How far the demo is: a bar on a terminal, lines elsewhere.

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::args::DemoArgs;
use super::lanes::LANES;

/// Without a bar, a line as often as this.
const EVERY: Duration = Duration::from_secs(2);

/// To stderr, so that stdout has the result alone.
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    all: u64,
    began: Instant,
    published: AtomicU64,
    /// When the last line told of it.
    told: Mutex<Instant>,
}

impl Progress {
    pub(super) fn start(args: &DemoArgs) -> Self {
        let all = u64::from(args.messages) * LANES.len() as u64;
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}");
        let bar = std::io::stderr().is_terminal().then(|| {
            // The template is a constant; with a wrong one the bar would only look plain.
            let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(all).with_style(style)
        });
        Self {
            bar,
            all,
            began: Instant::now(),
            published: AtomicU64::new(0),
            told: Mutex::new(Instant::now()),
        }
    }

    /// One more notification is in its queue.
    pub(super) fn published(&self) {
        let published = self.published.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(bar) = &self.bar {
            bar.set_position(published);
            bar.set_message("published");
        }
        if published == self.all {
            self.line(&format!(
                "published {published} notifications, all confirmed"
            ));
        }
    }

    /// So many notifications are at rest or parked; `state` says what goes on beside.
    pub(super) fn at_rest(&self, count: u64, state: &str) {
        if let Some(bar) = &self.bar {
            bar.set_position(count);
            bar.set_message(format!("at rest, {state}"));
            return;
        }
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.elapsed() >= EVERY || count == self.all {
            *told = Instant::now();
            self.line(&format!("{count} of {} at rest, {state}", self.all));
        }
    }

    /// A line that stays.
    pub(super) fn line(&self, text: &str) {
        let line = format!("{:5.1} s  {text}", self.began.elapsed().as_secs_f64());
        match &self.bar {
            Some(bar) => bar.println(line),
            None => eprintln!("{line}"),
        }
    }

    /// Seconds since the start.
    pub(super) fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Takes the bar away.
    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
