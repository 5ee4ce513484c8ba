//! A part of the broker for one test: exchanges and queues of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Stdio};
use std::sync::{Mutex, MutexGuard};

use lapin::options::{ExchangeDeleteOptions, QueueDeclareOptions, QueueDeleteOptions};
use lapin::types::FieldTable;
use lapin::{Channel as AmqpChannel, Connection, ConnectionProperties};
use tokio::sync::OnceCell;
use url::Url;

use super::config::Config;
use super::environment;
use super::wait::aside;

/// Messages in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    /// Waiting for a consumer.
    pub ready: u64,
    /// With a consumer that has not acked.
    pub unacked: u64,
}

/// Where one test's exchanges and queues are.
pub struct Broker {
    /// For programs; its path is the virtual host.
    pub url: Url,
    /// In front of every exchange's and queue's name.
    pub prefix: String,
    declared: Mutex<Declared>,
}

/// What a test declared, to be removed at its end.
#[derive(Default)]
struct Declared {
    exchanges: BTreeSet<String>,
    queues: BTreeSet<String>,
}

impl Broker {
    /// Names of its own in the virtual host of this run.
    pub async fn create(name: &str) -> Self {
        let mut url = environment::url("NUNCIO_AMQP_URL");
        if let Some(ctl) = environment::rabbitmqctl() {
            let vhost = vhost_of_this_run(&ctl, url.username()).await;
            url.set_path(vhost);
        }
        Self {
            url,
            prefix: format!("{name}."),
            declared: Mutex::default(),
        }
    }

    /// An AMQP channel on a connection of its own.
    pub async fn channel(&self) -> (Connection, AmqpChannel) {
        self.try_channel()
            .await
            .expect("the broker opens a channel")
    }

    /// As [`Broker::channel`], of a broker that may be away.
    pub async fn try_channel(&self) -> lapin::Result<(Connection, AmqpChannel)> {
        let properties = ConnectionProperties::default();
        let connection = Connection::connect(self.url.as_str(), properties).await?;
        let channel = connection.create_channel().await?;
        Ok((connection, channel))
    }

    /// How many messages each of the test's queues has, dead-letter queues too. `None` where
    /// rabbitmqctl is not to be had, which alone tells what is unacked.
    pub async fn depths(&self) -> Option<BTreeMap<String, Depth>> {
        let ctl = environment::rabbitmqctl()?;
        let list = [
            "-q",
            "list_queues",
            "-p",
            self.vhost(),
            "--no-table-headers",
        ];
        let columns = ["name", "messages_ready", "messages_unacknowledged"];
        let listed = run(&ctl, &[&list[..], &columns[..]].concat()).await;
        let depth = |line: &str| {
            let mut words = line.split('\t');
            let name = words.next()?.to_owned();
            let ready = words.next()?.trim().parse().ok()?;
            let unacked = words.next()?.trim().parse().ok()?;
            Some((name, Depth { ready, unacked }))
        };
        let ours = |line: &&str| line.starts_with(&self.prefix);
        Some(listed.lines().filter(ours).filter_map(depth).collect())
    }

    /// The virtual host.
    pub fn vhost(&self) -> &str {
        self.url.path().trim_start_matches('/')
    }

    /// Deletes a queue with all that is in it.
    pub async fn delete_queue(&self, queue: &str) {
        let (connection, channel) = self.channel().await;
        channel
            .queue_delete(queue.into(), QueueDeleteOptions::default())
            .await
            .expect("a queue can be deleted");
        let _ = connection.close(200, "done".into()).await;
    }

    /// What a queue says of itself: messages ready, and consumers.
    pub async fn ready(&self, queue: &str) -> (u32, u32) {
        let (connection, channel) = self.channel().await;
        let said = ask(&channel, queue).await.expect("the queue is there");
        let _ = connection.close(200, "done".into()).await;
        said
    }

