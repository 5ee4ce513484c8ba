//! Workers killed at each seam of a message's way, for both policies and everything that a
//! provider may promise. What the provider physically sent is counted by the provider.

use std::time::Duration;

use nuncio::domain::phase::Phase::{self, Parked, Sending, Sent};
use nuncio::domain::policy::Policy::{self, AtLeastOnce, AtMostOnce};
use nuncio::sandbox::Fault;
use sqlx::Connection;

use crate::harness::Gives::{FuzzyLookUp, LookUp, Nothing, Replay, ReplayAndLookUp, Tombstone};
use crate::harness::{Channel, Config, Flow, Gives, Proxy, Row, Worker, World, wait_until};

/// How a notification rests after its worker was killed and somebody settled the doubt.
#[derive(Debug)]
struct Rests {
    gives: Gives,
    policy: Policy,
    /// Physical sends, over all attempts.
    sent: u64,
    phase: Phase,
    proof: Option<&'static str>,
    possible_duplicates: i32,
    /// A line of its history says why.
    because: &'static str,
}

#[rustfmt::skip]
const NEVER_ARRIVED: [Rests; 12] = [
    // provider gives        policy       sent  phase   proof            doubles  because
    rests(Nothing,         AtMostOnce,  0, Parked, None,           0, "nothing can be known, at-most-once parks it"),
    rests(Nothing,         AtLeastOnce, 1, Sent,   Some("answer"), 1, "nothing can be known, at-least-once sends again: a possible duplicate"),
    rests(Replay,          AtMostOnce,  1, Sent,   Some("replay"), 0, "under the same key"),
    rests(Replay,          AtLeastOnce, 1, Sent,   Some("replay"), 0, "under the same key"),
    rests(LookUp,          AtMostOnce,  1, Sent,   Some("answer"), 0, "proved absent, sent again"),
    rests(LookUp,          AtLeastOnce, 1, Sent,   Some("answer"), 0, "proved absent, sent again"),
    rests(ReplayAndLookUp, AtMostOnce,  1, Sent,   Some("replay"), 0, "under the same key"),
    rests(ReplayAndLookUp, AtLeastOnce, 1, Sent,   Some("replay"), 0, "under the same key"),
    rests(FuzzyLookUp,     AtMostOnce,  0, Parked, None,           0, "nothing can be known, at-most-once parks it"),
    rests(FuzzyLookUp,     AtLeastOnce, 1, Sent,   Some("answer"), 1, "nothing can be known, at-least-once sends again: a possible duplicate"),
    rests(Tombstone,       AtMostOnce,  1, Sent,   Some("replay"), 0, "under the same key"),
    rests(Tombstone,       AtLeastOnce, 1, Sent,   Some("replay"), 0, "under the same key"),
];

#[rustfmt::skip]
const ACCEPTED: [Rests; 12] = [
    // provider gives        policy       sent  phase   proof              doubles  because
    rests(Nothing,         AtMostOnce,  1, Parked, None,             0, "nothing can be known, at-most-once parks it"),
    rests(Nothing,         AtLeastOnce, 2, Sent,   Some("answer"),   1, "nothing can be known, at-least-once sends again: a possible duplicate"),
    rests(Replay,          AtMostOnce,  1, Sent,   Some("replay"),   0, "under the same key"),
    rests(Replay,          AtLeastOnce, 1, Sent,   Some("replay"),   0, "under the same key"),
    rests(LookUp,          AtMostOnce,  1, Sent,   Some("look_up"),  0, "1 message"),
    rests(LookUp,          AtLeastOnce, 1, Sent,   Some("look_up"),  0, "1 message"),
    rests(ReplayAndLookUp, AtMostOnce,  1, Sent,   Some("replay"),   0, "under the same key"),
    rests(ReplayAndLookUp, AtLeastOnce, 1, Sent,   Some("replay"),   0, "under the same key"),
    rests(FuzzyLookUp,     AtMostOnce,  1, Sent,   Some("inferred"), 0, "1 message"),
    rests(FuzzyLookUp,     AtLeastOnce, 1, Sent,   Some("inferred"), 0, "1 message"),
    rests(Tombstone,       AtMostOnce,  1, Sent,   Some("replay"),   0, "the provider has it already"),
    rests(Tombstone,       AtLeastOnce, 1, Sent,   Some("replay"),   0, "the provider has it already"),
];

