use std::collections::HashMap;
use std::net::SocketAddr;

use clap::Parser as _;

use super::args::{DemoArgs, name};
use super::count::{Observed, Row};
use super::lanes::{LANES, Lane};
use super::promise::{Breach, Promise};
use super::report::{Account, Report};
use super::{config_file, kills, stage};
use crate::config;
use crate::domain::identity::send_key;
use crate::domain::phase::Phase::{self, Failed, Parked, Sending, Sent};

#[derive(clap::Parser)]
struct Cli {
    #[command(flatten)]
    demo: DemoArgs,
}

fn args() -> DemoArgs {
    Cli::parse_from(["nuncio"]).demo
}

fn lane(promise: Promise) -> Lane {
    LANES
        .into_iter()
        .find(|lane| lane.promise == promise)
        .expect("every promise has a lane")
}

/// A channel whose notifications had these fates: phase, and physical sends.
fn observed(lane: &Lane, fates: &[(Phase, u32)]) -> Observed {
    let key = |number: usize| format!("order-{number}");
    let row = |(number, (phase, sends)): (usize, &(Phase, u32))| Row {
        key: key(number),
        phase: *phase,
        generations: 1,
        possible_duplicates: sends.saturating_sub(1),
        worker_lost: false,
        settled_by: (*phase == Sent).then(|| "answer".to_owned()),
    };
    let sends = |(number, (_, sends)): (usize, &(Phase, u32))| {
        let reference = send_key(lane.name, &key(number), 1).to_string();
        (reference, *sends)
    };
    Observed::compare(
        lane.name,
        fates.len() as u64,
        fates.iter().enumerate().map(row).collect(),
        fates.iter().enumerate().map(sends).collect(),
    )
}

fn broken(promise: Promise, fates: &[(Phase, u32)]) -> Vec<Breach> {
    let lane = lane(promise);
    Account::new(&args(), lane, &observed(&lane, fates)).breaches
}

fn report(accounts: Vec<Account>) -> Report {
    Report::new(&args(), 6, 40.0, "/tmp/demo/nuncio.toml".into(), accounts)
}

#[test]
fn at_most_once_may_lose_in_the_open_but_never_send_twice_or_lose_silently() {
    let promise = Promise::NeverTwice;
    assert_eq!(broken(promise, &[(Sent, 1), (Parked, 0), (Parked, 1)]), []);
    assert_eq!(
        broken(promise, &[(Sent, 1), (Parked, 2)]),
        [Breach::Twice(1)]
    );
    assert_eq!(
        broken(promise, &[(Sent, 1), (Failed, 0)]),
        [Breach::LostSilently(1)]
    );
    assert_eq!(
        broken(promise, &[(Sent, 0)]),
        [Breach::FalseSent(1), Breach::LostSilently(1)]
    );
}

#[test]
fn at_least_once_may_send_twice_but_never_lose_or_park() {
    let promise = Promise::NeverLost;
    assert_eq!(broken(promise, &[(Sent, 1), (Sent, 3)]), []);
    assert_eq!(
        broken(promise, &[(Sent, 1), (Parked, 0), (Parked, 1)]),
        [Breach::Lost(1), Breach::Parked(2)]
    );
    assert_eq!(
        broken(promise, &[(Failed, 0)]),
        [Breach::Lost(1), Breach::Failed(1)]
    );
}

#[test]
fn with_key_and_look_up_each_goes_out_once() {
    let promise = Promise::EachOnce;
    assert_eq!(broken(promise, &[(Sent, 1), (Sent, 1)]), []);
    assert_eq!(broken(promise, &[(Sent, 2)]), [Breach::Twice(1)]);
    assert_eq!(broken(promise, &[(Parked, 1)]), [Breach::Parked(1)]);
}

#[test]
fn a_row_that_is_missing_open_or_unknown_breaks_every_promise() {
    for lane in LANES {
        let mut observed = observed(&lane, &[(Sent, 1), (Sending, 1)]);
        observed.published = 3;
        observed.strangers = 1;
        observed.quarantined = 1;
        let account = Account::new(&args(), lane, &observed);
        for breach in [
            Breach::Missing(1),
            Breach::Open(1),
            Breach::Stranger(1),
            Breach::Quarantined(1),
        ] {
            assert!(account.breaches.contains(&breach), "{breach}");
        }
    }
}

#[test]
fn a_duplicate_that_the_ledger_did_not_count_is_a_breach() {
    let lane = lane(Promise::NeverLost);
    let mut observed = observed(&lane, &[(Sent, 2)]);
    observed.fates[0].row.possible_duplicates = 0;
    let account = Account::new(&args(), lane, &observed);
    assert_eq!(account.breaches, [Breach::Unexplained(1)]);
}

