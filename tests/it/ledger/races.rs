//! Two who want the same row: one wins, and the other changes nothing.

use nuncio::domain::outcome::Doubt;
use nuncio::domain::phase::Phase;
use nuncio::domain::settle::Source;
use nuncio::ledger::claim::Claim;
use nuncio::ledger::moves::{DoubtAfter, Move};
use std::time::Duration;
use uuid::Uuid;

use super::super::harness::{World, wait_until};
use super::{claim, open, terms};

fn sent(id: Uuid, attempt: u32) -> Move {
    Move::new(id, attempt, Phase::Sending, Phase::Sent)
        .expect("legal")
        .proof(Source::Answer, Some("provider's".into()))
        .note("worker", "outcome", "the first".into())
}

fn queued(id: Uuid, attempt: u32) -> Move {
    Move::new(id, attempt, Phase::Sending, Phase::Queued)
        .expect("legal")
        .wait(Duration::from_secs(60))
        .note("resolver", "decision", "the second".into())
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_sessions_that_settle_one_attempt_one_wins() {
    let world = World::new().await;
    let (one, two) = (open(&world, 1), open(&world, 1));
    for round in 0..10 {
        let key = format!("order-{round}");
        let new = claim(&key);
        let id = new.notification.id;
        let claimed = one
            .claim(&terms(), &[new], Uuid::new_v4())
            .await
            .expect("claimed");
        assert_eq!(claimed, [Claim::Claimed]);
        // Both stand at the row when the lock goes.
        let mut barrier = world.database.pool.begin().await.expect("a session");
        sqlx::query("select 1 from notification where id = $1 for update")
            .bind(id)
            .execute(&mut *barrier)
            .await
            .expect("locked");
        let (first, second) = ([sent(id, 1)], [queued(id, 1)]);
        let race = async { tokio::join!(one.apply(&first), two.apply(&second)) };
        let go = async {
            wait_until("both wait for the row", async || {
                let waiting: i64 = sqlx::query_scalar(
                    "select count(*) from pg_stat_activity where datname = current_database()
                     and application_name = 'nuncio' and wait_event_type = 'Lock'",
                )
                .fetch_one(&world.database.pool)
                .await
                .expect("the database answers");
                (waiting == 2).then_some(())
            })
            .await;
            barrier.commit().await.expect("unlocked");
        };
        let ((first, second), ()) = tokio::join!(race, go);
        let (first, second) = (first.expect("answered"), second.expect("answered"));
        assert_eq!(first.len() + second.len(), 1, "{first:?} {second:?}");
        let row = world.row("sms", &key).await;
        let (phase, told) = if first.contains(&id) {
            (Phase::Sent, "the first")
        } else {
            (Phase::Queued, "the second")
        };
        assert_eq!(row.phase, phase);
        assert_eq!(row.provider_id.is_some(), phase == Phase::Sent);
        let history = world.history("sms", &key).await;
        assert!(
            history.len() == 1 && history[0].detail == told,
            "{history:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_attempt_or_another_phase_changes_nothing() {
    let world = World::new().await;
    let ledger = open(&world, 1);
    let new = claim("order-1");
    let id = new.notification.id;
    ledger
        .claim(&terms(), &[new], Uuid::new_v4())
        .await
        .expect("claimed");
    world.let_pass(Duration::from_secs(61)).await;
    let taken = ledger
        .take_over(&["sms".into()], 10, Duration::from_secs(60), Uuid::new_v4())
        .await
        .expect("taken over");
    assert_eq!(taken[0].attempt, 2);

    let before = world.snapshot().await;
    let of = |attempt, from, to| Move::new(id, attempt, from, to).expect("legal");
    let parked = |attempt| {
        of(attempt, Phase::Sending, Phase::Parked).doubt(DoubtAfter::Because(Doubt::Timeout))
    };
    let stale = [
        sent(id, 1),
        sent(id, 3),
        queued(id, 1),
        parked(0),
        of(2, Phase::Queued, Phase::Expired),
        of(2, Phase::Queued, Phase::Cancelled),
        of(2, Phase::Parked, Phase::Queued).wait(Duration::ZERO),
        of(2, Phase::Parked, Phase::Sent).proof(Source::Person, None),
        sent(Uuid::new_v4(), 2),
    ];
    for change in stale {
        let done = ledger
            .apply(std::slice::from_ref(&change))
            .await
            .expect("answered");
        assert!(done.is_empty(), "{change:?}");
        assert_eq!(world.snapshot().await, before, "{change:?}");
    }
    let stamped = ledger
        .stamp(id, 1, "another", [9; 32], true)
        .await
        .expect("answered");
    assert!(
        !stamped && world.snapshot().await == before,
        "a stale stamp"
    );
    let done = ledger.apply(&[sent(id, 2)]).await.expect("answered");
    assert!(done.contains(&id), "the present one wins");
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_of_the_same_keys_in_opposite_order_do_not_deadlock() {
    let world = World::new().await;
    let (one, two) = (open(&world, 1), open(&world, 1));
    let terms = terms();
    for round in 0..200 {
        let there: Vec<_> = (0..10).map(|i| claim(&format!("{round} {i}"))).collect();
        let back: Vec<_> = there.iter().rev().cloned().collect();
        let (there, back) = tokio::join!(
            one.claim(&terms, &there, Uuid::new_v4()),
            two.claim(&terms, &back, Uuid::new_v4())
        );
        let (there, mut back) = (there.expect("no deadlock"), back.expect("no deadlock"));
        back.reverse();
        for pair in there.iter().zip(&back) {
            match pair {
                (Claim::Claimed, Claim::Duplicate(Phase::Sending))
                | (Claim::Duplicate(Phase::Sending), Claim::Claimed) => {}
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(world.rows().await.len(), 2000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_claim_is_ours_under_its_token_and_for_as_long_as_it_is_the_first_attempt() {
    let world = World::new().await;
    let ledger = open(&world, 1);
    let batch = [claim("a"), claim("b"), claim("a")];
    let (ours, other) = (Uuid::new_v4(), Uuid::new_v4());
    let known = Claim::Duplicate(Phase::Sending);
    for _ in 0..3 {
        let answers = ledger
            .claim(&terms(), &batch, ours)
            .await
            .expect("answered");
        assert_eq!(answers, [Claim::Claimed, Claim::Claimed, known.clone()]);
    }
    let answers = ledger
        .claim(&terms(), &batch, other)
        .await
        .expect("answered");
    assert_eq!(answers, [known.clone(), known.clone(), known.clone()]);

    // What has gone on since is not taken back: "a" is sent, "b" somebody else's by now.
    let id = batch[0].notification.id;
    ledger.apply(&[sent(id, 1)]).await.expect("answered");
    world.let_pass(Duration::from_secs(61)).await;
    let lease = Duration::from_secs(60);
    let taken = ledger.take_over(&["sms".into()], 10, lease, ours).await;
    assert_eq!(taken.expect("taken over").len(), 1);
    let answers = ledger
        .claim(&terms(), &batch, ours)
        .await
        .expect("answered");
    let is_sent = Claim::Duplicate(Phase::Sent);
    assert_eq!(answers, [is_sent.clone(), known, is_sent]);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_message_of_a_batch_is_compared_with_what_stands() {
    let world = World::new().await;
    let ledger = open(&world, 1);
    ledger
        .claim(&terms(), &[claim("a")], Uuid::new_v4())
        .await
        .expect("answered");
    let mut other = claim("a");
    let mut changed = (*other.notification).clone();
    changed.content.text = Some("another".into());
    other.notification = changed.into();
    let batch = [other.clone(), claim("a"), other];
    let answers = ledger
        .claim(&terms(), &batch, Uuid::new_v4())
        .await
        .expect("answered");
    assert!(matches!(answers[0], Claim::Conflict { .. }), "{answers:?}");
    assert_eq!(answers[1], Claim::Duplicate(Phase::Sending));
    assert_eq!(answers[2], answers[0], "the one before it does not stand");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acceptance_with_nothing_to_say_changes_a_row_as_one_with_a_note_does() {
    let world = World::new().await;
    let ledger = open(&world, 1);
    let (brief, noted) = (claim("brief"), claim("noted"));
    let (brief_id, noted_id) = (brief.notification.id, noted.notification.id);
    let claimed = ledger
        .claim(&terms(), &[brief, noted], Uuid::new_v4())
        .await;
    assert_eq!(claimed.expect("claimed"), [Claim::Claimed, Claim::Claimed]);
    // As much as a row in `sending` can carry.
    sqlx::query(
        "update notification set attempt = 3, sends = 3, generation = 2, checks = 4, empty_reads = 1,
            doubt_since = accepted_at, doubt_cause = 'timeout', doubt_generation = 1,
            possible_duplicates = 1, provider_id = 'an older one', last_text = 'said before'",
    )
    .execute(&world.database.pool)
    .await
    .expect("the database takes it");
    let sent = |id, provider_id: Option<&str>| {
        Move::new(id, 3, Phase::Sending, Phase::Sent)
            .expect("legal")
            .proof(Source::Answer, provider_id.map(str::to_owned))
    };
    let stale = Move::new(brief_id, 2, Phase::Sending, Phase::Sent)
        .expect("legal")
        .proof(Source::Answer, None);
    let none = ledger.apply(&[stale]).await.expect("answered");
    assert!(none.is_empty(), "a stale attempt");
    let brief = [sent(brief_id, Some("theirs"))];
    assert!(brief[0].is_plainly_sent());
    let noted = [sent(noted_id, Some("theirs")).note("worker", "outcome", "accepted".into())];
    assert!(!noted[0].is_plainly_sent());
    for moves in [&brief, &noted] {
        let done = ledger.apply(moves).await.expect("answered");
        assert_eq!(done.len(), 1);
    }
    let differing: Vec<String> = sqlx::query_scalar(
        "select a.key from notification m, notification n,
            jsonb_each_text(to_jsonb(m)) a, jsonb_each_text(to_jsonb(n)) b
         where m.id = $1 and n.id = $2 and a.key = b.key and a.value is distinct from b.value
         order by 1",
    )
    .bind(brief_id)
    .bind(noted_id)
    .fetch_all(&world.database.pool)
    .await
    .expect("the ledger can be read");
    assert_eq!(
        differing,
        ["content", "id", "key", "recipient", "settled_at"],
        "only what makes them two"
    );
    for moves in [&brief, &noted] {
        let again = ledger.apply(moves).await.expect("answered");
        assert!(again.is_empty(), "what rests is not moved");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_attempts_noted_in_one_batch_only_the_one_that_holds_is_on_record() {
    let world = World::new().await;
    let ledger = open(&world, 1);
    let new = claim("order-1");
    let id = new.notification.id;
    let claimed = ledger.claim(&terms(), &[new], Uuid::new_v4()).await;
    assert_eq!(claimed.expect("claimed"), [Claim::Claimed]);
    let late = queued(id, 2);
    let done = ledger.apply(&[sent(id, 1), late]).await.expect("answered");
    assert!(done.contains(&id));
    let history: Vec<(i32, String)> =
        sqlx::query_as("select attempt, detail from history where notification_id = $1")
            .bind(id)
            .fetch_all(&world.database.pool)
            .await
            .expect("the ledger can be read");
    assert_eq!(history, [(1, "the first".to_owned())]);
}
