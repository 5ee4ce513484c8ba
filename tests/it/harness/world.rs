//! All that one test has to itself.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use nuncio::domain::identity;
use nuncio::intake::publish::Publisher as Confirmed;
use nuncio::intake::topology;
use nuncio::sandbox::Settings;
use uuid::Uuid;

use super::broker::Broker;
use super::config::Config;
use super::database::Database;
use super::environment;
use super::output::Outputs;
use super::process::{self, Ended, Worker};
use super::publisher::{Published, Publisher};
use super::rows::{self, Line, Quarantined, Row};
use super::sandbox::Sandbox;
use super::wait::wait_until;

/// A database, a part of the broker, a sandbox and a folder. Everything is removed at the end,
/// and a failed test shows what its programs printed.
pub struct World {
    /// The ledger's database.
    pub database: Database,
    /// The part of the broker.
    pub broker: Broker,
    /// The provider.
    pub sandbox: Sandbox,
    pub(super) outputs: Outputs,
    pub(super) published: Published,
    folder: PathBuf,
    configs: AtomicU32,
}

impl World {
    /// A world with a sandbox that does everything right.
    pub async fn new() -> Self {
        Self::with_sandbox(Settings::default()).await
    }

    /// A world with a sandbox of a certain kind.
    pub async fn with_sandbox(settings: Settings) -> Self {
        let name = environment::unique_name();
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(&name);
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        let (database, broker, sandbox) = tokio::join!(
            Database::create(&name),
            Broker::create(&name),
            Sandbox::serve(settings)
        );
        Self {
            database,
            broker,
            sandbox,
            outputs: Outputs::in_folder(&folder),
            published: Published::default(),
            folder,
            configs: AtomicU32::new(1),
        }
    }

    /// A configuration for this world, without channels yet.
    pub fn config(&self) -> Config {
        Config::new(&self.database.url, &self.broker, self.sandbox.address)
    }