#[test]
fn sends_are_summed_over_the_send_keys_of_a_row_and_what_is_left_belongs_to_nobody() {
    let row = Row {
        key: "k".into(),
        phase: Sent,
        generations: 2,
        possible_duplicates: 1,
        worker_lost: false,
        settled_by: None,
    };
    let sends: HashMap<String, u32> = [1, 2, 3]
        .map(|generation| (send_key("c", "k", generation).to_string(), 1))
        .into();
    let observed = Observed::compare("c", 1, vec![row], sends);
    assert_eq!((observed.fates[0].sends, observed.strangers), (2, 1));
    assert_eq!(observed.counts().duplicates, 1);
}

#[test]
fn one_broken_promise_breaks_the_demo_and_is_named() {
    let account = |promise, fates: &[(Phase, u32)]| {
        let lane = lane(promise);
        Account::new(&args(), lane, &observed(&lane, fates))
    };
    let good = || account(Promise::NeverTwice, &[(Sent, 1), (Parked, 0)]);
    let held = report(vec![good()]);
    assert!(held.held());
    assert!(
        held.print(false)
            .contains("at-most-once (no key, no look-up): held")
    );

    let broken = report(vec![good(), account(Promise::EachOnce, &[(Sent, 2)])]);
    assert!(!broken.held());
    let text = broken.print(false);
    assert!(
        text.contains("at-least-once-with-key (key and look-up): BROKEN: 1 sent more than once."),
        "{text}"
    );
    assert!(
        text.lines().any(|line| line.trim_end().ends_with("NO")),
        "{text}"
    );
    let json: serde_json::Value = serde_json::from_str(&broken.print(true)).expect("it is JSON");
    assert_eq!(json["promises_held"], false);
    assert_eq!(json["channels"][0]["promise_held"], true);
    assert_eq!(json["channels"][1]["breaches"][0], "1 sent more than once");
}

#[test]
fn what_was_kept_is_named_with_the_commands_to_look_at_it() {
    let lane = lane(Promise::NeverTwice);
    let fates = observed(&lane, &[(Sent, 1), (Parked, 0)]);
    let account = || vec![Account::new(&args(), lane, &fates)];
    let kept = report(account()).kept(true).print(false);
    assert!(kept.contains("list --stuck --config /tmp/demo/nuncio.toml"));
    assert!(kept.contains("explain order-1 --channel at-most-once --config /tmp/demo/nuncio.toml"));
    let gone = report(account()).print(false);
    assert!(gone.contains("scripts/demo --keep") && !gone.contains("explain"));
}

#[test]
fn kills_are_seeded_ascending_and_in_the_midst_of_the_run() {
    let points = kills::points(34, 6, 3000);
    assert_eq!(points, kills::points(34, 6, 3000));
    assert_ne!(points, kills::points(35, 6, 3000));
    assert!(points.is_sorted());
    assert!(points.iter().all(|point| (150..=2700).contains(point)));
    assert!(kills::points(34, 0, 3000).is_empty());
}

#[test]
fn the_configuration_has_no_mistake_and_leads_to_the_demos_own_database() {
    let environment = |name: &str| match name {
        "NUNCIO_DATABASE_URL" => Some("postgres://u:p%22w@db/nuncio?sslmode=disable".to_owned()),
        "NUNCIO_AMQP_URL" => Some("amqp://u:w@mq/%2f".to_owned()),
        _ => None,
    };
    let servers = stage::servers(&environment).expect("both are given");
    assert_eq!(
        servers.database_of("nuncio-demo"),
        "postgres://u:p%22w@db/nuncio_demo?sslmode=disable"
    );
    let addresses = [8001, 8002, 8003].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    let text = config_file::text("nuncio-demo", &servers, &addresses);
    let config = config::parse("demo", &text, &|_| None).unwrap_or_else(|e| panic!("{e}"));
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    let own = |queue: &str| queue.starts_with("nuncio-demo.");
    assert!(config.channels.iter().all(|channel| own(&channel.queue)));
}

#[test]
fn a_missing_server_is_named() {
    let missing = stage::servers(&|_| None).err().expect("nothing is given");
    assert!(
        missing
            .to_string()
            .contains("NUNCIO_DATABASE_URL is not set")
    );
}

#[test]
fn a_demo_cannot_be_named_like_somebodys_data() {
    assert!(name("nuncio-demo").is_ok() && name("nuncio-demo-2").is_ok());
    for wrong in [
        "nuncio",
        "postgres",
        "nuncio-demo;x",
        "nuncio-demo X",
        "nuncio-demo\"",
        "nuncio-demo-0123456789012345678901234567890",
    ] {
        assert!(name(wrong).is_err(), "{wrong}");
    }
}
