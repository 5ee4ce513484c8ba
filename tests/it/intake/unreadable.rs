//! A message that the AMQP library cannot read: it ends the connection before anybody sees it.

use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy::AtMostOnce;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use url::Url;

use super::super::harness::{Channel, Gives, World, wait_until};

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_cannot_be_read_becomes_a_dead_letter_and_its_neighbours_are_sent() {
    let world = World::new().await;
    let channel = Channel::new("sms", AtMostOnce, Gives::Nothing).line("delivery_limit = 3");
    let config = world.config().channel(channel);
    let publisher = world.publisher(&config).await;
    publisher.send("sms", "before").await;
    let wrong = b"cl\xe9";
    publish(&world.broker.url, &config.exchange(), "sms", wrong, b"{}").await;
    for i in 0..20 {
        publisher.send("sms", &format!("behind {i}")).await;
    }
    let mut worker = world.start(&config).await;
    let rows = world.rest(21).await;
    assert!(rows.iter().all(|row| row.phase == Phase::Sent), "{rows:#?}");
    let queue = config.queue("sms");
    wait_until("the queue is empty", async || {
        (world.broker.ready(&queue).await.0 == 0).then_some(())
    })
    .await;
    worker.ready().await;
    let dead = format!("{queue}.dead");
    assert_eq!(world.broker.ready(&dead).await.0, 1, "it, and no neighbour");
    worker.stop().await;
    let (_connection, amqp) = world.broker.channel().await;
    amqp.queue_purge(dead.into(), lapin::options::QueuePurgeOptions::default())
        .await
        .expect("purged");
    world.audit(&config).await;
}

/// Publishes with a message id that is not UTF-8, which no AMQP library of ours would.
pub async fn publish(url: &Url, exchange: &str, key: &str, id: &[u8], body: &[u8]) {
    let host = url.socket_addrs(|| Some(5672)).expect("an address");
    let mut broker = Frames(TcpStream::connect(host[0]).await.expect("it answers"));
    broker.0.write_all(b"AMQP\0\0\x09\x01").await.expect("said");
    broker.answer().await;
    let user = |text: &str, default: &str| match text {
        "" => default.to_owned(),
        text => text.to_owned(),
    };
    let name = user(url.username(), "guest");
    let password = user(url.password().unwrap_or_default(), "guest");
    let login = format!("\0{name}\0{password}");
    let start = [
        &[0, 10, 0, 11][..],
        &long(b""),
        &short(b"PLAIN"),
        &long(login.as_bytes()),
        &short(b"en_US"),
    ];
    broker.say(1, 0, &start.concat()).await;
    let tune = broker.answer().await;
    broker
        .say(1, 0, &[&[0, 10, 0, 31][..], &tune[4..10], &[0, 0]].concat())
        .await;
    let vhost = url.path().trim_start_matches('/').replace("%2f", "/");
    let open = [
        &[0, 10, 0, 40][..],
        &short(vhost.as_bytes()),
        &short(b""),
        &[0],
    ];
    broker.say(1, 0, &open.concat()).await;
    broker.answer().await;
    broker
        .say(1, 1, &[&[0, 20, 0, 10][..], &short(b"")].concat())
        .await;
    broker.answer().await;
    let publish = [
        &[0, 60, 0, 40, 0, 0][..],
        &short(exchange.as_bytes()),
        &short(key.as_bytes()),
        &[0],
    ];
    broker.say(1, 1, &publish.concat()).await;
    let size = (body.len() as u64).to_be_bytes();
    let has_only_a_message_id = (1_u16 << 7).to_be_bytes();
    let header = [
        &[0, 60, 0, 0][..],
        &size,
        &has_only_a_message_id,
        &short(id),
    ];
    broker.say(2, 1, &header.concat()).await;
    broker.say(3, 1, body).await;
    let close = [&[0, 20, 0, 40, 0, 200][..], &short(b"done"), &[0; 4]];
    broker.say(1, 1, &close.concat()).await;
    broker.answer().await;
}

fn short(text: &[u8]) -> Vec<u8> {
    let size = u8::try_from(text.len()).expect("short");
    [&[size][..], text].concat()
}

fn long(text: &[u8]) -> Vec<u8> {
    let size = u32::try_from(text.len()).expect("not that long");
    [&size.to_be_bytes()[..], text].concat()
}

/// An AMQP 0-9-1 connection, by hand.
struct Frames(TcpStream);

impl Frames {
    async fn say(&mut self, kind: u8, channel: u16, payload: &[u8]) {
        let size = u32::try_from(payload.len()).expect("not that long");
        let head = [&[kind][..], &channel.to_be_bytes(), &size.to_be_bytes()].concat();
        let frame = [&head[..], payload, b"\xce"].concat();
        self.0.write_all(&frame).await.expect("said");
    }

    async fn answer(&mut self) -> Vec<u8> {
        let mut head = [0; 7];
        self.0.read_exact(&mut head).await.expect("a frame");
        let size = u32::from_be_bytes([head[3], head[4], head[5], head[6]]);
        let mut payload = vec![0; size as usize + 1];
        self.0
            .read_exact(&mut payload)
            .await
            .expect("the rest of it");
        payload
    }
}
