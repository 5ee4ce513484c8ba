//! Where a row stands, in words, and what a person can do about it.

use chrono::TimeDelta;

use super::words;
use crate::domain::phase::Phase;
use crate::ledger::row::Row;

/// A due row that waits for longer than this meets something else than busy workers.
const NOBODY_COMES: TimeDelta = TimeDelta::minutes(5);

/// A way on: what it is for, and the command where there is one.
pub(super) struct Way {
    pub(super) words: &'static str,
    pub(super) command: Option<String>,
}

/// Where it stands and why, a sentence or two a line.
pub(super) fn standing(row: &Row) -> Vec<String> {
    match row.phase {
        Phase::Queued => queued(row),
        Phase::Sending => sending(row),
        Phase::Parked => parked(row),
        Phase::Sent
        | Phase::Failed
        | Phase::Expired
        | Phase::Superseded
        | Phase::Suppressed
        | Phase::Cancelled
        | Phase::Unconfirmed => rests(row),
    }
}

fn queued(row: &Row) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(doubt) = doubt(row) {
        lines.push(format!("Queued, to be sent again although it is {doubt}."));
        lines.push("The next request may be a duplicate; that has been counted.".to_owned());
    } else if row.attempt > 0 {
        let attempt = row.attempt;
        lines.push(format!(
            "Queued, to be tried again: attempt {attempt} certainly sent nothing."
        ));
    } else {
        lines.push("Queued: nothing has been sent.".to_owned());
    }
    lines.push(match row.due_at {
        _ if row.expired() => "It has expired: the next pass puts it to rest, unsent.".to_owned(),
        Some(due) if due > row.now => format!("It is due at {}.", words::ago(due, row.now)),
        Some(due) => waits(row.since(due), "a free send slot", "worker"),
        None => String::new(), // a queued row has a due time: a constraint of the ledger
    });
    lines
}

fn sending(row: &Row) -> Vec<String> {
    let mut lines = vec![match doubt(row) {
        Some(doubt) => format!("{}.", capital(&doubt)),
        None => "Being sent: a worker holds it, and its request may be under way.".to_owned(),
    }];
    let Some(due) = row.due_at else { return lines };
    lines.push(match due - row.now {
        left if row.held_by_a_worker() => {
            let left = words::span(left);
            format!("Attempt {} has its lease for another {left}.", row.attempt)
        }
        left if left > TimeDelta::zero() => {
            format!("The resolver looks again in {}.", words::span(left))
        }
        late => waits(-late, "the resolver", "resolver"),
    });
    if row.checks > 0 {
        lines.push(format!(
            "So far {} of its passes taught nothing.",
            row.checks
        ));
    }
    lines
}

fn parked(row: &Row) -> Vec<String> {
    let doubt = doubt(row).unwrap_or_default();
    let mut lines = vec![
        format!("Parked: {doubt}."),
        "Nothing that nuncio could ask has settled it. It waits for a person.".to_owned(),
    ];
    if let Some(end) = row.expires_at.filter(|_| row.expired()) {
        let end = words::ago(end, row.now);
        lines.push(format!("It expired at {end}: it cannot be sent again."));
    }
    lines
}

fn rests(row: &Row) -> Vec<String> {
    let at = row.settled_at.map(|at| words::ago(at, row.now));
    let at = at.unwrap_or_default();
    match row.phase {
        Phase::Sent => {
            let proof = row.settled_by.as_deref().map(words::proof);
            vec![
                format!("Sent; known since {at}."),
                format!("Proof: {}.", proof.unwrap_or_default()),
            ]
        }
        Phase::Failed => vec![format!(
            "Failed at {at}: certainly not sent. It was refused for good, or its attempts are used up."
        )],
        Phase::Expired => vec![format!(
            "Expired: certainly not sent, and too old since {at}."
        )],
        Phase::Superseded => vec![format!(
            "Superseded at {at}: certainly not sent. A newer one of its stream was taken first."
        )],
        Phase::Suppressed => vec![format!(
            "Suppressed at {at}: certainly not sent. The recipient had opted out."
        )],
        Phase::Cancelled => vec![format!(
            "Cancelled at {at}: certainly not sent. A person stopped it."
        )],
        Phase::Unconfirmed => vec![
            format!(
                "Unconfirmed: closed at {at}. It may have been sent, and will not be sent again."
            ),
            format!(
                "When it was closed it was {}.",
                doubt(row).unwrap_or_default()
            ),
        ],
        Phase::Queued | Phase::Sending | Phase::Parked => Vec::new(), // do not rest
    }
}

/// "in doubt since 04:12:03 (12 min): why".
fn doubt(row: &Row) -> Option<String> {
    let since = words::since(row.in_doubt_since()?, row.now);
    let cause = row.cause().map_or("for an unknown cause", words::cause);
    Some(format!("in doubt since {since}: {cause}"))
}

fn waits(late: TimeDelta, whom: &str, role: &str) -> String {
    let waited = words::span(late);
    if late < NOBODY_COMES {
        format!("It has been due for {waited} and waits for {whom}.")
    } else {
        format!("It has been due for {waited}: is a {role} for this channel running?")
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    (chars.next()).map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}

/// What a person can do, with commands that name the attempt shown: they change nothing once
/// somebody else has decided.
pub(super) fn ways(row: &Row) -> Vec<Way> {
    let way = |words, rest: &str| Way {
        words,
        command: Some(format!("{} {rest} --reason TEXT", resolve(row))),
    };
    let nothing = |words| {
        vec![Way {
            words,
            command: None,
        }]
    };
    match row.phase {
        Phase::Parked => {
            let sent = way(
                "It was sent, and you have proof (the provider's log, the recipient):",
                "--sent --proof TEXT",
            );
            let resend = way(
                "It may go out again, even if that makes a duplicate:",
                "--resend",
            );
            let close = way(
                "It must not go out again, and nobody will know whether it was sent:",
                "--close",
            );
            if row.expired() {
                vec![sent, close]
            } else {
                vec![sent, resend, close]
            }
        }
        Phase::Queued if row.doubt_since.is_some() => vec![way(
            "Stop it from being sent again (it rests as unconfirmed):",
            "--cancel",
        )],
        Phase::Queued => vec![way("Stop it from being sent:", "--cancel")],
        Phase::Sending if row.in_doubt_since().is_some() => nothing(
            "Nothing yet: the resolver settles it, or parks it for you when nothing can be known.",
        ),
        Phase::Sending => nothing("Nothing: its worker is at it."),
        Phase::Unconfirmed => {
            nothing("Nothing here: it rests. To send it after all, publish it under a new key.")
        }
        Phase::Sent => nothing("Nothing: it rests."),
        Phase::Failed
        | Phase::Expired
        | Phase::Superseded
        | Phase::Suppressed
        | Phase::Cancelled => {
            nothing("Nothing here: it rests. If it is still wanted, publish it under a new key.")
        }
    }
}

fn resolve(row: &Row) -> String {
    let (handle, channel) = (words::handle(row), words::name(&row.channel));
    format!(
        "nuncio resolve {handle} --channel {channel} --attempt {}",
        row.attempt
    )
}
