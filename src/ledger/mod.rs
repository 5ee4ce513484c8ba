//! The ledger in Postgres: the only SQL, one file a statement family.
//!
//! Every write is one autocommit statement; nothing here holds a transaction, a row lock or a
//! connection while something else is awaited. A statement that takes too long is abandoned
//! together with its connection, and its effect is then unknown: claims and moves may be repeated
//! as they are, since both say afterwards what holds.

pub mod claim;
pub mod due;
pub mod health;
pub mod listing;
pub mod moves;
pub mod prune;
pub mod quarantine;
pub mod release;
pub mod row;
pub mod stale;
pub mod story;

use std::future::Future;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{PgConnection, PgPool};
use thiserror::Error;

static MIGRATIONS: Migrator = sqlx::migrate!();

/// How long one statement may take before its connection is given up. Longer than any statement of
/// ours takes on a healthy server; short enough that a hung one is noticed within a lease.
const STATEMENT_LIMIT: Duration = Duration::from_secs(10);

/// How long to wait for a free connection.
const ACQUIRE_LIMIT: Duration = Duration::from_secs(5);

/// Why the ledger did not do what was asked.
#[derive(Debug, Error)]
pub enum LedgerError {
    /// The database answered with an error, or the connection failed.
    #[error("the database: {0}")]
    Database(#[from] sqlx::Error),
    /// No answer within the limit. The statement may have been carried out.
    #[error("the database did not answer within {} s", STATEMENT_LIMIT.as_secs())]
    TooSlow,
    /// Somebody with a newer program was here.
    #[error(
        "the database's schema is newer than this program: it has migration {0}, which this program does not know; use a newer program"
    )]
    Newer(i64),
    /// The schema could not be brought up to date.
    #[error("the schema: {0}")]
    Schema(#[from] MigrateError),
}

impl LedgerError {
    /// Whether waiting may help: the database cannot be reached, or is not itself just now. What
    /// is wrong with the schema stays wrong.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        let error = match self {
            Self::TooSlow => return true,
            Self::Newer(_) => return false,
            Self::Database(error)
            | Self::Schema(
                MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _),
            ) => error,
            Self::Schema(_) => return false,
        };
        // class 08: connection; 25: read-only; 40: rolled back; 53: no resources; 57: shutting down
        error.as_database_error().is_none_or(|error| {
            error.code().is_some_and(|code| {
                ["08", "25", "40", "53", "57"]
                    .iter()
                    .any(|class| code.starts_with(class))
            })
        })
    }

    /// Whether the data, not the database, is at fault: repeating the statement cannot help.
    #[must_use]
    pub fn is_about_the_data(&self) -> bool {
        let Self::Database(sqlx::Error::Database(error)) = self else {
            return false;
        };
        // class 22: data exception; 23: integrity constraint violation; 54000: too large
        error
            .code()
            .is_some_and(|code| code.starts_with("22") || code.starts_with("23") || code == "54000")
    }
}

/// A handle to the ledger. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Ledger {
    pool: PgPool,
}

impl Ledger {
    /// Prepares a pool; connects when first used.
    ///
    /// Behind pgbouncer in transaction mode (`pgbouncer = true`) statements are not named and no
    /// start-up parameters are sent, since a pooled backend keeps neither.
    ///
    /// # Errors
    /// When the URL cannot be read.
    pub fn open(url: &SecretString, pool: u32, pgbouncer: bool) -> Result<Self, LedgerError> {
        let mut options: PgConnectOptions = url.expose_secret().parse()?;
        options = options.application_name("nuncio");
        options = if pgbouncer {
            options.statement_cache_capacity(0)
        } else {
            options.options([
                ("statement_timeout", "9s"),
                ("idle_in_transaction_session_timeout", "10s"),
                // A prepared statement keeps the plan that it got while the table was empty, and
                // that plan reads all of it: at 31,000 rows, settling 40 took 9.2 ms instead of
                // 0.7. So every statement goes through its index from the first row on. Behind
                // pgbouncer each is planned anew.
                ("enable_seqscan", "off"),
                ("enable_hashjoin", "off"),
                ("enable_mergejoin", "off"),
            ])
        };
        let pool = PgPoolOptions::new()
            .max_connections(pool)
            .acquire_timeout(ACQUIRE_LIMIT)
            // A ping before each statement is a round trip a statement; a dead connection shows
            // itself at the statement just as well, and every statement may be repeated.
            .test_before_acquire(false)
            .connect_lazy_with(options);
        Ok(Self { pool })
    }

    /// Applies what is missing of the schema. Any number of processes may start at once: a lock
    /// that ends with the transaction lets one through, and a killed one leaves nothing behind.
    ///
    /// # Errors
    /// When the database cannot be reached, or has a newer schema than this program knows.
    pub async fn migrate(&self) -> Result<(), LedgerError> {
        let mut transaction = self.pool.begin().await?;
        sqlx::query!("select pg_advisory_xact_lock(4850193)::text as done")
            .fetch_one(&mut *transaction)
            .await?;
        let mut migrator = Migrator {
            migrations: MIGRATIONS.migrations.clone(),
            ..Migrator::DEFAULT
        };
        migrator.set_locking(false);
        match migrator.run(&mut *transaction).await {
            Err(MigrateError::VersionMissing(version)) => return Err(LedgerError::Newer(version)),
            applied => applied?,
        }
        transaction.commit().await?;
        Ok(())
    }

    /// Closes the pool once its connections are idle.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// Runs one statement on one connection within the limit. A connection whose statement failed
    /// for another reason than its data is not used again: it may belong to a server that is now
    /// read-only, or shutting down, or not there.
    async fn run<T, F>(&self, statement: F) -> Result<T, LedgerError>
    where
        F: for<'c> AsyncFnOnce(&'c mut PgConnection) -> Result<T, sqlx::Error>,
    {
        let mut connection = self.pool.acquire().await?;
        let done = within(STATEMENT_LIMIT, statement(&mut connection)).await;
        if let Err(error) = &done
            && !error.is_about_the_data()
        {
            connection.close_on_drop();
        }
        done
    }
}

async fn within<T>(
    limit: Duration,
    statement: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, LedgerError> {
    match tokio::time::timeout(limit, statement).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(LedgerError::TooSlow),
    }
}

/// Seconds as Postgres's `make_interval(secs => …)` takes them.
fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

/// A count that the schema keeps at zero or above.
fn count(value: i32) -> u32 {
    u32::try_from(value).unwrap_or(0)
}
