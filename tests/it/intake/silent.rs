//! A deleted queue, whether the broker tells its consumers or not.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy::AtMostOnce;
use nuncio::sandbox::Fault;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

use super::super::harness::{Channel, Gives, World, wait_until};

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_is_deleted_without_a_word_is_declared_again_and_read() {
    let world = World::new().await;
    let channel = Channel::new("sms", AtMostOnce, Gives::Nothing);
    let config = world.config().channel(channel);
    let publisher = world.publisher(&config).await;
    let silent = between(&world.broker.url, Cancels::Swallow).await;
    let worker = world
        .start(&config.clone().broker_through(silent.address))
        .await;
    publisher.send("sms", "before").await;
    world.rest(1).await;
    wait_until("it subscribes again, since nothing comes", async || {
        (silent.subscribed.load(Ordering::Relaxed) == 2).then_some(())
    })
    .await;
    publisher.send("sms", "between").await;
    world.rest(2).await;

    let queue = config.queue("sms");
    world.broker.delete_queue(&queue).await;
    wait_until("it is there again, with a consumer", async || {
        let queues = world.broker.queues().await;
        (queues.get(&queue)?.1 == 1).then_some(())
    })
    .await;
    publisher.send("sms", "behind").await;
    let rows = world.rest(3).await;
    assert!(rows.iter().all(|row| row.phase == Phase::Sent), "{rows:#?}");
    assert_eq!(world.said("the queue's stream ended"), 1);
    worker.stop().await;
    world.audit(&config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_is_deleted_while_its_deliveries_wait_for_a_slot_is_declared_again() {
    let world = World::new().await;
    let channel = Channel::new("sms", AtMostOnce, Gives::Nothing).concurrency(1);
    let config = world.config().channel(channel);
    let told = between(&world.broker.url, Cancels::Pass).await;
    let first = World::reference("sms", "order-1");
    world.sandbox.script([(first, vec![Fault::Hang])]).await;
    let publisher = world.publisher(&config).await;
    let keys = (1..=5).map(|n| ("sms".to_owned(), format!("order-{n}")));
    publisher.send_all(keys).await;
    let worker = world
        .start(&config.clone().broker_through(told.address))
        .await;
    // The first holds the slot; the end of the stream comes behind the four that wait for it.
    world.sandbox.sent(first, 1).await;
    let queue = config.queue("sms");
    world.broker.delete_queue(&queue).await;
    wait_until("the worker is told", async || {
        (told.cancelled.load(Ordering::Relaxed) == 1).then_some(())
    })
    .await;
    world.sandbox.release().await;
    world.rest(5).await;
    wait_until("it is there again, with a consumer", async || {
        let queues = world.broker.queues().await;
        (queues.get(&queue)?.1 == 1).then_some(())
    })
    .await;
    assert_eq!(world.said("the queue's stream ended"), 1);
    assert_eq!(
        world.said("the queue cannot be subscribed to again"),
        0,
        "the broker had said it"
    );
    worker.stop().await;
    world.audit(&config).await;
}

/// What becomes of a `basic.cancel` of the broker.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cancels {
    Pass,
    Swallow,
}

/// A proxy before the broker, and what it has seen.
struct Between {
    address: SocketAddr,
    subscribed: Arc<AtomicU32>,
    cancelled: Arc<AtomicU32>,
}

async fn between(broker: &Url, cancels: Cancels) -> Between {
    let broker = broker.socket_addrs(|| Some(5672)).expect("an address")[0];
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let between = Between {
        address: listener.local_addr().expect("bound"),
        subscribed: Arc::default(),
        cancelled: Arc::default(),
    };
    let (subscribed, cancelled) = (between.subscribed.clone(), between.cancelled.clone());
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (subscribed, cancelled) = (subscribed.clone(), cancelled.clone());
            let server = TcpStream::connect(broker).await.expect("it is there");
            let (mut from_client, mut to_client) = client.into_split();
            let (mut from_server, mut to_server) = server.into_split();
            tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
            tokio::spawn(async move {
                while let Ok(frame) = frame(&mut from_server).await {
                    let is = |method| frame[0] == 1 && frame[7..11] == [0, 60, 0, method];
                    let (consume_ok, cancel) = (is(21), is(30));
                    let swallowed = cancel && cancels == Cancels::Swallow;
                    if !swallowed && to_client.write_all(&frame).await.is_err() {
                        return;
                    }
                    subscribed.fetch_add(u32::from(consume_ok), Ordering::Relaxed);
                    cancelled.fetch_add(u32::from(cancel), Ordering::Relaxed);
                }
            });
        }
    });
    between
}

/// One whole frame of AMQP 0-9-1: kind, channel, size, payload, end.
async fn frame(from: &mut (impl AsyncReadExt + Unpin)) -> std::io::Result<Vec<u8>> {
    let mut frame = vec![0; 7];
    from.read_exact(&mut frame).await?;
    let size = u32::from_be_bytes([frame[3], frame[4], frame[5], frame[6]]);
    frame.resize(8 + size as usize, 0);
    from.read_exact(&mut frame[7..]).await?;
    Ok(frame)
}
