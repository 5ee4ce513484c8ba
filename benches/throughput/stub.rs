//! The provider: `nuncio sandbox`, keeping totals only, in a process of its own.

use std::time::Duration;

use anyhow::Context as _;
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{Instant, sleep};

/// How often the provider is asked what it has: seldom enough to cost nothing.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A run that makes no progress for this long has failed.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Stub {
    child: Child,
    // Held, so that the stub can write to it.
    _output: BufReader<ChildStdout>,
    address: String,
    client: reqwest::Client,
}

/// What the provider has seen since its last reset.
#[derive(Deserialize)]
pub(crate) struct Totals {
    pub(crate) sent: u64,
    pub(crate) publish_to_arrival: Option<Delays>,
}

#[derive(Deserialize)]
pub(crate) struct Delays {
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
}

impl Stub {
    pub(crate) async fn start(latency: Duration) -> anyhow::Result<Self> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_nuncio"))
            .args(["sandbox", "--forget", "--listen", "127.0.0.1:0"])
            .args(["--latency", &format!("{}ms", latency.as_millis())])
            .stdout(std::process::Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut output = BufReader::new(child.stdout.take().context("the stub's output")?);
        let mut line = String::new();
        output.read_line(&mut line).await?;
        let address = line
            .trim()
            .rsplit(' ')
            .next()
            .context("the stub's address")?;
        Ok(Self {
            address: address.to_owned(),
            child,
            _output: output,
            client: reqwest::Client::new(),
        })
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Where messages go.
    pub(crate) fn url(&self) -> String {
        format!("{}/send", self.address)
    }

    pub(crate) async fn reset(&self) -> anyhow::Result<()> {
        let reset = self.client.post(format!("{}/reset", self.address));
        reset.send().await?.error_for_status()?;
        Ok(())
    }

    pub(crate) async fn totals(&self) -> anyhow::Result<Totals> {
        let counts = format!("{}/counts?summary=true", self.address);
        let body = self.client.get(counts).send().await?.bytes().await?;
        Ok(serde_json::from_slice(&body)?)
    }

    /// Waits until it has sent this many; how many it has then, and when that was.
    pub(crate) async fn reached(&self, wanted: u64) -> anyhow::Result<(u64, Instant)> {
        let (mut best, mut progress) = (0, Instant::now());
        loop {
            let sent = self.totals().await?.sent;
            if sent >= wanted {
                return Ok((sent, Instant::now()));
            }
            if sent > best {
                (best, progress) = (sent, Instant::now());
            }
            anyhow::ensure!(
                progress.elapsed() < PATIENCE,
                "stuck: {sent} of {wanted} messages arrived at the provider"
            );
            sleep(LOOK_EVERY).await;
        }
    }
}
