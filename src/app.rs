//! A process: builds what the configuration asks for, runs its roles, and drains them.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::ValueEnum;
use futures_util::FutureExt;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Config;
use crate::intake::batch::Intake;
use crate::intake::consumer::QueueReader;
use crate::intake::subscription::OpenError;
use crate::intake::topology::verify;
use crate::ledger::{Ledger, LedgerError};
use crate::metrics::Metrics;
use crate::provider::client::Client;
use crate::reconnect::Reconnect;
use crate::resolver::Resolver;
use crate::web::{self, Health};
use crate::worker::due::claim_due_rows;
use crate::worker::lane::Lane;
use crate::worker::send::send_jobs;
use crate::worker::settler::Settler;

/// How often the gauges and the readiness of the ledger are brought up to date.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// What a stopping process takes beyond its grace time at most, for each of two: ending its side
/// tasks, closing its connections. Schedulers add a second or two before they kill.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// A part of the work that a process can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// Reads the queues, sends, settles, and sends again what is due.
    Worker,
    /// Settles doubt.
    Resolver,
}

/// Why a process could not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The listener's address cannot be had.
    #[error("cannot listen on {0}: {1}")]
    Listen(std::net::SocketAddr, std::io::Error),
    /// The schema is not one that this program can work with.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A queue or exchange stands with other arguments.
    #[error(
        "{0}\nA queue keeps the arguments that it was declared with: change the configuration, or move its messages and delete it."
    )]
    Topology(OpenError),
    /// TLS cannot be set up.
    #[error("the HTTP client: {0}")]
    Client(#[from] reqwest::Error),
}

/// What a process left behind when it stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Claims without a written outcome: the resolver finds them when their lease ends.
    pub in_flight: usize,
    /// It stopped because a part of it panicked, and not because it was told to.
    pub panicked: bool,
}

/// Runs the parts that a process cannot do without. Should one panic, the process stops, and whoever
/// started it starts it again: better than one that looks ready and does half of its work.
#[derive(Clone)]
struct Vital {
    stop: CancellationToken,
    panicked: CancellationToken,
}

impl Vital {
    async fn run<T>(self, part: impl Future<Output = T>) {
        if AssertUnwindSafe(part).catch_unwind().await.is_err() {
            tracing::error!("a part that the process cannot do without has panicked: stopping");
            self.panicked.cancel();
            self.stop.cancel();
        }
    }
}

/// Runs the roles until `stop`, then drains them within the grace time.
///
/// The listener answers from the start; the database and the broker are waited for. A schema or a
/// topology that cannot be worked with ends it.
///
/// # Errors
/// [`StartError`].
pub async fn run(
    config: Config,
    roles: &[Role],
    stop: CancellationToken,
) -> Result<Left, StartError> {
    let listen = config.http.listen;
    let listener = TcpListener::bind(listen)
        .await
        .map_err(|error| StartError::Listen(listen, error))?;
    // Port 0 takes a free one: the log says which.
    let listen = listener.local_addr().unwrap_or(listen);
    let client = Client::new()?;
    let database = &config.database;
    let ledger = Ledger::open(&database.url, database.pool, database.pgbouncer)?;
    let metrics = Arc::new(Metrics::new());
    let works = roles.contains(&Role::Worker);
    let attached: Vec<Arc<AtomicBool>> = config.channels.iter().map(|_| Arc::default()).collect();
    let consumers = config
        .channels
        .iter()
        .map(|c| c.name.clone())
        .zip(attached.clone());
    let health = Arc::new(Health {
        ledger: AtomicBool::new(false),
        consumers: if works {
            consumers.collect()
        } else {
            Vec::new()
        },
    });

    let ending = CancellationToken::new();
    let side = TaskTracker::new();
    let vital = Vital {
        stop: stop.clone(),
        panicked: CancellationToken::new(),
    };
    side.spawn(vital.clone().run(web::serve(
        listener,
        health.clone(),
        metrics.clone(),
        ending.clone(),
    )));
    tracing::info!(address = %listen, roles = ?roles, "started");

    if !migrated(&ledger, &stop).await? {
        return Ok(Left::default());
    }
    side.spawn(vital.clone().run(look(
        ledger.clone(),
        metrics.clone(),
        health,
        ending.clone(),
    )));
    let resolver = Resolver::new(ledger.clone(), client.clone(), metrics.clone(), &config);
    if roles.contains(&Role::Resolver) {
        let passes = resolve_every(resolver, config.resolver.every, stop.clone());
        side.spawn(vital.clone().run(passes));
    }
    let grace = config.shutdown_grace;
    let working = if works {
        let workers = Workers {
            ledger: ledger.clone(),
            client,
            metrics,
            vital: vital.clone(),
        };
        workers.start(config, attached, &stop).await?
    } else {
        None
    };
    stop.cancelled().await;
    let deadline = Instant::now() + grace;
    let in_flight = match working {
        Some(working) => working.drain(deadline).await,
        None => 0,
    };
    ending.cancel();
    side.close();
    // A pass of the resolver may use what is left of the grace time.
    let _ = tokio::time::timeout_at(deadline.max(Instant::now() + LAST_MOMENT), side.wait()).await;
    // Waits for connections that are in use; after the grace time the server may do as it likes.
    let _ = tokio::time::timeout(LAST_MOMENT, ledger.close()).await;
    tracing::info!(in_flight, "stopped");
    Ok(Left {
        in_flight,
        panicked: vital.panicked.is_cancelled(),
    })
}

