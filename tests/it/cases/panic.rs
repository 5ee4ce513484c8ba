//! A fault of our own in the middle of sending: a task that panics with a message in its hands.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nuncio::app::{self, Role};
use nuncio::config::Config;
use nuncio::domain::capability::Capability;
use nuncio::domain::outcome::{LookUpAnswer, Outcome};
use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy::AtMostOnce;
use nuncio::provider::{Adapter, Answer, Message, Question, Request, Unrenderable};
use nuncio::sandbox::Fault;
use nuncio::{config, telemetry};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::process::{Child, Command};

use crate::harness::{Channel, Gives, PATIENCE, World, wait_until};

const NUMBER: &str = "15550001234";
const TEXT: &str = "code 918273";
const KEY: &str = "KEYMARK";
/// A text over which it panics before there is a request.
const UNSPEAKABLE: &str = "code 918273, unspeakable";
/// Where the process that panics finds its configuration.
const CONFIG: &str = "NUNCIO_IT_PANICKING_CONFIG";

/// Panics over every answer, in words that hold the whole message.
struct Clumsy {
    right: Arc<dyn Adapter>,
    message: Mutex<String>,
}

impl Adapter for Clumsy {
    fn capability(&self) -> Capability {
        self.right.capability()
    }

    fn request(&self, message: &Message<'_>) -> Result<Request, Unrenderable> {
        let text = message.content.text.as_deref().unwrap_or_default();
        assert_ne!(text, UNSPEAKABLE, "{}", message.to);
        *self.message.lock().expect("not held in a panic") = format!("{}: {text}", message.to);
        self.right.request(message)
    }

    fn outcome(&self, _: &Answer) -> Outcome {
        let message = self.message.lock().expect("not held in a panic").clone();
        // The standard library's own words: "byte index ... of `+15550001234: code 918273`".
        panic!("{}", &message[message.len() + 1..]);
    }

    fn look_up(&self, question: &Question<'_>) -> Option<Request> {
        self.right.look_up(question)
    }

    fn found(&self, question: &Question<'_>, answer: &Answer) -> LookUpAnswer {
        self.right.found(question, answer)
    }
}

/// Cannot even say what the provider promises: a fault that is about no message.
struct Dumb;

impl Adapter for Dumb {
    fn capability(&self) -> Capability {
        panic!("no idea")
    }

    fn request(&self, _: &Message<'_>) -> Result<Request, Unrenderable> {
        panic!("no idea")
    }

    fn outcome(&self, _: &Answer) -> Outcome {
        panic!("no idea")
    }

    fn look_up(&self, _: &Question<'_>) -> Option<Request> {
        panic!("no idea")
    }

    fn found(&self, _: &Question<'_>, _: &Answer) -> LookUpAnswer {
        panic!("no idea")
    }
}

/// A whole worker with that adapter, in the process that the test below starts.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "run by the test below, in a process of its own"]
async fn a_worker_that_panics_over_every_answer() {
    let config = with_adapter(|right| {
        Arc::new(Clumsy {
            right,
            message: Mutex::default(),
        })
    });
    telemetry::start(config.log.format);
    let left = app::run(config, &[Role::Worker], app::stop_on_signal()).await;
    assert_eq!(left.expect("it ran"), app::Left::default());
}

/// A resolver whose passes panic.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "run by the test below, in a process of its own"]
async fn a_resolver_that_panics() {
    let config = with_adapter(|_| Arc::new(Dumb));
    telemetry::start(config.log.format);
    let left = app::run(config, &[Role::Resolver], app::stop_on_signal()).await;
    assert!(left.expect("it ran").panicked);
}

/// The configuration that the test below has written, with another adapter.
fn with_adapter(instead: impl Fn(Arc<dyn Adapter>) -> Arc<dyn Adapter>) -> Config {
    let file = PathBuf::from(std::env::var_os(CONFIG).expect("set by the test below"));
    let mut config = config::load(&file, &|_| None).unwrap_or_else(|errors| panic!("{errors}"));
    for channel in &mut config.channels {
        let channel = Arc::get_mut(channel).expect("nobody else has it yet");
        channel.provider.adapter = instead(channel.provider.adapter.clone());
    }
    config
}

