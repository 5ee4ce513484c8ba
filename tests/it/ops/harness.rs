//! A fresh ledger, rows in it, and commands run as their command lines.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Command};
use nuncio::domain::identity::notification_id;
use nuncio::domain::notification::{Content, Notification};
use nuncio::domain::outcome::Doubt;
use nuncio::domain::phase::Phase;
use nuncio::domain::settle::Source;
use nuncio::ledger::Ledger;
use nuncio::ledger::claim::{Claim, NewClaim, Terms};
use nuncio::ledger::moves::{DoubtAfter, Move};
use nuncio::ledger::row::Row;
use nuncio::ledger::story::Filter;
use nuncio::ops::{OpsError, Terminal, explain, list, resolve};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, PgPool};
use uuid::Uuid;

/// Marks content: no command may print it unasked.
pub const SECRET: &str = "code 918273";
pub const TO: &str = "+49171234567";
const LEASE: Duration = Duration::from_secs(600);

pub struct Harness {
    pub ledger: Ledger,
    /// For what no command can do, such as making a row old.
    pub pool: PgPool,
}

/// Runs a test on a database of its own, which is dropped whatever becomes of the test.
pub fn on_a_fresh_ledger(test: impl AsyncFnOnce(Harness)) {
    let server = std::env::var("NUNCIO_DATABASE_URL")
        .expect("NUNCIO_DATABASE_URL names the server; scripts/test sets it");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let name = format!("nuncio_ops_{}", Uuid::new_v4().simple());
    runtime.block_on(on_server(&server, format!("create database {name}")));
    let mut url = url::Url::parse(&server).unwrap();
    url.set_path(&name);
    let result = catch_unwind(AssertUnwindSafe(|| {
        runtime.block_on(async {
            let ledger = Ledger::open(&url.as_str().into(), 4, false).unwrap();
            ledger.migrate().await.unwrap();
            let pool = PgPool::connect(url.as_str()).await.unwrap();
            test(Harness { ledger, pool }).await;
        });
    }));
    runtime.block_on(on_server(
        &server,
        format!("drop database {name} with (force)"),
    ));
    result.unwrap_or_else(|panic| resume_unwind(panic));
}

async fn on_server(server: &str, statement: String) {
    let mut connection = PgConnection::connect(server).await.unwrap();
    sqlx::query(AssertSqlSafe(statement))
        .execute(&mut connection)
        .await
        .unwrap();
}

pub fn notification(channel: &str, key: &str) -> Notification {
    Notification {
        id: notification_id(channel, key),
        channel: channel.into(),
        key: key.to_owned(),
        to: TO.to_owned(),
        content: Content {
            text: Some(SECRET.to_owned()),
            ..Content::default()
        },
        send_at: None,
        expires_at: None,
        stream: None,
        seq: None,
    }
}

impl Harness {
    /// A committed row, in `sending` unless the notification says otherwise.
    pub async fn accept(&self, notification: Notification) -> Uuid {
        let (id, channel) = (notification.id, notification.channel.clone());
        let claim = NewClaim {
            notification: Arc::new(notification),
            request_hash: [7; 32],
        };
        let terms = Terms {
            channel,
            provider: "gateway".into(),
            lease: LEASE,
            expires_after: None,
        };
        let answers = self.ledger.claim(&terms, &[claim], Uuid::new_v4()).await;
        let answers = answers.unwrap();
        assert!(matches!(
            answers[0],
            Claim::Claimed | Claim::Queued | Claim::Expired
        ));
        id
    }

    pub async fn sending(&self, key: &str) -> Uuid {
        self.accept(notification("sms", key)).await
    }

    /// A row at attempt 1 that is parked for this cause.
    pub async fn parked(&self, key: &str, cause: Doubt) -> Uuid {
        let id = self.sending(key).await;
        self.park(id, 1, cause).await;
        id
    }

