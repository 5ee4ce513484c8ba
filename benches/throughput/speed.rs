//! The first part: a full queue, and how fast a worker empties it.

use std::time::Duration;

use anyhow::Context as _;
use tokio::time::{Instant, sleep};

use crate::bench::Bench;
use crate::database;
use crate::process::{cpu_times, peak_memory};
use crate::stub::Stub;
use crate::worker::Worker;

/// The clock starts when one in so many messages has arrived: connections are made by then.
const WARM_UP: u64 = 20;

/// What one run showed.
pub(crate) struct Speed {
    /// Messages a second.
    pub(crate) rate: f64,
    /// Processor time a message, in µs: worker, Postgres, RabbitMQ, provider.
    pub(crate) cpu_us: [Option<f64>; 4],
    /// The worker's peak, in MB.
    pub(crate) memory: Option<f64>,
}

/// Fills the queue, starts the worker, and waits until the last message has arrived and, where
/// there is a ledger, is settled in it.
pub(crate) async fn measure(
    bench: &Bench,
    worker: &Worker,
    stub: &Stub,
    in_flight: usize,
    messages: u64,
) -> anyhow::Result<Speed> {
    bench.prepare(stub).await?;
    bench.producer.fill(messages).await?;
    let config = bench.config_for(stub, in_flight)?;
    let mut child = worker.start(&bench.site(stub, &config, in_flight))?;
    let pid = child.id().context("the worker ended at once")?;
    let pids = [Some(pid), bench.postgres, bench.rabbitmq, stub.pid()];
    let warm = messages / WARM_UP;
    let (first, began) = stub.reached(warm).await?;
    let before = cpu_times(&pids);
    let mut ledger = bench.database.connect().await?;
    stub.reached(messages).await?;
    while !database::all_settled(&mut ledger, worker.kind, messages).await? {
        anyhow::ensure!(
            began.elapsed() < Duration::from_secs(300),
            "not all settled"
        );
        sleep(Duration::from_millis(2)).await;
    }
    let ended = Instant::now();
    let after = cpu_times(&pids);
    let memory = peak_memory(pid);
    child.kill().await?;

    let counted = (messages - first) as f64;
    let cpu_us = std::array::from_fn(|i| {
        let used = after[i]?.checked_sub(before[i]?)?;
        Some(used.as_secs_f64() * 1e6 / counted)
    });
    Ok(Speed {
        rate: counted / (ended - began).as_secs_f64(),
        cpu_us,
        memory,
    })
}
