//! The on-call's hands: what a person sees of the ledger, and decides about it.
//!
//! - [`list`] shows what is stuck, or any other rows; no content, recipients masked.
//! - [`explain`] tells the story of one notification, and what can be done about it.
//! - [`resolve`] takes a person's decision about one notification, tied to what was seen of it.
//! - [`quarantine`] shows the messages that could not become a row, releases or drops them.
//! - [`redrive`] moves dead letters back through intake.
//! - [`mod@prune`] forgets what has rested for long.
//!
//! Each command is a set of arguments and an async function from the ledger, or the broker,
//! to an exit code. What
//! is printed came from producers, providers and people, so all of it passes the module
//! `words`, which leaves nothing that a terminal would obey.

pub mod explain;
pub mod list;
pub mod prune;
pub mod quarantine;
pub mod redrive;
pub mod resolve;

mod decision;
mod find;
mod json;
mod person;
mod progress;
mod standing;
mod story;
mod when;
mod words;

use std::io::{self, BufRead, ErrorKind, Write};

use thiserror::Error;

use crate::intake::dead_letters::RedriveError;
use crate::intake::subscription::OpenError;
use crate::ledger::LedgerError;

/// Done, or nothing to do.
pub const DONE: u8 = 0;
/// No such notification, or quarantined message.
pub const NOT_FOUND: u8 = 1;
/// The ledger or the broker could not be asked, or did not do all of it.
pub const COULD_NOT: u8 = 2;
/// Nothing was changed: the row is not, or no longer, where the decision expects it.
pub const NOT_CHANGED: u8 = 3;
/// The command line does not make sense.
pub const USAGE: u8 = 64;

/// Why a command did not end in an answer.
#[derive(Debug, Error)]
pub enum OpsError {
    /// The ledger did not do what was asked.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A decision was on its way when the ledger failed.
    #[error(
        "{error}; whether the decision was stored is not known: `nuncio explain {handle}` says so"
    )]
    Unsure {
        /// What went wrong.
        error: LedgerError,
        /// How to name the notification on the command line.
        handle: String,
    },
    /// The broker could not be reached.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The broker did not do what was asked.
    #[error("the broker: {0}")]
    Broker(#[from] lapin::Error),
    /// Dead letters could not be moved.
    #[error(transparent)]
    Redrive(#[from] RedriveError),
    /// The answer could not be printed, or the person not be asked.
    #[error("the terminal: {0}")]
    Terminal(#[from] io::Error),
    /// Arguments that do not go together.
    #[error("{0}")]
    Usage(String),
}

impl OpsError {
    /// The process's exit code.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Ledger(_)
            | Self::Unsure { .. }
            | Self::Open(_)
            | Self::Broker(_)
            | Self::Redrive(_)
            | Self::Terminal(_) => COULD_NOT,
            Self::Usage(_) => USAGE,
        }
    }
}

/// Where a command prints, and whom it may ask.
pub struct Terminal<'a> {
    /// Standard output.
    pub out: &'a mut dyn Write,
    /// Standard input, when a person sits at it.
    pub input: Option<&'a mut dyn BufRead>,
}

impl Terminal<'_> {
    /// Prints a text that ends its own lines. A reader who has seen enough is not an error.
    fn print(&mut self, text: &str) -> Result<(), OpsError> {
        match (self.out.write_all(text.as_bytes())).and_then(|()| self.out.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Asks a yes-or-no question; `None` when nobody is there.
    fn ask(&mut self, question: &str) -> Result<Option<bool>, OpsError> {
        if self.input.is_none() {
            return Ok(None);
        }
        self.print(&format!("{question} [y/N] "))?;
        let mut answer = String::new();
        if let Some(input) = &mut self.input {
            input.read_line(&mut answer)?;
        }
        let answer = answer.trim().to_ascii_lowercase();
        Ok(Some(answer == "y" || answer == "yes"))
    }
}

/// A table as lines, two blanks from the left, without blanks at their ends.
fn indented(table: &comfy_table::Table) -> String {
    // a column begins with a blank of padding
    let lines = table.lines().map(|line| format!(" {}\n", line.trim_end()));
    lines.collect()
}
