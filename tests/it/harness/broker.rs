//! A part of the broker for one test: a virtual host of its own, or names of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::sync::Mutex;

use lapin::options::{ExchangeDeleteOptions, QueueDeclareOptions, QueueDeleteOptions};
use lapin::types::FieldTable;
use lapin::{Channel as AmqpChannel, Connection, ConnectionProperties};
use url::Url;

use super::config::Config;
use super::environment;

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
    /// In front of every exchange's and queue's name. Empty with a virtual host of its own.
    pub prefix: String,
    ctl: Option<Vec<String>>,
    vhost: String,
    declared: Mutex<Declared>,
}

/// What to remove from a shared virtual host.
#[derive(Default)]
struct Declared {
    exchanges: BTreeSet<String>,
    queues: BTreeSet<String>,
}

impl Broker {
    /// Makes a virtual host, if NUNCIO_RABBITMQCTL says how; else the test shares the given one,
    /// under names of its own.
    pub async fn create(name: &str) -> Self {
        let mut url = environment::url("NUNCIO_AMQP_URL");
        let Some(ctl) = environment::rabbitmqctl() else {
            let (prefix, vhost) = (format!("{name}."), String::new());
            return Self {
                url,
                prefix,
                ctl: None,
                vhost,
                declared: Mutex::default(),
            };
        };
        let user = match url.username() {
            "" => "guest",
            user => user,
        };
        run(&ctl, &["-q", "add_vhost", name]).await;
        let all = [".*"; 3];
        let grant = [&["-q", "set_permissions", "-p", name, user], &all[..]].concat();
        run(&ctl, &grant).await;
        url.set_path(name);
        let vhost = name.to_owned();
        let prefix = String::new();
        Self {
            url,
            prefix,
            ctl: Some(ctl),
            vhost,
            declared: Mutex::default(),
        }
    }

    /// An AMQP channel on a connection of its own.
    pub async fn channel(&self) -> (Connection, AmqpChannel) {
        let connection = Connection::connect(self.url.as_str(), ConnectionProperties::default())
            .await
            .expect("the broker answers");
        let channel = connection
            .create_channel()
            .await
            .expect("the broker opens a channel");
        (connection, channel)
    }

    /// How many messages each queue has, dead-letter queues too. `None` where rabbitmqctl is not
    /// to be had, which alone tells what is unacked.
    pub async fn depths(&self) -> Option<BTreeMap<String, Depth>> {
        let ctl = self.ctl.as_ref()?;
        let columns = ["name", "messages_ready", "messages_unacknowledged"];
        let list = [
            &[
                "-q",
                "list_queues",
                "-p",
                &*self.vhost,
                "--no-table-headers",
            ],
            &columns[..],
        ]
        .concat();
        let listed = run(ctl, &list).await;
        let depth = |line: &str| {
            let mut words = line.split('\t');
            let name = words.next()?.to_owned();
            let ready = words.next()?.trim().parse().ok()?;
            let unacked = words.next()?.trim().parse().ok()?;
            Some((name, Depth { ready, unacked }))
        };
        Some(listed.lines().filter_map(depth).collect())
    }

    /// What a queue says of itself: messages ready, and consumers.
    pub async fn ready(&self, queue: &str) -> (u32, u32) {
        let (connection, channel) = self.channel().await;
        let passive = QueueDeclareOptions {
            passive: true,
            ..QueueDeclareOptions::default()
        };
        let found = channel
            .queue_declare(queue.into(), passive, FieldTable::default())
            .await
            .expect("the queue is there");
        let _ = connection.close(200, "done".into()).await;
        (found.message_count(), found.consumer_count())
    }

    /// Remembers what a configuration declares, to be removed where the virtual host stays.
    pub(super) fn declares(&self, config: &Config) {
        let mut declared = self.declared.lock().expect("no holder of it panics");
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

impl Drop for Broker {
    fn drop(&mut self) {
        if let Some(ctl) = &self.ctl {
            // Not waited for: it takes a second, and nobody needs the name again.
            let _ = std::process::Command::new(&ctl[0])
                .args(&ctl[1..])
                .args(["-q", "delete_vhost", &self.vhost])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn();
            return;
        }
        let declared = std::mem::take(&mut *self.declared.lock().expect("no holder of it panics"));
        if super::wait::aside(declared.delete(self.url.clone())).is_none() {
            eprintln!("queues of {} may be left behind", self.prefix);
        }
    }
}

async fn run(ctl: &[String], arguments: &[&str]) -> String {
    let done = tokio::process::Command::new(&ctl[0])
        .args(&ctl[1..])
        .args(arguments)
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
