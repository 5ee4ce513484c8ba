use chrono::{TimeDelta, Utc};
use nuncio::domain::outcome::Doubt;
use nuncio::domain::phase::Phase;
use nuncio::ledger::moves::{DoubtAfter, Move};
use nuncio::ops::{OpsError, Terminal, resolve};
use std::time::Duration;
use uuid::Uuid;

use super::harness::{Harness, nobody_at, notification, on_a_fresh_ledger, try_args};

#[test]
fn sent_needs_proof_and_keeps_it_in_the_history() {
    on_a_fresh_ledger(async |h| {
        let id = h.parked("k", Doubt::Timeout).await;
        let line = [
            "k",
            "--attempt",
            "1",
            "--sent",
            "--proof",
            "log entry\u{1b} 9",
            "--provider-id",
            "SM-9",
        ];
        let (code, text) = h.resolve(&line).await;
        assert_eq!(
            (code, &*text),
            (0, "k on sms: From parked to sent, decided by anna.\n")
        );
        let row = h.row(id).await;
        assert_eq!(
            (row.phase, row.settled_by.as_deref()),
            (Phase::Sent, Some("person"))
        );
        assert_eq!(
            (row.provider_id.as_deref(), row.doubt_since),
            (Some("SM-9"), None)
        );
        let detail = "marked as sent. Proof: log entry\u{FFFD} 9. Reason: ticket 7";
        assert_eq!(
            h.last_line(id).await,
            ("anna".into(), "person".into(), detail.into())
        );
    });
}

#[test]
fn a_resend_is_due_now_and_stays_in_doubt() {
    on_a_fresh_ledger(async |h| {
        let id = h.parked("k", Doubt::Timeout).await;
        let (code, _) = h.resolve(&["k", "--attempt", "1", "--resend"]).await;
        let row = h.row(id).await;
        assert_eq!(
            (code, row.phase, row.possible_duplicates),
            (0, Phase::Queued, 1)
        );
        assert_eq!((row.cause(), row.generation), (Some(Doubt::Timeout), 1));
        let detail = "sent again in doubt; a possible duplicate. Reason: ticket 7";
        assert_eq!(
            h.last_line(id).await,
            ("anna".into(), "person".into(), detail.into())
        );
        assert!(claim_due(&h).await);
        assert_eq!(h.row(id).await.sends, 2);
    });
}

#[test]
fn a_resend_takes_a_new_key_where_the_old_one_is_spoilt() {
    on_a_fresh_ledger(async |h| {
        for (key, cause) in [("a", Doubt::ReplayedFailure), ("b", Doubt::KeyMismatch)] {
            let id = h.parked(key, cause).await;
            h.resolve(&[key, "--attempt", "1", "--resend"]).await;
            assert_eq!(h.row(id).await.generation, 2, "{cause}");
        }
    });
}

#[test]
fn a_closed_row_rests_in_doubt() {
    on_a_fresh_ledger(async |h| {
        let id = h.parked("k", Doubt::Timeout).await;
        let (code, _) = h.resolve(&["k", "--attempt", "1", "--close"]).await;
        let row = h.row(id).await;
        assert_eq!(
            (code, row.phase, row.cause()),
            (0, Phase::Unconfirmed, Some(Doubt::Timeout))
        );
        let detail = "closed in doubt; not sent again. Reason: ticket 7";
        assert_eq!(
            h.last_line(id).await,
            ("anna".into(), "person".into(), detail.into())
        );
    });
}

#[test]
fn cancelling_a_queued_row_is_certain_only_without_doubt() {
    on_a_fresh_ledger(async |h| {
        let later = Some(Utc::now() + TimeDelta::hours(1));
        let new = nuncio::domain::notification::Notification {
            send_at: later,
            ..notification("sms", "new")
        };
        let new = h.accept(new).await;
        let (code, _) = h.resolve(&["new", "--attempt", "0", "--cancel"]).await;
        assert_eq!((code, h.row(new).await.phase), (0, Phase::Cancelled));

        let doubtful = h.parked("doubtful", Doubt::Timeout).await;
        h.resolve(&["doubtful", "--attempt", "1", "--resend"]).await;
        let (code, _) = h.resolve(&["doubtful", "--attempt", "1", "--cancel"]).await;
        assert_eq!((code, h.row(doubtful).await.phase), (0, Phase::Unconfirmed));
    });
}

#[test]
fn a_decision_about_an_attempt_that_is_past_changes_nothing() {
    on_a_fresh_ledger(async |h| {
        let id = h.parked("k", Doubt::Timeout).await;
        h.resolve(&["k", "--attempt", "1", "--resend"]).await;
        assert!(claim_due(&h).await);
        h.park(id, 2, Doubt::ConnectionLost).await;

        let (code, text) = h.resolve(&["k", "--attempt", "1", "--close"]).await;
        assert_eq!(code, 3);
        assert!(
            text.contains("Somebody else decided meanwhile: now parked, attempt 2"),
            "{text}"
        );
        assert_eq!(h.row(id).await.phase, Phase::Parked);
        assert_eq!(h.last_line(id).await.0, "resolver");
    });
}

