//! What the demo plays on: its database, its exchange and queues, its configuration; all anew.

use anyhow::Context as _;
use lapin::options::{ExchangeDeleteOptions, QueueDeleteOptions};
use lapin::{Channel as AmqpChannel, Connection};
use secrecy::SecretString;
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use url::Url;

use super::args::DemoArgs;
use super::database;
use super::folder::Folder;
use super::lanes::LANES;
use super::providers::Providers;
use crate::config::{self, Config};
use crate::intake::subscription::connect;
use crate::intake::topology;
use crate::ledger::Ledger;

/// The two servers.
pub(super) struct Servers {
    database: Url,
    pub(super) broker: String,
}

/// Reads where the servers are. `env` reads environment variables.
pub(super) fn servers(env: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<Servers> {
    let given = |name: &str| {
        env(name).with_context(|| {
            format!("{name} is not set. scripts/demo starts private servers, sets it and runs this")
        })
    };
    let database = given("NUNCIO_DATABASE_URL")?;
    Ok(Servers {
        // Not the URL itself, which may hold a password.
        database: Url::parse(&database)
            .ok()
            .context("NUNCIO_DATABASE_URL is not a URL")?,
        broker: given("NUNCIO_AMQP_URL")?,
    })
}

impl Servers {
    /// The URL of the demo's database: the given one with another name.
    pub(super) fn database_of(&self, name: &str) -> String {
        let mut url = self.database.clone();
        url.set_path(&database_name(name));
        url.into()
    }
}

fn database_name(name: &str) -> String {
    name.replace('-', "_")
}

/// A database with the schema, queues without messages, and a configuration that names both.
pub(super) struct Stage {
    pub(super) config: Config,
    /// The database's name.
    pub(super) database: String,
    /// Connections to it.
    pub(super) pool: PgPool,
    server: PgConnectOptions,
}

impl Stage {
    /// Removes what an earlier demo of this name left, and sets everything up.
    pub(super) async fn set(
        args: &DemoArgs,
        servers: &Servers,
        folder: &Folder,
        providers: &Providers,
    ) -> anyhow::Result<Self> {
        let text = config_text(args, servers, providers);
        folder.write_config(&text)?;
        let name = folder.config().display().to_string();
        let config = config::parse(&name, &text, &|_| None)?;

        // Both servers answer before anything is changed on either.
        let connection = to_broker(&config).await?;
        let server: PgConnectOptions = servers.database.as_str().parse()?;
        let database = database_name(&args.name);
        database::create(&server, &database).await?;
        let url = servers.database_of(&args.name);
        migrate(SecretString::from(url.clone())).await?;
        let stage = Self {
            config,
            database,
            pool: PgPoolOptions::new().max_connections(2).connect_lazy(&url)?,
            server,
        };
        let amqp = stage.clear_broker(&connection).await?;
        for channel in &stage.config.channels {
            topology::declare(&amqp, &stage.config.broker, channel).await?;
        }
        // The topology stands; how the connection ends does not matter.
        let _ = connection.close(200, "done".into()).await;
        Ok(stage)
    }

    /// A connection to the broker.
    pub(super) async fn connect(&self) -> anyhow::Result<Connection> {
        to_broker(&self.config).await
    }

    /// Removes the database, the exchanges and the queues.
    pub(super) async fn clear(self) -> anyhow::Result<()> {
        self.pool.close().await;
        database::remove(&self.server, &self.database).await?;
        let connection = self.connect().await?;
        self.clear_broker(&connection).await?;
        let _ = connection.close(200, "done".into()).await;
        Ok(())
    }

    /// Deletes queues with their messages, and exchanges; what is not there is as good as deleted.
    async fn clear_broker(&self, connection: &Connection) -> anyhow::Result<AmqpChannel> {
        let amqp = connection.create_channel().await?;
        let exchange = &self.config.broker.exchange;
        for channel in &self.config.channels {
            for queue in [channel.queue.clone(), format!("{}.dead", channel.queue)] {
                amqp.queue_delete(queue.into(), QueueDeleteOptions::default())
                    .await?;
            }
        }
        for exchange in [exchange.clone(), format!("{exchange}.dead")] {
            amqp.exchange_delete(exchange.into(), ExchangeDeleteOptions::default())
                .await?;
        }
        Ok(amqp)
    }
}

async fn to_broker(config: &Config) -> anyhow::Result<Connection> {
    connect(&config.broker, "nuncio demo")
        .await
        .context("the server in NUNCIO_AMQP_URL cannot be used")
}

fn config_text(args: &DemoArgs, servers: &Servers, providers: &Providers) -> String {
    let addresses = LANES.each_ref().map(|lane| providers.address(lane));
    super::config_file::text(&args.name, servers, &addresses)
}

async fn migrate(url: SecretString) -> anyhow::Result<()> {
    let ledger = Ledger::open(&url, 1, false)?;
    ledger.migrate().await?;
    ledger.close().await;
    Ok(())
}
