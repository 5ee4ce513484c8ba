//! `nuncio quarantine`: messages that could not become a row, seen and decided about.

mod choice;
mod drop;
mod list;
mod release;
mod show;

use clap::{Args, Subcommand};
use tokio_util::sync::CancellationToken;

use super::{OpsError, Terminal};
use crate::config::Config;
use crate::ledger::Ledger;

pub use drop::DropArgs;
pub use list::ListArgs;
pub use release::ReleaseArgs;
pub use show::ShowArgs;

/// Shows the messages that could not become a row, releases or drops them.
#[derive(Clone, Debug, Args)]
pub struct QuarantineArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: QuarantineCommand,
}

/// What to do with quarantined messages.
#[derive(Clone, Debug, Subcommand)]
pub enum QuarantineCommand {
    /// Lists them, those that came last first; never shows content.
    List(ListArgs),
    /// Shows one, and what people did with it.
    Show(ShowArgs),
    /// Publishes held ones again, to be read as new messages. Safe to repeat and to interrupt.
    Release(ReleaseArgs),
    /// Drops held ones: the bytes go; what is known of them stays, with who and why.
    Drop(DropArgs),
}

/// Does what `args` say. Exits with [`super::DONE`], [`super::NOT_FOUND`] for a number that names
/// nothing, or [`super::NOT_CHANGED`] when something that was named is not held, or cannot be
/// released; with [`super::COULD_NOT`] when told to stop before the end, or when the broker did
/// not take something. `stop` gives the token; it is asked for only when the work begins, since a
/// signal at the question before must end the process as usual.
///
/// # Errors
/// When the ledger, the broker or the terminal failed, or nobody is there to confirm.
pub async fn run(
    ledger: &Ledger,
    config: &Config,
    args: &QuarantineArgs,
    terminal: &mut Terminal<'_>,
    stop: &dyn Fn() -> CancellationToken,
) -> Result<u8, OpsError> {
    match &args.command {
        QuarantineCommand::List(args) => list::run(ledger, args, terminal).await,
        QuarantineCommand::Show(args) => show::run(ledger, args, terminal).await,
        QuarantineCommand::Release(args) => {
            release::run(ledger, config, args, terminal, stop).await
        }
        QuarantineCommand::Drop(args) => drop::run(ledger, args, terminal, stop).await,
    }
}