#[test]
fn of_two_people_who_decide_at_once_one_wins_and_the_other_is_told() {
    on_a_fresh_ledger(async |h| {
        for round in 0..10 {
            let key = round.to_string();
            let id = h.parked(&key, Doubt::Timeout).await;
            let close = [&*key, "--attempt", "1", "--close"];
            let sent = [&*key, "--attempt", "1", "--sent", "--proof", "log"];
            let (close, sent) = tokio::join!(h.resolve(&close), h.resolve(&sent));
            let mut codes = [close.0, sent.0];
            codes.sort_unstable();
            assert_eq!(codes, [0, 3], "{close:?} {sent:?}");
            let decisions = h.ledger.history(id).await.unwrap();
            assert_eq!(
                decisions.iter().filter(|line| line.actor == "anna").count(),
                1
            );
        }
    });
}

#[test]
fn a_row_that_has_expired_is_not_sent_again() {
    on_a_fresh_ledger(async |h| {
        let id = h.parked("k", Doubt::Timeout).await;
        h.set(id, "expires_at = now() - interval '1 s'").await;
        let (code, text) = h.resolve(&["k", "--attempt", "1", "--resend"]).await;
        assert_eq!(code, 3);
        assert!(
            text.contains("Nothing was changed. It expired at "),
            "{text}"
        );
        let (_, story) = h.explain(&["k"]).await;
        assert!(
            story.contains("it cannot be sent again") && !story.contains("--resend"),
            "{story}"
        );
        let (code, _) = h.resolve(&["k", "--attempt", "1", "--close"]).await;
        assert_eq!(code, 0);
    });
}

#[test]
fn a_row_that_expires_between_the_look_and_the_decision_is_not_sent_again() {
    on_a_fresh_ledger(async |h| {
        let id = h.parked("k", Doubt::Timeout).await;
        let resend = Move::new(id, 1, Phase::Parked, Phase::Queued).unwrap();
        let resend = resend
            .wait(Duration::ZERO)
            .doubt(DoubtAfter::Kept)
            .unless_expired();
        h.set(id, "expires_at = now()").await;
        assert!(
            h.ledger
                .apply(std::slice::from_ref(&resend))
                .await
                .unwrap()
                .is_empty()
        );
        assert_eq!(h.row(id).await.phase, Phase::Parked);
        h.set(id, "expires_at = now() + interval '1 h'").await;
        h.apply(resend).await;
    });
}

#[test]
fn rows_that_no_person_has_to_decide_about_are_left_alone() {
    on_a_fresh_ledger(async |h| {
        h.sending("sending").await;
        let stale = h.sending("stale").await;
        h.set(stale, "due_at = now()").await;
        h.sent("sent").await;
        for (key, why) in [
            ("sending", "Its worker is sending it just now"),
            ("stale", "The resolver is still working on it"),
            ("sent", "It rests as sent"),
        ] {
            let (code, text) = h.resolve(&[key, "--attempt", "1", "--resend"]).await;
            assert_eq!(code, 3, "{key}");
            assert!(text.contains(why), "{text}");
        }
        let (code, _) = h.resolve(&["nowhere", "--attempt", "1", "--close"]).await;
        assert_eq!(code, 1);
    });
}

#[test]
fn without_an_attempt_the_row_is_shown_and_a_person_asked() {
    on_a_fresh_ledger(async |h| {
        let id = h.parked("k", Doubt::Timeout).await;
        let mut out = Vec::new();
        let refused = h
            .try_resolve(&["k", "--close"], &mut nobody_at(&mut out))
            .await;
        assert!(matches!(refused, Err(OpsError::Usage(_))));

        for (answer, code, phase) in [("\n", 3, Phase::Parked), ("y\n", 0, Phase::Unconfirmed)] {
            let (mut out, mut input) = (Vec::new(), answer.as_bytes());
            let mut terminal = Terminal {
                out: &mut out,
                input: Some(&mut input),
            };
            assert_eq!(
                h.try_resolve(&["k", "--close"], &mut terminal)
                    .await
                    .unwrap(),
                code
            );
            let text = String::from_utf8(out).unwrap();
            assert!(text.contains("Where it stands"), "{text}");
            assert!(
                text.contains("Move attempt 1 from parked to unconfirmed? [y/N]"),
                "{text}"
            );
            assert_eq!(h.row(id).await.phase, phase);
        }
    });
}

#[test]
fn a_decision_needs_a_reason_a_person_and_exactly_one_kind() {
    let base = ["k", "--channel", "sms", "--reason", "r", "--by", "anna"];
    let parse = |more: &[&str]| try_args::<resolve::ResolveArgs>(&[&base, more].concat()).is_ok();
    assert!(parse(&["--close"]));
    assert!(parse(&["--sent", "--proof", "p"]));
    assert!(!parse(&[]));
    assert!(!parse(&["--sent"]));
    assert!(!parse(&["--close", "--resend"]));
    assert!(!parse(&["--close", "--proof", "p"]));
    let line = ["k", "--channel", "sms", "--close", "--by", "anna"];
    assert!(try_args::<resolve::ResolveArgs>(&line).is_err());
    for by in ["", " ", "resolver"] {
        let line = [&line[..5], &[by, "--reason", "r"]].concat();
        assert!(try_args::<resolve::ResolveArgs>(&line).is_err(), "{by:?}");
    }
}

/// Claims what is due on the channel `sms`, as a worker would; says whether there was something.
async fn claim_due(h: &Harness) -> bool {
    let lease = Duration::from_secs(600);
    let page = h
        .ledger
        .claim_due(&"sms".into(), "gateway", lease, 10, Uuid::new_v4())
        .await;
    !page.unwrap().claimed.is_empty()
}
