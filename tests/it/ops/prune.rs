use nuncio::domain::outcome::Doubt;
use nuncio::domain::phase::Phase;
use nuncio::ledger::moves::Move;
use nuncio::ledger::quarantine::{Message, Quarantined};
use nuncio::ledger::release::QuarantineFilter;
use nuncio::ops::prune::{PruneArgs, PruneError, run};
use uuid::Uuid;

use super::harness::{Harness, args, on_a_fresh_ledger};

/// A row that was accepted, and settled if it rests, this many days ago.
async fn age(h: &Harness, id: Uuid, days: u32) {
    h.set(
        id,
        &format!(
            "accepted_at = now() - interval '{days} d',
             settled_at = case when settled_at is not null then now() - interval '{days} d' end"
        ),
    )
    .await;
}

async fn left(h: &Harness) -> Vec<String> {
    sqlx::query_scalar("select key from notification order by key")
        .fetch_all(&h.pool)
        .await
        .unwrap()
}

#[test]
fn pruning_never_touches_an_open_or_a_parked_row() {
    on_a_fresh_ledger(async |h| {
        let sending = h.sending("sending").await;
        let queued = h.sending("queued").await;
        let back = Move::new(queued, 1, Phase::Sending, Phase::Queued).unwrap();
        h.apply(back.wait(std::time::Duration::ZERO)).await;
        let parked = h.parked("parked", Doubt::Timeout).await;
        let closed = h.parked("closed", Doubt::Timeout).await;
        h.resolve(&["closed", "--attempt", "1", "--close"]).await;
        let young_closed = h.parked("young-closed", Doubt::Timeout).await;
        h.resolve(&["young-closed", "--attempt", "1", "--close"])
            .await;
        let mut old = vec![sending, queued, parked, closed];
        for key in ["a", "b", "c", "d", "e"] {
            old.push(h.sent(key).await);
        }
        for id in old {
            age(&h, id, 100).await;
        }
        age(&h, young_closed, 50).await;
        // accepted long ago, settled only now
        let late = h.sent("late").await;
        h.set(late, "accepted_at = now() - interval '100 d'").await;

        let dry = run(&h.ledger, &args::<PruneArgs>(&["--dry-run"]))
            .await
            .unwrap();
        assert_eq!(left(&h).await.len(), 11);
        let report = run(&h.ledger, &args::<PruneArgs>(&["--batch", "2"]))
            .await
            .unwrap();
        assert_eq!(
            left(&h).await,
            ["late", "parked", "queued", "sending", "young-closed"]
        );
        assert_eq!(report.notifications, dry.notifications);
        assert_eq!(
            report.text(),
            "forgot 6 notifications (5 sent, 1 unconfirmed) and 0 quarantined messages"
        );
        let orphans: i64 =
            sqlx::query_scalar("select count(*) from history where notification_id = $1")
                .bind(closed)
                .fetch_one(&h.pool)
                .await
                .unwrap();
        assert_eq!(orphans, 0);
    });
}

#[test]
fn a_young_age_is_refused_unless_forced() {
    on_a_fresh_ledger(async |h| {
        let id = h.sent("k").await;
        age(&h, id, 3).await;
        let young = run(&h.ledger, &args::<PruneArgs>(&["--older-than", "2d"])).await;
        let error = young.unwrap_err();
        assert!(matches!(error, PruneError::TooYoung(_)));
        assert!(
            error
                .to_string()
                .starts_with("--older-than 2 d 0 h is below seven days")
        );
        assert_eq!(left(&h).await, ["k"]);
        run(
            &h.ledger,
            &args::<PruneArgs>(&["--older-than", "2d", "--force"]),
        )
        .await
        .unwrap();
        assert!(left(&h).await.is_empty());
    });
}

#[test]
fn quarantined_messages_are_forgotten_only_when_asked_for() {
    on_a_fresh_ledger(async |h| {
        let messages: Vec<_> = (0..5)
            .map(|n| Quarantined {
                queue: "q".to_owned(),
                reason: "r",
                detail: String::new(),
                message: Message {
                    body: vec![n],
                    ..Message::default()
                },
            })
            .collect();
        h.ledger.quarantine(&messages).await.unwrap();
        sqlx::query("update quarantine set last_at = now() - interval '1 year' where id > 1")
            .execute(&h.pool)
            .await
            .unwrap();
        let report = run(&h.ledger, &args::<PruneArgs>(&[])).await.unwrap();
        assert_eq!(report.quarantined, 0);
        let line = ["--quarantine-older-than", "30d", "--batch", "2"];
        let report = run(&h.ledger, &args::<PruneArgs>(&line)).await.unwrap();
        assert_eq!(report.quarantined, 4);
        assert_eq!(
            h.ledger
                .quarantined(&QuarantineFilter::default(), None)
                .await
                .unwrap()
                .len(),
            1
        );
    });
}