const fn rests(
    gives: Gives,
    policy: Policy,
    sent: u64,
    phase: Phase,
    proof: Option<&'static str>,
    possible_duplicates: i32,
    because: &'static str,
) -> Rests {
    Rests {
        gives,
        policy,
        sent,
        phase,
        proof,
        possible_duplicates,
        because,
    }
}

#[tokio::test]
async fn killed_after_the_claim_and_before_the_request() {
    let world = World::new().await;
    let on_the_way = Proxy::before(world.sandbox.address).await;
    on_the_way.flow(Flow::Hold);
    let mut config = channels(&world, &NEVER_ARRIVED);
    for channel in &mut config.channels {
        channel.provider = Some(on_the_way.address);
    }
    let mut worker = world.start_as(&config, "worker").await;
    publish_one_each(&world, &config).await;
    // In this session, so committed.
    claimed(&world, &config).await;
    worker.kill().await;
    // What the worker had written goes with its connection.
    on_the_way.cut();
    on_the_way.flow(Flow::Pass);
    assert_eq!(world.sandbox.summary().await["requests"], 0);

    world.let_pass(LEASE).await;
    let worker = world.start(&config).await;
    world.rest(config.channels.len()).await;
    worker.stop().await;
    check(&world, &config, &NEVER_ARRIVED).await;
}

#[tokio::test]
async fn killed_after_the_acceptance_and_before_the_answer() {
    let world = World::new().await;
    let config = channels(&world, &ACCEPTED);
    let mut worker = accepted_and_unanswered(&world, &config).await;
    claimed(&world, &config).await;
    worker.kill().await;

    world.let_pass(LEASE).await;
    // The resolver as the job that a scheduler runs, pass after pass.
    let worker = world.start_as(&config, "worker").await;
    let mut parked = String::new();
    wait_until("reconcile settles all doubt", async || {
        let pass = world.reconcile(&config, &[]).await;
        match pass.code {
            Some(0) => {}
            Some(1) => parked += &pass.stdout,
            code => panic!("reconcile ended with {code:?}: {}", pass.stderr),
        }
        let open = |row: &Row| matches!(row.phase, Sending | Phase::Queued);
        (!world.rows().await.iter().any(open)).then_some(())
    })
    .await;
    worker.stop().await;
    check(&world, &config, &ACCEPTED).await;
    // Exit code 1 and a line for what a person has to look at, and for nothing else.
    for channel in &config.channels {
        let row = world.row(&channel.name, KEY).await;
        let line = format!("{} {KEY:?}: ", channel.name);
        assert_eq!(parked.contains(&line), row.phase == Parked, "{parked}");
    }
}

#[tokio::test]
async fn killed_after_the_answer_and_before_it_could_settle() {
    let world = World::new().await;
    let config = channels(&world, &ACCEPTED);
    let mut worker = accepted_and_unanswered(&world, &config).await;
    let mut holder = world.database.session().await;
    let mut lock = holder.begin().await.unwrap();
    sqlx::query("select from notification for update")
        .execute(&mut *lock)
        .await
        .unwrap();
    world.sandbox.release().await;
    answered(&world, &config).await;
    world.database.waiter("the outcome is being written").await;
    worker.kill().await;
    // A server finishes the statement of a client that has gone, unless it is told not to.
    world.database.end_sessions_of_programs().await;
    lock.rollback().await.unwrap();
    claimed(&world, &config).await;

    world.let_pass(LEASE).await;
    let worker = world.start(&config).await;
    world.rest(config.channels.len()).await;
    worker.stop().await;
    check(&world, &config, &ACCEPTED).await;
}

