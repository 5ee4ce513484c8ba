//! `nuncio redrive`: dead letters go back through intake, whatever interrupts it.

use futures_util::StreamExt;
use lapin::options::{
    BasicConsumeOptions, BasicGetOptions, BasicPublishOptions, BasicRejectOptions,
    QueueBindOptions, QueueDeclareOptions, QueuePurgeOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel as AmqpChannel};
use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy::AtMostOnce;
use serde_json::Value;

use crate::harness::{Channel, Config, Ended, Gives, Proxy, World, body, wait_until};
use crate::intake::unreadable;

fn sms(world: &World) -> Config {
    let channel = Channel::new("sms", AtMostOnce, Gives::Nothing);
    world.config().channel(channel)
}

async fn redrive(world: &World, config: &Config, more: &[&str]) -> Ended {
    let line = [&["redrive", "--channel", "sms"], more].concat();
    world.nuncio(config, &line).await
}

/// Publishes messages, and has the broker give them up as it does at the delivery limit.
async fn dead(world: &World, config: &Config, keys: &[&str]) {
    let publisher = world.publisher(config).await;
    for key in keys {
        publisher.send("sms", key).await;
    }
    give_up(world, config, keys.len()).await;
}

/// Rejects what waits in the channel's queue.
async fn give_up(world: &World, config: &Config, messages: usize) {
    let (_connection, amqp) = world.broker.channel().await;
    for _ in 0..messages {
        let message = take(&amqp, &config.queue("sms")).await;
        let for_good = BasicRejectOptions { requeue: false };
        message.reject(for_good).await.expect("rejected");
    }
    wait_until("they are dead letters", async || {
        (waiting(world, config).await.1 as usize >= messages).then_some(())
    })
    .await;
}

async fn take(amqp: &AmqpChannel, queue: &str) -> lapin::message::Delivery {
    wait_until("a message can be taken", async || {
        let got = amqp.basic_get(queue.into(), BasicGetOptions::default());
        got.await.expect("the queue is there")
    })
    .await
    .delivery
}

/// Messages ready in the channel's queue, and in its dead-letter queue.
async fn waiting(world: &World, config: &Config) -> (u32, u32) {
    let queue = config.queue("sms");
    let dead = format!("{queue}.dead");
    (
        world.broker.ready(&queue).await.0,
        world.broker.ready(&dead).await.0,
    )
}

