//! The real programs, as processes.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use reqwest::Method;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};

use super::http::{Answered, Http};
use super::output::{self, Outputs};
use super::wait::{PATIENCE, wait_until};

/// How a program ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// What it printed to stdout.
    pub stdout: String,
    /// What it printed to stderr.
    pub stderr: String,
}

/// A running `nuncio run`. Killed when it is dropped.
pub struct Worker {
    child: Child,
    log: PathBuf,
    http: Http,
    address: Option<SocketAddr>,
}

/// What `/metrics` said.
#[derive(Clone, Debug)]
pub struct Scraped(BTreeMap<String, f64>);

impl Scraped {
    /// The sum over all label sets of a metric that contain `label` (such as `channel="sms"`);
    /// an empty one is in all. A counter's name ends with `_total`.
    pub fn sum(&self, name: &str, label: &str) -> f64 {
        let of_name = |line: &str| {
            line.strip_prefix(name)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('{'))
        };
        let lines = self.0.iter();
        lines
            .filter(|(line, _)| of_name(line) && line.contains(label))
            .map(|(_, value)| value)
            .sum()
    }
}

impl Worker {
    pub(super) fn spawn(outputs: &Outputs, config: &Path, arguments: &[&str]) -> Self {
        Self::spawn_with(outputs, config, arguments, &[])
    }

    /// In an environment with more in it.
    pub(super) fn spawn_with(
        outputs: &Outputs,
        config: &Path,
        arguments: &[&str],
        environment: &[(&str, String)],
    ) -> Self {
        Self::spawn_command(
            outputs,
            config,
            &[&["run"], arguments].concat(),
            environment,
        )
    }

