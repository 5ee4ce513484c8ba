//! The second part: 200 messages a second, and how long each takes from the producer to the
//! provider.

use std::time::Duration;

use anyhow::Context as _;
use tokio::time::{MissedTickBehavior, interval};

use crate::bench::Bench;
use crate::broker::confirmed;
use crate::stub::Stub;
use crate::worker::Worker;

/// Messages a second.
pub(crate) const RATE: u32 = 200;

/// Sent first and not counted: connections and prepared statements are there after them.
const WARM_UP: u64 = 200;

/// Times from publishing to arrival, in ms. The provider's histogram is exact to 6 %.
#[derive(Clone, Copy)]
pub(crate) struct Delay {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}

pub(crate) async fn measure(
    bench: &Bench,
    worker: &Worker,
    stub: &Stub,
    lasting: Duration,
) -> anyhow::Result<Delay> {
    bench.prepare(stub).await?;
    let in_flight = bench.in_flight;
    let config = bench.config_for(stub, in_flight)?;
    let mut child = worker.start(&bench.site(stub, &config, in_flight))?;
    pace(bench, 0..WARM_UP).await?;
    stub.reached(WARM_UP).await?;
    stub.reset().await?;
    let messages = lasting.as_millis() as u64 * u64::from(RATE) / 1000;
    pace(bench, WARM_UP..WARM_UP + messages).await?;
    stub.reached(messages).await?;
    let delays = stub.totals().await?.publish_to_arrival;
    let delays = delays.context("the provider saw no times of publishing")?;
    child.kill().await?;
    Ok(Delay {
        p50: delays.p50_us / 1000.0,
        p99: delays.p99_us / 1000.0,
    })
}

/// Publishes evenly, and does not hurry after a stall.
async fn pace(bench: &Bench, numbers: std::ops::Range<u64>) -> anyhow::Result<()> {
    let mut beat = interval(Duration::from_secs(1) / RATE);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut outstanding = Vec::new();
    for number in numbers {
        beat.tick().await;
        outstanding.push(bench.producer.publish(number).await?);
    }
    confirmed(outstanding).await
}