    /// The same of every queue that this test has declared, dead-letter queues too.
    pub async fn queues(&self) -> BTreeMap<String, (u32, u32)> {
        let names = self.declared().queues.clone();
        let (connection, mut channel) = self.channel().await;
        let mut said = BTreeMap::new();
        for name in names {
            match ask(&channel, &name).await {
                Ok(depth) => drop(said.insert(name, depth)),
                // Declared in a configuration, and never by a program: the broker closes the channel.
                Err(_) => channel = connection.create_channel().await.expect("a new channel"),
            }
        }
        let _ = connection.close(200, "done".into()).await;
        said
    }

    fn declared(&self) -> MutexGuard<'_, Declared> {
        self.declared.lock().expect("no holder of it panics")
    }

    /// Remembers what a configuration declares, to be removed at the end.
    pub(super) fn declares(&self, config: &Config) {
        let mut declared = self.declared();
        declared.exchanges.insert(config.exchange());
        declared
            .exchanges
            .insert(format!("{}.dead", config.exchange()));
        for queue in config.channels.iter().map(|c| config.queue(&c.name)) {
            declared.queues.insert(format!("{queue}.dead"));
            declared.queues.insert(queue);
        }
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let declared = std::mem::take(&mut *self.declared());
        if aside(declared.delete(self.url.clone())).is_none() {
            eprintln!("queues of {} may be left behind", self.prefix);
        }
    }
}

impl Declared {
    async fn delete(self, url: Url) -> lapin::Result<()> {
        let connection = Connection::connect(url.as_str(), ConnectionProperties::default()).await?;
        let channel = connection.create_channel().await?;
        for queue in self.queues {
            channel
                .queue_delete(queue.into(), QueueDeleteOptions::default())
                .await?;
        }
        for exchange in self.exchanges {
            channel
                .exchange_delete(exchange.into(), ExchangeDeleteOptions::default())
                .await?;
        }
        connection.close(200, "done".into()).await
    }
}

/// The virtual host that the tests of this process share: `rabbitmqctl` takes a second, so one for
/// each test would cost more than the tests. It goes when this process has ended, however it ends.
async fn vhost_of_this_run(ctl: &[String], user: &str) -> &'static str {
    static VHOST: OnceCell<(String, Child)> = OnceCell::const_new();
    let (vhost, _) = VHOST
        .get_or_init(|| async {
            let vhost = format!("nuncio_it_{}", std::process::id());
            let user = if user.is_empty() { "guest" } else { user };
            run(ctl, &["-q", "add_vhost", &vhost]).await;
            let grant = ["-q", "set_permissions", "-p", &vhost, user];
            run(ctl, &[&grant[..], &[".*"; 3]].concat()).await;
            let janitor = janitor(ctl, &vhost);
            (vhost, janitor)
        })
        .await;
    vhost
}

/// Waits for the end of its standard input, which this process holds open, and cleans up.
fn janitor(ctl: &[String], vhost: &str) -> Child {
    std::process::Command::new("sh")
        .args(["-c", "cat >/dev/null; exec \"$@\"", "sh"])
        .args(ctl)
        .args(["-q", "delete_vhost", vhost])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("there is a shell")
}

async fn ask(channel: &AmqpChannel, queue: &str) -> lapin::Result<(u32, u32)> {
    let passive = QueueDeclareOptions {
        passive: true,
        ..QueueDeclareOptions::default()
    };
    let said = channel
        .queue_declare(queue.into(), passive, FieldTable::default())
        .await?;
    Ok((said.message_count(), said.consumer_count()))
}

async fn run(ctl: &[String], arguments: &[&str]) -> String {
    let done = tokio::process::Command::new(&ctl[0])
        .args(&ctl[1..])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .await
        .unwrap_or_else(|error| panic!("NUNCIO_RABBITMQCTL cannot be run: {error}"));
    assert!(
        done.status.success(),
        "rabbitmqctl {}: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&done.stderr)
    );
    String::from_utf8_lossy(&done.stdout).into_owned()
}
