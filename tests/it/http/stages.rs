//! What became of a request says what it taught: by how far it got, never by "an error happened".

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy::{AtLeastOnce, AtMostOnce};
use nuncio::sandbox::Fault;

use super::super::harness::{Channel, Gives, World, recipient, wait_until};

/// What is to be seen after the first round, with nobody to settle doubt.
#[derive(Clone, Copy)]
enum Seen {
    /// Sent, at this request.
    Sent(usize),
    /// In doubt, for this cause.
    Doubt(&'static str),
}

use Seen::{Doubt, Sent};

const DAY: Duration = Duration::from_secs(86_400);
const TWO: Duration = Duration::from_secs(2);
const THREE: Duration = Duration::from_secs(3);

/// Fault, what is seen, physical sends.
const TABLE: [(Fault, Seen, u64); 23] = [
    (Fault::Ok, Sent(1), 1),
    (Fault::Slow(Duration::from_millis(300)), Sent(1), 1),
    (Fault::NulInBody, Sent(1), 1),
    (Fault::RetryAfterIn202, Sent(1), 1),
    (Fault::Refuse503, Sent(2), 1),
    (Fault::Throttle(TWO), Sent(2), 1),
    (Fault::ThrottleDate(THREE), Sent(2), 1),
    (Fault::Drop, Doubt("connection_lost"), 0),
    (Fault::CutAfterAccept, Doubt("connection_lost"), 1),
    (Fault::WrongLength, Doubt("connection_lost"), 1),
    (Fault::Fail500, Doubt("server_error"), 0),
    (Fault::Fail500Cached, Doubt("server_error"), 0),
    (Fault::AcceptThen500, Doubt("server_error"), 1),
    (Fault::AcceptThen502, Doubt("server_error"), 1),
    (Fault::AcceptThen504, Doubt("server_error"), 1),
    (Fault::ErrorIn200, Doubt("unintelligible"), 0),
    (Fault::Empty200, Doubt("unintelligible"), 1),
    (Fault::Html200, Doubt("unintelligible"), 1),
    (Fault::Garbage, Doubt("unintelligible"), 1),
    (Fault::Flood, Doubt("unintelligible"), 1),
    (Fault::Hang, Doubt("timeout"), 1),
    (Fault::HangBefore, Doubt("timeout"), 0),
    (Fault::Endless, Doubt("timeout"), 1),
];

fn key(fault: Fault) -> String {
    format!("{fault:?}")
        .to_lowercase()
        .replace(['(', ')', '.'], " ")
}

async fn at(world: &World, channel: &str, key: &str) -> Vec<DateTime<Utc>> {
    let arrived = world.sandbox.so_far(World::reference(channel, key)).await;
    let at = |request: &serde_json::Value| serde_json::from_value(request["at"].clone());
    arrived
        .requests
        .iter()
        .map(|r| at(r).expect("a time"))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_answer_teaches_what_it_proves_and_no_more() {
    let world = World::new().await;
    let channel = Channel::new("once", AtMostOnce, Gives::Nothing).times("2s", "60s");
    let config = world.config().channel(channel.concurrency(40));
    let publisher = world.publisher(&config).await;
    let script = TABLE.map(|(fault, ..)| (recipient(&key(fault)), vec![fault]));
    world.sandbox.script(script).await;
    let mut worker = world.start_as(&config, "worker").await;
    let resting = memory(worker.id(), "VmRSS");
    for (fault, ..) in TABLE {
        publisher.send("once", &key(fault)).await;
    }
    for (number, key) in [
        ("+15550000001", "bad number"),
        ("+15550000002", "opted out"),
    ] {
        let mut message = super::super::harness::body("once", key);
        message["to"] = number.into();
        publisher.json("once", &message).await;
    }
    for (fault, seen, sent) in TABLE {
        let key = key(fault);
        let settled = |row: &super::super::harness::Row| {
            row.phase == Phase::Sent || row.doubt_cause.is_some()
        };
        let row = world
            .row_when("has an outcome", "once", &key, settled)
            .await;
        let arrived = world.sandbox.so_far(World::reference("once", &key)).await;
        match seen {
            Sent(requests) => {
                assert_eq!(row.phase, Phase::Sent, "{row:#?}");
                assert_eq!(arrived.requests.len(), requests, "{key}: {arrived:?}");
                assert!(
                    row.provider_id.is_some_and(|id| !id.contains('\0')),
                    "{key}"
                );
            }
            Doubt(cause) => {
                assert_eq!(row.phase, Phase::Sending, "{row:#?}");
                assert_eq!(row.doubt_cause.as_deref(), Some(cause), "{key}: {row:#?}");
                assert_eq!(arrived.requests.len(), 1, "{key}: {arrived:?}");
            }
        }
        assert_eq!(arrived.accepted, sent, "{key}");
        let said = row.last_text.unwrap_or_default();
        assert!(
            !said.contains(char::is_control) && said.chars().count() < 400,
            "{said}"
        );
    }
    for key in ["bad number", "opted out"] {
        let row = world
            .row_when("failed", "once", key, |r| r.phase == Phase::Failed)
            .await;
        assert_eq!(row.sends, 1, "{row:#?}");
        assert!(
            !row.last_text.expect("said").contains("1555000000"),
            "the number is kept"
        );
    }
    for (fault, pause) in [(Fault::Throttle(TWO), 2), (Fault::ThrottleDate(THREE), 2)] {
        let at = at(&world, "once", &key(fault)).await;
        assert!(
            at[1] - at[0] >= TimeDelta::seconds(pause),
            "{fault:?}: {at:?}"
        );
        assert!(at[1] - at[0] < TimeDelta::seconds(15), "{fault:?}: {at:?}");
    }
    let grown = memory(worker.id(), "VmHWM").saturating_sub(resting);
    assert!(grown < 20 * 1024, "{grown} KiB more, for endless answers");

    // Nothing can be known, so at-most-once leaves every doubt to a person, and sends no more.
    worker.kill().await;
    world.sandbox.release().await;
    world.let_pass(DAY).await;
    let ended = world.reconcile(&config, &[]).await;
    assert_eq!(ended.code, Some(1), "{}", ended.stdout);
    for (fault, seen, _) in TABLE {
        let row = world.row("once", &key(fault)).await;
        let expected = match seen {
            Sent(_) => Phase::Sent,
            Doubt(_) => Phase::Parked,
        };
        assert_eq!(row.phase, expected, "{row:#?}");
    }
    world.audit(&config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_replay_and_a_log_every_fault_ends_as_one_send() {
    let world = World::new().await;
    let channel = Channel::new("again", AtLeastOnce, Gives::ReplayAndLookUp).times("2s", "60s");
    let config = world.config().channel(channel.concurrency(40));
    let publisher = world.publisher(&config).await;
    // An error in a 200 is stored under its key and repeated for as long as the window lasts.
    let faults = || {
        TABLE
            .into_iter()
            .map(|(f, ..)| f)
            .filter(|f| *f != Fault::ErrorIn200)
    };
    world
        .sandbox
        .script(faults().map(|f| (recipient(&key(f)), vec![f])))
        .await;
    let worker = world.start(&config).await;
    for fault in faults() {
        publisher.send("again", &key(fault)).await;
    }
    let rows = world.rest(TABLE.len() - 1).await;
    for row in &rows {
        assert_eq!(
            (row.phase, row.possible_duplicates),
            (Phase::Sent, 0),
            "{row:#?}"
        );
    }
    worker.stop().await;
    let summary = world.sandbox.summary().await;
    assert_eq!(summary["sent"], rows.len());
    assert_eq!(summary["sent_more_than_once"], 0);
    assert_eq!(summary["mismatches"], 0);
    world.audit(&config).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acceptance_that_the_provider_forgets_is_still_what_it_said() {
    let world = World::new().await;
    let channel = Channel::new("once", AtMostOnce, Gives::LookUp);
    let config = world.config().channel(channel);
    let publisher = world.publisher(&config).await;
    world.sandbox.script([("*", vec![Fault::Lying2xx])]).await;
    let worker = world.start(&config).await;
    publisher.send("once", "order-1").await;
    let row = &world.rest(1).await[0];
    assert_eq!(row.phase, Phase::Sent);
    assert!(row.provider_id.is_some());
    worker.stop().await;
    let reference = World::reference("once", "order-1");
    wait_until("one request and no other", async || {
        (world.sandbox.so_far(reference).await.requests.len() == 1).then_some(())
    })
    .await;
}

/// A line of /proc/PID/status, in KiB.
fn memory(id: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("it runs");
    let line = status.lines().find(|line| line.starts_with(name));
    let figure = line.and_then(|line| line.split_whitespace().nth(1));
    figure
        .and_then(|figure| figure.parse().ok())
        .expect("a figure")
}
