//! From RabbitMQ into the ledger: what is bad is kept once, what is good is sent once, and nothing
//! is acked before the ledger has it.

mod large;
mod silent;
pub mod unreadable;

use lapin::BasicProperties;
use lapin::options::BasicPublishOptions;
use lapin::types::{AMQPValue, FieldArray, FieldTable};
use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy::AtMostOnce;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::harness::{Channel, Config, Depth, Flow, Gives, Proxy, World, body, wait_until};

/// One channel. Its queue is a classic one, which tells at any moment how much is unacked.
fn sms(world: &World) -> Config {
    let mut channel = Channel::new("sms", AtMostOnce, Gives::Nothing);
    channel.queue_type = "classic";
    world.config().channel(channel)
}

/// Every kind of message that cannot become a row, with the reason that is expected.
fn bad() -> Vec<(&'static str, Vec<u8>)> {
    let with = |name: &str, value: serde_json::Value| {
        let mut message = body("sms", &format!("bad {name} {value}"));
        message[name] = value;
        message.to_string().into_bytes()
    };
    let right = body("sms", "bad").to_string();
    let twice = right.replacen('{', r#"{"to":"+15550001234","#, 1);
    let deep = right.replacen('{', &format!(r#"{{"metadata":{}1,"#, "[".repeat(200)), 1);
    let mut list = vec![
        ("not_json", br#"{"to":"+1"#.to_vec()),
        ("not_json", b"\xff\xfe\x00".to_vec()),
        ("not_json", br#"{"key":"b","text":"\ud83d"}"#.to_vec()),
        ("not_json", Vec::new()),
        ("wrong_shape", b"null".to_vec()),
        ("wrong_shape", b"[]".to_vec()),
        ("wrong_shape", twice.into_bytes()),
        ("wrong_shape", deep.into_bytes()),
        (
            "wrong_shape",
            br#"{"key":"b","to":"+442079460019","text":"x","a\u0000b":1}"#.to_vec(),
        ),
        ("wrong_shape", with("to", json!(null))),
        ("wrong_shape", with("text", json!({"a": 1}))),
        ("wrong_shape", with("send_at", json!("2027-01-31T09:00:00"))),
        ("unknown_version", with("version", json!(99))),
        ("unknown_channel", with("channel", json!("mail"))),
        ("bad_key", with("key", json!("k".repeat(1025)))),
        ("missing_key", with("key", json!(""))),
        ("bad_recipient", with("to", json!("020 7946 0018"))),
        ("bad_content", with("subject", json!("a mail's"))),
        ("bad_stream", with("seq", json!(7))),
        ("too_large", vec![b'x'; 1 << 20]),
        (
            "unstorable",
            with("send_at", json!("-9999-01-01T00:00:00Z")),
        ),
    ];
    let mut long = body("sms", "bad long text");
    long["text"] = json!("a".repeat(1600));
    list.push(("too_many_segments", long.to_string().into_bytes()));
    for name in ["key", "to", "text", "from"] {
        list.push(("nul_character", with(name, json!("a\0b"))));
    }
    list
}

#[tokio::test(flavor = "multi_thread")]
async fn every_bad_message_is_quarantined_once_and_the_good_one_behind_it_is_sent() {
    let world = World::new().await;
    let config = sms(&world);
    let publisher = world.publisher(&config).await;
    let bad = bad();
    for (i, (_, message)) in bad.iter().enumerate() {
        publisher.raw("sms", message, None).await;
        publisher.send("sms", &format!("good {i:02}")).await;
    }
    let again = 3;
    for i in 0..again {
        publisher.send("sms", &format!("good {i:02}")).await;
    }
    let mut worker = world.start(&config).await;
    let rows = world.rest(bad.len()).await;
    assert!(rows.iter().all(|row| row.phase == Phase::Sent), "{rows:#?}");

    let everything = (2 * bad.len() + again) as f64;
    let kept = wait_until("all are quarantined", async || {
        let kept = world.quarantine().await;
        (kept.len() == bad.len()).then_some(kept)
    })
    .await;
    for (reason, message) in &bad {
        let digest = Sha256::digest(message).to_vec();
        let found: Vec<_> = kept.iter().filter(|q| q.body_sha256 == digest).collect();
        assert_eq!(found.len(), 1, "{reason}: {found:?}");
        assert_eq!((&*found[0].reason, found[0].seen), (*reason, 1));
        assert_eq!(found[0].body_size, message.len() as i64);
        if *reason == "too_large" {
            assert!(found[0].body.is_empty(), "its bytes are kept");
        } else {
            assert_eq!(found[0].body, *message);
        }
        assert!(!found[0].detail.contains("+4479"), "{}", found[0].detail);
    }

    // Published = rows + duplicates + quarantined, and no message came twice.
    wait_until("the queue is empty", async || {
        (depth(&world, &config).await == Depth::default()).then_some(())
    })
    .await;
    let metrics = worker.metrics().await;
    let total = |name: &str| metrics.sum(name, "");
    assert_eq!(total("nuncio_received_total"), everything);
    assert_eq!(total("nuncio_quarantined_total"), bad.len() as f64);
    assert_eq!(total("nuncio_duplicates_dropped_total"), again as f64);
    let ended = worker.stop().await;
    assert_eq!(ended.code, Some(0));
    let lines = ended
        .stderr
        .lines()
        .filter(|l| l.contains("is quarantined"));
    assert_eq!(lines.count(), bad.len(), "one line each");
    world.audit(&config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_headers_are_as_good_as_none_and_an_event_gives_a_key() {
    let world = World::new().await;
    let config = sms(&world);
    let _declares = world.publisher(&config).await;
    let (_connection, amqp) = world.broker.channel().await;
    let text = |text: &str| AMQPValue::LongString(text.into());
    let death = |count: AMQPValue| {
        let mut death = FieldTable::default();
        death.insert("count".into(), count);
        AMQPValue::FieldArray(FieldArray::from(vec![AMQPValue::FieldTable(death)]))
    };
    let odd = [
        ("x-death", text("a string")),
        ("x-death", AMQPValue::FieldArray(FieldArray::default())),
        ("x-death", death(AMQPValue::LongInt(3))),
        ("x-death", death(AMQPValue::LongLongInt(-1))),
        ("x-retry", AMQPValue::LongLongInt(i64::MIN)),
        ("timestamp", AMQPValue::Timestamp(u64::MAX)),
        ("large", text(&"x".repeat(100_000))),
        ("cloudEvents:id", AMQPValue::LongInt(7)),
    ];
    for (i, (name, value)) in odd.iter().enumerate() {
        let mut headers = FieldTable::default();
        headers.insert((*name).into(), value.clone());
        let properties = BasicProperties::default()
            .with_headers(headers)
            .with_timestamp(u64::MAX >> i);
        let message = body("sms", &format!("odd {i}"));
        publish(&config, &amqp, properties, &message).await;
    }
    let keyless = json!({"to": "+442079460018", "text": "an event"});
    let id = "i".repeat(255);
    let named = BasicProperties::default().with_message_id(id.as_str().into());
    publish(&config, &amqp, named, &keyless).await;
    let mut headers = FieldTable::default();
    headers.insert("cloudEvents:source".into(), text("/orders"));
    headers.insert("cloudEvents:id".into(), text("42"));
    let binary = BasicProperties::default().with_headers(headers);
    publish(&config, &amqp, binary, &keyless).await;
    let structured =
        BasicProperties::default().with_content_type("application/cloudevents+json".into());
    let event = json!({"specversion": "1.0", "id": "43", "source": "/orders", "type": "t",
        "data": keyless});
    publish(&config, &amqp, structured, &event).await;

    let worker = world.start(&config).await;
    let rows = world.rest(odd.len() + 3).await;
    let sent = |key: &str| rows.iter().any(|r| r.key == key && r.phase == Phase::Sent);
    assert!(rows.iter().all(|row| row.phase == Phase::Sent), "{rows:#?}");
    assert!(sent(&id) && sent("/orders 42") && sent("/orders 43"));
    worker.stop().await;
    world.audit(&config).await;
}

async fn publish(
    config: &Config,
    amqp: &lapin::Channel,
    properties: BasicProperties,
    message: &serde_json::Value,
) {
    let (exchange, options) = (config.exchange(), BasicPublishOptions::default());
    let bytes = message.to_string().into_bytes();
    amqp.basic_publish(exchange.into(), "sms".into(), options, &bytes, properties)
        .await
        .expect("the broker takes a message");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_known_key_with_other_content_is_quarantined_once_with_both_hashes() {
    let world = World::new().await;
    let config = sms(&world);
    let publisher = world.publisher(&config).await;
    let changed = |name: &str, value: serde_json::Value| {
        let mut message = body("sms", "order-1");
        message[name] = value;
        message
    };
    // In one batch, the first one stands.
    publisher.send("sms", "order-1").await;
    publisher
        .json("sms", &changed("text", json!("another text")))
        .await;
    let mut worker = world.start(&config).await;
    world.rest(1).await;
    // And later, each other content once, however often it comes.
    for _ in 0..3 {
        publisher
            .json("sms", &changed("to", json!("+442079460018")))
            .await;
        publisher
            .json("sms", &changed("text", json!("another text")))
            .await;
    }
    publisher
        .json("sms", &changed("metadata", json!({"trace": "9"})))
        .await;
    let kept = wait_until("the conflicts are kept", async || {
        let kept = world.quarantine().await;
        let seen: i64 = kept.iter().map(|q| q.seen).sum();
        (seen == 7).then_some(kept)
    })
    .await;
    assert_eq!(kept.len(), 2, "{kept:#?}");
    for message in &kept {
        assert_eq!(message.reason, "key_conflict");
        let is_hash = |word: &&str| word.len() == 16 && word.bytes().all(|b| b.is_ascii_hexdigit());
        let hashes: Vec<_> = message.detail.split(' ').filter(is_hash).collect();
        assert_eq!(hashes.len(), 2, "{}", message.detail);
        assert_ne!(hashes[0], hashes[1]);
    }
    wait_until("the last one is a duplicate", async || {
        let dropped = worker
            .metrics()
            .await
            .sum("nuncio_duplicates_dropped_total", "");
        (dropped == 1.0).then_some(())
    })
    .await;
    let row = world.row("sms", "order-1").await;
    assert_eq!((row.phase, row.sends), (Phase::Sent, 1));
    worker.stop().await;
    world.audit(&config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_publishes_of_one_key_to_four_workers_are_one_send() {
    let world = World::new().await;
    let mut config = sms(&world);
    config.prefetch = 5;
    let publisher = world.publisher(&config).await;
    let mut workers = Vec::new();
    for _ in 0..4 {
        workers.push(world.spawn(&config, &[]));
    }
    for worker in &mut workers {
        worker.ready().await;
    }
    // All four stand before their claims (each may have two under way), each with a fifth of the
    // messages, until they may go on.
    let mut barrier = world.database.session().await;
    run(&mut barrier, "begin; lock table notification in share mode").await;
    for _ in 0..20 {
        publisher.send("sms", "order-1").await;
    }
    wait_until("four workers stand before their claim", async || {
        let all_taken = Depth {
            ready: 0,
            unacked: 20,
        };
        let taken = depth(&world, &config).await == all_taken;
        (taken && waiting(&world).await >= 4).then_some(())
    })
    .await;
    run(&mut barrier, "commit").await;
    let mut dropped = 0.0;
    wait_until("all twenty are known", async || {
        dropped = 0.0;
        for worker in &mut workers {
            dropped += worker
                .metrics()
                .await
                .sum("nuncio_duplicates_dropped_total", "");
        }
        (dropped == 19.0).then_some(())
    })
    .await;
    world.rest(1).await;
    let reference = World::reference("sms", "order-1");
    assert_eq!(world.sandbox.so_far(reference).await.requests.len(), 1);
    for worker in workers {
        worker.stop().await;
    }
    world.audit(&config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_acked_before_its_row_is_committed() {
    let world = World::new().await;
    let proxy = Proxy::before_url(&world.database.url).await;
    let config = sms(&world).database_through(proxy.address);
    let publisher = world.publisher(&config).await;
    let mut worker = world.start(&config).await;
    proxy.flow(Flow::Hold);
    for i in 0..20 {
        publisher.send("sms", &format!("order-{i}")).await;
    }
    let all_unacked = Depth {
        ready: 0,
        unacked: 20,
    };
    wait_until("the worker has them all", async || {
        (depth(&world, &config).await == all_unacked).then_some(())
    })
    .await;
    assert!(needs_acks(&world).await, "consumes without acks");
    worker.kill().await;
    let all_ready = Depth {
        ready: 20,
        unacked: 0,
    };
    wait_until("they are in the queue again", async || {
        (depth(&world, &config).await == all_ready).then_some(())
    })
    .await;
    assert!(world.rows().await.is_empty());
    proxy.cut();
    proxy.flow(Flow::Pass);
    let worker = world.start(&config).await;
    world.rest(20).await;
    worker.stop().await;
    let counts = world.sandbox.counts().await;
    assert!(
        counts.len() == 20 && counts.values().all(|sent| *sent == 1),
        "{counts:?}"
    );
    world.audit(&config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_whose_commit_was_not_confirmed_is_found_to_be_ours() {
    let world = World::new().await;
    let proxy = Proxy::before_url(&world.database.url).await;
    let config = sms(&world).database_through(proxy.address);
    let publisher = world.publisher(&config).await;
    let mut worker = world.start(&config).await;
    // The key is a parameter of the INSERT: when the server answers, the row is committed.
    proxy.cut_after("order-lost-commit");
    publisher.send("sms", "order-lost-commit").await;
    proxy.has_caught().await;
    let row = world.find("sms", "order-lost-commit").await;
    assert!(row.is_some(), "the cut came before the commit");
    let row = &world.rest(1).await[0];
    assert_eq!((row.phase, row.attempt, row.sends), (Phase::Sent, 1, 1));
    assert_eq!(
        row.settled_by.as_deref(),
        Some("answer"),
        "and nobody had to look it up"
    );
    let metrics = worker.metrics().await;
    assert_eq!(metrics.sum("nuncio_claims_total", "claimed"), 1.0);
    assert_eq!(metrics.sum("nuncio_duplicates_dropped_total", ""), 0.0);
    worker.stop().await;
    let reference = World::reference("sms", "order-lost-commit");
    assert_eq!(world.sandbox.so_far(reference).await.requests.len(), 1);
    world.audit(&config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_with_data_that_postgres_refuses_sends_the_rest_once() {
    let world = World::new().await;
    let config = sms(&world);
    let publisher = world.publisher(&config).await;
    let mut barrier = world.database.session().await;
    let worker = world.start(&config).await;
    run(&mut barrier, "begin; lock table notification in share mode").await;
    publisher.send("sms", "plug").await;
    world
        .database
        .waiter("the worker stands before its claim")
        .await;
    // The next batch is all of this. It is tried in halves, and "twice" is in both of them.
    let mut poison = body("sms", "poison");
    poison["send_at"] = json!("-9999-01-01T00:00:00Z");
    publisher.send("sms", "twice").await;
    publisher.json("sms", &poison).await;
    publisher.send("sms", "twice").await;
    publisher.send("sms", "good").await;
    wait_until("the worker has them all", async || {
        (depth(&world, &config).await.unacked == 5).then_some(())
    })
    .await;
    run(&mut barrier, "commit").await;
    world.rest(3).await;
    let kept = wait_until("the refused one is kept", async || {
        world.quarantine().await.pop()
    })
    .await;
    assert_eq!((&*kept.reason, kept.seen), ("unstorable", 1));
    assert!(kept.detail.contains("22008"), "{}", kept.detail);
    wait_until("the queue is empty", async || {
        (depth(&world, &config).await == Depth::default()).then_some(())
    })
    .await;
    worker.stop().await;
    let counts = world.sandbox.counts().await;
    assert!(
        counts.len() == 3 && counts.values().all(|sent| *sent == 1),
        "{counts:?}"
    );
    world.audit(&config).await;
}

async fn depth(world: &World, config: &Config) -> Depth {
    let depths = world.broker.depths().await;
    let depths = depths.expect("NUNCIO_RABBITMQCTL is set: run scripts/test");
    depths[&config.queue("sms")]
}

async fn needs_acks(world: &World) -> bool {
    let listed = super::broker::ctl(world, &["list_consumers", "queue_name", "ack_required"]).await;
    let mut ours = listed
        .lines()
        .filter(|line| line.starts_with(&world.broker.prefix));
    ours.clone().count() == 1 && ours.all(|line| line.ends_with("true"))
}

/// Sessions of programs that wait for a lock.
async fn waiting(world: &World) -> i64 {
    sqlx::query_scalar(
        "select count(*) from pg_stat_activity where datname = current_database()
         and application_name = 'nuncio' and wait_event_type = 'Lock'",
    )
    .fetch_one(&world.database.pool)
    .await
    .expect("the database answers")
}

async fn run(session: &mut sqlx::PgConnection, statements: &'static str) {
    sqlx::raw_sql(statements)
        .execute(session)
        .await
        .expect("the database takes it");
}
