//! The worker processes: real ones, started and killed.

use std::collections::VecDeque;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use tokio::process::{Child, Command};

use super::folder::Folder;
use super::lanes::LANES;

/// Lines of a dead worker's log that are shown.
const LAST_WORDS: usize = 5;

/// What a worker's log says when it begins to read a queue.
const READS: &str = ": reading channel=";

/// How long after that its slots are full, if there is anything to send.
const IN_MID_FLIGHT: Duration = Duration::from_millis(200);

/// Workers, the one that has run longest first. Each is in a process group of its own, so that
/// Ctrl-C reaches the demo alone, which then ends them; should it break off, they end with this.
pub(super) struct Crew<'a> {
    folder: &'a Folder,
    program: PathBuf,
    workers: VecDeque<Worker>,
    started: u32,
}

struct Worker {
    number: u32,
    child: Child,
    log: PathBuf,
    /// When all its queues were first seen to be read.
    reads_since: Option<Instant>,
}

/// A worker that was killed, and the one that took its place.
pub(super) struct Replaced {
    pub(super) killed: String,
    pub(super) started: String,
}

impl<'a> Crew<'a> {
    pub(super) fn start(folder: &'a Folder, workers: u32) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("this program's own path")?;
        let mut crew = Self {
            folder,
            program,
            workers: VecDeque::new(),
            started: 0,
        };
        for _ in 0..workers {
            crew.start_one()?;
        }
        Ok(crew)
    }

    /// Whether the worker that has run longest is at work: killing it now leaves claims behind.
    pub(super) fn in_mid_flight(&mut self) -> bool {
        self.workers.front_mut().is_some_and(|worker| {
            let since = worker.reads_since();
            since.is_some_and(|since| since.elapsed() >= IN_MID_FLIGHT)
        })
    }

    /// Kills the worker that has run longest with SIGKILL, and starts another.
    pub(super) async fn replace_one(&mut self) -> anyhow::Result<Replaced> {
        let Some(mut worker) = self.workers.pop_front() else {
            bail!("no worker runs");
        };
        let killed = worker.name();
        worker.child.start_kill()?;
        worker.child.wait().await?;
        let started = self.start_one()?;
        Ok(Replaced { killed, started })
    }

    /// Fails if a worker ended that nobody killed.
    pub(super) fn check(&mut self) -> anyhow::Result<()> {
        for worker in &mut self.workers {
            if let Some(status) = worker.child.try_wait()? {
                bail!(
                    "{} ended by itself ({status}). Its last words:\n{}",
                    worker.name(),
                    last_words(&worker.log)
                );
            }
        }
        Ok(())
    }

    /// Ends all of them.
    pub(super) async fn stop(mut self) -> anyhow::Result<()> {
        for worker in &mut self.workers {
            worker.child.start_kill()?;
        }
        for worker in &mut self.workers {
            worker.child.wait().await?;
        }
        Ok(())
    }

    fn start_one(&mut self) -> anyhow::Result<String> {
        self.started += 1;
        let number = self.started;
        let log = self.folder.path().join(format!("worker-{number}.log"));
        let output = File::create(&log)?;
        let child = Command::new(&self.program)
            .args(["run", "--role", "worker,resolver", "--config"])
            .arg(self.folder.config())
            .env("RUST_LOG", "info")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", self.program.display()))?;
        let worker = Worker {
            number,
            child,
            log,
            reads_since: None,
        };
        let name = worker.name();
        self.workers.push_back(worker);
        Ok(name)
    }
}

impl Worker {
    fn name(&self) -> String {
        let pid = self.child.id().unwrap_or_default();
        format!("worker {} (pid {pid})", self.number)
    }

    fn reads_since(&mut self) -> Option<Instant> {
        if self.reads_since.is_none() {
            let log = std::fs::read_to_string(&self.log).unwrap_or_default();
            let reads = log.matches(READS).count() >= LANES.len();
            self.reads_since = reads.then(Instant::now);
        }
        self.reads_since
    }
}

fn last_words(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LAST_WORDS)..].join("\n")
}
