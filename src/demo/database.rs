//! The demo's own database: created anew each time.

use std::time::Duration;

use anyhow::{Context as _, bail};
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection};

/// How long the sessions of killed workers may take to end.
const SESSIONS_END: Duration = Duration::from_secs(5);

/// Drops and creates it. `options` lead to any other database of the server; `name` has been
/// checked to be an identifier that belongs to demos alone.
///
/// A database in use is left alone: another demo runs, or somebody looks at what it left.
pub(super) async fn create(options: &PgConnectOptions, name: &str) -> anyhow::Result<()> {
    let mut server = open(options).await?;
    let unused = tokio::time::timeout(SESSIONS_END, unused(&mut server, name)).await;
    match unused {
        Ok(done) => done?,
        Err(_) => bail!(
            "database {name} is in use: by another demo, by workers that one left behind, or by somebody who looks at it. End that, or choose another --name"
        ),
    }
    drop_database(&mut server, name).await?;
    run(&mut server, format!("create database {name}")).await?;
    let _ = server.close().await;
    Ok(())
}

/// Drops it, and every session with it.
pub(super) async fn remove(options: &PgConnectOptions, name: &str) -> anyhow::Result<()> {
    let mut server = open(options).await?;
    drop_database(&mut server, name).await?;
    let _ = server.close().await;
    Ok(())
}

async fn open(options: &PgConnectOptions) -> anyhow::Result<PgConnection> {
    options
        .connect()
        .await
        .context("the server in NUNCIO_DATABASE_URL cannot be reached")
}

async fn unused(server: &mut PgConnection, name: &str) -> anyhow::Result<()> {
    loop {
        let sessions = sqlx::query_scalar!(
            r#"select count(*) as "sessions!" from pg_stat_activity where datname = $1"#,
            name,
        )
        .fetch_one(&mut *server)
        .await?;
        if sessions == 0 {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn drop_database(server: &mut PgConnection, name: &str) -> anyhow::Result<()> {
    run(
        server,
        format!("drop database if exists {name} with (force)"),
    )
    .await
}

async fn run(server: &mut PgConnection, statement: String) -> anyhow::Result<()> {
    // Its only variable part is the name, which has been checked.
    sqlx::query(AssertSqlSafe(statement))
        .execute(server)
        .await?;
    Ok(())
}
