//! The long run, which `scripts/chaos` starts and tells by its environment what to do.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;

use crate::draw;
use crate::round;
use crate::schedule::Schedule;
use crate::servers::SERVERS;
use crate::tally::Tally;

/// What to run.
struct Orders {
    minutes: u64,
    rounds: Option<u64>,
    seed: u64,
    only: Option<String>,
    schedule: Option<Schedule>,
}

impl Orders {
    /// Without any: one round of everything together, among the other tests.
    fn from_environment() -> Self {
        let of = |name: &str| std::env::var(format!("NUNCIO_CHAOS_{name}")).ok();
        let number = |name: &str| {
            of(name).map(|text| {
                text.parse::<u64>()
                    .unwrap_or_else(|_| panic!("NUNCIO_CHAOS_{name} is no number: {text:?}"))
            })
        };
        let schedule = of("SCHEDULE").map(|text| {
            text.parse()
                .unwrap_or_else(|line| panic!("no line of a schedule: {line:?}"))
        });
        let minutes = number("MINUTES");
        let rounds = number("ROUNDS");
        let alone = minutes.is_none() && rounds.is_none();
        Self {
            minutes: minutes.unwrap_or(u64::MAX / 60),
            rounds: if alone || schedule.is_some() {
                Some(1)
            } else {
                rounds
            },
            seed: number("SEED").unwrap_or(1),
            only: of("ONLY").or_else(|| alone.then(|| "mix".to_owned())),
            schedule,
        }
    }

    /// The schedule of a round: each with the next seed, each kind in its turn. The kind is the
    /// seed's, so that a run may be broken off and gone on with at the next seed.
    fn schedule(&self, round: u64) -> Schedule {
        if let Some(schedule) = &self.schedule {
            return schedule.clone();
        }
        let seed = self.seed + round;
        let turn = usize::try_from(seed).expect("not so many") % draw::KINDS.len();
        let kind = self.only.as_deref().unwrap_or(draw::KINDS[turn].name);
        draw::schedule(kind, seed)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promises_hold_in_a_long_run() {
    let orders = Orders::from_environment();
    let _alone = SERVERS.write().await;
    let began = Instant::now();
    let limit = Duration::from_secs(orders.minutes * 60);
    let mut tally = Tally::default();
    let mut failed = Vec::new();
    for round in 0..orders.rounds.unwrap_or(u64::MAX) {
        if began.elapsed() >= limit {
            break;
        }
        let schedule = orders.schedule(round);
        eprint!("{schedule}");
        let started = Instant::now();
        let played = AssertUnwindSafe(round::run(&schedule)).catch_unwind().await;
        let seconds = started.elapsed().as_secs_f64();
        match played {
            Ok(counts) => {
                eprintln!("held, {seconds:.1} s\n");
                tally.add(&counts);
            }
            Err(_) => {
                let replay = format!(
                    "scripts/chaos --rounds 1 --only {} --seed {}",
                    schedule.name, schedule.seed
                );
                eprintln!("BROKEN, {seconds:.1} s; again with: {replay}\n");
                failed.push(replay);
            }
        }
    }
    eprintln!("{:.0} s\n{tally}", began.elapsed().as_secs_f64());
    assert!(
        failed.is_empty(),
        "promises were broken:\n{}",
        failed.join("\n")
    );
}
