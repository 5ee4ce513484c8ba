//! `nuncio quarantine`: what could not become a row is seen, released and dropped.

use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy::AtMostOnce;
use nuncio::ledger::Ledger;
use nuncio::ledger::quarantine::{Message, Quarantined};
use serde_json::{Value, json};

use crate::harness::{Channel, Config, Cut, Ended, Gives, Proxy, World, body, wait_until};

fn sms(world: &World) -> Config {
    let channel = Channel::new("sms", AtMostOnce, Gives::Nothing);
    world.config().channel(channel)
}

async fn quarantine(world: &World, config: &Config, line: &[&str]) -> Ended {
    world
        .nuncio(config, &[&["quarantine"], line].concat())
        .await
}

async fn release(world: &World, config: &Config, line: &[&str]) -> Ended {
    quarantine(
        world,
        config,
        &[&["release", "--by", "anna"], line].concat(),
    )
    .await
}

/// Messages as an older worker has kept them, which knew less than this one: they are right.
async fn kept(world: &World, config: &Config, messages: Vec<Message>) {
    drop(world.publisher(config).await); // declares the queues
    let ledger = Ledger::open(&world.database.url.to_string().into(), 1, false).expect("opened");
    let kept: Vec<_> = messages
        .into_iter()
        .map(|message| Quarantined {
            queue: config.queue("sms"),
            reason: "unknown_version",
            detail: "version 1; this program knows up to 0".to_owned(),
            message,
        })
        .collect();
    ledger.quarantine(&kept).await.expect("kept");
    ledger.close().await;
}

fn right(key: &str) -> Message {
    Message {
        body: body("sms", key).to_string().into_bytes(),
        content_type: Some("application/json".to_owned()),
        ..Message::default()
    }
}

/// Number, state, how often it came, and whether its bytes are there.
async fn standing(world: &World) -> Vec<(i64, String, i64, bool)> {
    let kept = world.quarantine().await.into_iter();
    kept.map(|m| (m.id, m.state, m.seen, !m.body.is_empty()))
        .collect()
}

