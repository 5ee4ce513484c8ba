//! RabbitMQ as it is on a bad day: not there, saying no, dropping connections, queues and channels.

use std::process::Stdio;
use std::time::Duration;

use lapin::options::{
    BasicPublishOptions, ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions,
    QueueDeleteOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, ExchangeKind};
use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy::AtMostOnce;
use nuncio::intake::publish::{PublishError, Publisher};
use serde_json::Value;

use super::harness::{Channel, Config, Flow, Gives, Proxy, Worker, World, wait_until};

/// A world with a virtual host of its own, since what is done to it here would meet other tests.
struct Alone {
    world: World,
    vhost: String,
}

impl Alone {
    async fn new() -> Self {
        let mut world = World::new().await;
        let vhost = format!("{}alone", world.broker.prefix);
        let user = match world.broker.url.username() {
            "" => "guest",
            user => user,
        };
        rabbitmqctl(&["add_vhost", &vhost]).await;
        rabbitmqctl(&["set_permissions", "-p", &vhost, user, ".*", ".*", ".*"]).await;
        world.broker.url.set_path(&vhost);
        Self { world, vhost }
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        let (program, words) = words_of_rabbitmqctl();
        // Not waited for: nobody needs the name again.
        let _ = std::process::Command::new(program)
            .args(words)
            .args(["-q", "delete_vhost", &self.vhost])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
    }
}

fn words_of_rabbitmqctl() -> (String, Vec<String>) {
    let words =
        std::env::var("NUNCIO_RABBITMQCTL").expect("NUNCIO_RABBITMQCTL is set: run scripts/test");
    let mut words = words.split_whitespace().map(str::to_owned);
    (words.next().expect("a program"), words.collect())
}

