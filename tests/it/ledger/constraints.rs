//! Bad rows are impossible, from both sides of every rule.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use super::super::harness::World;

const NOW: &str = "2027-01-31T09:00:00Z";

/// A right row in some phase, with changes.
fn row(phase: &str, changes: Value) -> Value {
    let mut row = json!({
        "id": uuid::Uuid::new_v4(), "channel": "sms", "key": "k", "recipient": "+442079460018",
        "content": "\\x7b7d", "accepted_at": NOW, "phase": phase, "attempt": 1, "sends": 1,
        "generation": 1, "provider": "p", "request_hash": "\\x00",
        "owner": uuid::Uuid::new_v4(), "checks": 0, "empty_reads": 0, "possible_duplicates": 0,
    });
    let mut set = |name: &str, value: Value| row[name] = value;
    match phase {
        "queued" | "sending" => set("due_at", json!(NOW)),
        "parked" => {}
        _ => set("settled_at", json!(NOW)),
    }
    if phase == "sent" {
        set("settled_by", json!("answer"));
    }
    if ["parked", "unconfirmed"].contains(&phase) {
        set("doubt_since", json!(NOW));
        set("doubt_cause", json!("timeout"));
        set("doubt_generation", json!(1));
    }
    for (name, value) in changes.as_object().expect("an object") {
        row[name] = value.clone();
    }
    row
}

fn bad_rows() -> Vec<(&'static str, Value)> {
    let doubt = json!({"doubt_since": NOW, "doubt_cause": "timeout", "doubt_generation": 1});
    let mut list = vec![
        ("key_has_a_size", row("sent", json!({"key": ""}))),
        (
            "key_has_a_size",
            row("sent", json!({"key": "k".repeat(1025)})),
        ),
        ("seq_belongs_to_a_stream", row("sent", json!({"seq": 1}))),
        (
            "seq_belongs_to_a_stream",
            row("sent", json!({"stream": "s"})),
        ),
        (
            "due_exactly_while_open",
            row("queued", json!({"due_at": null})),
        ),
        (
            "due_exactly_while_open",
            row("sending", json!({"due_at": null})),
        ),
        (
            "due_exactly_while_open",
            row("parked", json!({"due_at": NOW})),
        ),
        (
            "due_exactly_while_open",
            row("sent", json!({"due_at": NOW})),
        ),
        (
            "settled_exactly_at_rest",
            row("sending", json!({"settled_at": NOW})),
        ),
        (
            "settled_exactly_at_rest",
            row("queued", json!({"settled_at": NOW})),
        ),
        (
            "settled_exactly_at_rest",
            row("parked", json!({"settled_at": NOW})),
        ),
        (
            "sent_exactly_by_proof",
            row("sent", json!({"settled_by": null})),
        ),
        (
            "sent_exactly_by_proof",
            row("failed", json!({"settled_by": "answer"})),
        ),
        (
            "sent_exactly_by_proof",
            row("sending", json!({"settled_by": "answer"})),
        ),
        (
            "owned_exactly_once_attempted",
            row("sent", json!({"owner": null})),
        ),
        (
            "owned_exactly_once_attempted",
            row("queued", json!({"attempt": 0})),
        ),
        (
            "doubt_is_whole",
            row("sending", json!({"doubt_since": NOW})),
        ),
        (
            "doubt_is_whole",
            row("sending", json!({"doubt_cause": "timeout"})),
        ),
        (
            "doubt_is_whole",
            row("parked", json!({"doubt_generation": null})),
        ),
        (
            "doubt_is_whole",
            row("parked", json!({"doubt_cause": null})),
        ),
        (
            "claimed_request_is_known",
            row("sending", json!({"request_hash": null})),
        ),
        (
            "counts_do_not_go_below_zero",
            row("queued", json!({"attempt": -1, "owner": null})),
        ),
        (
            "counts_do_not_go_below_zero",
            row("sent", json!({"generation": 0})),
        ),
    ];
    for phase in [
        "failed",
        "expired",
        "superseded",
        "suppressed",
        "cancelled",
        "unconfirmed",
        "sent",
    ] {
        list.push((
            "settled_exactly_at_rest",
            row(phase, json!({"settled_at": null})),
        ));
    }
    for phase in [
        "sent",
        "failed",
        "expired",
        "superseded",
        "suppressed",
        "cancelled",
    ] {
        list.push(("certain_phases_are_not_in_doubt", row(phase, doubt.clone())));
    }
    let none = json!({"doubt_since": null, "doubt_cause": null, "doubt_generation": null});
    for phase in ["parked", "unconfirmed"] {
        list.push((
            "parked_and_unconfirmed_are_in_doubt",
            row(phase, none.clone()),
        ));
    }
    for count in ["sends", "checks", "empty_reads", "possible_duplicates"] {
        list.push((
            "counts_do_not_go_below_zero",
            row("sent", json!({count: -1})),
        ));
    }
    list
}

