//! A database of the benchmark's own, new for every run.

use anyhow::Context as _;
use sqlx::{Connection as _, PgConnection};
use url::Url;

use crate::worker::Kind;

const NAME: &str = "nuncio_bench";

pub(crate) struct Database {
    admin: String,
    /// Where the workers connect.
    pub(crate) url: String,
    /// Where it listens, if that is known.
    pub(crate) port: u16,
}

impl Database {
    pub(crate) fn new(admin: String) -> anyhow::Result<Self> {
        let mut url: Url = admin.parse().context("NUNCIO_DATABASE_URL")?;
        let port = url.port().unwrap_or(5432);
        url.set_path(NAME);
        let url = url.into();
        Ok(Self { admin, url, port })
    }

    /// An empty database, and a checkpoint, so that no run pays for the writes of the one before.
    pub(crate) async fn renew(&self) -> anyhow::Result<()> {
        let mut admin = self.drop().await?;
        sqlx::raw_sql(sqlx::AssertSqlSafe(format!("create database {NAME}")))
            .execute(&mut admin)
            .await?;
        // Needs a superuser; without one the first pages written cost a little more.
        let _ = sqlx::raw_sql("checkpoint").execute(&mut admin).await;
        Ok(admin.close().await?)
    }

    pub(crate) async fn drop(&self) -> anyhow::Result<PgConnection> {
        let mut admin = PgConnection::connect(&self.admin)
            .await
            .context("Postgres")?;
        sqlx::raw_sql(sqlx::AssertSqlSafe(format!(
            "drop database if exists {NAME} with (force)"
        )))
        .execute(&mut admin)
        .await?;
        Ok(admin)
    }

    pub(crate) async fn connect(&self) -> anyhow::Result<PgConnection> {
        Ok(PgConnection::connect(&self.url).await?)
    }

    pub(crate) async fn version(&self) -> anyhow::Result<String> {
        let mut admin = PgConnection::connect(&self.admin)
            .await
            .context("Postgres")?;
        let version: String = sqlx::query_scalar("show server_version")
            .fetch_one(&mut admin)
            .await?;
        Ok(version)
    }
}

/// Whether a worker's ledger says "sent" for every message.
pub(crate) async fn all_settled(
    connection: &mut PgConnection,
    kind: Kind,
    messages: u64,
) -> anyhow::Result<bool> {
    let sent = match kind {
        Kind::Floor => return Ok(true),
        Kind::Naive => "select count(*) from naive where state = 'sent'",
        Kind::Nuncio => "select count(*) from notification where phase = 'sent'",
    };
    let sent: i64 = sqlx::query_scalar(sent).fetch_one(connection).await?;
    Ok(u64::try_from(sent)? >= messages)
}
