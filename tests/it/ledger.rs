//! What the ledger promises to everybody who writes to it.

mod clock;
mod constraints;
mod database;
mod due;
mod plans;
mod races;

use std::sync::Arc;
use std::time::Duration;

use nuncio::domain::identity::notification_id;
use nuncio::domain::notification::{Content, Notification};
use nuncio::ledger::Ledger;
use nuncio::ledger::claim::{NewClaim, Terms};

use super::harness::{World, recipient};

/// A ledger of its own, with its own sessions.
fn open(world: &World, pool: u32) -> Ledger {
    Ledger::open(&world.database.url.to_string().into(), pool, false).expect("the URL can be read")
}

/// A claim on channel `sms`.
fn claim(key: &str) -> NewClaim {
    NewClaim {
        notification: Arc::new(Notification {
            id: notification_id("sms", key),
            channel: "sms".into(),
            key: key.into(),
            to: recipient(key),
            content: Content {
                text: Some(format!("content of {key}")),
                ..Content::default()
            },
            send_at: None,
            expires_at: None,
            stream: None,
            seq: None,
        }),
        request_hash: [7; 32],
    }
}

/// What the claims on channel `sms` have in common.
fn terms() -> Terms {
    Terms {
        channel: "sms".into(),
        provider: "sms".into(),
        lease: Duration::from_secs(60),
        expires_after: None,
    }
}

async fn execute(world: &World, statement: &'static str) {
    sqlx::raw_sql(statement)
        .execute(&world.database.pool)
        .await
        .expect("the database takes it");
}