#[tokio::test(flavor = "multi_thread")]
async fn every_constraint_refuses_its_bad_row_from_both_sides() {
    let world = World::new().await;
    for phase in [
        "queued",
        "sending",
        "parked",
        "sent",
        "failed",
        "expired",
        "superseded",
        "suppressed",
        "cancelled",
        "unconfirmed",
    ] {
        insert(&world, "notification", &row(phase, json!({})))
            .await
            .expect(phase);
    }
    let longest = json!({"key": "k".repeat(1024)});
    insert(&world, "notification", &row("sent", longest))
        .await
        .expect("the longest key");
    let mut tried = BTreeSet::new();
    for (constraint, bad) in bad_rows() {
        assert_eq!(
            refused_by(&world, "notification", &bad).await,
            constraint,
            "{bad}"
        );
        tried.insert(constraint.to_owned());
    }
    let message = |changes: Value| {
        let mut message = json!({
            "id": 1, "queue": "q", "reason": "r", "detail": "d", "body": "\\x", "body_size": 0,
            "body_sha256": format!("\\x{}", "00".repeat(32)),
            "digest": format!("\\x{}", "00".repeat(32)), "first_at": NOW, "last_at": NOW,
            "seen": 1, "state": "held",
        });
        for (name, value) in changes.as_object().expect("an object") {
            message[name] = value.clone();
        }
        message
    };
    insert(&world, "quarantine", &message(json!({})))
        .await
        .expect("a right one");
    for (constraint, changes) in [
        (
            "seen_at_least_once",
            json!({"id": 2, "reason": "s", "seen": 0}),
        ),
        (
            "hashes_are_sha256",
            json!({"id": 2, "body_sha256": "\\x00"}),
        ),
        ("hashes_are_sha256", json!({"id": 2, "digest": "\\x00"})),
        (
            "event_is_whole",
            json!({"id": 2, "reason": "s", "event_id": "e"}),
        ),
        (
            "state_is_known",
            json!({"id": 2, "reason": "s", "state": "gone"}),
        ),
        (
            "only_held_ones_keep_bytes",
            json!({"id": 2, "reason": "s", "state": "dropped", "body": "\\x00"}),
        ),
    ] {
        let refused = refused_by(&world, "quarantine", &message(changes)).await;
        assert_eq!(refused, constraint);
        tried.insert(constraint.to_owned());
    }
    let all: Vec<String> = sqlx::query_scalar(
        "select conname::text from pg_constraint where contype = 'c'
         and conrelid in ('notification'::regclass, 'quarantine'::regclass)",
    )
    .fetch_all(&world.database.pool)
    .await
    .expect("the catalogue can be read");
    assert_eq!(
        tried,
        all.into_iter().collect(),
        "each has its bad row here"
    );
}

async fn insert(world: &World, table: &str, row: &Value) -> Result<(), sqlx::Error> {
    let statement = format!(
        "insert into {table} overriding system value
         select * from jsonb_populate_record(null::{table}, $1::jsonb)"
    );
    sqlx::query(AssertSqlSafe(statement))
        .bind(row.to_string())
        .execute(&world.database.pool)
        .await
        .map(|_| ())
}

async fn refused_by(world: &World, table: &str, row: &Value) -> String {
    let refused = insert(world, table, row).await;
    let error = refused.err().unwrap_or_else(|| panic!("taken: {row}"));
    let error = error.as_database_error().expect("the database's own");
    error.constraint().unwrap_or("none").to_owned()
}
