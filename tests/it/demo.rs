//! The demo, small: it keeps its promises, and leaves nothing behind, however it ends.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use sqlx::PgConnection;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::process::{Child, Command};

use crate::harness::{World, wait_until};

/// Far longer than a demo of fifty notifications takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(150);

/// A demo on a test's own part of the broker.
struct Demo<'a> {
    world: &'a World,
    name: String,
    /// Where it makes its folder.
    folder: PathBuf,
    child: Child,
}

impl<'a> Demo<'a> {
    fn start(world: &'a World, arguments: &[&str]) -> Self {
        let of_world = world.database.url.path().trim_start_matches("/nuncio_it_");
        let name = format!("nuncio-demo-{}", of_world.replace('_', "-"));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(&name);
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        let stderr = std::fs::File::create(folder.join("stderr")).expect("a file can be made");
        let child = Command::new(env!("CARGO_BIN_EXE_nuncio"))
            .args(["demo", "--name", &name])
            .args(arguments)
            .env("NUNCIO_DATABASE_URL", world.database.url.as_str())
            .env("NUNCIO_AMQP_URL", world.broker.url.as_str())
            .env("TMPDIR", &folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .kill_on_drop(true)
            .spawn()
            .expect("the program can be started");
        Self {
            world,
            name,
            folder,
            child,
        }
    }

    fn stderr(&self) -> String {
        std::fs::read_to_string(self.folder.join("stderr")).expect("it is there")
    }

    /// Waits until it says something, and gives the line.
    async fn says(&self, text: &str) -> String {
        wait_until(&format!("the demo says {text:?}"), async || {
            let said = self.stderr();
            said.lines()
                .find(|line| line.contains(text))
                .map(str::to_owned)
        })
        .await
    }

    fn signal(&self, signal: Signal) {
        let id = self.child.id().expect("it has not ended");
        let id = i32::try_from(id).ok().and_then(Pid::from_raw);
        kill_process(id.expect("a process has a number above 0"), signal)
            .expect("the process is ours to signal");
    }

    /// Waits for the end. Gives the exit code, what it printed, and what it left.
    async fn ended(self) -> (Option<i32>, String, Left) {
        let Self { folder, child, .. } = self;
        let output = tokio::time::timeout(LIMIT, child.wait_with_output())
            .await
            .unwrap_or_else(|_| panic!("the demo did not end: {}", folder.display()))
            .expect("a child can be waited for");
        let stdout = String::from_utf8(output.stdout).expect("it prints text");
        let stderr = std::fs::read_to_string(folder.join("stderr")).expect("it is there");
        std::fs::remove_file(folder.join("stderr")).expect("it is there");
        let files = std::fs::read_dir(&folder).expect("it is there");
        let left = Left {
            stderr,
            files: files
                .map(|file| file.expect("it is there").path())
                .collect(),
            workers: workers(&folder),
            database: databases(&mut self.world.database.session().await, &self.name).await,
            queues: self
                .world
                .broker
                .depths()
                .await
                .unwrap_or_default()
                .into_keys()
                .collect(),
        };
        std::fs::remove_dir_all(&folder).expect("it can be removed");
        (output.status.code(), stdout, left)
    }
}

/// What a demo left behind.
#[derive(Debug)]
struct Left {
    stderr: String,
    files: Vec<PathBuf>,
    workers: Vec<String>,
    database: i64,
    queues: Vec<String>,
}

impl Left {
    fn assert_nothing(&self) {
        let nothing = self.files.is_empty()
            && self.workers.is_empty()
            && self.database == 0
            && self.queues.is_empty();
        assert!(nothing, "something is left: {self:#?}");
    }
}

/// Processes that were started with a file of this folder.
fn workers(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().expect("the path is text");
    let processes = std::fs::read_dir("/proc").expect("this is Linux");
    processes
        .filter_map(|process| std::fs::read_to_string(process.ok()?.path().join("cmdline")).ok())
        .filter(|command| command.contains(folder))
        .collect()
}

fn database_name(name: &str) -> String {
    name.replace('-', "_")
}

async fn databases(session: &mut PgConnection, name: &str) -> i64 {
    sqlx::query_scalar("select count(*) from pg_database where datname = $1")
        .bind(database_name(name))
        .fetch_one(session)
        .await
        .expect("the database answers")
}

#[tokio::test]
async fn a_small_demo_keeps_every_promise_and_leaves_nothing() {
    let world = World::new().await;
    let demo = Demo::start(&world, &["--messages", "50", "--kills", "2", "--json"]);
    let (code, stdout, left) = demo.ended().await;
    assert_eq!(code, Some(0), "{stdout}\n{}", left.stderr);
    let told: Value = serde_json::from_str(&stdout).expect("it prints JSON alone");
    assert_eq!(told["promises_held"], true);
    assert_eq!(told["kills"], 2);
    let [at_most, at_least, keyed] = [0, 1, 2].map(|at| &told["channels"][at]);
    for channel in [at_most, at_least, keyed] {
        assert_eq!(channel["measured"]["rows"], 50, "{channel}");
        assert_eq!(channel["breaches"], serde_json::json!([]));
    }
    let of = |channel: &Value, count: &str| channel["measured"][count].as_u64().expect("a count");
    assert!(of(at_most, "lost") > 0, "nothing was put to the test");
    assert!(of(at_most, "parked") > of(at_most, "lost"), "{at_most}");
    // Two kills of a worker with eight requests at once.
    assert!(
        (1..=16).contains(&of(at_most, "parked_by_kills")),
        "{at_most}"
    );
    assert!(of(at_least, "duplicates") > 0, "{at_least}");
    assert_eq!(of(keyed, "physically_sent"), 50);
    left.assert_nothing();
}

#[tokio::test]
async fn an_interrupted_demo_ends_its_workers_and_leaves_nothing() {
    let world = World::new().await;
    let demo = Demo::start(&world, &["--messages", "1000", "--kills", "6"]);
    demo.says("killed worker 1").await;
    assert_eq!(workers(&demo.folder).len(), 2);
    demo.signal(Signal::INT);
    let (code, stdout, left) = demo.ended().await;
    assert_eq!((code, &*stdout), (Some(130), ""), "{}", left.stderr);
    assert!(left.stderr.contains("interrupted"), "{}", left.stderr);
    left.assert_nothing();
}

#[tokio::test]
async fn a_demo_leaves_a_database_alone_that_is_in_use() {
    let world = World::new().await;
    let mut kept = Demo::start(&world, &["--messages", "1", "--kills", "0", "--keep"]);
    let status = tokio::time::timeout(LIMIT, kept.child.wait()).await;
    let status = status.expect("it ends").expect("it can be waited for");
    assert!(status.success(), "{}", kept.stderr());
    let options: PgConnectOptions = world.database.url.as_str().parse().expect("it is a URL");
    let database = database_name(&kept.name);
    let mut user = options
        .database(&database)
        .connect()
        .await
        .expect("the kept database is there");

    let (code, stdout, left) = Demo::start(&world, &["--messages", "1"]).ended().await;
    assert_eq!((code, &*stdout), (Some(2), ""), "{}", left.stderr);
    assert!(left.stderr.contains("is in use"), "{}", left.stderr);
    let rows: i64 = sqlx::query_scalar("select count(*) from notification")
        .fetch_one(&mut user)
        .await
        .expect("its rows are there");
    assert_eq!(rows, 3);
    user.close().await.expect("a session can be ended");

    let (code, _, left) = Demo::start(&world, &["--messages", "1", "--kills", "0"])
        .ended()
        .await;
    assert_eq!(code, Some(0), "{}", left.stderr);
    assert_eq!((left.database, left.queues), (0, vec![]));
}
