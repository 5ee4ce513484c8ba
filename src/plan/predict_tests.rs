//! The prediction against the formulas, and against a sandbox that rolls the dice.

use std::time::Duration;

use super::{
    ClosedForms, Dedupe, Expected, Lookup, Mulberry32, Policy, Prediction, Probability, Situation,
    predict,
};

const HOUR: Duration = Duration::from_secs(3_600);
const SETTLE: Duration = Duration::from_secs(300);
const REPLAY: Dedupe = Dedupe::Replay {
    window: Duration::from_secs(86_400),
};
const EXACT: Lookup = Lookup::ByReference {
    settle: SETTLE,
    retention: HOUR,
};
const FUZZY: Lookup = Lookup::ByRecipient {
    settle: SETTLE,
    retention: HOUR,
};

fn lossy(dedupe: Dedupe, lookup: Lookup) -> Situation {
    Situation::new(
        dedupe,
        lookup,
        Probability::clamped(0.10),
        Probability::clamped(0.15),
    )
}

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * left.abs().max(right.abs()).max(1.0)
}

#[test]
fn at_least_once_without_evidence_is_the_closed_form() {
    for tries in [1, 2, 8] {
        let situation = Situation {
            tries,
            ..lossy(Dedupe::None, Lookup::None)
        };
        let forms = ClosedForms::with_limit(situation.request_loss, situation.answer_loss, tries);
        let found = predict(1_000, Policy::AtLeastOnce, &situation);
        assert!(close(found.requests.mean, 1_000.0 * forms.sends));
        assert!(close(found.duplicates.mean, 1_000.0 * forms.duplicates));
        assert!(close(found.lost.mean, 1_000.0 * forms.lost));
        assert!(close(found.parked.mean, 1_000.0 * forms.unsettled));
    }
}

#[test]
fn at_most_once_without_evidence_loses_p_m_and_parks_every_doubt_with_binomial_spread() {
    let found = predict(
        1_000,
        Policy::AtMostOnce,
        &lossy(Dedupe::None, Lookup::None),
    );
    let same = |found: Expected, share| {
        let expected = Expected::binomial(1_000, Probability::clamped(share));
        assert!(
            close(found.mean, expected.mean) && close(found.sd, expected.sd),
            "{found:?}"
        );
    };
    same(found.lost, 0.10);
    same(found.parked, 0.10 + 0.90 * 0.15);
    same(found.parked_delivered, 0.90 * 0.15);
    same(found.parked_lost, 0.10);
    same(found.duplicates, 0.0);
    same(found.requests, 1.0);
}

#[test]
fn inside_the_window_or_with_an_exact_log_the_policies_do_the_same_and_double_nothing() {
    for situation in [lossy(REPLAY, Lookup::None), lossy(Dedupe::None, EXACT)] {
        let [once, again] = Policy::ALL.map(|policy| predict(1_000, policy, &situation));
        assert_eq!(once, again);
        assert_eq!(once.duplicates.mean, 0.0);
        assert!(once.lost.mean < 1e-4);
    }
}

#[test]
fn an_expired_window_is_no_window_and_a_forgetful_log_is_no_log() {
    let short = Dedupe::Replay {
        window: Duration::from_secs(60),
    };
    let forgetful = Lookup::ByReference {
        settle: SETTLE,
        retention: Duration::from_secs(30),
    };
    for policy in Policy::ALL {
        let blind = predict(1_000, policy, &lossy(Dedupe::None, Lookup::None));
        assert_eq!(predict(1_000, policy, &lossy(short, Lookup::None)), blind);
        assert_eq!(
            predict(1_000, policy, &lossy(Dedupe::None, forgetful)),
            blind
        );
    }
}

#[test]
fn proved_absence_without_an_attempt_left_is_failed_and_nobody_s_work() {
    for policy in Policy::ALL {
        let once = Situation {
            tries: 1,
            ..lossy(Dedupe::None, EXACT)
        };
        let found = predict(1_000, policy, &once);
        assert!(
            close(found.failed.mean, 100.0) && found.parked.mean == 0.0,
            "{found:?}"
        );
    }
}

#[test]
fn a_late_log_makes_even_at_most_once_double_some() {
    let late_log = Probability::clamped(0.02);
    let situation = Situation {
        late_log,
        ..lossy(Dedupe::None, EXACT)
    };
    let found = predict(1_000, Policy::AtMostOnce, &situation);
    assert!(found.duplicates.mean > 1_000.0 * 0.90 * 0.15 * 0.02 * 0.9);
}

#[test]
fn another_sender_s_message_makes_a_fuzzy_log_hide_a_loss() {
    let foreign_match = Probability::clamped(0.01);
    let situation = Situation {
        foreign_match,
        ..lossy(Dedupe::None, FUZZY)
    };
    for policy in Policy::ALL {
        let found = predict(1_000, policy, &situation);
        assert!(
            close(found.lost_unnoticed.mean, 1_000.0 * 0.01 * 0.10),
            "{found:?}"
        );
    }
}

