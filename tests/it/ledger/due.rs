//! Rows that wait in the ledger: kept, sent once when due, given up at the cap or when too old.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy::AtMostOnce;
use nuncio::sandbox::Fault;
use serde_json::json;

use super::super::harness::{Channel, Config, Gives, World, body, recipient};
use super::execute;

fn sms(world: &World) -> Config {
    let channel = Channel::new("sms", AtMostOnce, Gives::Nothing);
    world.config().channel(channel.max_sends(3))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_to_be_sent_later_is_kept_and_sent_once_when_due() {
    let world = World::new().await;
    let config = sms(&world);
    let publisher = world.publisher(&config).await;
    let workers = [world.start(&config).await, world.start(&config).await];
    let soon = Utc::now() + TimeDelta::milliseconds(2500);
    for (key, at) in [
        ("soon", json!(soon)),
        ("past", json!("2020-01-31T09:00:00Z")),
        ("in 60 days", json!(Utc::now() + TimeDelta::days(60))),
        ("in the year 9999", json!("9999-12-31T23:59:59Z")),
    ] {
        let mut message = body("sms", key);
        message["send_at"] = at;
        // More than once: a scheduled row is known like every other.
        publisher.json("sms", &message).await;
        publisher.json("sms", &message).await;
    }
    let is_sent = |row: &super::super::harness::Row| row.phase == Phase::Sent;
    world.row_when("is sent", "sms", "past", is_sent).await;
    world.row_when("is sent", "sms", "soon", is_sent).await;
    let arrived = world.sandbox.so_far(World::reference("sms", "soon")).await;
    let at: DateTime<Utc> =
        serde_json::from_value(arrived.requests[0]["at"].clone()).expect("a time");
    assert!(at >= soon, "sent {at}, asked for {soon}");
    assert!(
        at < soon + TimeDelta::seconds(10),
        "sent {at}, asked for {soon}"
    );
    for key in ["in 60 days", "in the year 9999"] {
        let row = world.row("sms", key).await;
        assert_eq!((row.phase, row.attempt, row.sends), (Phase::Queued, 0, 0));
    }
    execute(
        &world,
        "update notification set due_at = now() where phase = 'queued'",
    )
    .await;
    world.rest(4).await;
    for worker in workers {
        worker.stop().await;
    }
    world.audit(&config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_end_at_the_cap_and_age_ends_them_earlier() {
    let world = World::new().await;
    let config = sms(&world);
    let publisher = world.publisher(&config).await;
    let refusals = || vec![Fault::Refuse503; 9];
    world
        .sandbox
        .script([
            (recipient("capped"), refusals()),
            (recipient("too old"), refusals()),
            (recipient("in doubt"), vec![Fault::CutAfterAccept]),
        ])
        .await;
    // No resolver: what is in doubt stays so until the test says.
    let mut worker = world.start_as(&config, "worker").await;
    publisher.send("sms", "capped").await;
    publisher.send("sms", "in doubt").await;
    for (key, send_at) in [("too old", 0), ("never begun", 3600)] {
        let mut message = body("sms", key);
        message["send_at"] = json!(Utc::now() + TimeDelta::seconds(send_at));
        message["expires_at"] = json!(Utc::now() + TimeDelta::hours(2));
        publisher.json("sms", &message).await;
    }
    let failed = world
        .row_when("failed", "sms", "capped", |r| r.phase == Phase::Failed)
        .await;
    assert_eq!(failed.sends, 3);
    assert!(failed.last_text.expect("what it said").contains("503"));
    let arrived = world
        .sandbox
        .so_far(World::reference("sms", "capped"))
        .await;
    assert_eq!(arrived.requests.len(), 3);
    world
        .row_when("in doubt", "sms", "in doubt", |r| r.doubt_cause.is_some())
        .await;

    // Both are too old when their next turn comes; one of them has been tried, and nothing left.
    execute(
        &world,
        "update notification set expires_at = now() - interval '1 s', due_at = now()
         where key in ('never begun') and phase = 'queued'",
    )
    .await;
    let row = world
        .row_when("expired", "sms", "never begun", |r| {
            r.phase == Phase::Expired
        })
        .await;
    assert_eq!(row.sends, 0);
    worker.kill().await;
    execute(
        &world,
        "update notification set expires_at = now() - interval '1 s'",
    )
    .await;
    world.let_pass(Duration::from_secs(60)).await;
    let ended = world.reconcile(&config, &[]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stdout);
    let row = world.row("sms", "in doubt").await;
    assert_eq!(row.phase, Phase::Unconfirmed);
    assert!(row.doubt_since.is_some(), "the doubt is kept");
    let told = world.history("sms", "in doubt").await;
    assert!(
        told.last().expect("told").detail.contains("too old"),
        "{told:#?}"
    );
    world.audit(&config).await;
}
