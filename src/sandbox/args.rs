//! The command line of `nuncio sandbox`.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::fault::Fault;
use super::plan::FaultPlan;
use super::server::serve;
use super::settings::Settings;

/// A local provider that can fail on purpose.
///
/// It takes messages on POST /send, remembers idempotency keys, shows a log at GET /log, and
/// counts what it physically sent at GET /counts. Faults come by rate from the options below, or
/// one by one through PUT /faults. Messages to +15550000001 (bad number) and +15550000002 (opted
/// out) are refused. docs/sandbox.md lists everything.
#[derive(Debug, Clone, clap::Args)]
pub struct SandboxArgs {
    /// Address to listen on. Port 0 takes a free one and prints it.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8025")]
    pub listen: SocketAddr,

    /// Seed of every draw. The same seed hits the same requests, whatever the concurrency.
    #[arg(long, value_name = "N", default_value_t = 34)]
    pub seed: u64,

    /// Share of requests lost before the provider sees them: the connection closes, nothing is
    /// sent. 0.1 is one in ten.
    #[arg(long, value_name = "RATE", default_value_t = 0.0, value_parser = rate)]
    pub drop: f64,

    /// Share of answers lost after the message was sent: the connection closes, and the caller
    /// cannot tell it from --drop.
    #[arg(long, value_name = "RATE", default_value_t = 0.0, value_parser = rate)]
    pub cut: f64,

    /// How long an Idempotency-Key is remembered. A repeat within this time gets the first answer
    /// again; after it, it is sent again.
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = time)]
    pub window: Duration,

    /// How long the log hides a message that was sent, as real logs do. "Not found" means nothing
    /// before this time has passed.
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = time)]
    pub log_lag: Duration,

    /// How long the log shows a message. "Not found" means nothing after this time either.
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = time)]
    pub log_retention: Duration,

    /// Accept Idempotency-Key and ignore it, as many providers do: every repeat is sent again.
    #[arg(long)]
    pub no_idempotency: bool,

    /// Time that each answer takes, from acceptance.
    #[arg(long, value_name = "TIME", default_value = "0ms", value_parser = time)]
    pub latency: Duration,

    /// Keep totals only, for benchmarks: no records, so no log, no counts per reference, and rates
    /// drawn by order of arrival.
    #[arg(long)]
    pub forget: bool,

    /// Keep the bytes of each request, to read them at GET /requests?reference=X&bodies=true.
    #[arg(long)]
    pub keep_bodies: bool,
}

impl SandboxArgs {
    /// The settings these arguments stand for.
    pub fn settings(&self) -> Settings {
        let rates = [(Fault::Drop, self.drop), (Fault::CutAfterAccept, self.cut)];
        let rates: BTreeMap<_, _> = rates.into_iter().filter(|(_, rate)| *rate > 0.0).collect();
        Settings {
            plan: FaultPlan {
                seed: self.seed,
                rates,
                ..FaultPlan::default()
            },
            window: self.window,
            log_lag: self.log_lag,
            log_retention: self.log_retention,
            idempotency: !self.no_idempotency,
            latency: self.latency,
            forget: self.forget,
            keep_bodies: self.keep_bodies,
        }
    }
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if (0.0..=1.0).contains(&rate) => Ok(rate),
        Ok(_) | Err(_) => Err("a rate is a number from 0.0 to 1.0".to_owned()),
    }
}

fn time(text: &str) -> Result<Duration, humantime::DurationError> {
    humantime::parse_duration(text)
}

/// `nuncio sandbox`: binds, prints where, serves until `shutdown`.
///
/// # Errors
///
/// The address cannot be bound.
pub async fn run(args: SandboxArgs, shutdown: CancellationToken) -> io::Result<()> {
    let listener = TcpListener::bind(args.listen).await?;
    println!("sandbox listening on http://{}", listener.local_addr()?);
    serve(listener, args.settings(), shutdown).await
}
