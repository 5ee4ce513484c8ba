//! The short selection that runs with all tests: one round of each kind of fault, from a fixed seed.
//! A round that restarts or cripples a server runs alone.

use crate::draw;
use crate::round;
use crate::servers::SERVERS;

/// On servers that others use at the same time.
async fn beside_others(kind: &str, seed: u64, bite: &[&str]) {
    let _shared = SERVERS.read().await;
    play(kind, seed, bite).await;
}

/// With the servers to itself.
async fn alone(kind: &str, seed: u64, bite: &[&str]) {
    let _alone = SERVERS.write().await;
    play(kind, seed, bite).await;
}

/// A worker asked the database in vain. Which statement it was depends on the instant.
const ASKED_IN_VAIN: &[&str] = &[
    "workers said: not claimed yet",
    "workers said: due rows could not be claimed",
    "workers said: outcomes could not be written yet",
];

/// `bite` is what is counted, one or the other, when the fault has reached what it was meant for.
async fn play(kind: &str, seed: u64, bite: &[&str]) {
    let schedule = draw::schedule(kind, seed);
    eprintln!("{schedule}");
    let tally = round::run(&schedule).await;
    eprintln!("{tally}");
    assert!(
        bite.iter().any(|count| tally.of(count) > 0),
        "the fault did not bite: {bite:?}"
    );
}

macro_rules! rounds {
    ($($name:ident: $how:ident($kind:literal, $seed:literal), $bite:expr;)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            $how($kind, $seed, $bite).await;
        }
    )*};
}

rounds! {
    promises_hold_when_workers_are_killed_at_random:
        beside_others("kill", 1), &["rows: amo parked"];
    promises_hold_when_workers_are_killed_just_after_an_acceptance:
        beside_others("kill-after-send", 1), &["rows: amo parked"];
    promises_hold_when_workers_stand_still_past_their_leases:
        beside_others("stop", 1), &["did: continue"];
    promises_hold_in_a_rolling_restart_under_load:
        beside_others("rolling", 1), &["did: restart"];
    promises_hold_when_commits_are_unknown:
        beside_others("unknown-commit", 1), &["cuts around a statement"];
    promises_hold_when_the_database_lags_beyond_its_limit:
        beside_others("lag", 1), ASKED_IN_VAIN;
    living_workers_go_first_when_the_database_comes_back:
        beside_others("outage", 1), ASKED_IN_VAIN;
    promises_hold_when_the_database_is_read_only:
        beside_others("read-only", 1), ASKED_IN_VAIN;
    promises_hold_in_a_storm_of_duplicates:
        beside_others("storm", 1), &["did: replay"];
    promises_hold_when_queues_are_deleted:
        beside_others("queue-deleted", 1), &["workers said: the queue's stream ended"];
    promises_hold_when_postgres_restarts:
        alone("postgres-restart", 1), ASKED_IN_VAIN;
    promises_hold_when_postgres_crashes:
        alone("postgres-crash", 1), ASKED_IN_VAIN;
    promises_hold_when_rabbitmq_restarts:
        alone("rabbitmq-restart", 1), &["workers said: the queue's stream ended"];
    promises_hold_when_the_broker_closes_connections:
        alone("connections-closed", 1), &["workers said: the queue's stream ended"];
    promises_hold_when_the_broker_has_no_memory_left:
        alone("memory-alarm", 1), &["did: rabbitmq alarm"];
    promises_hold_when_the_broker_gives_up_deliveries:
        alone("ack-timeout", 1), &["workers said: delivery acknowledgement on channel"];
}
