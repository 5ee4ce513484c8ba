//! A person's steps: looks at a row, and decides about what was seen.

use std::time::Duration;

use nuncio::domain::change::{Change, DoubtAfter};
use nuncio::domain::phase::Phase;
use nuncio::domain::settle::Source;

use crate::process::Person;
use crate::setting::Mutation;
use crate::state::State;
use crate::steps::Steps;

const WHO: &str = "person";

pub fn steps(steps: &mut Steps<'_>) {
    match steps.state.person {
        Person::Away => look(steps),
        Person::Saw {
            attempt,
            phase: Phase::Queued,
            in_doubt,
        } => cancel(steps, attempt, in_doubt),
        Person::Saw { attempt, .. } => decide(steps, attempt),
    }
}

fn look(steps: &mut Steps<'_>) {
    let Some(row) = steps.state.row else { return };
    if steps.state.visits == 0 || !matches!(row.phase, Phase::Queued | Phase::Parked) {
        return;
    }
    let mut next = steps.now();
    next.visits -= 1;
    next.person = Person::Saw {
        attempt: row.attempt,
        phase: row.phase,
        in_doubt: row.doubt.is_some(),
    };
    steps.add(WHO, "looks at it", 0, next);
}

fn cancel(steps: &mut Steps<'_>, attempt: u8, in_doubt: bool) {
    let to = if in_doubt {
        Phase::Unconfirmed
    } else {
        Phase::Cancelled
    };
    write(
        steps,
        "stops it",
        attempt,
        Phase::Queued,
        kept(to),
        |next| {
            next.seen.closed = true;
        },
    );
}

/// The person tells the truth: sent is what was sent.
fn decide(steps: &mut Steps<'_>, attempt: u8) {
    let parked = Phase::Parked;
    if steps.state.provider.effects() > 0 {
        let sent = Change {
            source: Some(Source::Person),
            ..Change::to(Phase::Sent)
        };
        write(
            steps,
            "has proof that it was sent",
            attempt,
            parked,
            sent,
            |_| {},
        );
    }
    write(
        steps,
        "closes it",
        attempt,
        parked,
        kept(Phase::Unconfirmed),
        |next| {
            next.seen.closed = true;
        },
    );
    for new_key in [false, true] {
        let resend = Change {
            wait: Some(Duration::ZERO),
            new_key,
            possible_duplicate: true,
            ..kept(Phase::Queued)
        };
        write(steps, "sends it again", attempt, parked, resend, |next| {
            next.seen.forced += 1;
        });
    }
}

fn kept(to: Phase) -> Change {
    Change {
        doubt: DoubtAfter::Kept,
        ..Change::to(to)
    }
}

fn write(
    steps: &mut Steps<'_>,
    what: &'static str,
    attempt: u8,
    from: Phase,
    change: Change,
    then: impl Fn(&mut State),
) {
    let mut next = steps.now();
    next.person = Person::Away;
    if steps.setting.mutated(Mutation::PersonIgnoresTheVersion) {
        if let Some(row) = next.row {
            next.seen.illegal_move |= row.phase.may_become(change.to).is_err();
            next.write(steps.setting, row.attempt, row.phase, &change);
        }
    } else if next.write(steps.setting, attempt, from, &change) {
        then(&mut next);
    }
    steps.add(WHO, what, 0, next);
}
