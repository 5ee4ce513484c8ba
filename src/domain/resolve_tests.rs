//! The table of the resolver, row by row, for both policies.

use std::time::Duration;

use super::super::capability::{Dedupe, LookUp};
use super::super::outcome::NotSent;
use super::*;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const BOTH: [Policy; 2] = [Policy::AtMostOnce, Policy::AtLeastOnce];

const REPLAY: Dedupe = Dedupe::Replay { window: HOUR };
const EXACT: LookUp = LookUp::ByReference {
    settle: MINUTE,
    retention: Duration::from_secs(86_400),
};
const FUZZY: LookUp = LookUp::ByRecipient {
    settle: MINUTE,
    retention: Duration::from_secs(86_400),
};

fn case(policy: Policy, dedupe: Dedupe, look_up: LookUp, evidence: Evidence) -> Case {
    Case {
        policy,
        capability: Capability { dedupe, look_up },
        evidence,
        cause: Doubt::Timeout,
        key_age: 5 * MINUTE,
        since_read: Duration::ZERO,
        last_request_age: 5 * MINUTE,
        doubt_age: 5 * MINUTE,
        expired: false,
        request_unchanged: true,
        older_key_in_doubt: false,
        sends_left: true,
        empty_reads: 0,
        checks: 0,
        request_timeout: Duration::from_secs(10),
        resolve_within: 2 * HOUR,
    }
}

fn decide(case: &Case) -> Verdict {
    resolve(case, &Schedule::DEFAULT, 1.0)
}

fn found(ids: &[&str]) -> Evidence {
    Evidence::LookUp(LookUpAnswer::Found(
        ids.iter().map(ToString::to_string).collect(),
    ))
}

fn failed_look_up(seconds: u64) -> Evidence {
    Evidence::LookUp(LookUpAnswer::Failed {
        retry_after: Some(Duration::from_secs(seconds)),
        text: String::new(),
    })
}

fn unknown(cause: Doubt, seconds: Option<u64>) -> Evidence {
    Evidence::Replay(Outcome::Unknown {
        cause,
        look_after: seconds.map(Duration::from_secs),
        text: String::new(),
    })
}

fn refused() -> Evidence {
    Evidence::Replay(Outcome::Refused {
        opted_out: false,
        text: String::new(),
    })
}

fn not_sent(cause: NotSent) -> Evidence {
    Evidence::Replay(Outcome::NotSent {
        cause,
        retry_after: None,
        text: String::new(),
    })
}

fn wait(seconds: u64) -> Verdict {
    Verdict::Wait {
        pause: Duration::from_secs(seconds),
        empty_read: false,
    }
}

const ABSENT: Evidence = Evidence::LookUp(LookUpAnswer::Absent);

/// Asserts one verdict for both policies.
fn both(expected: &Verdict, of: impl Fn(Policy) -> Case) {
    for policy in BOTH {
        assert_eq!(&decide(&of(policy)), expected, "{policy}");
    }
}

/// Asserts that at-most-once parks and that at-least-once sends again.
fn undecidable(new_key: bool, of: impl Fn(Policy) -> Case) {
    assert_eq!(decide(&of(Policy::AtMostOnce)), Verdict::Park);
    assert_eq!(
        decide(&of(Policy::AtLeastOnce)),
        Verdict::SendAgain { new_key }
    );
}

#[test]
fn row_1_evidence_of_acceptance_is_sent() {
    let accepted = Evidence::Replay(Outcome::Accepted {
        provider_id: Some("a".into()),
        already: true,
    });
    let sent = |ids: &[&str], source| Verdict::Sent {
        provider_ids: ids.iter().map(ToString::to_string).collect(),
        source,
    };
    both(&sent(&["a"], Source::Replay), |p| {
        case(p, REPLAY, LookUp::None, accepted.clone())
    });
    both(&sent(&["a"], Source::LookUp), |p| {
        case(p, Dedupe::None, EXACT, found(&["a"]))
    });
    // the provider shows a duplicate of its own: sent, both ids kept, never "no unique match"
    both(&sent(&["a", "b"], Source::LookUp), |p| {
        case(p, Dedupe::None, EXACT, found(&["a", "b"]))
    });
}

#[test]
fn row_2_a_replay_needs_room_in_the_window_the_same_bytes_and_no_expiry() {
    let first = |p| case(p, REPLAY, EXACT, Evidence::None);
    both(&Verdict::Replay, first);
    let almost = Duration::from_secs(3590);
    both(&Verdict::Replay, |p| Case {
        key_age: almost,
        ..first(p)
    });
    for spoil in [
        |c: &mut Case| c.key_age = Duration::from_secs(3591),
        |c: &mut Case| c.since_read = Duration::from_secs(3291),
        |c: &mut Case| c.request_unchanged = false,
        |c: &mut Case| c.expired = true,
        |c: &mut Case| c.cause = Doubt::ReplayedFailure,
        |c: &mut Case| c.cause = Doubt::KeyMismatch,
    ] {
        both(&Verdict::LookUp, |p| {
            let mut spoilt = first(p);
            spoil(&mut spoilt);
            spoilt
        });
    }
}

#[test]
fn row_3_a_replay_in_progress_waits_as_told() {
    both(&wait(30), |p| {
        case(p, REPLAY, EXACT, unknown(Doubt::InProgress, Some(30)))
    });
}