    /// Writes a configuration file, and says where.
    pub fn file(&self, config: &Config) -> PathBuf {
        self.broker.declares(config);
        let number = self.configs.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!("{number}.toml"));
        std::fs::write(&path, config.toml()).expect("a file can be made in the test's folder");
        path
    }

    /// Starts `nuncio run`, and waits until it is ready.
    pub async fn start(&self, config: &Config) -> Worker {
        self.start_as(config, "worker,resolver").await
    }

    /// Starts `nuncio run --role ROLES`, and waits until it is ready.
    pub async fn start_as(&self, config: &Config, roles: &str) -> Worker {
        let mut worker = self.spawn(config, &["--role", roles]);
        worker.ready().await;
        worker
    }

    /// Starts `nuncio run` without waiting for anything.
    pub fn spawn(&self, config: &Config, arguments: &[&str]) -> Worker {
        Worker::spawn(&self.outputs, &self.file(config), arguments)
    }

    /// As [`World::spawn`], in an environment with more in it.
    pub fn spawn_with(
        &self,
        config: &Config,
        arguments: &[&str],
        environment: &[(&str, String)],
    ) -> Worker {
        Worker::spawn_with(&self.outputs, &self.file(config), arguments, environment)
    }

    /// How many lines of all logs have this text.
    pub fn said(&self, text: &str) -> u64 {
        let all = self.outputs.all();
        let lines = all.iter().flat_map(|(_, log)| log.lines());
        lines.filter(|line| line.contains(text)).count() as u64
    }

    /// Bytes that programs have logged so far.
    pub fn logged(&self) -> u64 {
        let all = self.outputs.all();
        all.iter().map(|(_, log)| log.len() as u64).sum()
    }

    /// Runs `reconcile` to its end.
    pub async fn reconcile(&self, config: &Config, arguments: &[&str]) -> Ended {
        let file = self.file(config);
        let file = file.to_str().expect("the path is text");
        process::run(
            &self.outputs,
            "reconcile",
            &[&["--config", file], arguments].concat(),
        )
        .await
    }

    /// Runs a `nuncio` command to its end.
    pub async fn nuncio(&self, config: &Config, arguments: &[&str]) -> Ended {
        let file = self.file(config);
        let file = file.to_str().expect("the path is text");
        process::run(
            &self.outputs,
            "nuncio",
            &[arguments, &["--config", file]].concat(),
        )
        .await
    }

    /// Begins a `nuncio` command, which a test can then kill in the middle of it.
    pub fn begin(&self, config: &Config, arguments: &[&str]) -> Worker {
        Worker::spawn_command(&self.outputs, &self.file(config), arguments, &[])
    }

    /// A producer on a connection of its own. Declares the queues, so that it may publish before
    /// the first worker runs.
    pub async fn publisher(&self, config: &Config) -> Publisher {
        let (connection, channel) = self.broker.channel().await;
        let file = self.file(config);
        let checked = nuncio::config::load(&file, &|_| None)
            .unwrap_or_else(|errors| panic!("{errors}\n{}", config.toml()));
        for lane in &checked.channels {
            topology::declare(&channel, &checked.broker, lane)
                .await
                .expect("the queues can be declared");
        }
        let confirmed = Confirmed::new(channel, &config.exchange())
            .await
            .expect("the broker confirms");
        Publisher::new(confirmed, connection, self.published.clone())
    }

    /// Remembers a message that a test has published by itself, so that an audit looks for it.
    pub fn was_published(&self, channel: &str, body: &[u8]) {
        let message = super::publisher::Message {
            channel: channel.to_owned(),
            body: body.to_vec(),
            message_id: None,
        };
        let mut published = self.published.lock().expect("no holder of it panics");
        published.push(message);
    }

    /// The reference under which the provider knows a notification's first send key.
    pub fn reference(channel: &str, key: &str) -> Uuid {
        identity::notification_id(channel, key)
    }

    /// Every row, by channel and key.
    pub async fn rows(&self) -> Vec<Row> {
        rows::all(&self.database.pool).await
    }

    /// A row that must be there.
    pub async fn row(&self, channel: &str, key: &str) -> Row {
        self.find(channel, key)
            .await
            .unwrap_or_else(|| panic!("no row for {key} on {channel}"))
    }

    /// A row, if it is there.
    pub async fn find(&self, channel: &str, key: &str) -> Option<Row> {
        rows::one(&self.database.pool, channel, key).await
    }

    /// Waits until a row is as `look` wants it.
    pub async fn row_when(
        &self,
        what: &str,
        channel: &str,
        key: &str,
        look: impl Fn(&Row) -> bool,
    ) -> Row {
        wait_until(&format!("{key} on {channel}: {what}"), async || {
            self.find(channel, key).await.filter(&look)
        })
        .await
    }

    /// What was tried and decided about a notification.
    pub async fn history(&self, channel: &str, key: &str) -> Vec<Line> {
        rows::history(&self.database.pool, Self::reference(channel, key)).await
    }

    /// The quarantine.
    pub async fn quarantine(&self) -> Vec<Quarantined> {
        rows::quarantine(&self.database.pool).await
    }

    /// Every column of every row and of all history, as text.
    pub async fn snapshot(&self) -> Vec<String> {
        rows::snapshot(&self.database.pool).await
    }

    /// Waits until this many rows are there and none is queued or sending.
    pub async fn rest(&self, rows: usize) -> Vec<Row> {
        use nuncio::domain::phase::Phase;
        wait_until(&format!("{rows} rows rest"), async || {
            let found = self.rows().await;
            let open = |row: &Row| matches!(row.phase, Phase::Queued | Phase::Sending);
            (found.len() == rows && !found.iter().any(open)).then_some(found)
        })
        .await
    }

    /// Lets time pass for every row in `sending`: each of its moments moves that much further into
    /// the past. To the ledger, whose clock alone decides, this is the same as waiting. Only while
    /// no worker that lives holds a claim: its own clock cannot be moved.
    pub async fn let_pass(&self, time: Duration) {
        sqlx::query(
            "update notification set
                accepted_at = accepted_at - $1, due_at = due_at - $1,
                first_request_at = first_request_at - $1, last_request_at = last_request_at - $1,
                doubt_since = doubt_since - $1
             where phase = 'sending'",
        )
        .bind(time)
        .execute(&self.database.pool)
        .await
        .expect("the ledger can be written");
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.outputs.show();
            self.database.show();
        } else {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}
