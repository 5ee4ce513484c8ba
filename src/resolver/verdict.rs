//! A verdict as a move of the ledger, and in words that a tired person understands.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::change::Change;
use crate::domain::outcome::LookUpAnswer;
use crate::domain::phase::{IllegalMove, Phase};
use crate::domain::resolve::{Case, Evidence, Verdict};
use crate::ledger::moves::Move;
use crate::ledger::stale::StaleRow;
use crate::worker::send::{doubt_words, tell as tell_outcome};

/// A decision, and whether it took place.
pub(super) struct Written {
    pub key: String,
    pub channel: Arc<str>,
    pub told: String,
    pub name: &'static str,
    pub took_place: bool,
}

impl Written {
    pub(super) fn nothing(row: &StaleRow) -> Self {
        Self {
            key: row.notification.key.clone(),
            channel: row.notification.channel.clone(),
            told: String::new(),
            name: "waits",
            took_place: false,
        }
    }
}

/// The verdict's name among the metrics and in reports.
pub(super) fn name(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Replay => "replays",
        Verdict::LookUp => "looks up",
        Verdict::Sent { .. } => "sent",
        Verdict::Failed => "failed",
        Verdict::Expired => "expired",
        Verdict::Requeue { .. } => "absent, sent again",
        Verdict::SendAgain { .. } => "in doubt, sent again",
        Verdict::Wait { .. } => "waits",
        Verdict::Park => "parked",
        Verdict::Unconfirmed => "unconfirmed",
    }
}

/// The verdict as a change of phase, with its line of history. `requested`: a replay was made.
pub(super) fn as_move(
    row: &StaleRow,
    case: &Case,
    verdict: &Verdict,
    requested: bool,
    told: &str,
) -> Result<Move, IllegalMove> {
    let change = Change::resolved(verdict, case.cause, requested);
    let change = Move::of(row.notification.id, row.attempt, Phase::Sending, change)?;
    let change = match verdict {
        Verdict::Sent {
            provider_ids,
            source,
        } => change.proof(*source, provider_ids.first().cloned()),
        Verdict::Failed
        | Verdict::Expired
        | Verdict::Requeue { .. }
        | Verdict::SendAgain { .. }
        | Verdict::Wait { .. }
        | Verdict::Park
        | Verdict::Unconfirmed
        | Verdict::Replay
        | Verdict::LookUp => change,
    };
    Ok(change.note("resolver", "decision", told.to_owned()))
}

/// What was asked, what came back, and what follows.
pub(super) fn tell(row: &StaleRow, case: &Case, verdict: &Verdict) -> String {
    let replayed = match case.evidence {
        // A replay came before this question, and taught what to ask next.
        Evidence::LookUp(_) if case.cause != row.cause => format!(
            "repeated the request to {} under the same key: {}; ",
            row.provider,
            doubt_words(case.cause)
        ),
        Evidence::LookUp(_) | Evidence::Replay(_) | Evidence::None => String::new(),
    };
    format!("{replayed}{}: {}", asked(row, case), follows(case, verdict))
}

fn asked(row: &StaleRow, case: &Case) -> String {
    let provider = &row.provider;
    let key = row.notification.send_key(row.generation);
    let age = words(case.last_request_age);
    let settle = case
        .capability
        .look_up
        .times()
        .map_or_else(String::new, |(settle, _)| {
            format!(" (settle time {})", words(settle))
        });
    match &case.evidence {
        Evidence::None => doubt_words(case.cause).to_owned(),
        Evidence::Replay(outcome) => format!(
            "repeated the request to {provider} under the same key {key}: {}",
            tell_outcome(outcome).1
        ),
        Evidence::LookUp(LookUpAnswer::Found(ids)) => format!(
            "asked {provider} for {key}: {} ({})",
            if ids.len() == 1 {
                "1 message".to_owned()
            } else {
                format!("{} messages, more than we sent", ids.len())
            },
            ids.join(", "),
        ),
        Evidence::LookUp(LookUpAnswer::Absent) => {
            format!("asked {provider} for {key}: 0 messages, {age} after the last attempt{settle}")
        }
        Evidence::LookUp(LookUpAnswer::Failed { text, .. }) => {
            format!("asked {provider} for {key} and learnt nothing: {text}")
        }
    }
}

fn follows(case: &Case, verdict: &Verdict) -> String {
    match verdict {
        Verdict::Replay => "may be repeated safely under the same key".into(),
        Verdict::LookUp => "the provider's log can be asked".into(),
        Verdict::Sent { .. } => "sent".into(),
        Verdict::Failed if matches!(case.evidence, Evidence::Replay(_)) => {
            "the provider never took it, failed".into()
        }
        Verdict::Failed => "proved absent, and the attempts are used up, failed".into(),
        Verdict::Expired => "proved absent, and too old to be sent now".into(),
        Verdict::Requeue { new_key: false } => "proved absent, sent again".into(),
        Verdict::Requeue { new_key: true } => "proved absent, sent again under a new key".into(),
        Verdict::SendAgain { .. } => format!(
            "nothing can be known, {} sends again: a possible duplicate",
            case.policy
        ),
        Verdict::Wait { pause, .. } => format!("looks again in {}", words(*pause)),
        Verdict::Park if !case.sends_left => {
            "nothing can be known, and the attempts are used up: parked for a person".into()
        }
        Verdict::Park => format!(
            "nothing can be known, {} parks it for a person",
            case.policy
        ),
        Verdict::Unconfirmed => "too old to be sent, and nobody can say whether it was".into(),
    }
}

/// A duration with two units at most, so that it can be read at 4 in the morning.
fn words(duration: Duration) -> String {
    let rounded = if duration < Duration::from_secs(1) {
        Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    } else {
        Duration::from_secs(duration.as_secs())
    };
    let text = humantime::format_duration(rounded).to_string();
    text.split(' ').take(2).collect::<Vec<_>>().join(" ")
}