    pub async fn park(&self, id: Uuid, attempt: u32, cause: Doubt) {
        let change = Move::new(id, attempt, Phase::Sending, Phase::Parked).unwrap();
        let change = change.doubt(DoubtAfter::Because(cause)).note(
            "resolver",
            "decision",
            "the log has nothing, twice: parked".to_owned(),
        );
        self.apply(change).await;
    }

    /// A row that was accepted by the provider at its first try.
    pub async fn sent(&self, key: &str) -> Uuid {
        let id = self.sending(key).await;
        let change = Move::new(id, 1, Phase::Sending, Phase::Sent).unwrap();
        self.apply(
            change
                .proof(Source::Answer, Some("SM-1".to_owned()))
                .requested(),
        )
        .await;
        id
    }

    pub async fn apply(&self, change: Move) {
        let moved = self.ledger.apply(&[change]).await.unwrap();
        assert_eq!(moved.len(), 1, "the move did not take place");
    }

    /// Changes a row behind the ledger's back.
    pub async fn set(&self, id: Uuid, assignment: &str) {
        let statement = format!("update notification set {assignment} where id = $1");
        sqlx::query(AssertSqlSafe(statement))
            .bind(id)
            .execute(&self.pool)
            .await
            .unwrap();
    }

    pub async fn row(&self, id: Uuid) -> Row {
        let filter = Filter {
            ids: Some(vec![id]),
            ..Filter::default()
        };
        self.ledger
            .rows(&filter, 1)
            .await
            .unwrap()
            .pop()
            .expect("the row is there")
    }

    /// The newest line of a row's history, as actor, event and detail.
    pub async fn last_line(&self, id: Uuid) -> (String, String, String) {
        let line = self
            .ledger
            .history(id)
            .await
            .unwrap()
            .pop()
            .expect("a history");
        (line.actor, line.event, line.detail)
    }

    pub async fn list(&self, line: &[&str]) -> String {
        let args = args::<list::ListArgs>(line);
        let mut out = Vec::new();
        let code = list::run(&self.ledger, &args, &mut nobody_at(&mut out))
            .await
            .unwrap();
        assert_eq!(code, 0);
        String::from_utf8(out).unwrap()
    }

    pub async fn explain(&self, line: &[&str]) -> (u8, String) {
        let args = args::<explain::ExplainArgs>(line);
        let mut out = Vec::new();
        let code = explain::run(
            &self.ledger,
            &["mail", "sms"],
            &args,
            &mut nobody_at(&mut out),
        )
        .await;
        (code.unwrap(), String::from_utf8(out).unwrap())
    }

    /// As anna, because of ticket 7, with nobody at the terminal.
    pub async fn resolve(&self, line: &[&str]) -> (u8, String) {
        let mut out = Vec::new();
        let code = self.try_resolve(line, &mut nobody_at(&mut out)).await;
        (code.unwrap(), String::from_utf8(out).unwrap())
    }

    pub async fn try_resolve(
        &self,
        line: &[&str],
        terminal: &mut Terminal<'_>,
    ) -> Result<u8, OpsError> {
        let always = ["--channel", "sms", "--by", "anna", "--reason", "ticket 7"];
        let args = args::<resolve::ResolveArgs>(&[line, &always].concat());
        resolve::run(&self.ledger, &args, terminal).await
    }
}

pub fn nobody_at(out: &mut Vec<u8>) -> Terminal<'_> {
    Terminal { out, input: None }
}

/// Reads a command line, without the name of the command.
pub fn args<A: Args>(line: &[&str]) -> A {
    try_args(line).unwrap()
}

pub fn try_args<A: Args>(line: &[&str]) -> Result<A, clap::Error> {
    let command = A::augment_args(Command::new("nuncio").no_binary_name(true));
    A::from_arg_matches(&command.try_get_matches_from(line)?)
}

/// The same text with the times and spans that differ from run to run made equal.
pub fn timeless(text: &str) -> String {
    let time = regex::Regex::new(r"(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d").unwrap();
    let span = regex::Regex::new(r"\b\d+ (s|min)\b").unwrap();
    span.replace_all(&time.replace_all(text, "TIME"), "SPAN")
        .into_owned()
}