/// Waits for the database, and brings the schema up to date. `false`: told to stop.
async fn migrated(ledger: &Ledger, stop: &CancellationToken) -> Result<bool, LedgerError> {
    let mut reconnect = Reconnect::default();
    loop {
        match ledger.migrate().await {
            Ok(()) => return Ok(true),
            Err(error) if !error.may_pass() => return Err(error),
            Err(error) => {
                tracing::warn!(%error, "waiting for the database");
                if !reconnect.pause(stop).await {
                    return Ok(false);
                }
            }
        }
    }
}

/// Keeps the gauges and the ledger's part of readiness up to date.
async fn look(
    ledger: Ledger,
    metrics: Arc<Metrics>,
    health: Arc<Health>,
    ending: CancellationToken,
) {
    loop {
        let well = match ledger.writable().await {
            Ok(true) => ledger
                .open_rows()
                .await
                .map(|rows| metrics.show(&rows))
                .is_ok(),
            Ok(false) | Err(_) => false,
        };
        if health.ledger.swap(well, Ordering::Relaxed) && !well {
            tracing::error!("the ledger cannot be written");
        }
        tokio::select! {
            () = ending.cancelled() => return,
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}

/// Settles doubt, pass after pass.
async fn resolve_every(resolver: Resolver, every: Duration, stop: CancellationToken) {
    while !stop.is_cancelled() {
        match resolver.pass(&stop).await {
            Ok(report) if report.taken > 0 => {
                tracing::info!(taken = report.taken, verdicts = ?report.verdicts, parked = report.parked.len(), "resolver pass");
            }
            Ok(_) => {}
            Err(error) => {
                tracing::error!(%error, "a resolver pass broke off");
                resolver.let_workers_go_first(&stop).await;
                continue;
            }
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(every) => {}
        }
    }
}

struct Workers {
    ledger: Ledger,
    client: Client,
    metrics: Arc<Metrics>,
    vital: Vital,
}

impl Workers {
    /// Starts what reads, sends and writes outcomes. `None`: told to stop before the broker
    /// answered.
    async fn start(
        self,
        config: Config,
        attached: Vec<Arc<AtomicBool>>,
        stop: &CancellationToken,
    ) -> Result<Option<Working>, StartError> {
        let abort = CancellationToken::new();
        let (settler, writer) =
            Settler::new(self.ledger.clone(), self.metrics.clone(), abort.clone());
        let writing = tokio::spawn(self.vital.clone().run(writer));
        let lanes: Vec<Arc<Lane>> = config
            .channels
            .iter()
            .map(|channel| {
                Arc::new(Lane::new(
                    channel.clone(),
                    settler.clone(),
                    self.client.clone(),
                    self.metrics.clone(),
                ))
            })
            .collect();
        drop(settler);
        let broker = Arc::new(config.broker);
        if !topology_stands(&broker, &lanes, stop).await? {
            return Ok(None);
        }
        let (reading, sending) = (TaskTracker::new(), TaskTracker::new());
        for (lane, attached) in lanes.iter().zip(attached) {
            for _ in 0..lane.channel.concurrency {
                sending.spawn(
                    self.vital
                        .clone()
                        .run(send_jobs(lane.clone(), stop.clone())),
                );
            }
            let due = claim_due_rows(lane.clone(), self.ledger.clone(), stop.clone());
            reading.spawn(self.vital.clone().run(due));
            let reader = QueueReader {
                lane: lane.clone(),
                broker: broker.clone(),
                intake: Intake {
                    ledger: self.ledger.clone(),
                },
                attached,
            };
            reading.spawn(self.vital.clone().run(reader.run(stop.clone())));
        }
        Ok(Some(Working {
            lanes,
            reading,
            sending,
            writing,
            abort,
        }))
    }
}

/// Channels at work.
struct Working {
    lanes: Vec<Arc<Lane>>,
    reading: TaskTracker,
    sending: TaskTracker,
    writing: JoinHandle<()>,
    /// Ends the writer's tries to reach the ledger.
    abort: CancellationToken,
}

impl Working {
    /// Finishes what is in flight, to the last written outcome, or until the deadline. Says how many
    /// are left.
    async fn drain(self, deadline: Instant) -> usize {
        let slots: Vec<_> = self.lanes.iter().map(slots).collect();
        let in_flight = || slots.iter().map(in_flight).sum();
        tracing::info!(
            in_flight = in_flight(),
            "stopping: finishing what is in flight"
        );
        let drain = async {
            self.reading.close();
            self.reading.wait().await;
            for lane in &self.lanes {
                lane.work.close();
            }
            self.sending.close();
            self.sending.wait().await;
            // With the lanes go the last settlers, and so the writer, once it has written.
            drop(self.lanes);
            let _ = self.writing.await;
        };
        let in_time = tokio::time::timeout_at(deadline, drain).await.is_ok();
        let left = in_flight();
        if !in_time {
            tracing::warn!(
                in_flight = left,
                "the grace time is over: what is left is in doubt, and the resolver's"
            );
            self.abort.cancel();
        }
        left
    }
}

/// Waits for the broker, and verifies the topology. `false`: told to stop.
async fn topology_stands(
    broker: &crate::config::Broker,
    lanes: &[Arc<Lane>],
    stop: &CancellationToken,
) -> Result<bool, StartError> {
    let mut reconnect = Reconnect::default();
    loop {
        match verify(broker, lanes).await {
            Ok(()) => return Ok(true),
            Err(error) if error.is_mismatch() => return Err(StartError::Topology(error)),
            Err(error) => {
                tracing::warn!(%error, "waiting for the broker");
                if !reconnect.pause(stop).await {
                    return Ok(false);
                }
            }
        }
    }
}

/// A lane's slots, and how many they are when all are free.
fn slots(lane: &Arc<Lane>) -> (Arc<Semaphore>, usize) {
    (lane.slots.clone(), lane.channel.concurrency)
}

fn in_flight((slots, all): &(Arc<Semaphore>, usize)) -> usize {
    all.saturating_sub(slots.available_permits())
}

/// A token that SIGTERM, or an interrupt from the terminal, cancels. A second one ends the process
/// at once. Both are heard from the moment of the call.
#[must_use]
pub fn stop_on_signal() -> CancellationToken {
    let stop = CancellationToken::new();
    let mut terminate = heard(SignalKind::terminate());
    let mut interrupt = heard(SignalKind::interrupt());
    let signals = stop.clone();
    tokio::spawn(async move {
        for told_before in [false, true] {
            tokio::select! {
                () = next(&mut terminate) => {}
                () = next(&mut interrupt) => {}
            }
            if told_before {
                tracing::warn!("told twice: stopping at once");
                std::process::exit(1);
            }
            signals.cancel();
        }
    });
    stop
}

fn heard(kind: SignalKind) -> Option<Signal> {
    signal(kind)
        .inspect_err(|error| tracing::warn!(%error, ?kind, "a signal cannot be heard"))
        .ok()
}

async fn next(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}
