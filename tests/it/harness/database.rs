//! A database for one test.

use std::time::Duration;

use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool};
use url::Url;

use super::environment;
use super::wait::{aside, wait_until};

/// A database of its own, dropped at the end.
pub struct Database {
    /// Its URL, for programs.
    pub url: Url,
    /// Sessions of the test: the "third session" that sees only what is committed.
    pub pool: PgPool,
    name: String,
    server: Url,
}

impl Database {
    /// Creates it, and has the product apply its schema.
    pub async fn create(name: &str) -> Self {
        let server = environment::url("NUNCIO_DATABASE_URL");
        let mut url = server.clone();
        url.set_path(name);
        on_server(&server, &format!("create database {name}"))
            .await
            .expect("a database can be created");
        let ledger = nuncio::ledger::Ledger::open(&url.to_string().into(), 1, false)
            .expect("the URL can be read");
        ledger.migrate().await.expect("the schema can be applied");
        ledger.close().await;
        let pool = PgPoolOptions::new()
            .max_connections(6)
            .acquire_timeout(Duration::from_secs(30))
            .connect(url.as_str())
            .await
            .expect("the database answers");
        let name = name.to_owned();
        Self {
            url,
            pool,
            name,
            server,
        }
    }

    /// A session beside the pool, to hold locks with.
    pub async fn session(&self) -> PgConnection {
        PgConnection::connect(self.url.as_str())
            .await
            .expect("the database answers")
    }

    /// Waits until a session of a program waits for a row lock; says which.
    pub async fn waiter(&self, what: &str) -> i32 {
        wait_until(what, async || {
            sqlx::query_scalar(
                "select pid from pg_stat_activity where datname = current_database()
                 and application_name = 'nuncio' and wait_event_type = 'Lock' limit 1",
            )
            .fetch_optional(&self.pool)
            .await
            .expect("the database answers")
        })
        .await
    }

    /// Ends every session of a program, and waits until they are gone: what they had not committed
    /// will not be.
    pub async fn end_sessions_of_programs(&self) {
        wait_until("the programs' sessions end", async || {
            let left: i64 = sqlx::query_scalar(
                "select count(pg_terminate_backend(pid)) from pg_stat_activity
                 where datname = current_database() and application_name = 'nuncio'",
            )
            .fetch_one(&self.pool)
            .await
            .expect("the database answers");
            (left == 0).then_some(())
        })
        .await;
    }
}

impl Database {
    /// Prints the rows, for a test that fails.
    pub(super) fn show(&self) {
        let url = self.url.clone();
        let rows = aside(async move {
            let mut session = PgConnection::connect(url.as_str()).await?;
            super::rows::told(&mut session).await
        });
        for row in rows.unwrap_or_default() {
            eprintln!("---- {row}");
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let drop = format!("drop database if exists {} with (force)", self.name);
        let server = self.server.clone();
        let dropped = aside(async move { on_server(&server, &drop).await });
        if dropped.is_none() {
            eprintln!("database {} is left behind", self.name);
        }
    }
}

async fn on_server(server: &Url, statement: &str) -> Result<(), sqlx::Error> {
    let mut connection = PgConnection::connect(server.as_str()).await?;
    sqlx::query(AssertSqlSafe(statement.to_owned()))
        .execute(&mut connection)
        .await?;
    connection.close().await
}
