//! The database as it is on a bad day: empty, newer, read-only, with one connection.

use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy::{AtLeastOnce, AtMostOnce};
use nuncio::sandbox::Fault;
use serde_json::Value;

use super::super::harness::{Channel, Config, Gives, World, recipient, wait_until};
use super::execute;

fn sms(world: &World) -> Config {
    world
        .config()
        .channel(Channel::new("sms", AtMostOnce, Gives::Nothing))
}

async fn count(world: &World, query: &'static str) -> i64 {
    sqlx::query_scalar(query)
        .fetch_one(&world.database.pool)
        .await
        .expect("the database answers")
}

const WAITING: &str = "select count(*) from pg_stat_activity
    where datname = current_database() and application_name = 'nuncio'
    and wait_event_type = 'Lock'";

#[tokio::test(flavor = "multi_thread")]
async fn four_processes_apply_the_schema_once_also_when_one_is_killed_over_it() {
    let world = World::new().await;
    let config = sms(&world);
    let tables = count(
        &world,
        "select count(*) from pg_tables where schemaname = 'public'",
    )
    .await;
    execute(&world, "drop schema public cascade; create schema public").await;
    // The migration stops where it makes its first type, until this is gone.
    let mut barrier = world.database.pool.begin().await.expect("a session");
    sqlx::query("create type phase as enum ('in the way')")
        .execute(&mut *barrier)
        .await
        .expect("created");
    let mut killed = world.spawn(&config, &[]);
    world
        .database
        .waiter("the first one is in the middle")
        .await;
    let mut workers = [0; 3].map(|_| world.spawn(&config, &[]));
    wait_until("the others wait for it", async || {
        (count(&world, WAITING).await == 4).then_some(())
    })
    .await;
    killed.kill().await;
    barrier.rollback().await.expect("out of the way");
    for worker in &mut workers {
        worker.ready().await;
    }
    let again = count(
        &world,
        "select count(*) from pg_tables where schemaname = 'public'",
    )
    .await;
    assert_eq!(again, tables);
    world.publisher(&config).await.send("sms", "order-1").await;
    world.rest(1).await;
    for worker in workers {
        assert_eq!(worker.stop().await.code, Some(0));
    }
    world.audit(&config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_is_newer_than_the_program_is_refused_in_plain_words() {
    let world = World::new().await;
    let config = sms(&world);
    execute(
        &world,
        "insert into _sqlx_migrations (version, description, success, checksum, execution_time)
         values (9001, 'of tomorrow', true, '\\x00', 0)",
    )
    .await;
    let mut worker = world.spawn(&config, &[]);
    let ended = worker.ended().await;
    assert_eq!(ended.code, Some(1));
    let said = ended.stderr.lines().last().unwrap_or_default();
    assert!(
        said.contains("9001") && said.contains("newer"),
        "{}",
        ended.stderr
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_connection_is_enough_and_none_is_held_while_a_request_is_under_way() {
    let world = World::new().await;
    let mut channel = Channel::new("sms", AtLeastOnce, Gives::ReplayAndLookUp);
    channel.settle = "1s".into();
    let config = world.config().channel(channel).pool(1);
    let publisher = world.publisher(&config).await;
    let mut script = vec![(recipient("held"), vec![Fault::HangBefore])];
    // Some in doubt, so that the resolver works beside the sender.
    for i in 0..10 {
        script.push((
            recipient(&format!("order-{i}")),
            vec![Fault::CutAfterAccept],
        ));
    }
    world.sandbox.script(script).await;
    let worker = world.start(&config).await;
    publisher.send("sms", "held").await;
    let held = World::reference("sms", "held");
    world.sandbox.asked(held, 1).await;
    publisher
        .send_all((0..100).map(|i| ("sms".into(), format!("order-{i}"))))
        .await;
    wait_until("the others are sent past it", async || {
        let rows = world.rows().await;
        let sent = rows.iter().filter(|row| row.phase == Phase::Sent).count();
        let open = count(
            &world,
            "select count(*) from pg_stat_activity where datname = current_database()
             and application_name = 'nuncio' and state like 'idle in transaction%'",
        )
        .await;
        assert_eq!(open, 0, "idle in a transaction");
        (sent == 100).then_some(())
    })
    .await;
    let locks = "select count(*) from pg_locks l join pg_stat_activity a using (pid)
        where a.application_name = 'nuncio' and a.datname = current_database()
        and a.state <> 'active'";
    assert_eq!(
        count(&world, locks).await,
        0,
        "locks held by a session at rest"
    );
    let sessions = "select count(*) from pg_stat_activity
        where application_name = 'nuncio' and datname = current_database()";
    assert_eq!(count(&world, sessions).await, 1);
    world.sandbox.release().await;
    world.rest(101).await;
    worker.stop().await;
    let counts = world.sandbox.counts().await;
    assert!(
        counts.len() == 101 && counts.values().all(|sent| *sent == 1),
        "{counts:?}"
    );
    world.audit(&config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_turned_read_only_acks_nothing_and_loses_nothing() {
    let world = World::new().await;
    let mut channel = Channel::new("sms", AtMostOnce, Gives::Nothing);
    channel.queue_type = "classic";
    let config = world.config().channel(channel);
    let publisher = world.publisher(&config).await;
    let mut worker = world.start(&config).await;
    // Opened while it was writable, as this one stays.
    let mut session = world.database.session().await;
    execute(
        &world,
        "do $$ begin
            execute format('alter database %I set default_transaction_read_only = on',
                current_database());
        end $$;
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'nuncio';",
    )
    .await;
    // One that only ever asks, on its only session.
    let asks = super::open(&world, 1);
    assert!(!asks.writable().await.expect("answered"));
    for i in 0..10 {
        publisher.send("sms", &format!("order-{i}")).await;
    }
    worker.says("read-only transaction").await;
    let readiness = wait_until("it is not ready", async || {
        let answer = worker.readiness().await;
        (answer.status == 503).then_some(answer)
    })
    .await;
    assert_eq!(readiness.json()["ledger"], Value::Bool(false));
    let depths = world.broker.depths().await.expect("rabbitmqctl");
    let depth = depths[&config.queue("sms")];
    assert_eq!(depth.ready + depth.unacked, 10);
    assert!(world.rows().await.is_empty() && world.sandbox.counts().await.is_empty());
    sqlx::raw_sql(
        "do $$ begin
            execute format('alter database %I reset default_transaction_read_only',
                current_database());
        end $$;",
    )
    .execute(&mut session)
    .await
    .expect("it may be written again");
    assert!(
        asks.writable().await.expect("answered"),
        "asked in the old session"
    );
    worker.ready().await;
    world.rest(10).await;
    worker.ready().await;
    worker.stop().await;
    world.audit(&config).await;
}
