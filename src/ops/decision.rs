//! A person's decision about a row, made a move: pure, and refused with its reason.

use super::words;
use crate::domain::outcome::Doubt;
use crate::domain::phase::{IllegalMove, Phase};
use crate::domain::settle::Source;
use crate::ledger::moves::{DoubtAfter, Move};
use crate::ledger::row::Row;
use std::time::Duration;

/// What a person decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// It was sent, and this proves it.
    Sent {
        proof: String,
        provider_id: Option<String>,
    },
    /// It goes out again, perhaps as a duplicate.
    Resend,
    /// It does not go out again, and nobody knows.
    Close,
    /// It does not go out (again).
    Cancel,
}

/// Turns a decision about the row that was shown into a move, or says why not.
///
/// A resend needs no room under the attempt cap: the cap is about what nuncio does on its own.
/// The one request that it buys ends as sent, in doubt again, or parked again.
pub(super) fn decide(
    row: &Row,
    decision: &Decision,
    by: &str,
    reason: &str,
) -> Result<Move, String> {
    let expected = match decision {
        Decision::Cancel => Phase::Queued,
        Decision::Sent { .. } | Decision::Resend | Decision::Close => Phase::Parked,
    };
    if row.phase != expected {
        return Err(elsewhere(row, expected));
    }
    if *decision == Decision::Resend && row.expired() {
        return Err(expired(row));
    }
    legal(row, decision, by, reason).map_err(|illegal| illegal.to_string())
}

fn legal(row: &Row, decision: &Decision, by: &str, reason: &str) -> Result<Move, IllegalMove> {
    let to = |to| Move::new(row.id, row.attempt, row.phase, to);
    let note = |words: &str| format!("{words}. Reason: {reason}");
    Ok(match decision {
        Decision::Sent { proof, provider_id } => to(Phase::Sent)?
            .proof(Source::Person, provider_id.clone())
            .note(
                by,
                "person",
                note(&format!("marked as sent. Proof: {proof}")),
            ),
        Decision::Resend => {
            // under the old key the provider would only say again what it has said
            let new_key = matches!(
                row.cause(),
                Some(Doubt::ReplayedFailure | Doubt::KeyMismatch)
            );
            let words = match new_key {
                true => "sent again in doubt, under a new send key; a possible duplicate",
                false => "sent again in doubt; a possible duplicate",
            };
            to(Phase::Queued)?
                .wait(Duration::ZERO)
                .doubt(DoubtAfter::Kept)
                .new_key(new_key)
                .possible_duplicate()
                .unless_expired()
                .note(by, "person", note(words))
        }
        Decision::Close => to(Phase::Unconfirmed)?.doubt(DoubtAfter::Kept).note(
            by,
            "person",
            note("closed in doubt; not sent again"),
        ),
        Decision::Cancel if row.doubt_since.is_some() => {
            to(Phase::Unconfirmed)?.doubt(DoubtAfter::Kept).note(
                by,
                "person",
                note("stopped before it was sent again; closed in doubt"),
            )
        }
        // the doubt is kept here too: there is none, and if there were, the ledger's constraint
        // would stop the move
        Decision::Cancel => to(Phase::Cancelled)?.doubt(DoubtAfter::Kept).note(
            by,
            "person",
            note("cancelled; certainly not sent"),
        ),
    })
}

/// Why a resend is refused.
pub(super) fn expired(row: &Row) -> String {
    let end = row.expires_at.map(|end| words::ago(end, row.now));
    format!(
        "It expired at {}: it must not be sent again. --close closes it as unconfirmed, and --sent \
         marks it as sent if you have proof.",
        end.unwrap_or_default()
    )
}

fn elsewhere(row: &Row, expected: Phase) -> String {
    match row.phase {
        Phase::Sending if row.in_doubt_since().is_some() => {
            "The resolver is still working on it, and parks it if nothing can be known: see \
             nuncio explain."
                .to_owned()
        }
        Phase::Sending => "Its worker is sending it just now: see nuncio explain.".to_owned(),
        Phase::Queued => "It is queued, and will be sent. --cancel stops it.".to_owned(),
        Phase::Parked => {
            "It is parked, in doubt: decide with --sent, --resend or --close.".to_owned()
        }
        Phase::Sent
        | Phase::Failed
        | Phase::Expired
        | Phase::Superseded
        | Phase::Suppressed
        | Phase::Cancelled
        | Phase::Unconfirmed => {
            format!(
                "It rests as {}; only a {expected} one can be decided so.",
                row.phase
            )
        }
    }
}