#[test]
fn row_4_a_key_used_with_another_body_is_parked() {
    both(&Verdict::Park, |p| {
        case(p, REPLAY, EXACT, unknown(Doubt::KeyMismatch, None))
    });
}

#[test]
fn row_5_a_refused_replay_is_failed_unless_an_older_key_is_in_doubt() {
    both(&Verdict::Failed, |p| case(p, REPLAY, EXACT, refused()));
    undecidable(true, |p| Case {
        older_key_in_doubt: true,
        ..case(p, REPLAY, EXACT, refused())
    });
}

#[test]
fn row_6_a_replay_that_taught_nothing_waits_longer_each_time() {
    for evidence in [
        not_sent(NotSent::Account),
        not_sent(NotSent::Throttled),
        unknown(Doubt::ServerError, None),
        unknown(Doubt::Timeout, None),
    ] {
        for (checks, pause) in [(0, 1), (1, 2), (4, 16)] {
            both(&wait(pause), |p| Case {
                checks,
                ..case(p, REPLAY, EXACT, evidence.clone())
            });
        }
    }
}

#[test]
fn row_7_proved_absence_is_queued_again() {
    let absent = |p| case(p, Dedupe::None, EXACT, ABSENT);
    both(&Verdict::Requeue { new_key: false }, absent);
    both(&Verdict::Requeue { new_key: true }, |p| Case {
        cause: Doubt::ReplayedFailure,
        ..absent(p)
    });
    both(&Verdict::Requeue { new_key: true }, |p| Case {
        request_unchanged: false,
        ..absent(p)
    });
    both(&Verdict::Failed, |p| Case {
        sends_left: false,
        ..absent(p)
    });
    undecidable(false, |p| Case {
        key_age: Duration::from_secs(86_400),
        ..absent(p)
    });
    // it was young enough when the row was taken over, and was not when the log answered
    undecidable(false, |p| Case {
        since_read: Duration::from_secs(86_100),
        ..absent(p)
    });
    undecidable(false, |p| Case {
        older_key_in_doubt: true,
        ..absent(p)
    });
}

#[test]
fn row_8_absence_before_the_settle_time_means_nothing() {
    both(&wait(40), |p| Case {
        last_request_age: Duration::from_secs(20),
        ..case(p, Dedupe::None, EXACT, ABSENT)
    });
}

#[test]
fn row_9_the_only_record_that_fits_is_taken_as_ours() {
    both(
        &Verdict::Sent {
            provider_ids: vec!["a".into()],
            source: Source::Inferred,
        },
        |p| case(p, Dedupe::None, FUZZY, found(&["a"])),
    );
}

#[test]
fn row_10_two_settled_empty_reads_by_recipient_are_still_no_proof() {
    let absent = |p| case(p, Dedupe::None, FUZZY, ABSENT);
    both(
        &Verdict::Wait {
            pause: MINUTE,
            empty_read: true,
        },
        absent,
    );
    undecidable(false, |p| Case {
        empty_reads: 1,
        ..absent(p)
    });
}

#[test]
fn row_11_several_records_that_fit_are_for_a_person() {
    both(&Verdict::Park, |p| {
        case(p, Dedupe::None, FUZZY, found(&["a", "b"]))
    });
}

#[test]
fn row_12_a_failed_look_up_is_never_absence() {
    both(&wait(9), |p| {
        case(p, Dedupe::None, EXACT, failed_look_up(9))
    });
    undecidable(false, |p| Case {
        doubt_age: 2 * HOUR,
        ..case(p, Dedupe::None, EXACT, failed_look_up(9))
    });
}

#[test]
fn row_13_what_nothing_can_settle_is_for_the_policy() {
    let blind = |p| case(p, Dedupe::None, LookUp::None, Evidence::None);
    undecidable(false, blind);
    both(&Verdict::Park, |p| Case {
        sends_left: false,
        ..blind(p)
    });
    // past the window a repeat would be a second message anyway: a new key has a window again
    undecidable(true, |p| Case {
        key_age: 2 * HOUR,
        ..case(p, REPLAY, LookUp::None, Evidence::None)
    });
    // a stored failure under the old key would only be given again
    undecidable(true, |p| {
        case(
            p,
            REPLAY,
            LookUp::None,
            unknown(Doubt::ReplayedFailure, None),
        )
    });
    both(&Verdict::Park, |p| Case {
        cause: Doubt::KeyMismatch,
        ..blind(p)
    });
}

#[test]
fn row_14_an_expired_notification_is_looked_up_and_never_sent() {
    let old = |p, look_up, evidence| Case {
        expired: true,
        ..case(p, REPLAY, look_up, evidence)
    };
    both(&Verdict::LookUp, |p| old(p, EXACT, Evidence::None));
    both(&Verdict::Expired, |p| old(p, EXACT, ABSENT));
    both(&Verdict::Unconfirmed, |p| {
        old(p, LookUp::None, Evidence::None)
    });
    both(&Verdict::Unconfirmed, |p| Case {
        empty_reads: 1,
        ..old(p, FUZZY, ABSENT)
    });
    both(&Verdict::Unconfirmed, |p| old(p, FUZZY, found(&["a", "b"])));
    both(&Verdict::Unconfirmed, |p| Case {
        doubt_age: 3 * HOUR,
        ..old(p, EXACT, failed_look_up(1))
    });
}
