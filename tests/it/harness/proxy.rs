//! A TCP proxy between a program and a server, for Postgres, RabbitMQ and HTTP alike: it passes,
//! holds, slows down and cuts what goes through, when told to.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};
use url::Url;

use super::frontend::Frontend;
use super::wait::wait_until;

/// What happens to bytes on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// They pass.
    Pass,
    /// They stay in the proxy, in both directions, until they may pass or the connection is cut.
    Hold,
    /// What the client says passes; the server's answers stay.
    HoldAnswers,
    /// They pass late, by this much, in both directions.
    Delay(Duration),
    /// New connections are closed at once; those that stand are as with [`Flow::Pass`].
    Refuse,
}

#[derive(Clone, Debug)]
struct Orders {
    flow: Flow,
    /// Connections made under a lower number than this are closed.
    cuts: u64,
    /// What to do with the first connection whose client says a text.
    trap: Option<(Arc<[u8]>, Then)>,
    /// Answers held by a trap that was sprung before this number may pass.
    let_go: u64,
    /// Cut the first connection whose client runs a statement with this text.
    statement: Option<(Cut, Arc<str>)>,
    /// Clients speak the protocol of Postgres.
    postgres: bool,
}

/// Where a connection to Postgres is cut around a statement. To the client both look the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The server never hears it.
    Before,
    /// The server has carried it out, and the answer is lost.
    After,
}

/// What happens to the server's answer to a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// It is lost, and the connection closed.
    Cut,
    /// It stays in the proxy until [`Proxy::let_go`].
    Hold,
}

/// A proxy in front of one server, on a free port.
pub struct Proxy {
    /// Where to connect to.
    pub address: SocketAddr,
    orders: watch::Sender<Orders>,
    shared: Arc<Shared>,
    _stop: DropGuard,
}

#[derive(Default)]
struct Shared {
    connections: AtomicU64,
    /// Answers that a trap caught.
    caught: AtomicU64,
    from_clients: AtomicU64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    ToServer,
    ToClient,
}

impl Proxy {
    /// In front of an address.
    pub async fn before(server: SocketAddr) -> Self {
        Self::listen(server, false).await
    }

    /// In front of the Postgres that a URL names, whose statements it then knows; see
    /// [`Proxy::cut_around`].
    pub async fn before_postgres(url: &Url) -> Self {
        let found = url.socket_addrs(|| Some(5432));
        Self::listen(found.expect("the host has an address")[0], true).await
    }

    async fn listen(server: SocketAddr, postgres: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener
            .local_addr()
            .expect("a bound socket has an address");
        let (orders, watched) = watch::channel(Orders {
            flow: Flow::Pass,
            cuts: 0,
            trap: None,
            let_go: 0,
            statement: None,
            postgres,
        });
        let stop = CancellationToken::new();
        let shared = Arc::new(Shared::default());
        let accepting = accept(listener, server, orders.clone(), watched, shared.clone());
        let stopped = stop.clone();
        tokio::spawn(async move { stopped.run_until_cancelled(accepting).await });
        Self {
            address,
            orders,
            shared,
            _stop: stop.drop_guard(),
        }
    }

    /// In front of the server that a URL names.
    pub async fn before_url(url: &Url) -> Self {
        let ports = || match url.scheme() {
            "amqp" => Some(5672),
            "postgres" | "postgresql" => Some(5432),
            _ => None,
        };
        let found = url.socket_addrs(ports).expect("the host has an address");
        Self::before(found[0]).await
    }

    /// From now on.
    pub fn flow(&self, flow: Flow) {
        self.orders.send_modify(|orders| orders.flow = flow);
    }

    /// Closes every connection that stands, with what is held in it.
    pub fn cut(&self) {
        self.orders.send_modify(|orders| orders.cuts += 1);
    }

    /// Sets a trap: the first connection on which a client says `text` is closed as soon as the
    /// server has answered that, and the answer is lost. See [`Proxy::has_caught`].
    pub fn cut_after(&self, text: &str) {
        self.trap(text, Then::Cut);
    }

    /// Sets a trap: the server's answer to the first client that says `text` stays in the proxy,
    /// until [`Proxy::let_go`]. Other connections go on.
    pub fn hold_after(&self, text: &str) {
        self.trap(text, Then::Hold);
    }

    /// Lets go what a trap holds.
    pub fn let_go(&self) {
        self.orders.send_modify(|orders| orders.let_go += 1);
    }

    /// Waits until a trap has caught an answer: the server has done what it was told.
    pub async fn has_caught(&self) {
        wait_until("the trap in the proxy catches an answer", async || {
            (self.shared.caught.load(Ordering::Acquire) > 0).then_some(())
        })
        .await;
    }

    /// Sets a trap: the connection on which a client next runs a statement that contains `text`, by
    /// whatever name it was prepared, is cut.
    pub fn cut_around(&self, cut: Cut, text: &str) {
        self.orders
            .send_modify(|orders| orders.statement = Some((cut, text.into())));
    }

    /// How often a trap has caught something.
    pub fn caught(&self) -> u64 {
        self.shared.caught.load(Ordering::Acquire)
    }

    fn trap(&self, text: &str, then: Then) {
        let text: Arc<[u8]> = text.as_bytes().into();
        self.orders
            .send_modify(|orders| orders.trap = Some((text, then)));
    }

