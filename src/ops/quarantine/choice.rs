//! Which messages a decision is about: by number, or all that a filter lets through.

use std::collections::BTreeMap;

use clap::Args;
use serde_json::{Value, json};

use super::super::{OpsError, Terminal, indented, when, words};
use crate::ledger::Ledger;
use crate::ledger::release::{QuarantineFilter, QuarantinedRow};
use crate::ledger::story::Moment;
use crate::table::table;

/// Which of them.
#[derive(Clone, Debug, Default, Args)]
pub struct FilterArgs {
    /// Only those held for this reason, such as not_json; may be given more than once.
    #[arg(long = "for", value_name = "REASON")]
    pub reasons: Vec<String>,
    /// Only those that came from this queue.
    #[arg(long, value_name = "NAME")]
    pub queue: Option<String>,
    /// Came last since: how long ago (2h), or a time (2026-02-11T04:12:00Z).
    #[arg(long, value_name = "WHEN", value_parser = when::moment)]
    pub since: Option<Moment>,
    /// Came last before.
    #[arg(long, value_name = "WHEN", value_parser = when::moment)]
    pub until: Option<Moment>,
}

impl FilterArgs {
    pub(super) fn filter(&self, held: bool) -> QuarantineFilter {
        QuarantineFilter {
            ids: None,
            reasons: self.reasons.clone(),
            queue: self.queue.clone(),
            since: self.since,
            until: self.until,
            held,
        }
    }
}

/// Numbers, or all of a kind.
#[derive(Clone, Debug, Args)]
pub struct ChoiceArgs {
    /// Their numbers, as `nuncio quarantine list` shows them.
    #[arg(value_name = "ID", required_unless_present = "all", conflicts_with_all = ["all", "reasons", "queue", "since", "until"])]
    pub ids: Vec<i64>,
    /// All held ones that the filters let through. Asks first.
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    /// With --all, which.
    pub filter: FilterArgs,
    /// Does not ask.
    #[arg(long)]
    pub yes: bool,
    /// Says what it would be about, and does nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// What a decision is about.
pub(super) struct Choice {
    /// Held messages.
    pub(super) held: Vec<QuarantinedRow>,
    /// What was named and cannot be it, and why.
    pub(super) unchanged: Vec<(i64, String)>,
    /// Numbers that name nothing.
    pub(super) unknown: Vec<i64>,
}

impl ChoiceArgs {
    /// Looks them up.
    pub(super) async fn choose(&self, ledger: &Ledger) -> Result<Choice, OpsError> {
        if self.all {
            let held = in_order(ledger, &self.filter.filter(true)).await?;
            return Ok(Choice {
                held,
                unchanged: Vec::new(),
                unknown: Vec::new(),
            });
        }
        let filter = QuarantineFilter {
            ids: Some(self.ids.clone()),
            ..QuarantineFilter::default()
        };
        let found = in_order(ledger, &filter).await?;
        let known = |id: &i64| found.iter().any(|chosen| chosen.id == *id);
        let unknown = self.ids.iter().copied().filter(|id| !known(id)).collect();
        let (held, rest): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|chosen| chosen.state == "held");
        let why = |chosen: QuarantinedRow| (chosen.id, format!("it is {} already", chosen.state));
        Ok(Choice {
            held,
            unchanged: rest.into_iter().map(why).collect(),
            unknown,
        })
    }

    /// Shows what all of a kind is, and asks. Numbers, `--yes` and nothing at all need no answer.
    pub(super) fn confirmed(
        &self,
        verb: &str,
        held: &[QuarantinedRow],
        terminal: &mut Terminal<'_>,
    ) -> Result<bool, OpsError> {
        if !self.all || self.yes || held.is_empty() {
            return Ok(true);
        }
        if self.json || terminal.input.is_none() {
            return Err(OpsError::Usage(
                "nobody is asked here: look with --dry-run, then give --yes".to_owned(),
            ));
        }
        terminal.print(&groups_text(held))?;
        let question = format!("\n{verb} {}?", messages(held.len()));
        Ok(terminal.ask(&question)?.unwrap_or(false))
    }
}

/// All that the filter lets through, in the order in which they first came.
async fn in_order(
    ledger: &Ledger,
    filter: &QuarantineFilter,
) -> Result<Vec<QuarantinedRow>, OpsError> {
    let mut rows = ledger.quarantined(filter, None).await?;
    rows.sort_by_key(|row| row.id);
    Ok(rows)
}

/// "1 message", "2 messages".
pub(super) fn messages(count: usize) -> String {
    match count {
        1 => "1 message".to_owned(),
        count => format!("{count} messages"),
    }
}

/// How many there are by queue and reason.
pub(super) fn groups(held: &[QuarantinedRow]) -> BTreeMap<(&str, &str), (u64, u64)> {
    let mut groups = BTreeMap::new();
    for chosen in held {
        let (all, without_bytes) = groups
            .entry((&*chosen.queue, &*chosen.reason))
            .or_insert((0, 0));
        *all += 1;
        *without_bytes += u64::from(!chosen.kept);
    }
    groups
}

pub(super) fn groups_text(held: &[QuarantinedRow]) -> String {
    let mut table = table(["QUEUE", "REASON", "MESSAGES", "WITHOUT BYTES"]);
    for ((queue, reason), (all, without_bytes)) in groups(held) {
        table.add_row([
            words::name(queue),
            words::name(reason),
            all.to_string(),
            without_bytes.to_string(),
        ]);
    }
    indented(&table)
}

pub(super) fn groups_json(held: &[QuarantinedRow]) -> Value {
    let group = |((queue, reason), (all, without_bytes))| {
        json!({
            "queue": queue, "reason": reason, "messages": all, "without_bytes": without_bytes,
        })
    };
    groups(held).into_iter().map(group).collect()
}
