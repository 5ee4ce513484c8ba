//! What to look at next.

use std::path::PathBuf;

use super::report::Report;

/// The commands, ready to be copied.
pub(super) fn text(report: &Report) -> String {
    if !report.kept {
        return "Nothing is left of it. Run it again with --keep (scripts/demo --keep) to look around in the ledger:\nit then prints the commands.".into();
    }
    let program = program();
    let reconcile = program.with_file_name("reconcile");
    let (program, reconcile) = (program.display(), reconcile.display());
    let config = report.config.display();
    let parked = report.accounts.iter().find_map(|account| {
        let key = account.a_parked_key.as_ref()?;
        Some((account.lane.name, key))
    });
    let explain = parked.map_or_else(String::new, |(channel, key)| {
        format!("\n  {program} explain {key} --channel {channel} --config {config}")
    });
    let logs = report.config.with_file_name("worker-1.log");
    format!(
        "Look at it next:\n  {program} list --stuck --config {config}{explain}\n  {reconcile} --dry-run --config {config}\n  less {}\nrunbook.md says what to do about each of the parked; docs/ says why it is so.",
        logs.display()
    )
}

/// This program, as it was called.
fn program() -> PathBuf {
    std::env::args_os()
        .next()
        .map_or_else(|| PathBuf::from("nuncio"), PathBuf::from)
}