    /// Connections made so far.
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::Acquire)
    }

    /// Bytes that clients have said so far, held ones too.
    pub fn heard(&self) -> u64 {
        self.shared.from_clients.load(Ordering::Acquire)
    }
}

async fn accept(
    listener: TcpListener,
    server: SocketAddr,
    orders: watch::Sender<Orders>,
    watched: watch::Receiver<Orders>,
    shared: Arc<Shared>,
) {
    while let Ok((client, _)) = listener.accept().await {
        shared.connections.fetch_add(1, Ordering::AcqRel);
        if watched.borrow().flow == Flow::Refuse {
            continue;
        }
        let Ok(server) = TcpStream::connect(server).await else {
            continue;
        };
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        tokio::spawn(connection(
            client,
            server,
            orders.clone(),
            watched.clone(),
            shared.clone(),
        ));
    }
}

/// Both directions of one connection, until one ends or it is cut.
async fn connection(
    client: TcpStream,
    server: TcpStream,
    orders: watch::Sender<Orders>,
    mut watched: watch::Receiver<Orders>,
    shared: Arc<Shared>,
) {
    let born = watched.borrow().cuts;
    let met = watch::channel(None).0;
    let ((from_client, to_client), (from_server, to_server)) =
        (client.into_split(), server.into_split());
    let up = Pump {
        direction: Direction::ToServer,
        watched: watched.clone(),
        orders: orders.clone(),
        met: met.clone(),
        shared: shared.clone(),
    };
    let down = Pump {
        direction: Direction::ToClient,
        watched: watched.clone(),
        orders,
        met,
        shared,
    };
    tokio::select! {
        () = up.run(from_client, to_server) => {}
        () = down.run(from_server, to_client) => {}
        _ = watched.wait_for(|orders| orders.cuts > born) => {}
    }
}

struct Pump {
    direction: Direction,
    watched: watch::Receiver<Orders>,
    orders: watch::Sender<Orders>,
    /// This connection's client has said a trap's text.
    met: watch::Sender<Option<Then>>,
    shared: Arc<Shared>,
}

impl Pump {
    async fn run(mut self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let mut buffer = vec![0; 64 * 1024];
        let mut tail = Vec::new();
        let mut frontend = Frontend::default();
        while let Ok(read @ 1..) = from.read(&mut buffer).await {
            let bytes = &buffer[..read];
            if self.direction == Direction::ToServer {
                self.shared
                    .from_clients
                    .fetch_add(read as u64, Ordering::AcqRel);
                self.look_for_the_text(&mut tail, bytes);
                if self.runs_the_statement(&mut frontend, bytes) {
                    self.shared.caught.fetch_add(1, Ordering::AcqRel);
                    return;
                }
            } else if !self.passes_the_trap().await {
                return;
            }
            if !self.may_pass().await || to.write_all(bytes).await.is_err() {
                return;
            }
        }
    }

    /// Waits while bytes in this direction are held.
    async fn may_pass(&mut self) -> bool {
        let to_server = self.direction == Direction::ToServer;
        let held = |flow| flow == Flow::Hold || (flow == Flow::HoldAnswers && !to_server);
        let orders = self.watched.wait_for(|orders| !held(orders.flow)).await;
        let delay = match orders.map(|orders| orders.flow) {
            Ok(Flow::Delay(delay)) => delay,
            Ok(_) => Duration::ZERO,
            Err(_) => return false,
        };
        tokio::time::sleep(delay).await;
        true
    }

    /// What a trap that this connection's client has sprung does with the answer.
    async fn passes_the_trap(&mut self) -> bool {
        let Some(then) = self.met.send_replace(None) else {
            return true;
        };
        let before = self.watched.borrow().let_go;
        self.shared.caught.fetch_add(1, Ordering::AcqRel);
        let mut watched = self.watched.clone();
        then == Then::Hold
            && watched
                .wait_for(|orders| orders.let_go > before)
                .await
                .is_ok()
    }

    /// Whether to cut here and now, since the client runs the statement that is waited for. A cut
    /// after it is left to the other direction.
    fn runs_the_statement(&self, frontend: &mut Frontend, bytes: &[u8]) -> bool {
        if !self.watched.borrow().postgres {
            return false;
        }
        let run = frontend.hear(bytes);
        let mut sprung = None;
        self.orders.send_if_modified(|orders| {
            let has_it = |statement: &String| {
                let wanted = orders.statement.as_ref();
                wanted.is_some_and(|(_, text)| statement.contains(&**text))
            };
            if run.iter().any(has_it) {
                sprung = orders.statement.take().map(|(cut, _)| cut);
            }
            sprung.is_some()
        });
        if sprung == Some(Cut::After) {
            self.met.send_replace(Some(Then::Cut));
        }
        sprung == Some(Cut::Before)
    }

    /// Springs a trap whose text the client has just said; its end may have come in an earlier read.
    fn look_for_the_text(&self, tail: &mut Vec<u8>, bytes: &[u8]) {
        let Some((text, then)) = self.watched.borrow().trap.clone() else {
            return;
        };
        tail.extend_from_slice(bytes);
        if tail.windows(text.len()).any(|window| *window == *text) {
            self.orders.send_modify(|orders| orders.trap = None);
            self.met.send_replace(Some(then));
        }
        let keep = tail.len().min(text.len() - 1);
        tail.drain(..tail.len() - keep);
    }
}
