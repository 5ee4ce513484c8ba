//! How Postgres carries out the statements that run all the time, on a ledger with a past.

use std::collections::BTreeSet;

use serde_json::Value;
use sqlx::{AssertSqlSafe, PgConnection};

use nuncio::domain::phase::Phase;
use nuncio::domain::settle::Source;
use nuncio::ledger::moves::Move;
use uuid::Uuid;

use super::super::harness::World;
use super::{claim, execute, open, terms};

/// Most rows are at rest; of the open ones most are not due.
const PAST: &str = "
    insert into notification (id, channel, key, recipient, content, phase, attempt, sends,
        provider, request_hash, owner, due_at, settled_at, settled_by)
    select gen_random_uuid(), 'sms', 'k' || n, '+44', '{}',
        p.phase::phase, 1, 1, 'p', '\\x00', gen_random_uuid(),
        case when p.phase <> 'sent' then now() + make_interval(secs => n % 600 - 60) end,
        case when p.phase = 'sent' then now() end,
        case when p.phase = 'sent' then 'answer' end
    from generate_series(1, 100000) n
    cross join lateral (select case when n % 100 = 0 then 'sending'
        when n % 100 = 1 then 'queued' else 'sent' end as phase) p;
    analyze notification;";

/// A statement of the product, found by a part of its text that no other has.
fn statement(part: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/.sqlx");
    let found: Vec<String> = std::fs::read_dir(folder)
        .expect(".sqlx is there")
        .filter_map(|file| {
            let text = std::fs::read_to_string(file.ok()?.path()).ok()?;
            let saved: Value = serde_json::from_str(&text).ok()?;
            let query = saved["query"].as_str()?;
            query.contains(part).then(|| query.to_owned())
        })
        .collect();
    assert_eq!(found.len(), 1, "statements with {part:?}");
    found.into_iter().next().expect("one")
}

/// The indexes that a statement reads `notification` through. An array parameter gets `rows`
/// elements.
async fn indexes(session: &mut PgConnection, statement: &str, rows: usize) -> BTreeSet<String> {
    let run = async |session: &mut PgConnection, text: String| {
        sqlx::raw_sql(AssertSqlSafe(text))
            .execute(session)
            .await
            .expect("the database takes it")
    };
    run(session, format!("prepare asked as {statement}")).await;
    let types: Vec<String> = sqlx::query_scalar(
        "select unnest(parameter_types)::text from pg_prepared_statements where name = 'asked'",
    )
    .fetch_all(&mut *session)
    .await
    .expect("prepared");
    let arguments: Vec<String> = types.iter().map(|kind| argument(kind, rows)).collect();
    let explain = format!(
        "explain (format json) execute asked({})",
        arguments.join(", ")
    );
    let plan: Value = sqlx::query_scalar(AssertSqlSafe(explain))
        .fetch_one(&mut *session)
        .await
        .expect("a plan");
    run(session, "deallocate asked".into()).await;
    let mut found = BTreeSet::new();
    collect(&plan[0]["Plan"], &mut found);
    found
}

fn argument(kind: &str, rows: usize) -> String {
    let one = |kind: &str| match kind {
        "uuid" => uuid::Uuid::new_v4().to_string(),
        "boolean" => "f".into(),
        "bytea" => "\\x00".into(),
        "text" | "character varying" => "sms".into(),
        _ => "1".into(),
    };
    match kind.strip_suffix("[]") {
        Some(kind) => {
            let all: Vec<_> = (0..rows).map(|_| one(kind)).collect();
            format!("'{{{}}}'", all.join(","))
        }
        None => format!("'{}'", one(kind)),
    }
}

fn collect(plan: &Value, found: &mut BTreeSet<String>) {
    let kind = plan["Node Type"].as_str().unwrap_or_default();
    if kind == "Seq Scan" && plan["Relation Name"] == "notification" {
        found.insert("all of it".into());
    }
    if let Some(index) = plan["Index Name"].as_str() {
        found.insert(index.to_owned());
    }
    for part in plan["Plans"].as_array().into_iter().flatten() {
        collect(part, found);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settling_goes_through_the_key_and_due_rows_through_the_index_of_open_rows() {
    let world = World::new().await;
    execute(&world, PAST).await;
    let mut session = world.database.session().await;
    let settle = statement("phase = u.becomes::phase");
    let sent = statement("settled_by = 'answer'");
    let stale = statement("with stale as");
    let due = statement("with due as");
    let standing = statement("attempt, owner, recipient, content");
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let by_key: BTreeSet<String> = set(&["notification_pkey"]);
    let by_both: BTreeSet<String> = set(&["notification_open", "notification_pkey"]);
    for mode in ["force_custom_plan", "force_generic_plan"] {
        sqlx::raw_sql(AssertSqlSafe(format!("set plan_cache_mode = {mode}")))
            .execute(&mut session)
            .await
            .expect("set");
        for rows in [1, 20, 200] {
            let found = indexes(&mut session, &settle, rows).await;
            assert_eq!(found, by_key, "settling {rows} rows, {mode}");
            let found = indexes(&mut session, &sent, rows).await;
            assert_eq!(found, by_key, "settling {rows} accepted rows, {mode}");
            let found = indexes(&mut session, &standing, rows).await;
            assert_eq!(found, by_key, "reading {rows} rows, {mode}");
        }
        assert_eq!(
            indexes(&mut session, &stale, 1).await,
            by_both,
            "taking over, {mode}"
        );
        assert_eq!(
            indexes(&mut session, &due, 1).await,
            by_both,
            "due rows, {mode}"
        );
    }
}

/// Sessions tell what they did when they end.
async fn whole_reads(world: &World) -> i64 {
    sqlx::query_scalar("select seq_scan from pg_stat_user_tables where relname = 'notification'")
        .fetch_one(&world.database.pool)
        .await
        .expect("the statistics")
}

#[tokio::test(flavor = "multi_thread")]
async fn no_statement_that_was_planned_on_an_empty_ledger_reads_all_of_it_later() {
    let world = World::new().await;
    let before = whole_reads(&world).await;
    let ledger = open(&world, 1);
    // Postgres settles for one plan after five executions.
    for batch in 0..10 {
        let claims: Vec<_> = (0..20).map(|i| claim(&format!("{batch}-{i}"))).collect();
        let claimed = ledger.claim(&terms(), &claims, Uuid::new_v4()).await;
        claimed.expect("claimed");
        let moves: Vec<_> = claims
            .iter()
            .map(|claim| {
                Move::new(claim.notification.id, 1, Phase::Sending, Phase::Sent)
                    .expect("legal")
                    .proof(Source::Answer, None)
            })
            .collect();
        assert_eq!(ledger.apply(&moves).await.expect("settled").len(), 20);
        let again = ledger.claim(&terms(), &claims, Uuid::new_v4()).await;
        again.expect("found to be duplicates");
    }
    ledger.close().await;
    assert_eq!(whole_reads(&world).await, before);
}
