//! The claim: committed before any request and before any ack, and honoured to its end only.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use nuncio::domain::notification::{Content, Notification};
use nuncio::domain::phase::Phase::{Parked, Sending, Sent};
use nuncio::domain::policy::Policy::{AtLeastOnce, AtMostOnce};
use nuncio::ledger::Ledger;
use nuncio::ledger::claim::{Claim, NewClaim, Terms};
use serde_json::{Value, json};
use sqlx::PgPool;
use tokio::net::TcpListener;
use uuid::Uuid;

use crate::harness::{Channel, Cut, Flow, Gives, Proxy, World, body, wait_until};

/// A provider that, for each request, looks for its claim in a session of its own before it
/// answers.
#[derive(Clone)]
struct Witness {
    ledger: PgPool,
    seen: Arc<Mutex<Vec<Option<Claimed>>>>,
}

/// A row's phase, and how many seconds of its lease were left.
type Claimed = (String, f64);

impl Witness {
    async fn serve(world: &World) -> (SocketAddr, Self) {
        let witness = Self {
            ledger: world.database.pool.clone(),
            seen: Arc::default(),
        };
        let router = Router::new()
            .route("/send", post(Self::look))
            .with_state(witness.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        (address, witness)
    }

    async fn look(
        State(witness): State<Self>,
        Json(message): Json<Value>,
    ) -> (StatusCode, Json<Value>) {
        let id: Uuid = message["reference"].as_str().unwrap().parse().unwrap();
        let row = sqlx::query_as(
            "select phase::text, extract(epoch from due_at - clock_timestamp())::float8
             from notification where id = $1",
        )
        .bind(id)
        .fetch_optional(&witness.ledger)
        .await
        .unwrap();
        witness.seen.lock().unwrap().push(row);
        (
            StatusCode::ACCEPTED,
            Json(json!({ "status": "accepted", "id": id })),
        )
    }
}

#[tokio::test]
async fn for_every_request_a_third_session_sees_the_committed_claim() {
    let world = World::new().await;
    let (provider, witness) = Witness::serve(&world).await;
    let channel = Channel::new("sms", AtMostOnce, Gives::Nothing).through(provider);
    let config = world.config().channel(channel);
    let publisher = world.publisher(&config).await;
    publisher
        .send_all((1..=100).map(|n| ("sms".into(), format!("order-{n}"))))
        .await;
    let worker = world.start(&config).await;
    let seen = wait_until("the provider sees every request", async || {
        let seen = witness.seen.lock().unwrap();
        (seen.len() == 100).then(|| seen.clone())
    })
    .await;
    for claim in &seen {
        let (phase, lease_left) = claim.as_ref().expect("a row for every request");
        assert_eq!(phase, "sending");
        assert!(
            *lease_left > 20.0,
            "less than the request timeout is left: {lease_left}"
        );
    }
    let rows = world.rest(100).await;
    worker.stop().await;
    assert!(rows.iter().all(|row| row.phase == Sent));
}

#[tokio::test]
async fn killed_before_the_claim_is_committed_the_messages_are_still_in_the_queue() {
    let world = World::new().await;
    let to_the_ledger = Proxy::before_url(&world.database.url).await;
    let config = world
        .config()
        .channel(Channel::new("sms", AtMostOnce, Gives::Nothing));
    let publisher = world.publisher(&config).await;
    let proxied = config.clone().database_through(to_the_ledger.address);
    let mut worker = world.start(&proxied).await;
    to_the_ledger.flow(Flow::Hold);
    for n in 1..=5 {
        publisher.send("sms", &format!("order-{n}")).await;
    }
    let queue = config.queue("sms");
    wait_until("the worker has the messages", async || {
        (world.broker.ready(&queue).await.0 == 0).then_some(())
    })
    .await;
    let heard = to_the_ledger.heard();
    wait_until("the worker asks the ledger", async || {
        (to_the_ledger.heard() > heard || heard > 0).then_some(())
    })
    .await;
    worker.kill().await;
    to_the_ledger.cut();

    wait_until("the messages come back", async || {
        (world.broker.ready(&queue).await.0 == 5).then_some(())
    })
    .await;
    assert_eq!(world.rows().await, []);
    let worker = world.start(&config).await;
    let rows = world.rest(5).await;
    worker.stop().await;
    assert!(rows.iter().all(|row| row.phase == Sent && row.attempt == 1));
    world.audit(&config).await;
}

#[tokio::test]
async fn killed_between_the_claims_commit_and_the_ack_the_message_comes_again_and_is_dropped() {
    let world = World::new().await;
    let to_the_ledger = Proxy::before_url(&world.database.url).await;
    let config = world
        .config()
        .channel(Channel::new("sms", AtMostOnce, Gives::LookUp));
    let publisher = world.publisher(&config).await;
    let proxied = config.clone().database_through(to_the_ledger.address);
    let mut worker = world.start(&proxied).await;
    to_the_ledger.hold_after("order-1");
    publisher.send("sms", "order-1").await;
    to_the_ledger.has_caught().await;
    let row = world.row("sms", "order-1").await;
    assert_eq!(row.phase, Sending);
    worker.kill().await;
    to_the_ledger.cut();

    let mut worker = world.start(&config).await;
    wait_until("the redelivery is dropped", async || {
        let metrics = worker.metrics().await;
        let dropped = metrics.sum("nuncio_duplicates_dropped_total", "");
        (dropped == 1.0).then_some(())
    })
    .await;
    let row = world.row("sms", "order-1").await;
    assert_eq!(
        (row.phase, row.attempt),
        (Sending, 1),
        "not sent on a guess"
    );
    assert_eq!(world.sandbox.so_far(row.id).await.requests.len(), 0);
    world.let_pass(Duration::from_secs(60)).await;
    world.rest(1).await;
    worker.stop().await;
    let row = world.row("sms", "order-1").await;
    assert_eq!((row.phase, row.sends), (Sent, 2));
    world.audit(&config).await;
}

#[tokio::test]
async fn a_claim_whose_answer_came_too_late_makes_no_request() {
    let world = World::new().await;
    let to_the_ledger = Proxy::before_url(&world.database.url).await;
    let channel = Channel::new("sms", AtMostOnce, Gives::Nothing).times("2s", "7100ms");
    let config = world.config().channel(channel);
    let publisher = world.publisher(&config).await;
    let proxied = config.clone().database_through(to_the_ledger.address);
    let worker = world.start_as(&proxied, "worker").await;
    to_the_ledger.hold_after("order-1");
    publisher.send("sms", "order-1").await;
    // By the ledger's clock: less of the lease is left than a request may take.
    world
        .row_when("the lease runs short", "sms", "order-1", |row| {
            row.due_at
                .is_some_and(|due| due - chrono::Utc::now() < chrono::TimeDelta::seconds(2))
        })
        .await;
    to_the_ledger.let_go();

    world.rest(1).await;
    worker.stop().await;
    let row = world.row("sms", "order-1").await;
    let history = world.history("sms", "order-1").await;
    assert_eq!(row.phase, Sent);
    assert_eq!(
        (row.attempt, row.sends),
        (2, 1),
        "the first made no request"
    );
    assert!(
        history[0].detail.contains("no request was made"),
        "{history:?}"
    );
    let arrived = world.sandbox.so_far(row.id).await;
    assert_eq!(arrived.requests.len(), 1);
    world.audit(&config).await;
}

#[tokio::test]
async fn a_claim_whose_commit_was_not_confirmed_is_found_to_be_ours_and_sent_once() {
    let world = World::new().await;
    let to_the_ledger = Proxy::before_url(&world.database.url).await;
    let config = world
        .config()
        .channel(Channel::new("sms", AtLeastOnce, Gives::Nothing));
    let publisher = world.publisher(&config).await;
    let proxied = config.clone().database_through(to_the_ledger.address);
    let worker = world.start_as(&proxied, "worker").await;
    to_the_ledger.cut_after("order-1");
    publisher.send("sms", "order-1").await;
    to_the_ledger.has_caught().await;

    let rows = world.rest(1).await;
    worker.stop().await;
    assert_eq!((rows[0].phase, rows[0].attempt), (Sent, 1));
    assert_eq!(world.sandbox.so_far(rows[0].id).await.requests.len(), 1);
    world.audit(&config).await;
}

#[tokio::test]
async fn a_claim_of_due_rows_whose_commit_was_not_confirmed_is_found_to_be_ours_and_sent_once() {
    for policy in [AtMostOnce, AtLeastOnce] {
        let world = World::new().await;
        let to_the_ledger = Proxy::before_postgres(&world.database.url).await;
        let channel = Channel::new("sms", policy, Gives::Nothing);
        let config = world.config().channel(channel);
        let publisher = world.publisher(&config).await;
        for n in 1..=5 {
            let mut message = body("sms", &format!("order-{n}"));
            message["send_at"] = json!(chrono::Utc::now() + chrono::TimeDelta::hours(1));
            publisher.json("sms", &message).await;
        }
        // Takes them into the ledger, and is gone before they come due.
        let worker = world.start_as(&config, "worker").await;
        wait_until("all are queued", async || {
            (world.rows().await.len() == 5).then_some(())
        })
        .await;
        worker.stop().await;
        sqlx::raw_sql("update notification set due_at = now()")
            .execute(&world.database.pool)
            .await
            .unwrap();

        // The first claim of due rows is carried out, and its answer is lost.
        to_the_ledger.cut_around(Cut::After, "with due as");
        let proxied = config.clone().database_through(to_the_ledger.address);
        // No resolver: a row that were left to it would stay as it is.
        let worker = world.start_as(&proxied, "worker").await;
        to_the_ledger.has_caught().await;
        let claimed = world.rows().await;
        assert!(claimed.iter().all(|row| row.attempt == 1), "{claimed:#?}");

        let rows = world.rest(5).await;
        worker.stop().await;
        assert_eq!(to_the_ledger.caught(), 1);
        for row in &rows {
            assert_eq!(
                (row.phase, row.attempt, row.sends),
                (Sent, 1, 1),
                "{row:#?}"
            );
            assert_eq!(row.possible_duplicates, 0, "{row:#?}");
            assert_eq!(world.sandbox.so_far(row.id).await.requests.len(), 1);
        }
        world.audit(&config).await;
    }
}

#[tokio::test]
async fn an_outcome_whose_commit_was_not_confirmed_is_written_again_and_changes_nothing() {
    let world = World::new().await;
    let to_the_ledger = Proxy::before_url(&world.database.url).await;
    let config = world
        .config()
        .channel(Channel::new("sms", AtMostOnce, Gives::Nothing));
    let publisher = world.publisher(&config).await;
    let proxied = config.clone().database_through(to_the_ledger.address);
    let worker = world.start_as(&proxied, "worker").await;
    // Every id of the sandbox begins like this; it goes to the ledger with the outcome.
    to_the_ledger.cut_after("sbx-");
    publisher.send("sms", "order-1").await;
    to_the_ledger.has_caught().await;

    let rows = world.rest(1).await;
    worker.stop().await;
    assert_eq!((rows[0].phase, rows[0].attempt), (Sent, 1));
    assert_ne!(rows[0].phase, Parked);
    world.audit(&config).await;
}

#[tokio::test]
async fn in_one_batch_every_message_is_compared_with_what_stands_not_with_its_neighbour() {
    let world = World::new().await;
    let url = world.database.url.to_string().into();
    let ledger = Ledger::open(&url, 1, false).unwrap();
    let wanted = |text: &str| NewClaim {
        notification: Arc::new(Notification {
            id: World::reference("sms", "order-1"),
            channel: "sms".into(),
            key: "order-1".into(),
            to: "+447900000001".into(),
            content: Content {
                text: Some(text.into()),
                ..Content::default()
            },
            send_at: None,
            expires_at: None,
            stream: None,
            seq: None,
        }),
        request_hash: [0; 32],
    };
    let terms = Terms {
        channel: "sms".into(),
        provider: "p".into(),
        lease: Duration::from_secs(60),
        expires_after: None,
    };
    let claim = async |texts: &[&str]| {
        let batch: Vec<_> = texts.iter().map(|text| wanted(text)).collect();
        ledger.claim(&terms, &batch, Uuid::new_v4()).await.unwrap()
    };
    let conflict = |answer: &Claim| matches!(answer, Claim::Conflict { .. });

    let first = claim(&["good", "other", "good"]).await;
    assert_eq!(first[0], Claim::Claimed);
    assert!(conflict(&first[1]), "{first:?}");
    assert_eq!(first[2], Claim::Duplicate(Sending));

    let again = claim(&["other", "good", "other"]).await;
    assert!(conflict(&again[0]) && conflict(&again[2]), "{again:?}");
    assert_eq!(again[1], Claim::Duplicate(Sending));
    ledger.close().await;
}
