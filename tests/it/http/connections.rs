//! Connections that are not made, and connections that end when they should not.

use std::net::SocketAddr;
use std::time::Duration;

use nuncio::domain::identity::notification_id;
use nuncio::domain::notification::{Content, Notification};
use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy::{AtLeastOnce, AtMostOnce};
use nuncio::provider::Message;
use nuncio::provider::client::{Client, Failure};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use super::super::harness::{Channel, Gives, World, wait_until};

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_not_there_is_certainly_not_sent_to_and_tried_again() {
    let world = World::new().await;
    let free = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = free.local_addr().expect("bound");
    drop(free);
    let channel = |name, policy| Channel::new(name, policy, Gives::Nothing).through(address);
    let config = world
        .config()
        .channel(channel("once", AtMostOnce))
        .channel(channel("again", AtLeastOnce));
    let publisher = world.publisher(&config).await;
    let worker = world.start(&config).await;
    for name in ["once", "again"] {
        publisher.send(name, "order-1").await;
    }
    for name in ["once", "again"] {
        let tried = |row: &super::super::harness::Row| {
            row.phase == Phase::Queued && row.attempt >= 2 && row.last_text.is_some()
        };
        let row = world
            .row_when("was tried twice", name, "order-1", tried)
            .await;
        assert_eq!(row.doubt_since, None, "{row:#?}");
        let said = row.last_text.expect("said");
        assert!(said.contains("refused"), "{said}");
    }
    // From now on the sandbox is there.
    let there = TcpListener::bind(address).await.expect("still free");
    let sandbox = world.sandbox.address;
    let passing = tokio::spawn(async move {
        while let Ok((mut client, _)) = there.accept().await {
            let mut server = TcpStream::connect(sandbox)
                .await
                .expect("the sandbox is there");
            tokio::spawn(async move { copy_bidirectional(&mut client, &mut server).await });
        }
    });
    let rows = world.rest(2).await;
    assert!(
        rows.iter()
            .all(|row| row.phase == Phase::Sent && row.generation == 1),
        "{rows:#?}"
    );
    worker.stop().await;
    passing.abort();
    world.audit(&config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_are_not_there_and_handshakes_that_fail_are_certainly_not_sent() {
    // One that says nothing, one that hangs up, one that speaks no TLS.
    let silent = serve(|stream| async move { hold(stream).await }).await;
    let short = serve(|stream| async move { drop(stream) }).await;
    let plain = serve(|mut stream: TcpStream| async move {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        hold(stream).await;
    })
    .await;
    let mut tried = vec!["https://nuncio-is-not-there.invalid/send".to_owned()];
    tried.extend([silent, short, plain].map(|address| format!("https://{address}/send")));
    for url in tried {
        match exchange(&url).await {
            Err(Failure::NotSent(said)) => assert!(!said.contains("http"), "{said}"),
            other => panic!("{url}: {:?}", other.map(|answer| answer.status)),
        }
    }
    // The same, once the connection stands: nobody can say.
    let gone = serve(|mut stream: TcpStream| async move {
        let _ = stream.read(&mut [0; 16]).await;
    })
    .await;
    let taught = exchange(&format!("http://{gone}/send")).await;
    assert!(
        matches!(taught, Err(Failure::Unknown { .. })),
        "{:?}",
        taught.err()
    );
}

async fn exchange(url: &str) -> Result<nuncio::provider::Answer, Failure> {
    let file = format!(
        "[channels.sms]\nkind = \"sms\"\npolicy = \"at-most-once\"\nprovider = \"p\"\n\
         [providers.p]\nkind = \"http\"\nrequest_timeout = \"9s\"\n\
         send.url = \"{url}\"\nsend.json = {{ to = \"{{{{ to }}}}\" }}\n\
         send.answers = [{{ json = {{ \"$.ok\" = true }}, means = \"accepted\" }}]\n"
    );
    let env = |name: &str| {
        let scheme = if name.contains("AMQP") {
            "amqp"
        } else {
            "postgres"
        };
        Some(format!("{scheme}://nobody"))
    };
    let config = nuncio::config::parse("test", &file, &env).unwrap_or_else(|e| panic!("{e}"));
    let channel = &config.channels[0];
    let notification = Notification {
        id: notification_id("sms", "k"),
        channel: "sms".into(),
        key: "k".into(),
        to: "+442079460018".into(),
        content: Content::default(),
        send_at: None,
        expires_at: None,
        stream: None,
        seq: None,
    };
    let message = Message::new(channel, &notification, 1);
    let request = channel
        .provider
        .adapter
        .request(&message)
        .expect("rendered");
    let client = Client::new().expect("a client");
    client
        .exchange(request, channel.provider.request_timeout)
        .await
}

async fn hold(mut stream: TcpStream) {
    while matches!(stream.read(&mut [0; 1024]).await, Ok(1..)) {}
}

/// A server that does one thing with every connection.
async fn serve<F>(what: impl Fn(TcpStream) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(what(stream));
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_closes_idle_connections_loses_none_of_300_and_doubles_none() {
    let world = World::new().await;
    let sandbox = world.sandbox.address;
    // Every answer promises to keep the connection, which is then closed.
    let closing = serve(move |mut client: TcpStream| async move {
        let mut server = TcpStream::connect(sandbox)
            .await
            .expect("the sandbox is there");
        let mut buffer = [0; 8192];
        loop {
            tokio::select! {
                read = client.read(&mut buffer) => match read {
                    Ok(read @ 1..) => server.write_all(&buffer[..read]).await.expect("passed on"),
                    _ => return,
                },
                read = TcpStream::readable(&server) => {
                    if read.is_err() {
                        return;
                    }
                    let mut answer = [0; 8192];
                    if let Ok(read @ 1..) = server.try_read(&mut answer) {
                        let _ = client.write_all(&answer[..read]).await;
                        return;
                    }
                }
            }
        }
    })
    .await;
    let channel = Channel::new("again", AtLeastOnce, Gives::Replay).through(closing);
    let config = world.config().channel(channel.concurrency(1));
    let publisher = world.publisher(&config).await;
    let keys = (0..300).map(|i| ("again".to_owned(), format!("order-{i}")));
    publisher.send_all(keys).await;
    let worker = world.start(&config).await;
    let rows = wait_until("all 300 rest", async || {
        let rows = world.rows().await;
        let done = rows.iter().filter(|row| row.phase == Phase::Sent).count();
        (done == 300).then_some(rows)
    })
    .await;
    worker.stop().await;
    let counts = world.sandbox.counts().await;
    let doubts = rows.iter().filter(|row| row.attempt > 1).count();
    assert!(
        counts.len() == 300 && counts.values().all(|sent| *sent == 1),
        "{doubts} in doubt"
    );
    world.audit(&config).await;
    tokio::time::timeout(Duration::from_secs(1), async {})
        .await
        .expect("at once");
}