async fn history(world: &World) -> Vec<String> {
    sqlx::query_scalar(
        "select format('%s %s %s: %s', quarantine_id, actor, event, detail)
         from quarantine_history order by id",
    )
    .fetch_all(&world.database.pool)
    .await
    .expect("the ledger can be read")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_released_message_is_sent_once_however_often_it_is_released() {
    let world = World::new().await;
    let config = sms(&world);
    let mut unnamed = body("sms", "x");
    unnamed.as_object_mut().expect("an object").remove("key");
    let unnamed = unnamed.to_string().into_bytes();
    let named = |message_id: &str| Message {
        body: unnamed.clone(),
        message_id: Some(message_id.to_owned()),
        ..Message::default()
    };
    let event = Message {
        body: unnamed.clone(),
        cloud_event: Some(("/orders".to_owned(), "42".to_owned())),
        ..Message::default()
    };
    let structured = Message {
        body: format!(
            r#"{{"id":"43","source":"/orders","data":{}}}"#,
            String::from_utf8_lossy(&unnamed)
        )
        .into_bytes(),
        content_type: Some("application/cloudevents+json".to_owned()),
        ..Message::default()
    };
    // Equal bytes, and different messages: their keys stand beside the body.
    let messages = vec![
        right("order-1"),
        named("m-1"),
        named("m-2"),
        event,
        structured,
    ];
    kept(&world, &config, messages).await;
    let dry = release(&world, &config, &["--all", "--dry-run"]).await;
    assert!(
        dry.stdout.ends_with("Would release 5 messages.\n"),
        "{}",
        dry.stdout
    );
    let nobody = release(&world, &config, &["--all"]).await;
    assert_eq!(nobody.code, Some(64), "{}", nobody.stderr);
    assert_eq!(standing(&world).await[0], (1, "held".to_owned(), 1, true));

    let done = release(&world, &config, &["1"]).await;
    assert_eq!(
        (done.code, &*done.stdout),
        (Some(0), "Released 1 message.\n")
    );
    assert_eq!(
        standing(&world).await[0],
        (1, "released".to_owned(), 1, false)
    );
    assert_eq!(
        history(&world).await,
        ["1 anna released: published again to channel sms"]
    );
    let again = release(&world, &config, &["1", "99"]).await;
    assert_eq!(again.code, Some(1));
    assert!(
        again.stdout.contains("it is released already"),
        "{}",
        again.stdout
    );
    assert!(again.stdout.contains("There is no quarantined message 99"));
    let rest = release(&world, &config, &["--all", "--yes", "--json"]).await;
    assert_eq!(rest.code, Some(0), "{} {}", rest.stdout, rest.stderr);
    let rest: Value = serde_json::from_str(&rest.stdout).expect("JSON");
    assert_eq!(rest["released"], 4);

    let worker = world.start(&config).await;
    let rows = world.rest(5).await;
    assert!(rows.iter().all(|row| row.phase == Phase::Sent), "{rows:#?}");
    let keys: Vec<_> = rows.iter().map(|row| &*row.key).collect();
    assert_eq!(keys, ["/orders 42", "/orders 43", "m-1", "m-2", "order-1"]);
    worker.stop().await;
    let counts = world.sandbox.counts().await;
    assert!(counts.values().all(|sent| *sent == 1), "{counts:?}");
    world.audit(&config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_the_confirm_and_before_the_mark_it_is_still_held_and_sent_once() {
    let world = World::new().await;
    let config = sms(&world);
    kept(&world, &config, vec![right("order-1")]).await;
    let proxy = Proxy::before_postgres(&world.database.url).await;
    let through = config.clone().database_through(proxy.address);
    // Confirmed, and the ledger never hears of it.
    proxy.cut_around(Cut::Before, "state = 'released'");
    let cut = release(&world, &through, &["1"]).await;
    assert_eq!(proxy.caught(), 1);
    assert_eq!(cut.code, Some(2), "{} {}", cut.stdout, cut.stderr);
    assert!(
        cut.stdout.contains("still held: run it again"),
        "{}",
        cut.stdout
    );
    assert_eq!(standing(&world).await, [(1, "held".to_owned(), 1, true)]);
    assert_eq!(world.broker.ready(&config.queue("sms")).await.0, 1);

    // Killed before it hears of the confirm.
    let proxy = Proxy::before_url(&world.broker.url).await;
    let through = config.clone().broker_through(proxy.address);
    proxy.hold_after("content of order-1");
    let mut killed = world.begin(&through, &["quarantine", "release", "1", "--by", "anna"]);
    proxy.has_caught().await;
    wait_until("the queue has it", async || {
        (world.broker.ready(&config.queue("sms")).await.0 == 2).then_some(())
    })
    .await;
    killed.kill().await;
    assert_eq!(standing(&world).await, [(1, "held".to_owned(), 1, true)]);

    let done = release(&world, &config, &["1"]).await;
    assert_eq!(done.code, Some(0), "{} {}", done.stdout, done.stderr);
    let mut worker = world.start(&config).await;
    assert_eq!(world.rest(1).await[0].phase, Phase::Sent);
    wait_until("the others are duplicates", async || {
        let metrics = worker.metrics().await;
        (metrics.sum("nuncio_duplicates_dropped_total", "") == 2.0).then_some(())
    })
    .await;
    worker.stop().await;
    let sent = world
        .sandbox
        .so_far(World::reference("sms", "order-1"))
        .await;
    assert_eq!(sent.accepted, 1);
    world.audit(&config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_reaches_no_queue_stays_held_with_its_bytes() {
    let world = World::new().await;
    let config = sms(&world);
    kept(&world, &config, vec![right("order-1"), right("order-2")]).await;
    world.broker.delete_queue(&config.queue("sms")).await;
    let done = release(&world, &config, &["--all", "--yes"]).await;
    assert_eq!(done.code, Some(2), "{} {}", done.stdout, done.stderr);
    assert!(
        done.stdout.contains("no queue takes messages"),
        "{}",
        done.stdout
    );
    assert!(
        done.stdout
            .starts_with("Released 0 messages.\n2 messages still held")
    );
    let held = |id| (id, "held".to_owned(), 1, true);
    assert_eq!(standing(&world).await, [held(1), held(2)]);

    let worker = world.start(&config).await; // declares it
    let done = release(&world, &config, &["--all", "--yes"]).await;
    assert_eq!(done.code, Some(0), "{} {}", done.stdout, done.stderr);
    world.rest(2).await;
    worker.stop().await;
    world.audit(&config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_released_message_that_is_still_bad_returns_to_its_record() {
    let world = World::new().await;
    let config = sms(&world);
    let publisher = world.publisher(&config).await;
    let mut bad = body("sms", "order-1");
    bad["to"] = json!("112");
    publisher.json("sms", &bad).await;
    let worker = world.start(&config).await;
    wait_until("it is kept", async || world.quarantine().await.pop()).await;
    let held = |seen| (1, "held".to_owned(), seen, true);

    // The worker is there first: it keeps it again while the confirm is on its way.
    let proxy = Proxy::before_url(&world.broker.url).await;
    let through = config.clone().broker_through(proxy.address);
    proxy.hold_after("content of order-1");
    let mut released = world.begin(&through, &["quarantine", "release", "1", "--by", "anna"]);
    proxy.has_caught().await;
    wait_until("it is kept again", async || {
        (standing(&world).await == [held(2)]).then_some(())
    })
    .await;
    proxy.let_go();
    assert_eq!(released.ended().await.code, Some(3));
    assert_eq!(standing(&world).await, [held(2)], "a mark would hide it");

    // The mark is there first.
    worker.stop().await;
    let done = release(&world, &config, &["1"]).await;
    assert_eq!(done.code, Some(0), "{} {}", done.stdout, done.stderr);
    assert_eq!(
        standing(&world).await,
        [(1, "released".to_owned(), 2, false)]
    );
    let worker = world.start(&config).await;
    wait_until("it is held again", async || {
        (standing(&world).await == [held(3)]).then_some(())
    })
    .await;
    worker.stop().await;
    assert!(world.rows().await.is_empty());
    world.audit(&config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_kept_no_bytes_cannot_be_released() {
    let world = World::new().await;
    let config = sms(&world);
    let large = Message {
        body: vec![b'x'; 300 * 1024],
        ..Message::default()
    };
    kept(&world, &config, vec![large]).await;
    let one = release(&world, &config, &["1"]).await;
    assert_eq!(one.code, Some(3), "{} {}", one.stdout, one.stderr);
    assert!(
        one.stdout.contains("its bytes were not kept"),
        "{}",
        one.stdout
    );
    let all = release(&world, &config, &["--all", "--yes"]).await;
    assert_eq!(all.code, Some(0), "{} {}", all.stdout, all.stderr);
    assert!(
        all.stdout.contains("1 message over the size limit"),
        "{}",
        all.stdout
    );
    assert_eq!(standing(&world).await[0].1, "held");
    assert_eq!(world.broker.ready(&config.queue("sms")).await.0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drop_is_recorded_with_who_and_why_and_one_that_comes_again_is_held_again() {
    let world = World::new().await;
    let config = sms(&world);
    kept(&world, &config, vec![right("a"), right("b")]).await;
    let silent = quarantine(&world, &config, &["drop", "1", "--by", "anna"]).await;
    assert_eq!(silent.code, Some(2), "clap's: {}", silent.stderr);
    let drop = ["drop", "--by", "anna", "--reason", "ticket 7"];
    let one = quarantine(&world, &config, &[&drop[..], &["1"]].concat()).await;
    assert_eq!((one.code, &*one.stdout), (Some(0), "Dropped 1 message.\n"));
    let again = quarantine(&world, &config, &[&drop[..], &["1"]].concat()).await;
    assert_eq!(again.code, Some(3), "{}", again.stdout);
    let none = ["--all", "--yes", "--for", "not_json"];
    let none = quarantine(&world, &config, &[&drop[..], &none].concat()).await;
    assert_eq!(
        (none.code, &*none.stdout),
        (Some(0), "Dropped 0 messages.\n")
    );
    let all = ["--all", "--yes", "--for", "unknown_version"];
    let all = quarantine(&world, &config, &[&drop[..], &all].concat()).await;
    assert_eq!((all.code, &*all.stdout), (Some(0), "Dropped 1 message.\n"));
    let dropped = |id| (id, "dropped".to_owned(), 1, false);
    assert_eq!(standing(&world).await, [dropped(1), dropped(2)]);
    assert_eq!(
        history(&world).await,
        ["1 anna dropped: ticket 7", "2 anna dropped: ticket 7"]
    );
    let late = release(&world, &config, &["1"]).await;
    assert_eq!(late.code, Some(3));
    assert!(
        late.stdout.contains("it is dropped already"),
        "{}",
        late.stdout
    );

    kept(&world, &config, vec![right("a")]).await;
    assert_eq!(standing(&world).await[0], (1, "held".to_owned(), 2, true));
    assert_eq!(history(&world).await.len(), 2, "and what was done stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_is_newest_first_and_only_who_asks_for_a_body_sees_it_and_is_named() {
    let world = World::new().await;
    let config = sms(&world);
    kept(&world, &config, vec![right("a"), right("b"), right("a")]).await;
    let publisher = world.publisher(&config).await;
    publisher.raw("sms", b"content of \x1b[2J\xff", None).await;
    let worker = world.start(&config).await;
    wait_until("it is kept", async || {
        (world.quarantine().await.len() == 3).then_some(())
    })
    .await;
    worker.stop().await;
    let ids = async |line: &[&str]| {
        let said = quarantine(&world, &config, &[&["list", "--json"], line].concat()).await;
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert!(!said.stdout.contains("content of"), "{}", said.stdout);
        let said: Value = serde_json::from_str(&said.stdout).expect("JSON");
        let rows = said["rows"].as_array().expect("rows").iter();
        let ids: Vec<i64> = rows
            .map(|row| row["id"].as_i64().expect("a number"))
            .collect();
        (ids, said["more"].as_bool().expect("a truth"))
    };
    let newest = world.quarantine().await.last().expect("one").id;
    assert_eq!(
        ids(&[]).await,
        (vec![newest, 1, 2], false),
        "1 came again after 2"
    );
    assert_eq!(ids(&["--limit", "1"]).await, (vec![newest], true));
    assert_eq!(ids(&["--for", "not_json"]).await.0, [newest]);
    assert_eq!(ids(&["--queue", "other"]).await.0, [0; 0]);
    let queue = config.queue("sms");
    assert_eq!(
        ids(&["--queue", &queue, "--since", "1h"]).await.0,
        [newest, 1, 2]
    );
    assert_eq!(ids(&["--until", "1h"]).await.0, [0; 0]);
    let table = quarantine(&world, &config, &["list"]).await.stdout;
    assert!(
        table.ends_with("3 messages.\nnuncio quarantine show ID shows one.\n"),
        "{table}"
    );
    assert!(!table.contains("content of"), "{table}");

    let shown = newest.to_string();
    let facts = quarantine(&world, &config, &["show", &shown]).await.stdout;
    assert!(
        facts.contains("kept; --body shows it") && !facts.contains("content of"),
        "{facts}"
    );
    assert_eq!(history(&world).await, [""; 0]);
    let line = ["show", &shown, "--body", "--by", "anna"];
    let facts = quarantine(&world, &config, &line).await.stdout;
    assert!(facts.contains(r#""content of \x1b[2J\xff""#), "{facts}");
    assert!(
        facts.contains("anna  shown: content shown to anna"),
        "{facts}"
    );
    assert_eq!(history(&world).await.len(), 1);
    let missing = quarantine(&world, &config, &["show", "99"]).await;
    assert_eq!(missing.code, Some(1));
    let text = quarantine(
        &world,
        &config,
        &["show", "1", "--body", "--by", "anna", "--json"],
    )
    .await;
    let text: Value = serde_json::from_str(&text.stdout).expect("JSON");
    assert_eq!(text["body"], body("sms", "a").to_string());
}