async fn rabbitmqctl(arguments: &[&str]) -> String {
    let (program, words) = words_of_rabbitmqctl();
    let done = tokio::process::Command::new(program)
        .args(words)
        .arg("-q")
        .args(arguments)
        .output()
        .await
        .expect("rabbitmqctl can be run");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{arguments:?}: {said}");
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// Runs rabbitmqctl on the world's virtual host.
pub async fn ctl(world: &World, arguments: &[&str]) -> String {
    let vhost = world.broker.url.path().trim_start_matches('/').to_owned();
    let (command, rest) = arguments.split_first().expect("a command");
    rabbitmqctl(&[&[*command, "-p", &vhost], rest].concat()).await
}

fn sms(world: &World) -> Config {
    let channel = Channel::new("sms", AtMostOnce, Gives::Nothing);
    world.config().channel(channel)
}

async fn attached(worker: &mut Worker) -> Value {
    worker.readiness().await.json()["consumers"]["sms"].clone()
}

/// Waits until the queue has been opened again so often.
async fn reopened(worker: &mut Worker, times: usize) {
    wait_until(&format!("opened {times} times"), async || {
        let opened = worker.log().matches("reading channel=sms").count();
        (opened == times + 1).then_some(())
    })
    .await;
    worker.ready().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_with_other_arguments_stops_the_start_and_is_left_alone() {
    let world = World::new().await;
    let config = sms(&world);
    let (_connection, amqp) = world.broker.channel().await;
    let queue = config.queue("sms");
    let durable = QueueDeclareOptions::durable();
    // As nuncio would declare it, but for its kind.
    let mut arguments = FieldTable::default();
    let dead = format!("{}.dead", config.exchange());
    arguments.insert(
        "x-queue-type".into(),
        AMQPValue::LongString("classic".into()),
    );
    for (name, value) in [("exchange", &dead), ("routing-key", &queue)] {
        let name = format!("x-dead-letter-{name}");
        arguments.insert(name.into(), AMQPValue::LongString(value.as_str().into()));
    }
    amqp.queue_declare(queue.as_str().into(), durable, arguments)
        .await
        .expect("declared");
    let (options, properties) = (BasicPublishOptions::default(), BasicProperties::default());
    amqp.basic_publish(
        "".into(),
        queue.as_str().into(),
        options,
        b"precious",
        properties,
    )
    .await
    .expect("published");
    let mut worker = world.spawn(&config, &[]);
    let ended = worker.ended().await;
    assert_eq!(ended.code, Some(1));
    for part in [&*queue, "x-queue-type", "quorum", "classic"] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
    assert!(!ended.stderr.contains("reading"), "{}", ended.stderr);
    assert_eq!(world.broker.ready(&queue).await, (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_refuses_us_is_said_to_and_never_ready() {
    let world = World::new().await;
    let mut wrong = Vec::new();
    let mut config = sms(&world);
    config
        .broker_url()
        .set_password(Some("PWMARK"))
        .expect("a host");
    wrong.push((config, "ACCESS_REFUSED"));
    let mut config = sms(&world);
    config.broker_url().set_path("nowhere");
    wrong.push((config, "vhost nowhere not found"));
    for (config, words) in wrong {
        let mut worker = world.spawn(&config, &[]);
        let line = worker.says("waiting for the broker").await;
        assert!(line.contains(words), "{line}");
        let answer = worker.readiness().await;
        assert_eq!(
            (answer.status, &answer.json()["consumers"]["sms"]),
            (503, &false.into())
        );
        let ended = worker.stop().await;
        assert_eq!(ended.code, Some(0), "a stop is heard meanwhile");
        assert!(!ended.stderr.contains("PWMARK"), "{}", ended.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_not_there_is_waited_for_at_start_and_later() {
    let world = World::new().await;
    let proxy = Proxy::before_url(&world.broker.url).await;
    let config = sms(&world).broker_through(proxy.address);
    let publisher = world.publisher(&config).await;
    publisher.send("sms", "before").await;
    proxy.flow(Flow::Refuse);
    let mut worker = world.spawn(&config, &[]);
    worker.says("waiting for the broker").await;
    assert_eq!(worker.readiness().await.status, 503);
    proxy.flow(Flow::Pass);
    worker.ready().await;
    world.rest(1).await;

    proxy.flow(Flow::Refuse);
    proxy.cut();
    worker.says("the queue cannot be read").await;
    assert_eq!(attached(&mut worker).await, false);
    assert_eq!(worker.readiness().await.status, 503);
    assert_eq!(
        worker.metrics().await.sum("nuncio_consumer_attached", ""),
        0.0
    );
    publisher.send("sms", "meanwhile").await;
    proxy.flow(Flow::Pass);
    worker.ready().await;
    assert_eq!(
        worker.metrics().await.sum("nuncio_consumer_attached", ""),
        1.0
    );
    world.rest(2).await;
    worker.stop().await;
    world.audit(&config).await;
}

/// Makes the broker close every AMQP channel that consumes here, as it does after an ack timeout.
const CLOSE_CHANNELS: &str = r#"
    [rabbit_misc:pget(connection, I) ! {channel_exit, rabbit_misc:pget(number, I),
        rabbit_misc:amqp_error(precondition_failed, "delivery acknowledgement timed out", [], none)}
     || I <- rabbit_channel:info_all([connection, number, vhost, consumer_count]),
        rabbit_misc:pget(vhost, I) =:= <<"VHOST">>, rabbit_misc:pget(consumer_count, I) > 0]."#;

#[tokio::test(flavor = "multi_thread")]
async fn the_consumer_opens_again_after_everything_that_can_end_it() {
    let alone = Alone::new().await;
    let world = &alone.world;
    let config = sms(world);
    let publisher = world.publisher(&config).await;
    let mut worker = world.start(&config).await;
    publisher.send("sms", "at first").await;
    world.rest(1).await;

    rabbitmqctl(&["eval", &CLOSE_CHANNELS.replace("VHOST", &alone.vhost)]).await;
    reopened(&mut worker, 1).await;
    publisher.send("sms", "after the channel was closed").await;
    world.rest(2).await;

    let (_connection, amqp) = world.broker.channel().await;
    amqp.queue_delete(config.queue("sms").into(), QueueDeleteOptions::default())
        .await
        .expect("deleted");
    reopened(&mut worker, 2).await;
    publisher.send("sms", "after the queue was deleted").await;
    world.rest(3).await;

    rabbitmqctl(&[
        "close_all_connections",
        "--vhost",
        &alone.vhost,
        "maintenance",
    ])
    .await;
    reopened(&mut worker, 3).await;
    let publisher = world.publisher(&config).await;
    publisher
        .send("sms", "after the connection was closed")
        .await;
    let rows = world.rest(4).await;
    assert!(rows.iter().all(|row| row.phase == Phase::Sent), "{rows:#?}");
    worker.stop().await;
    world.audit(&config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_ack_crosses_to_the_next_connection() {
    let alone = Alone::new().await;
    let world = &alone.world;
    let config = sms(world);
    let publisher = world.publisher(&config).await;
    let mut worker = world.start(&config).await;
    // Claims stand before their commit while the connection that their deliveries came on goes.
    let mut barrier = world.database.pool.begin().await.expect("a session");
    for round in 1..=2 {
        sqlx::query("lock table notification in share mode")
            .execute(&mut *barrier)
            .await
            .expect("locked");
        let first = 10 * (round - 1);
        let keys = (first..first + 10).map(|i| ("sms".into(), format!("order-{i}")));
        let publisher = if round == 1 {
            &publisher
        } else {
            &world.publisher(&config).await
        };
        publisher.send_all(keys).await;
        world
            .database
            .waiter("a claim stands before its commit")
            .await;
        rabbitmqctl(&[
            "close_all_connections",
            "--vhost",
            &alone.vhost,
            "maintenance",
        ])
        .await;
        barrier.commit().await.expect("unlocked");
        reopened(&mut worker, round).await;
        world.rest(10 * round).await;
        barrier = world.database.pool.begin().await.expect("a session");
    }
    drop(barrier);
    worker.stop().await;
    let counts = world.sandbox.counts().await;
    assert!(
        counts.len() == 20 && counts.values().all(|sent| *sent == 1),
        "{counts:?}"
    );
    let places = rabbitmqctl(&[
        "eval",
        "[io:format(\"~s~n\", [F]) || F <- rabbit:log_locations()].",
    ])
    .await;
    let logs: Vec<String> = places
        .lines()
        .filter_map(|place| std::fs::read_to_string(place).ok())
        .collect();
    assert!(!logs.is_empty(), "the broker's log is in none of {places}");
    let wrong = logs.iter().flat_map(|log| log.lines());
    let wrong: Vec<&str> = wrong
        .filter(|line| line.contains(&alone.vhost) && line.contains("unknown delivery tag"))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    world.audit(&config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_queue_takes_is_not_published() {
    let world = World::new().await;
    let config = sms(&world);
    let (_connection, amqp) = world.broker.channel().await;
    let exchange = format!("{}full", config.exchange());
    let queue = format!("{}.full", config.queue("sms"));
    let direct = ExchangeDeclareOptions {
        auto_delete: true,
        ..ExchangeDeclareOptions::default()
    };
    amqp.exchange_declare(
        exchange.as_str().into(),
        ExchangeKind::Direct,
        direct,
        FieldTable::default(),
    )
    .await
    .expect("declared");
    let mut full = FieldTable::default();
    full.insert("x-max-length".into(), AMQPValue::LongInt(1));
    full.insert(
        "x-overflow".into(),
        AMQPValue::LongString("reject-publish".into()),
    );
    let exclusive = QueueDeclareOptions {
        exclusive: true,
        ..QueueDeclareOptions::default()
    };
    amqp.queue_declare(queue.as_str().into(), exclusive, full)
        .await
        .expect("declared");
    amqp.queue_bind(
        queue.as_str().into(),
        exchange.as_str().into(),
        "full".into(),
        QueueBindOptions::default(),
        FieldTable::default(),
    )
    .await
    .expect("bound");
    let publisher = Publisher::new(amqp, &exchange).await.expect("confirms");
    let publish = async |channel: &str| {
        let publishing = publisher.publish(channel, b"{}", None);
        tokio::time::timeout(Duration::from_secs(20), publishing)
            .await
            .expect("answered")
    };
    publish("full").await.expect("there is room for one");
    let error = publish("full").await.expect_err("it is full");
    assert!(
        matches!(&error, PublishError::Refused(name) if name == "full"),
        "{error}"
    );
    let error = publish("nobody").await.expect_err("nobody listens");
    assert!(
        matches!(&error, PublishError::Unroutable(name) if name == "nobody"),
        "{error}"
    );
}

/// Adds a user who may do everything in the world's virtual host.
pub async fn add_user(world: &World, name: &str, password: &str) {
    rabbitmqctl(&["add_user", name, password]).await;
    ctl(world, &["set_permissions", name, ".*", ".*", ".*"]).await;
}

/// Removes it again.
pub async fn delete_user(name: &str) {
    rabbitmqctl(&["delete_user", name]).await;
}
