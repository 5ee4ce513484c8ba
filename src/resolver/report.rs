//! What a pass did, for people and for machines.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::verdict::Written;
use crate::table::{figures, table};

/// What one pass of the resolver did.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Nothing was written.
    pub dry_run: bool,
    /// Rows taken over.
    pub taken: usize,
    /// Decisions by channel and name.
    pub verdicts: BTreeMap<String, BTreeMap<&'static str, usize>>,
    /// Decisions that came too late: somebody else had decided.
    pub lost: usize,
    /// Rows that a person has to look at.
    pub parked: Vec<Line>,
    /// In a dry run, every row.
    pub rows: Vec<Line>,
}

/// One row of a report.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// Channel name.
    pub channel: String,
    /// The producer's key.
    pub key: String,
    /// What was decided and why.
    pub told: String,
}

impl Report {
    pub(super) fn add(&mut self, written: Written) {
        if !written.took_place {
            self.lost += 1;
            return;
        }
        let line = Line {
            channel: written.channel.to_string(),
            key: written.key,
            told: written.told,
        };
        *self
            .verdicts
            .entry(line.channel.clone())
            .or_default()
            .entry(written.name)
            .or_default() += 1;
        if written.name == "parked" {
            self.parked.push(line.clone());
        }
        if self.dry_run {
            self.rows.push(line);
        }
    }

    /// How many rows got this verdict.
    #[must_use]
    pub fn count(&self, verdict: &str) -> usize {
        let of = |by_name: &BTreeMap<&str, usize>| by_name.get(verdict).copied().unwrap_or(0);
        self.verdicts.values().map(of).sum()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.taken == 0 {
            return write!(f, "Nothing is in doubt.");
        }
        let mut table = table(["channel", "decision", "rows"]);
        figures(&mut table, 2);
        for (channel, verdicts) in &self.verdicts {
            for (verdict, rows) in verdicts {
                table.add_row([channel.clone(), (*verdict).to_owned(), rows.to_string()]);
            }
        }
        write!(f, "{}", table.trim_fmt())?;
        let lines = if self.dry_run {
            &self.rows
        } else {
            &self.parked
        };
        for line in lines {
            write!(f, "\n{} {:?}: {}", line.channel, line.key, line.told)?;
        }
        if self.lost > 0 {
            write!(
                f,
                "\n{} decisions came too late: somebody else had decided.",
                self.lost
            )?;
        }
        if self.dry_run {
            write!(f, "\nDry run: nothing was written and nothing was sent.")?;
        }
        Ok(())
    }
}
