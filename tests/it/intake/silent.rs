//! A broker that deletes a queue and does not tell its consumers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy::AtMostOnce;
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
    let (silent, subscribed) = without_cancels(&world.broker.url).await;
    let worker = world.start(&config.clone().broker_through(silent)).await;
    publisher.send("sms", "before").await;
    world.rest(1).await;
    wait_until("it subscribes again, since nothing comes", async || {
        (subscribed.load(Ordering::Relaxed) == 2).then_some(())
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

/// A proxy that swallows every `basic.cancel` of the broker, and how many subscriptions it has seen.
async fn without_cancels(broker: &Url) -> (SocketAddr, Arc<AtomicU32>) {
    let broker = broker.socket_addrs(|| Some(5672)).expect("an address")[0];
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    let subscribed = Arc::new(AtomicU32::new(0));
    let count = subscribed.clone();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let count = count.clone();
            let server = TcpStream::connect(broker).await.expect("it is there");
            let (mut from_client, mut to_client) = client.into_split();
            let (mut from_server, mut to_server) = server.into_split();
            tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
            tokio::spawn(async move {
                while let Ok(frame) = frame(&mut from_server).await {
                    let is = |method| frame[0] == 1 && frame[7..11] == [0, 60, 0, method];
                    let (consume_ok, cancel) = (is(21), is(30));
                    count.fetch_add(u32::from(consume_ok), Ordering::Relaxed);
                    if !cancel && to_client.write_all(&frame).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (address, subscribed)
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