#[tokio::test]
async fn an_outcome_under_way_to_the_ledger_counts_when_its_worker_dies() {
    let world = World::new().await;
    let config = world
        .config()
        .channel(Channel::new("sms", AtLeastOnce, Nothing));
    let mut worker = accepted_and_unanswered(&world, &config).await;
    let mut holder = world.database.session().await;
    let mut lock = holder.begin().await.unwrap();
    sqlx::query("select from notification for update")
        .execute(&mut *lock)
        .await
        .unwrap();
    world.sandbox.release().await;
    world.database.waiter("the outcome is being written").await;
    worker.kill().await;
    lock.rollback().await.unwrap();

    let row = world
        .row_when("sent", "sms", KEY, |row| row.phase == Sent)
        .await;
    assert_eq!(
        (row.attempt, row.settled_by.as_deref()),
        (1, Some("answer"))
    );
    world.start(&config).await.stop().await;
    world.audit(&config).await;
}

const KEY: &str = "order-1";

/// The lease of [`channels`].
const LEASE: Duration = Duration::from_secs(60);

/// A channel for each line of a table.
fn channels(world: &World, table: &[Rests]) -> Config {
    table.iter().fold(world.config(), |config, line| {
        config.channel(Channel::new(&name(line), line.policy, line.gives))
    })
}

fn name(line: &Rests) -> String {
    format!("{:?}-{}", line.gives, line.policy).to_lowercase()
}

async fn publish_one_each(world: &World, config: &Config) {
    let publisher = world.publisher(config).await;
    for channel in &config.channels {
        // Recipients of their own: a look-up by recipient must find its own message only.
        let mut message = crate::harness::body(&channel.name, KEY);
        message["to"] = crate::harness::recipient(&channel.name).into();
        publisher.json(&channel.name, &message).await;
    }
}

/// A worker whose requests the provider has all accepted, and not yet answered.
async fn accepted_and_unanswered(world: &World, config: &Config) -> Worker {
    let hangs = config
        .channels
        .iter()
        .map(|channel| (World::reference(&channel.name, KEY), vec![Fault::Hang]));
    world.sandbox.script(hangs).await;
    let worker = world.start_as(config, "worker").await;
    publish_one_each(world, config).await;
    for channel in &config.channels {
        world
            .sandbox
            .sent(World::reference(&channel.name, KEY), 1)
            .await;
    }
    worker
}

async fn answered(world: &World, config: &Config) {
    for channel in &config.channels {
        let reference = World::reference(&channel.name, KEY);
        world.sandbox.answered(reference, 1).await;
    }
}

/// Waits until every claim is to be seen in this session, as a first attempt that nothing is known
/// about.
async fn claimed(world: &World, config: &Config) {
    for channel in &config.channels {
        world
            .row_when("claimed", &channel.name, KEY, |row| {
                (row.phase, row.attempt) == (Sending, 1) && row.doubt_since.is_none()
            })
            .await;
    }
}

async fn check(world: &World, config: &Config, table: &[Rests]) {
    for line in table {
        let channel = name(line);
        let row = world.row(&channel, KEY).await;
        let sent = world.sandbox.so_far(row.id).await.accepted;
        assert_eq!(
            (
                sent,
                row.phase,
                row.settled_by.as_deref(),
                row.possible_duplicates
            ),
            (line.sent, line.phase, line.proof, line.possible_duplicates),
            "{line:?}\n{row:?}\n{:#?}",
            world.history(&channel, KEY).await
        );
        assert_eq!(row.generation, 1, "no reason for another key: {row:?}");
        assert_eq!(row.provider_id.is_some(), row.phase == Sent, "{row:?}");
        let history = world.history(&channel, KEY).await;
        assert!(
            history
                .iter()
                .any(|told| told.detail.contains(line.because)),
            "{:?} is not in the history: {history:#?}",
            line.because
        );
        if row.phase == Parked {
            assert_eq!(row.doubt_cause.as_deref(), Some("worker_lost"));
        }
    }
    world.audit(config).await;
}
