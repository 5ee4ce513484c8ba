//! Retention, as `jobs/prune.rs` runs it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use thiserror::Error;

use super::when;
use crate::domain::phase::Phase;
use crate::ledger::{Ledger, LedgerError};

/// A redelivery of a key that was forgotten is sent as if it were new. Younger ones come from
/// queues and replays that hold messages for days, so less than this has to be asked for twice.
const SHORTEST: Duration = Duration::from_secs(7 * 86_400);

/// Ids that are read at once: each reading passes over what the ones before it have deleted, so
/// few large ones are cheaper; 100,000 ids are 1.6 MB.
const READ: u32 = 100_000;

/// What to forget.
#[derive(Clone, Debug, Args)]
pub struct PruneArgs {
    /// Forgets notifications that have rested for this long. Open and parked ones stay.
    #[arg(long, value_name = "AGE", default_value = "90d", value_parser = when::age)]
    pub older_than: Duration,
    /// Forgets quarantined messages that last came this long ago; never without this.
    #[arg(long, value_name = "AGE", value_parser = when::age)]
    pub quarantine_older_than: Option<Duration>,
    /// Allows --older-than below seven days: a redelivery of a forgotten key is sent again.
    #[arg(long)]
    pub force: bool,
    /// Only counts.
    #[arg(long)]
    pub dry_run: bool,
    /// Rows a statement.
    #[arg(long, value_name = "ROWS", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=READ as i64))]
    pub batch: u32,
}

/// Why a pass did not take place, or not to its end.
#[derive(Debug, Error)]
pub enum PruneError {
    /// The age is too short.
    #[error(
        "--older-than {} is below seven days: a redelivery of a forgotten key is sent again. \
         --force forgets all the same",
        when::span(*.0)
    )]
    TooYoung(Duration),
    /// The ledger failed. What was forgotten before stays so.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// What a pass forgot, or would have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PruneReport {
    /// Only counted, nothing deleted.
    pub dry_run: bool,
    /// Notifications by the phase in which they rested.
    pub notifications: BTreeMap<Phase, u64>,
    /// Quarantined messages.
    pub quarantined: u64,
}

/// One pass: forgets all that is old enough by now, in small statements.
///
/// # Errors
/// When the age is too short, or the database did not answer.
pub async fn run(ledger: &Ledger, args: &PruneArgs) -> Result<PruneReport, PruneError> {
    if args.older_than < SHORTEST && !args.force {
        return Err(PruneError::TooYoung(args.older_than));
    }
    let mut report = PruneReport {
        dry_run: args.dry_run,
        ..PruneReport::default()
    };
    if args.dry_run {
        report.notifications = ledger.count_rested(args.older_than).await?;
        if let Some(age) = args.quarantine_older_than {
            report.quarantined = ledger.count_quarantined(age).await?;
        }
        return Ok(report);
    }
    while forget_some(ledger, args, &mut report).await? {}
    if let Some(age) = args.quarantine_older_than {
        loop {
            let gone = ledger.forget_quarantined(age, args.batch).await?;
            report.quarantined += gone;
            if gone < u64::from(args.batch) {
                break;
            }
        }
    }
    Ok(report)
}

/// Says whether to go on: there may be more, and the last reading got somewhere.
async fn forget_some(
    ledger: &Ledger,
    args: &PruneArgs,
    report: &mut PruneReport,
) -> Result<bool, LedgerError> {
    let old = ledger.rested(args.older_than, READ).await?;
    let mut forgotten = 0;
    for batch in old.chunks(usize::try_from(args.batch).unwrap_or(1).max(1)) {
        for (phase, rows) in ledger.forget(batch, args.older_than).await? {
            *report.notifications.entry(phase).or_default() += rows;
            forgotten += rows;
        }
    }
    let full = u32::try_from(old.len()).is_ok_and(|read| read >= READ);
    Ok(full && forgotten > 0)
}

impl PruneReport {
    /// For a person: one line.
    #[must_use]
    pub fn text(&self) -> String {
        let verb = if self.dry_run {
            "would forget"
        } else {
            "forgot"
        };
        let total: u64 = self.notifications.values().sum();
        let mut text = format!("{verb} {total} notifications");
        let phases = self.notifications.iter();
        let phases: Vec<String> = phases
            .map(|(phase, rows)| format!("{rows} {phase}"))
            .collect();
        if !phases.is_empty() {
            let _ = write!(text, " ({})", phases.join(", "));
        }
        let _ = write!(text, " and {} quarantined messages", self.quarantined);
        text
    }

    /// For a program: one line.
    #[must_use]
    pub fn json(&self) -> String {
        let phases = self.notifications.iter();
        let phases: BTreeMap<_, _> = phases.map(|(phase, rows)| (phase.as_str(), rows)).collect();
        json!({
            "dry_run": self.dry_run,
            "notifications": phases,
            "quarantined": self.quarantined,
        })
        .to_string()
    }
}
