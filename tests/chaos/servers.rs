//! Breaking Postgres and RabbitMQ, and mending them.

use std::process::{Command, Stdio};

use tokio::sync::RwLock;

use crate::harness::World;

/// Who breaks a server has it alone; who only uses it shares it.
pub static SERVERS: RwLock<()> = RwLock::const_new(());

/// The share of memory at which RabbitMQ blocks who publishes, unless told otherwise.
pub const WATERMARK: &str = "0.4";
/// How long a delivery may stay unacked, unless told otherwise: half an hour, as RabbitMQ has it.
const ACK_TIMEOUT: &str = "1800000";
/// How often a channel of RabbitMQ looks at its deliveries, unless told otherwise.
const CHANNEL_TICK: &str = "60000";

/// The two servers. Mends both when it is dropped, so that a test that fails leaves them well.
pub struct Servers {
    pg_ctl: Vec<String>,
    pg_data: String,
    rabbitmqctl: Vec<String>,
    broken: bool,
}

impl Servers {
    /// Private ones, as `scripts/test` starts them: no others are broken.
    pub fn private() -> Self {
        let words = |name: &str| -> Vec<String> {
            let value = std::env::var(name).unwrap_or_else(|_| {
                panic!(
                    "{name} is not set: this test restarts servers, and so needs the private \
                     ones of scripts/test, which sets it"
                )
            });
            value.split_whitespace().map(str::to_owned).collect()
        };
        Self {
            pg_ctl: words("NUNCIO_PG_CTL"),
            pg_data: words("NUNCIO_PGDATA").concat(),
            rabbitmqctl: words("NUNCIO_RABBITMQCTL"),
            broken: false,
        }
    }

    /// `mode` is pg_ctl's: fast, or immediate.
    pub async fn restart_postgres(&mut self, mode: &'static str) {
        self.broken = true;
        let mut command = self.pg_ctl(&["restart", "-m", mode]);
        off_thread(move || succeed(&mut command)).await;
    }

    /// Runs rabbitmqctl on the node.
    pub async fn rabbitmqctl(&mut self, arguments: &[&str]) {
        self.broken = true;
        let mut command = self.ctl(arguments);
        off_thread(move || succeed(&mut command)).await;
    }

    /// Sets the share of memory at which the broker blocks who publishes.
    pub async fn watermark(&mut self, share: &str) {
        self.rabbitmqctl(&["-q", "set_vm_memory_high_watermark", share])
            .await;
    }

    /// Sets when the broker gives up a delivery that is not acked, for channels from now on.
    pub async fn ack_timeout(&mut self, milliseconds: u128) {
        self.rabbitmqctl(&["-q", "eval", &ack_timeout(&milliseconds.to_string(), "300")])
            .await;
    }

    /// Makes a world's database refuse every write, or take them again.
    pub async fn read_only(world: &World, read_only: bool) {
        let name = world.database.url.path().trim_start_matches('/').to_owned();
        let value = if read_only { "on" } else { "off" };
        let mut session = world.database.session().await;
        // The database is read-only to this session too, if it was.
        let alter = format!(
            "begin read write;
             alter database {name} set default_transaction_read_only = {value};
             commit"
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(alter))
            .execute(&mut session)
            .await
            .expect("the database can be altered");
        if read_only {
            sqlx::query(
                "select pg_terminate_backend(pid) from pg_stat_activity
                 where datname = current_database() and pid <> pg_backend_pid()",
            )
            .execute(&mut session)
            .await
            .expect("sessions can be ended");
        }
    }

    /// Puts everything back as it was.
    pub async fn mend(&mut self) {
        if std::mem::take(&mut self.broken) {
            let mut commands = self.mending();
            off_thread(move || commands.iter_mut().for_each(succeed)).await;
        }
    }

    fn mending(&self) -> Vec<Command> {
        let set = ack_timeout(ACK_TIMEOUT, CHANNEL_TICK);
        vec![
            self.ctl(&["-q", "start_app"]),
            self.ctl(&["-q", "set_vm_memory_high_watermark", WATERMARK]),
            self.ctl(&["-q", "eval", &set]),
        ]
    }

    fn pg_ctl(&self, arguments: &[&str]) -> Command {
        let log = format!("{}/../log", self.pg_data);
        let mut command = Command::new(&self.pg_ctl[0]);
        command
            .args(&self.pg_ctl[1..])
            .args(arguments)
            .args(["-w", "-t", "60", "-l", &log])
            // The user of Postgres may not be allowed into ours.
            .current_dir("/");
        command
    }

    fn ctl(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.rabbitmqctl[0]);
        command.args(&self.rabbitmqctl[1..]).args(arguments);
        command
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        if !self.broken {
            return;
        }
        // A server that stands already refuses to be started, which is as good.
        let mut start = self.pg_ctl(&["start"]);
        for command in std::iter::once(&mut start).chain(&mut self.mending()) {
            let _ = quiet(command).status();
        }
    }
}

/// What the node is told: the limit, and how often a channel looks.
fn ack_timeout(limit: &str, tick: &str) -> String {
    format!(
        "application:set_env(rabbit, consumer_timeout, {limit}), \
         application:set_env(rabbit, channel_tick_interval, {tick})."
    )
}

/// A server that a command starts keeps its output, so nothing may wait for its end.
fn quiet(command: &mut Command) -> &mut Command {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
}

fn succeed(command: &mut Command) {
    let status = quiet(command)
        .status()
        .unwrap_or_else(|error| panic!("{command:?} cannot be run: {error}"));
    assert!(status.success(), "{command:?}: {status}");
}

async fn off_thread(work: impl FnOnce() + Send + 'static) {
    if let Err(failed) = tokio::task::spawn_blocking(work).await {
        std::panic::resume_unwind(failed.into_panic());
    }
}