async fn dead_when(world: &World, config: &Config, messages: u32) {
    wait_until(&format!("{messages} dead letters wait"), async || {
        let dead = format!("{}.dead", config.queue("sms"));
        (world.broker.ready(&dead).await.0 == messages).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_goes_back_as_it_was_and_carries_nothing_of_its_deaths_however_often() {
    let world = World::new().await;
    let config = sms(&world);
    let (_connection, amqp) = world.broker.channel().await;
    drop(world.publisher(&config).await); // declares the queues
    let mut headers = FieldTable::default();
    headers.insert("trace".into(), AMQPValue::LongString("t-1".into()));
    headers.insert(
        "cloudEvents:id".into(),
        AMQPValue::LongString("orders/7".into()),
    );
    let user = match world.broker.url.username() {
        "" => "guest",
        user => user,
    };
    let original = BasicProperties::default()
        .with_content_type("application/json".into())
        .with_correlation_id("c-1".into())
        .with_reply_to("answers".into())
        .with_message_id("m-1".into())
        .with_timestamp(1_800_000_000)
        .with_type("order".into())
        .with_app_id("shop".into())
        .with_priority(3)
        .with_headers(headers.clone());
    let bytes = body("sms", "order-1").to_string().into_bytes();
    amqp.basic_publish(
        config.exchange().into(),
        "sms".into(),
        BasicPublishOptions::default(),
        &bytes,
        // The broker demands that this is who publishes; nuncio may be somebody else.
        original.clone().with_user_id(user.into()),
    )
    .await
    .expect("published");
    world.was_published("sms", &bytes);
    for _ in 0..3 {
        give_up(&world, &config, 1).await;
        let done = redrive(&world, &config, &[]).await;
        assert_eq!(done.code, Some(0), "{} {}", done.stdout, done.stderr);
        assert!(
            done.stdout.starts_with("Moved 1 of 1 from "),
            "{}",
            done.stdout
        );
        assert_eq!(waiting(&world, &config).await, (1, 0));
        let message = take(&amqp, &config.queue("sms")).await;
        assert_eq!(message.data, bytes);
        let persistent = original.clone().with_delivery_mode(2);
        let mut came = message.properties.clone();
        // A quorum queue counts deliveries in a header of its own.
        let counted = |name: &str| name == "x-delivery-count";
        let mut kept = FieldTable::default();
        for (name, value) in came.headers().clone().expect("headers").inner() {
            if !counted(name.as_str()) {
                kept.insert(name.clone(), value.clone());
            }
        }
        came = came.with_headers(kept);
        assert_eq!(came, persistent);
        let again = BasicRejectOptions { requeue: true };
        message.reject(again).await.expect("given back");
        wait_until("it is in the queue", async || {
            (waiting(&world, &config).await == (1, 0)).then_some(())
        })
        .await;
    }
    let worker = world.start(&config).await;
    assert_eq!(world.rest(1).await[0].phase, Phase::Sent);
    worker.stop().await;
    world.audit(&config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_when_the_queue_had_it_and_before_the_ack_it_is_in_both_queues_and_sent_once() {
    let world = World::new().await;
    let config = sms(&world);
    dead(&world, &config, &["order-1", "order-2"]).await;
    let proxy = Proxy::before_url(&world.broker.url).await;
    let through = config.clone().broker_through(proxy.address);
    // The broker's confirm stays in the proxy: the queue has the message, and its ack waits for that.
    proxy.hold_after("content of order-1");
    let mut killed = world.begin(&through, &["redrive", "--channel", "sms"]);
    proxy.has_caught().await;
    wait_until("the queue has it", async || {
        (waiting(&world, &config).await.0 >= 1).then_some(())
    })
    .await;
    killed.kill().await;
    proxy.cut();
    wait_until("what was not acked is a dead letter again", async || {
        (waiting(&world, &config).await.1 >= 1).then_some(())
    })
    .await;

    let done = redrive(&world, &config, &[]).await;
    assert_eq!(done.code, Some(0), "{} {}", done.stdout, done.stderr);
    assert_eq!(waiting(&world, &config).await.1, 0);
    let mut worker = world.start(&config).await;
    let rows = world.rest(2).await;
    assert!(rows.iter().all(|row| row.phase == Phase::Sent), "{rows:#?}");
    wait_until("the one too many is a duplicate", async || {
        let metrics = worker.metrics().await;
        (metrics.sum("nuncio_duplicates_dropped_total", "") >= 1.0).then_some(())
    })
    .await;
    worker.stop().await;
    let counts = world.sandbox.counts().await;
    assert!(counts.values().all(|sent| *sent == 1), "{counts:?}");
    world.audit(&config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_lost_in_the_middle_loses_nothing_and_a_repeat_moves_the_rest() {
    let world = World::new().await;
    let config = sms(&world);
    let keys: Vec<String> = (0..20).map(|n| format!("order-{n:02}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    dead(&world, &config, &keys).await;
    let proxy = Proxy::before_url(&world.broker.url).await;
    let through = config.clone().broker_through(proxy.address);
    proxy.cut_after("content of order-07");
    let cut = redrive(&world, &through, &[]).await;
    proxy.has_caught().await;
    assert_eq!(cut.code, Some(2), "{} {}", cut.stdout, cut.stderr);
    assert!(
        cut.stdout.contains("The rest is where it was"),
        "{}",
        cut.stdout
    );
    wait_until("what was not acked is a dead letter again", async || {
        (waiting(&world, &config).await.1 >= 1).then_some(())
    })
    .await;

    let done = redrive(&world, &config, &["--json"]).await;
    assert_eq!(done.code, Some(0), "{} {}", done.stdout, done.stderr);
    let said: Value = serde_json::from_str(&done.stdout).expect("JSON");
    assert_eq!(said["there"], said["moved"], "{said}");
    let worker = world.start(&config).await;
    let rows = world.rest(20).await;
    assert!(rows.iter().all(|row| row.phase == Phase::Sent), "{rows:#?}");
    wait_until("the queue is empty", async || {
        (waiting(&world, &config).await == (0, 0)).then_some(())
    })
    .await;
    worker.stop().await;
    let counts = world.sandbox.counts().await;
    assert!(
        counts.len() == 20 && counts.values().all(|sent| *sent == 1),
        "{counts:?}"
    );
    world.audit(&config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_reaches_no_queue_or_is_refused_by_it_stays_a_dead_letter() {
    let world = World::new().await;
    let config = sms(&world);
    dead(&world, &config, &["order-1", "order-2", "order-3"]).await;
    let queue = config.queue("sms");
    // The binding goes with the queue.
    world.broker.delete_queue(&queue).await;
    let done = redrive(&world, &config, &[]).await;
    assert_eq!(done.code, Some(2), "{} {}", done.stdout, done.stderr);
    assert!(
        done.stdout.contains("no queue takes messages"),
        "{}",
        done.stdout
    );
    dead_when(&world, &config, 3).await;

    // A full queue that says so.
    let (_connection, amqp) = world.broker.channel().await;
    let mut full = FieldTable::default();
    full.insert("x-max-length".into(), AMQPValue::LongInt(0));
    full.insert(
        "x-overflow".into(),
        AMQPValue::LongString("reject-publish".into()),
    );
    let name = || queue.as_str().into();
    amqp.queue_declare(name(), QueueDeclareOptions::durable(), full)
        .await
        .expect("declared");
    amqp.queue_bind(
        name(),
        config.exchange().into(),
        "sms".into(),
        QueueBindOptions::default(),
        FieldTable::default(),
    )
    .await
    .expect("bound");
    let done = redrive(&world, &config, &[]).await;
    assert_eq!(done.code, Some(2), "{} {}", done.stdout, done.stderr);
    assert!(done.stdout.contains("refused it"), "{}", done.stdout);
    dead_when(&world, &config, 3).await;

    world.broker.delete_queue(&queue).await;
    let worker = world.start(&config).await; // declares the right one
    let done = redrive(&world, &config, &[]).await;
    assert_eq!(done.code, Some(0), "{} {}", done.stdout, done.stderr);
    world.rest(3).await;
    worker.stop().await;
    world.audit(&config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_with_what_was_there_when_it_began_though_each_comes_back_at_once() {
    let world = World::new().await;
    let config = sms(&world);
    dead(&world, &config, &["a", "b", "c", "d", "e"]).await;
    let dry = redrive(&world, &config, &["--dry-run", "--limit", "4"]).await;
    let (queue, dead) = (config.queue("sms"), format!("{}.dead", config.queue("sms")));
    assert_eq!(
        (dry.code, &*dry.stdout),
        (
            Some(0),
            &*format!("5 in {dead}; would move 4 to {queue}.\n")
        )
    );
    assert_eq!(waiting(&world, &config).await, (0, 5));
    let some = redrive(&world, &config, &["--limit", "2"]).await;
    assert_eq!(
        (some.code, &*some.stdout),
        (Some(0), &*format!("Moved 2 of 5 from {dead} to {queue}.\n"))
    );
    assert_eq!(waiting(&world, &config).await, (2, 3));
    // Whoever reads the queue gives each up at once.
    let (_connection, amqp) = world.broker.channel().await;
    let mut consumer = amqp
        .basic_consume(
            queue.as_str().into(),
            "".into(),
            BasicConsumeOptions::default(),
            FieldTable::default(),
        )
        .await
        .expect("a consumer");
    let refuser = tokio::spawn(async move {
        while let Some(Ok(message)) = consumer.next().await {
            let for_good = BasicRejectOptions { requeue: false };
            message.reject(for_good).await.expect("rejected");
        }
    });
    // More than are under way at once, so that some are back while others still wait.
    let many = (5..300).map(|n| ("sms".to_owned(), format!("order-{n}")));
    world.publisher(&config).await.send_all(many).await;
    dead_when(&world, &config, 300).await;
    let done = redrive(&world, &config, &[]).await;
    assert_eq!(
        done.stdout,
        format!("Moved 300 of 300 from {dead} to {queue}.\n")
    );
    dead_when(&world, &config, 300).await;
    refuser.abort();
    let _ = refuser.await;

    let stranger = world
        .nuncio(&config, &["redrive", "--channel", "mail"])
        .await;
    assert_eq!(stranger.code, Some(64), "{}", stranger.stderr);
    assert!(stranger.stderr.contains("no channel \"mail\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_cannot_be_read_is_named_and_stays() {
    let world = World::new().await;
    let config = sms(&world);
    dead(&world, &config, &["order-1", "order-2", "order-3"]).await;
    let exchange = format!("{}.dead", config.exchange());
    let queue = config.queue("sms");
    unreadable::publish(&world.broker.url, &exchange, &queue, b"cl\xe9", b"{}").await;
    dead_when(&world, &config, 4).await;
    // However often it is tried, those in front of it go back once.
    for _ in 0..4 {
        let done = redrive(&world, &config, &[]).await;
        assert_eq!(done.code, Some(2), "{} {}", done.stdout, done.stderr);
        assert!(
            done.stdout.contains("cannot be read"),
            "{} {}",
            done.stdout,
            done.stderr
        );
        let both = waiting(&world, &config).await;
        assert_eq!(both.0 + both.1, 4, "none lost, none there twice: {both:?}");
    }
    assert_eq!(waiting(&world, &config).await, (3, 1));
    let (_connection, amqp) = world.broker.channel().await;
    let dead = format!("{queue}.dead");
    amqp.queue_purge(dead.into(), QueuePurgeOptions::default())
        .await
        .expect("purged");
}