    /// Another command than `run`, to be killed in the middle of it.
    pub(super) fn spawn_command(
        outputs: &Outputs,
        config: &Path,
        arguments: &[&str],
        environment: &[(&str, String)],
    ) -> Self {
        let (log, stderr) = outputs.file("nuncio-run");
        let child = Command::new(env!("CARGO_BIN_EXE_nuncio"))
            .arg("--config")
            .arg(config)
            .args(arguments)
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr)
            .kill_on_drop(true)
            .spawn()
            .expect("the program can be started");
        Self {
            child,
            log,
            http: Http::new(),
            address: None,
        }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id().expect("the process has not ended")
    }

    /// What it has printed so far.
    pub fn log(&self) -> String {
        output::read(&self.log)
    }

    /// Waits until its log has a line with this text.
    pub async fn says(&mut self, text: &str) -> String {
        wait_until(&format!("nuncio says {text:?}"), async || {
            let log = self.log();
            let line = log.lines().find(|line| line.contains(text));
            if line.is_none() {
                self.must_run();
            }
            line.map(str::to_owned)
        })
        .await
    }

    /// Where it listens.
    pub async fn address(&mut self) -> SocketAddr {
        if let Some(known) = self.address {
            return known;
        }
        let line = self.says("started address=").await;
        let text = line
            .split("address=")
            .nth(1)
            .and_then(|rest| rest.split(' ').next());
        let address = text.and_then(|text| text.parse().ok());
        *self
            .address
            .insert(address.unwrap_or_else(|| panic!("no address in {line:?}")))
    }

    /// Waits until `/readyz` says that it is.
    pub async fn ready(&mut self) {
        let url = format!("http://{}/readyz", self.address().await);
        wait_until("nuncio is ready", async || {
            self.must_run();
            let answer = self.http.try_ask(Method::GET, &url, String::new()).await;
            answer.filter(|answer| answer.status == 200).map(|_| ())
        })
        .await;
    }

    /// `/readyz` as it is now.
    pub async fn readiness(&mut self) -> Answered {
        let address = self.address().await;
        self.http.get(&format!("http://{address}/readyz")).await
    }

    /// `/metrics` as it is now.
    pub async fn metrics(&mut self) -> Scraped {
        let address = self.address().await;
        let text = self
            .http
            .get(&format!("http://{address}/metrics"))
            .await
            .text;
        let sample = |line: &str| {
            let (name, value) = line.rsplit_once(' ')?;
            (!line.starts_with('#')).then_some((name.to_owned(), value.parse().ok()?))
        };
        Scraped(text.lines().filter_map(sample).collect())
    }

    /// The most memory that it has had resident until now, in KiB.
    pub fn peak_kib(&self) -> u64 {
        let id = self.child.id().expect("the process has not ended");
        let status = std::fs::read_to_string(format!("/proc/{id}/status"))
            .expect("Linux tells about a process");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse().ok());
        kib.expect("its peak of memory is among that")
    }

    /// SIGKILL, and waits until it is gone.
    pub async fn kill(&mut self) {
        self.child
            .kill()
            .await
            .expect("the process is ours to kill");
    }

    /// SIGTERM, without waiting for what it does. A process that has only just been started knows
    /// nothing of signals, so this waits until it listens.
    pub fn terminate(&self) {
        soon("it listens for SIGTERM", || self.listens());
        self.signal(Signal::TERM);
    }

    /// Whether SIGTERM is among the signals that it catches, or it has ended.
    fn listens(&self) -> bool {
        let Some(id) = self.child.id() else {
            return true;
        };
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        let has_ended = field("State:").is_none_or(|state| state.trim_start().starts_with('Z'));
        let caught = field("SigCgt:").and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        has_ended || caught.is_some_and(|mask| mask >> (Signal::TERM.as_raw() - 1) & 1 == 1)
    }

    /// SIGSTOP: it stands still until [`Worker::go_on`]. A signal takes its time to reach every
    /// thread, so this waits until each has stopped.
    pub fn stand_still(&self) {
        self.signal(Signal::STOP);
        soon("it stands still", || self.stands_still());
    }

    fn stands_still(&self) -> bool {
        let id = self.child.id().expect("the process has not ended");
        let threads = std::fs::read_dir(format!("/proc/{id}/task")).expect("Linux tells");
        threads.flatten().all(|thread| {
            let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            // The state comes after the name, which stands in parentheses.
            stat.rsplit(')')
                .next()
                .is_some_and(|rest| rest.trim_start().starts_with('T'))
        })
    }

    /// SIGCONT.
    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    /// How it has ended, if it has: a running one says `None`.
    pub fn has_ended(&mut self) -> Option<Ended> {
        let status = self.child.try_wait().expect("a child can be asked")?;
        Some(ended(status, Vec::new(), self.log()))
    }

    /// Memory that it has in use, in bytes.
    pub fn resident(&self) -> u64 {
        let id = self.child.id().expect("the process has not ended");
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("it is there");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kib.expect("a process has its memory in its status") * 1024
    }

    /// SIGTERM, and waits for the end.
    pub async fn stop(mut self) -> Ended {
        self.terminate();
        self.ended().await
    }

    /// Waits for the end.
    pub async fn ended(&mut self) -> Ended {
        let status = tokio::time::timeout(PATIENCE, self.child.wait())
            .await
            .unwrap_or_else(|_| panic!("nuncio did not end"));
        ended(
            status.expect("a child can be waited for"),
            Vec::new(),
            self.log(),
        )
    }

    fn signal(&self, signal: Signal) {
        let id = self.child.id().expect("the process has not ended");
        let id = i32::try_from(id).ok().and_then(Pid::from_raw);
        kill_process(id.expect("a process has a number above 0"), signal)
            .expect("the process is ours to signal");
    }

    /// Fails the test when it has ended by itself.
    fn must_run(&mut self) {
        if let Some(status) = self.child.try_wait().expect("a child can be asked") {
            panic!("nuncio has ended ({status}):\n{}", self.log());
        }
    }
}

/// Waits for what the kernel does in a moment, and does not announce.
fn soon(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "{what}: not in {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Runs a program of this package to its end.
pub(super) async fn run(outputs: &Outputs, program: &str, arguments: &[&str]) -> Ended {
    let path = match program {
        "nuncio" => env!("CARGO_BIN_EXE_nuncio"),
        "reconcile" => env!("CARGO_BIN_EXE_reconcile"),
        other => panic!("there is no program {other}"),
    };
    let (log, stderr) = outputs.file(program);
    let running = Command::new(path)
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(stderr)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the program can be started")
        .wait_with_output();
    let done = tokio::time::timeout(PATIENCE, running)
        .await
        .unwrap_or_else(|_| panic!("{program} {arguments:?} did not end"))
        .expect("a child can be waited for");
    ended(done.status, done.stdout, output::read(&log))
}

fn ended(status: ExitStatus, stdout: Vec<u8>, stderr: String) -> Ended {
    Ended {
        code: status.code(),
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        stderr,
    }
}
