//! Stands between the workers and the sandbox, and asks the ledger at every request, in a session
//! of its own, whether a committed claim is to be seen. Bytes and cuts pass as they are.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nuncio::domain::identity::{notification_id, send_key};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};
use uuid::Uuid;

use crate::harness::World;

/// Send keys of one notification that can come up.
const GENERATIONS: u32 = 6;

/// Longer than a look at one row takes; a database that is away must not hold up a request.
const LOOK_LIMIT: Duration = Duration::from_millis(500);

/// What the ledger said at the requests.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Requests for which a claim within its lease was to be seen.
    pub claimed: u64,
    /// Requests of notifications of which the database could not say anything just then.
    pub unseen: Vec<Uuid>,
    /// Requests for which there was no claim.
    pub without: Vec<String>,
    /// Requests that came after their claim's end: the row was known, and had moved on.
    pub late: Vec<String>,
}

/// The witness.
pub struct Witness {
    /// Where workers find the provider.
    pub address: SocketAddr,
    shared: Arc<Shared>,
    _stop: DropGuard,
}

struct Shared {
    pool: PgPool,
    /// Notifications by send key.
    known: HashMap<Uuid, Uuid>,
    seen: Mutex<Seen>,
}

impl Witness {
    /// In front of a world's sandbox, for these notifications.
    pub async fn before_sandbox(world: &World, load: &[(String, String)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener
            .local_addr()
            .expect("a bound socket has an address");
        let keys = load.iter().flat_map(|(channel, key)| {
            let id = notification_id(channel, key);
            (1..=GENERATIONS).map(move |generation| (send_key(channel, key, generation), id))
        });
        let pool = PgPoolOptions::new()
            .max_connections(8)
            .acquire_timeout(LOOK_LIMIT)
            .connect_lazy(world.database.url.as_str())
            .expect("the URL can be read");
        let shared = Arc::new(Shared {
            pool,
            known: keys.collect(),
            seen: Mutex::default(),
        });
        let stop = CancellationToken::new();
        let (sandbox, seeing, stopped) = (world.sandbox.address, shared.clone(), stop.clone());
        tokio::spawn(stopped.run_until_cancelled_owned(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(relay(client, sandbox, seeing.clone()));
            }
        }));
        Self {
            address,
            shared,
            _stop: stop.drop_guard(),
        }
    }

    /// What it has seen so far.
    pub fn seen(&self) -> Seen {
        self.shared
            .seen
            .lock()
            .expect("no holder of it panics")
            .clone()
    }
}

async fn relay(client: TcpStream, sandbox: SocketAddr, shared: Arc<Shared>) {
    let Ok(server) = TcpStream::connect(sandbox).await else {
        return;
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let up = async {
        let mut rest = Vec::new();
        while let Some(request) = next_request(&mut from_client, &mut rest).await {
            if request.starts_with(b"POST") {
                shared.look(&request).await;
            }
            if to_server.write_all(&request).await.is_err() {
                break;
            }
        }
    };
    tokio::select! {
        () = up => {}
        _ = tokio::io::copy(&mut from_server, &mut to_client) => {}
    }
}

/// One whole request, as bytes; `rest` holds what was read beyond it.
async fn next_request(from: &mut OwnedReadHalf, rest: &mut Vec<u8>) -> Option<Vec<u8>> {
    let mut buffer = [0; 16 * 1024];
    loop {
        if let Some(length) = length_of_request(rest).filter(|length| rest.len() >= *length) {
            return Some(rest.drain(..length).collect());
        }
        let read = from.read(&mut buffer).await.ok().filter(|read| *read > 0)?;
        rest.extend_from_slice(&buffer[..read]);
    }
}

fn length_of_request(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    let body: usize = length.map_or(0, |length| length.trim().parse().unwrap_or(0));
    Some(end + body)
}

impl Shared {
    async fn look(&self, request: &[u8]) {
        let body = request.windows(4).position(|window| window == b"\r\n\r\n");
        let body = body.map_or(&[][..], |at| &request[at + 4..]);
        let body: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
        let reference = body["reference"].as_str().unwrap_or_default().to_owned();
        let id = reference
            .parse()
            .ok()
            .and_then(|key: Uuid| self.known.get(&key).copied());
        let Some(id) = id else {
            let stranger = format!("no message was published for reference {reference}");
            self.note(|seen| seen.without.push(stranger));
            return;
        };
        let row = tokio::time::timeout(LOOK_LIMIT, self.claim(id)).await;
        self.note(|seen| match row {
            Ok(Ok(Some((_, true, _)))) => seen.claimed += 1,
            Ok(Ok(Some((phase, false, attempt)))) => seen
                .late
                .push(format!("{id}: {phase}, attempt {attempt}, at a request")),
            Ok(Ok(None)) => seen.without.push(format!("{id}: no row, at a request")),
            Ok(Err(_)) | Err(_) => seen.unseen.push(id),
        });
    }

    /// Phase, whether it is a claim within its lease, and attempt.
    async fn claim(&self, id: Uuid) -> sqlx::Result<Option<(String, bool, i32)>> {
        sqlx::query_as(
            "select phase::text, phase = 'sending' and due_at > now(), attempt
             from notification where id = $1",
        )
        .bind(id)
        .fetch_optional(&self.pool)
        .await
    }

    fn note(&self, note: impl FnOnce(&mut Seen)) {
        note(&mut self.seen.lock().expect("no holder of it panics"));
    }
}
