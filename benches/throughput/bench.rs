//! The whole run: both parts, in shuffled rounds, and the report.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use url::Url;

use crate::args::Args;
use crate::broker::Producer;
use crate::database::Database;
use crate::machine::Machine;
use crate::process::listening_on;
use crate::report::{Line, Memory, Report};
use crate::stub::Stub;
use crate::worker::{Site, Worker};
use crate::{delay, nuncio_process, speed};

/// In flight in the run that measures memory.
const MANY: usize = 512;

/// How long each answer takes in that run, so that so many really are in flight.
const SLOW: Duration = Duration::from_millis(200);

/// What every run needs.
pub(crate) struct Bench {
    pub(crate) producer: Producer,
    pub(crate) database: Database,
    /// The servers' processes, where they run on this machine.
    pub(crate) postgres: Option<u32>,
    pub(crate) rabbitmq: Option<u32>,
    pub(crate) in_flight: usize,
    amqp: String,
    folder: Folder,
}

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    let bench = Bench::open(args).await?;
    let machine = Machine::look(bench.database.version().await?);
    let mut workers = vec![Worker::floor()?, Worker::nuncio()];
    if !args.no_naive {
        workers.push(Worker::naive()?);
    }
    workers.extend(args.against.iter().map(|program| Worker::other(program)));
    let mut lines: Vec<Line> = workers.into_iter().map(Line::new).collect();

    let stub = Stub::start(Duration::ZERO).await?;
    for round in 1..=args.rounds {
        for i in shuffled(lines.len()) {
            let worker = &lines[i].worker;
            let seen = speed::measure(&bench, worker, &stub, args.in_flight, args.messages).await?;
            eprintln!(
                "round {round} of {}: {:8} {:7.0} messages/s",
                args.rounds, worker.name, seen.rate
            );
            lines[i].speeds.push(seen);
        }
    }
    if !args.delay_for.is_zero() {
        for round in 1..=args.rounds {
            for i in shuffled(lines.len()) {
                let worker = &lines[i].worker;
                let seen = delay::measure(&bench, worker, &stub, args.delay_for).await?;
                eprintln!(
                    "round {round} of {}: {:8} {:7.2} ms at {} messages/s",
                    args.rounds,
                    worker.name,
                    seen.p50,
                    delay::RATE
                );
                lines[i].delays.push(seen);
            }
        }
    }
    let memory = match args.no_memory {
        true => None,
        false => Some(many_in_flight(&bench).await?),
    };
    bench.close().await?;
    let report = Report {
        machine,
        messages: args.messages,
        in_flight: args.in_flight,
        lines,
        memory,
    };
    report.print(args.json)
}

/// nuncio's memory with 512 in flight, proved by its speed against the provider's slowness.
async fn many_in_flight(bench: &Bench) -> anyhow::Result<Memory> {
    let stub = Stub::start(SLOW).await?;
    let seen = speed::measure(bench, &Worker::nuncio(), &stub, MANY, 15_000).await?;
    let memory = Memory {
        mean_in_flight: seen.rate * SLOW.as_secs_f64(),
        peak_mb: seen.memory,
    };
    eprintln!(
        "{:.0} in flight: {:.1} MB",
        memory.mean_in_flight,
        memory.peak_mb.unwrap_or(f64::NAN)
    );
    Ok(memory)
}

impl Bench {
    async fn open(args: &Args) -> anyhow::Result<Self> {
        let variable = |name: &str| {
            std::env::var(name)
                .with_context(|| format!("{name} is not set: use scripts/bench, which sets it"))
        };
        let amqp = variable("NUNCIO_AMQP_URL")?;
        let database = Database::new(variable("NUNCIO_DATABASE_URL")?)?;
        let folder = Folder::new()?;
        // The names of the queue are all that counts here.
        let file = nuncio_process::write(&folder.0, "http://127.0.0.1:1/send", args.in_flight)?;
        let config = nuncio_process::read(&file, &amqp, &database.url)?;
        let port = amqp.parse::<Url>()?.port().unwrap_or(5672);
        Ok(Self {
            producer: Producer::open(&amqp, config).await?,
            postgres: listening_on(database.port),
            rabbitmq: listening_on(port),
            in_flight: args.in_flight,
            database,
            amqp,
            folder,
        })
    }

    /// An empty queue, an empty database, a provider that has seen nothing.
    pub(crate) async fn prepare(&self, stub: &Stub) -> anyhow::Result<()> {
        self.producer.empty_queue().await?;
        self.database.renew().await?;
        stub.reset().await
    }

    pub(crate) fn config_for(&self, stub: &Stub, in_flight: usize) -> anyhow::Result<PathBuf> {
        nuncio_process::write(&self.folder.0, &stub.url(), in_flight)
    }

    pub(crate) fn site<'a>(&'a self, stub: &Stub, config: &'a Path, in_flight: usize) -> Site<'a> {
        Site {
            amqp: &self.amqp,
            database: &self.database.url,
            provider: stub.url(),
            config,
            in_flight,
        }
    }

    /// Leaves nothing behind.
    async fn close(&self) -> anyhow::Result<()> {
        self.producer.delete_all().await?;
        self.database.drop().await?;
        Ok(())
    }
}

fn shuffled(count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    fastrand::shuffle(&mut order);
    order
}

/// A folder that goes away again.
struct Folder(PathBuf);

impl Folder {
    fn new() -> std::io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("nuncio-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
