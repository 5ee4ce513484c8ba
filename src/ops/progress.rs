//! How far long work is: a bar at a terminal, a line now and then elsewhere; on stderr, so that
//! stdout has the result alone.

use std::cell::Cell;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;

/// Without a bar, a line as often as this.
const EVERY: Duration = Duration::from_secs(5);

/// The progress of one run.
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    doing: &'static str,
    told: Cell<Instant>,
}

impl Progress {
    /// Of something such as "released".
    pub(super) fn of(doing: &'static str) -> Self {
        Self {
            bar: std::io::stderr()
                .is_terminal()
                .then(|| ProgressBar::new(0).with_message(doing)),
            doing,
            told: Cell::new(Instant::now()),
        }
    }

    /// So many of so many are done.
    pub(super) fn at(&self, done: u64, all: u64) {
        if let Some(bar) = &self.bar {
            bar.set_length(all);
            bar.set_position(done);
        } else if self.told.get().elapsed() >= EVERY {
            self.told.set(Instant::now());
            eprintln!("{done} of {all} {}", self.doing);
        }
    }

    /// Takes the bar away.
    pub(super) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