#[test]
fn certain_loss_is_not_a_number_that_is_not_one() {
    let dead = Situation {
        request_loss: Probability::ONE,
        ..lossy(REPLAY, FUZZY)
    };
    let found = predict(1_000, Policy::AtLeastOnce, &dead);
    assert_eq!((found.lost.mean, found.lost.sd), (1_000.0, 0.0));
}

#[test]
fn a_sandbox_that_rolls_the_dice_stays_within_five_standard_deviations() {
    const MESSAGES: u32 = 40_000;
    let [noisy, late_log] = [0.05, 0.03].map(Probability::clamped);
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    for (seed, dedupe, lookup) in [
        (1, Dedupe::None, Lookup::None),
        (2, REPLAY, Lookup::None),
        (3, Dedupe::Replay { window: minutes(2) }, Lookup::None),
        (4, Dedupe::Tombstone { window: minutes(4) }, EXACT),
        (5, Dedupe::None, EXACT),
        (6, Dedupe::None, FUZZY),
        (7, Dedupe::ClientId { window: minutes(2) }, FUZZY),
    ] {
        for policy in Policy::ALL {
            let situation = Situation {
                foreign_match: noisy,
                late_log,
                tries: 4,
                ..lossy(dedupe, lookup)
            };
            let predicted = predict(MESSAGES, policy, &situation);
            let counted = roll(MESSAGES, policy, &situation, seed);
            for (name, expected, count) in counted.beside(&predicted) {
                let off = expected.deviations(count).unwrap_or(0.0);
                assert!(
                    off.abs() < 5.0,
                    "{name} of {dedupe} {lookup} {policy:?}: {count}, expected {expected:?}"
                );
            }
        }
    }
}

#[derive(Default)]
struct Counted {
    requests: u64,
    sent: u64,
    lost: u64,
    duplicates: u64,
    parked: u64,
    in_doubt: u64,
}

impl Counted {
    fn beside(&self, predicted: &Prediction) -> [(&'static str, Expected, u64); 6] {
        [
            ("requests", predicted.requests, self.requests),
            ("physically sent", predicted.physically_sent, self.sent),
            ("lost", predicted.lost, self.lost),
            ("duplicates", predicted.duplicates, self.duplicates),
            ("parked", predicted.parked, self.parked),
            (
                "possible duplicates",
                predicted.possible_duplicates,
                self.in_doubt,
            ),
        ]
    }
}

/// One message after the other, written down as a story and sharing nothing with the prediction
/// but its inputs: a provider with keys and a log, a resolver with a clock.
fn roll(messages: u32, policy: Policy, at: &Situation, seed: u32) -> Counted {
    let mut random = Mulberry32::new(seed);
    let mut counted = Counted::default();
    for _ in 0..messages {
        let foreign = usize::from(random.draw() < at.foreign_match.get());
        // The log: one entry per message sent, with the key it came under.
        let (mut log, mut key, mut first_use, mut now) =
            (Vec::new(), 0, Duration::ZERO, Duration::ZERO);
        let mut wait = at.act_after;
        for attempt in 1..=at.tries {
            counted.requests += 1;
            let arrived = random.draw() >= at.request_loss.get();
            let fresh = arrived && !(at.dedupe != Dedupe::None && log.contains(&key));
            if fresh {
                log.push(key);
            }
            if arrived && random.draw() >= at.answer_loss.get() {
                break;
            }
            now += wait;
            wait *= 2;
            let last = attempt == at.tries;
            if !last && now - first_use + at.margin <= at.dedupe.window().unwrap_or_default() {
                continue;
            }
            let late = fresh && random.draw() < at.late_log.get();
            let seen = log.len() - usize::from(late);
            let verdict = match at.lookup {
                Lookup::None => None,
                Lookup::ByReference { .. } => Some(seen.min(1)),
                Lookup::ByRecipient { .. } if seen + foreign == 0 => None,
                Lookup::ByRecipient { .. } => Some(seen + foreign),
            };
            match (verdict, policy) {
                (Some(1), _) => break,
                (Some(0), _) if last => break,
                (Some(0), _) => {}
                (None, Policy::AtLeastOnce) if !last => counted.in_doubt += 1,
                (Some(_) | None, _) => {
                    counted.parked += 1;
                    break;
                }
            }
            (key, first_use, wait) = (key + 1, now, at.act_after);
        }
        let sent = u64::try_from(log.len()).unwrap_or(u64::MAX);
        counted.sent += sent;
        counted.lost += u64::from(sent == 0);
        counted.duplicates += sent.saturating_sub(1);
    }
    counted
}