/// Starts one of those, with its output in a file.
fn start(name: &str, config: &Path, log: &Path) -> Child {
    let output = std::fs::File::create(log).expect("a file");
    let name = format!("cases::panic::{name}");
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", &name, "--ignored", "--nocapture"])
        .env(CONFIG, config)
        .env("RUST_LOG", "trace")
        .env("RUST_BACKTRACE", "full")
        .stdin(Stdio::null())
        .stdout(output.try_clone().expect("a file"))
        .stderr(output)
        .kill_on_drop(true)
        .spawn()
        .expect("the program can be started")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_whose_resolver_panics_stops_and_says_so() {
    let world = World::new().await;
    let channel = Channel::new("sms", AtMostOnce, Gives::LookUp);
    let config = world.config().channel(channel);
    let id = World::reference("sms", "order-1");
    world.sandbox.script([(id, vec![Fault::Hang])]).await;
    let mut worker = world.start(&config).await;
    world.publisher(&config).await.send("sms", "order-1").await;
    world.sandbox.sent(id, 1).await;
    worker.kill().await;
    world.let_pass(Duration::from_secs(60)).await;

    let file = world.file(&config);
    let log = file.with_extension("resolver");
    let mut resolver = start("a_resolver_that_panics", &file, &log);
    let ended = tokio::time::timeout(PATIENCE, resolver.wait()).await;
    let said = std::fs::read_to_string(&log).expect("a log");
    let ended = ended.unwrap_or_else(|_| panic!("it goes on as if nothing was:\n{said}"));
    assert!(ended.expect("a child").success(), "{said}");
    assert!(said.contains("has panicked: stopping"), "{said}");

    // A whole one finds everything as it was.
    world.sandbox.release().await;
    world.let_pass(Duration::from_secs(900)).await;
    let worker = world.start(&config).await;
    let rows = world.rest(1).await;
    assert_eq!((rows[0].phase, rows[0].sends), (Phase::Sent, 1));
    world.audit(&config).await;
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_over_an_answer_leaves_doubt_and_a_working_worker_and_says_where_but_not_what() {
    let world = World::new().await;
    let channel = Channel::new("sms", AtMostOnce, Gives::LookUp).concurrency(2);
    let config = world.config().channel(channel);
    let publisher = world.publisher(&config).await;
    let file = world.file(&config);
    let log = file.with_extension("panics");
    let mut worker = start("a_worker_that_panics_over_every_answer", &file, &log);
    let unspeakable =
        json!({ "key": format!("{KEY} 0"), "to": format!("+{NUMBER}"), "text": UNSPEAKABLE });
    publisher.json("sms", &unspeakable).await;
    // More than it has tasks that send.
    for n in 1..=5 {
        let key = format!("{KEY} {n}");
        let message = json!({ "key": key, "to": format!("+{NUMBER}"), "text": TEXT });
        publisher.json("sms", &message).await;
    }
    wait_until("all five are in doubt", async || {
        let rows = world.rows().await;
        let doubted = |row: &&crate::harness::Row| row.doubt_cause.is_some();
        (rows.iter().filter(doubted).count() == 5).then_some(())
    })
    .await;
    let id = worker
        .id()
        .and_then(|id| Pid::from_raw(id.try_into().ok()?));
    kill_process(id.expect("it runs"), Signal::TERM).expect("it is ours to signal");
    let ended = tokio::time::timeout(PATIENCE, worker.wait()).await;
    let said = std::fs::read_to_string(&log).expect("a log");
    assert!(
        ended.expect("it ends").expect("a child").success(),
        "{said}"
    );

    let panics = said.lines().filter(|line| line.contains("panicked at"));
    assert_eq!(panics.count(), 6, "{said}");
    let quarantined = world.quarantine().await;
    let reasons: Vec<&str> = quarantined.iter().map(|one| &*one.reason).collect();
    assert_eq!(reasons, ["fault_of_nuncio"], "the others went on");
    assert!(said.contains("panic.rs:"), "no place: {said}");
    let lines = sqlx::query_scalar("select coalesce(last_text, '') from notification");
    let mut told: Vec<String> = lines.fetch_all(&world.database.pool).await.expect("read");
    assert!(
        told.iter().all(|text| text.contains("panicked")),
        "{told:?}"
    );
    told.push(said);
    for mark in [NUMBER, TEXT, KEY] {
        let found = told
            .iter()
            .flat_map(|text| text.lines())
            .find(|line| line.contains(mark));
        assert_eq!(found, None, "{mark}");
    }

    // The provider had all of them: its log says so.
    world.let_pass(Duration::from_secs(60)).await;
    let ended = world.reconcile(&config, &[]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let rows = world.rest(5).await;
    assert!(
        rows.iter()
            .all(|row| row.phase == Phase::Sent && row.sends == 1),
        "{rows:#?}"
    );
    let worker = world.start(&config).await;
    world.audit(&config).await;
    worker.stop().await;
}
