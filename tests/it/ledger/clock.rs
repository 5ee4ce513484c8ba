//! The database's clock decides, and no other.

use chrono::{TimeDelta, Utc};
use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy::AtMostOnce;
use serde_json::json;

use super::super::harness::{Channel, Gives, World, body};
use super::execute;

/// Every program's `now()` in this database is two hours ahead of every other clock here.
const AHEAD: &str = "
    create function public.now() returns timestamptz stable language sql
        as $$ select pg_catalog.now() + interval '2 hours' $$;
    do $$ begin
        execute format('alter database %I set search_path = public, pg_catalog', current_database());
    end $$;";

#[tokio::test(flavor = "multi_thread")]
async fn the_databases_clock_decides_what_is_due_and_what_is_too_late() {
    let world = World::new().await;
    execute(&world, AHEAD).await;
    let channel = Channel::new("sms", AtMostOnce, Gives::Nothing);
    let config = world.config().channel(channel);
    let publisher = world.publisher(&config).await;
    let times = [
        ("too late", "expires_at", 1, Phase::Expired),
        ("in time", "expires_at", 3, Phase::Sent),
        ("due", "send_at", 1, Phase::Sent),
        ("not due", "send_at", 3, Phase::Queued),
    ];
    for (key, field, hours, _) in times {
        let mut message = body("sms", key);
        message[field] = json!(Utc::now() + TimeDelta::hours(hours));
        publisher.json("sms", &message).await;
    }
    let worker = world.start(&config).await;
    for (key, _, _, phase) in times {
        world
            .row_when(&format!("is {phase}"), "sms", key, |row| row.phase == phase)
            .await;
    }
    let not_due = World::reference("sms", "not due");
    assert!(world.sandbox.so_far(not_due).await.requests.is_empty());
    execute(
        &world,
        "update notification set due_at = public.now() where phase = 'queued'",
    )
    .await;
    world.rest(4).await;
    worker.stop().await;
    world.audit(&config).await;
}
