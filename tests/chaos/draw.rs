//! Schedules drawn from a seed, one function for each kind of fault.

use std::ops::Range;
use std::time::Duration;

use fastrand::Rng;

use crate::action::{Action, Statement};
use crate::harness::{Cut, Flow};
use crate::load::CHANNELS;
use crate::schedule::{Schedule, Setting, When};

/// One kind of fault.
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    draw: fn(&mut Rng, &mut Schedule),
    /// Half of the rounds have a provider that does everything right.
    calm: bool,
}

/// Every kind.
pub const KINDS: [Kind; 18] = [
    kind("kill", kills),
    kind("kill-after-send", kills_after_sends),
    kind("stop", stops),
    or_calm("rolling", rolling_restart),
    or_calm("postgres-restart", postgres_restarts),
    or_calm("postgres-crash", postgres_crashes),
    or_calm("read-only", read_only),
    or_calm("unknown-commit", unknown_commits),
    or_calm("lag", lag),
    kind("outage", outage),
    or_calm("rabbitmq-restart", rabbitmq_restarts),
    or_calm("queue-deleted", queue_deleted),
    or_calm("connections-closed", connections_closed),
    or_calm("memory-alarm", memory_alarm),
    or_calm("ack-timeout", ack_timeout),
    kind("storm", duplicate_storm),
    kind("clocks", wrong_clocks),
    kind("mix", mix),
];

const fn kind(name: &'static str, draw: fn(&mut Rng, &mut Schedule)) -> Kind {
    Kind {
        name,
        draw,
        calm: false,
    }
}

/// Nobody is killed or stands still, so that nothing but the provider can make doubt.
const fn or_calm(name: &'static str, draw: fn(&mut Rng, &mut Schedule)) -> Kind {
    Kind {
        name,
        draw,
        calm: true,
    }
}

/// The schedule of a kind for a seed.
pub fn schedule(name: &str, seed: u64) -> Schedule {
    let known = KINDS.iter().find(|kind| kind.name == name);
    let kind = known.unwrap_or_else(|| {
        let names = KINDS.map(|kind| kind.name).join(" ");
        panic!("there is no kind of fault {name:?}; there are {names}")
    });
    let mut rng = Rng::with_seed(seed);
    let mut schedule = Schedule {
        name: name.to_owned(),
        seed,
        setting: Setting {
            workers: 3,
            pool: 4,
            messages: 50,
            copies: 1,
            over: Duration::from_millis(4000),
            clocks: 0,
            lease: Duration::from_secs(8),
            storm: true,
        },
        steps: Vec::new(),
    };
    // A worker must do with one connection, whatever happens.
    if rng.u8(..4) == 0 {
        schedule.setting.pool = 1;
    }
    if kind.calm && rng.bool() {
        schedule.calm();
    }
    (kind.draw)(&mut rng, &mut schedule);
    schedule
}

/// SIGKILL at random instants.
fn kills(rng: &mut Rng, schedule: &mut Schedule) {
    schedule.setting.messages = 75;
    for at in instants(rng, 12..20, 300..5500) {
        schedule.then(at, Action::Kill(worker(rng, schedule)));
    }
}

/// SIGKILL between a provider's acceptance and what follows it.
fn kills_after_sends(rng: &mut Rng, schedule: &mut Schedule) {
    schedule.setting.messages = 75;
    let mut sent = 0;
    for _ in 0..rng.usize(10..16) {
        sent += rng.u64(5..20);
        let after = Duration::from_millis(rng.u64(0..50));
        schedule.then(When::Sent(sent, after), Action::Kill(worker(rng, schedule)));
    }
}

/// SIGSTOP until the lease of what was held is past and others have it, then SIGCONT.
fn stops(rng: &mut Rng, schedule: &mut Schedule) {
    let first = rng.u64(500..3000);
    let stopped: Vec<usize> = some_of(rng, schedule.setting.workers - 1, schedule.setting.workers);
    for (number, worker) in (0..).zip(&stopped) {
        schedule.then(ms(first + 100 * number), Action::Stop(*worker));
    }
    for worker in stopped {
        let past_the_lease = first + rng.u64(8500..11_000);
        schedule.then(ms(past_the_lease), Action::Continue(worker));
    }
    in_order(schedule);
}

/// SIGTERM to one after the other, each replaced, and round again.
fn rolling_restart(rng: &mut Rng, schedule: &mut Schedule) {
    schedule.setting.messages = 75;
    let every = rng.u64(300..700);
    for number in 0..9 {
        let place = usize::try_from(number).expect("small") % schedule.setting.workers;
        schedule.then(ms(500 + every * number), Action::Restart(place));
    }
}

fn postgres_restarts(rng: &mut Rng, schedule: &mut Schedule) {
    for at in instants(rng, 2..4, 500..4500) {
        schedule.then(at, Action::PostgresRestart);
    }
}

fn postgres_crashes(rng: &mut Rng, schedule: &mut Schedule) {
    for at in instants(rng, 2..4, 500..4500) {
        schedule.then(at, Action::PostgresCrash);
    }
}

/// A fail-over that leaves a read-only server behind for a while.
fn read_only(rng: &mut Rng, schedule: &mut Schedule) {
    let mut at = rng.u64(500..1500);
    for _ in 0..rng.usize(1..3) {
        schedule.then(ms(at), Action::PostgresReadOnly);
        at += rng.u64(500..3000);
        schedule.then(ms(at), Action::PostgresWritable);
        at += rng.u64(300..1500);
    }
}

/// The connection is lost around the statements that matter, before or after they took place.
fn unknown_commits(rng: &mut Rng, schedule: &mut Schedule) {
    for at in instants(rng, 12..24, 200..5000) {
        let statement = Statement::ALL[rng.usize(..4)];
        // Of take-overs there may be none.
        let statement = rng.choice([
            statement,
            Statement::Claim,
            Statement::Due,
            Statement::Settle,
        ]);
        let cut = rng.choice([Cut::Before, Cut::After, Cut::After]);
        let cut = Action::DatabaseCutAround(cut.expect("some"), statement.expect("some"));
        schedule.then(at, cut);
    }
}

/// A database that answers late, and now and then beyond the limit of a statement. What it was told
/// before may reach it long after the worker has given up.
fn lag(rng: &mut Rng, schedule: &mut Schedule) {
    let mut at = rng.u64(300..1000);
    for number in 0..rng.usize(2..4) {
        let beyond = number == 0;
        let flow = if beyond {
            rng.choice([Flow::Hold, Flow::HoldAnswers]).expect("some")
        } else {
            Flow::Delay(Duration::from_millis(rng.u64(200..1500)))
        };
        schedule.then(ms(at), Action::Database(flow));
        at += if beyond {
            rng.u64(10_500..13_000)
        } else {
            rng.u64(1000..3000)
        };
        if rng.bool() {
            schedule.then(ms(at), Action::DatabaseCut);
        }
        schedule.then(ms(at), Action::Database(Flow::Pass));
        at += rng.u64(200..1500);
    }
    in_order(schedule);
}

/// The database is away for longer than a lease, and the workers, who know what became of their
/// requests, are alive: they must get to say so before anybody decides without them.
fn outage(rng: &mut Rng, schedule: &mut Schedule) {
    schedule.setting.storm = false;
    let at = rng.u64(500..3000);
    let flow = rng.choice([Flow::Hold, Flow::Refuse]).expect("some");
    schedule.then(ms(at), Action::Database(flow));
    schedule.then(ms(at), Action::DatabaseCut);
    schedule.then(after(rng.u64(9000..14_000)), Action::DatabaseCut);
    schedule.then(after(0), Action::Database(Flow::Pass));
}

fn rabbitmq_restarts(rng: &mut Rng, schedule: &mut Schedule) {
    for at in instants(rng, 1..3, 500..3000) {
        schedule.then(at, Action::RabbitRestart);
    }
}

fn queue_deleted(rng: &mut Rng, schedule: &mut Schedule) {
    for at in instants(rng, 2..5, 500..4000) {
        let channel = rng.choice(CHANNELS).expect("some");
        schedule.then(at, Action::RabbitDelete(channel.to_owned()));
    }
}

fn connections_closed(rng: &mut Rng, schedule: &mut Schedule) {
    for at in instants(rng, 3..6, 300..4500) {
        let how = [Action::RabbitClose, Action::BrokerCut, Action::BrokerCut];
        schedule.then(at, rng.choice(how).expect("some"));
    }
}

/// Who publishes is blocked; who consumes must go on, acks included.
fn memory_alarm(rng: &mut Rng, schedule: &mut Schedule) {
    let at = rng.u64(500..2500);
    schedule.then(ms(at), Action::RabbitAlarm);
    schedule.then(after(rng.u64(1500..4000)), Action::RabbitCalm);
}

/// The database is held while deliveries wait unacked, so that the broker gives them up.
fn ack_timeout(rng: &mut Rng, schedule: &mut Schedule) {
    schedule.setting.over = Duration::from_secs(8);
    schedule.then(ms(0), Action::RabbitAckTimeout(Duration::from_millis(1000)));
    schedule.then(ms(0), Action::RabbitClose);
    schedule.then(after(rng.u64(..500)), Action::Database(Flow::Hold));
    schedule.then(after(rng.u64(4000..7000)), Action::Database(Flow::Pass));
}

/// Every message five times, to four workers at once.
fn duplicate_storm(rng: &mut Rng, schedule: &mut Schedule) {
    schedule.setting.workers = 4;
    schedule.setting.copies = 5;
    schedule.setting.over = Duration::ZERO;
    for at in instants(rng, 0..3, 100..1500) {
        schedule.then(at, Action::Kill(worker(rng, schedule)));
    }
    schedule.then(ms(1500), Action::Replay);
}

/// Wall clocks ten minutes slow and fast, under kills and a look at what came due.
fn wrong_clocks(rng: &mut Rng, schedule: &mut Schedule) {
    schedule.setting.clocks = 10;
    for at in instants(rng, 2..6, 300..4500) {
        schedule.then(at, Action::Kill(worker(rng, schedule)));
    }
}

/// Anything, close together.
fn mix(rng: &mut Rng, schedule: &mut Schedule) {
    schedule.setting.messages = 75;
    schedule.setting.workers = rng.usize(2..5);
    schedule.setting.copies = rng.usize(1..3);
    for when in instants(rng, 8..16, 200..7000) {
        let When::At(at) = when else { continue };
        let later = When::At(at + Duration::from_millis(rng.u64(300..2500)));
        let place = worker(rng, schedule);
        match rng.u8(..12) {
            0..=2 => schedule.then(when, Action::Kill(place)),
            3 => schedule.then(when, Action::Restart(place)),
            4 => {
                schedule.then(when, Action::Stop(place));
                schedule.then(later, Action::Continue(place));
            }
            5 => schedule.then(when, Action::PostgresCrash),
            6 => schedule.then(when, Action::PostgresRestart),
            7 => {
                schedule.then(when, Action::PostgresReadOnly);
                schedule.then(later, Action::PostgresWritable);
            }
            8 => {
                let statement = rng.choice(Statement::ALL).expect("some");
                schedule.then(when, Action::DatabaseCutAround(Cut::After, statement));
            }
            9 => {
                let flows = [Flow::Hold, Flow::HoldAnswers, Flow::Refuse];
                schedule.then(when, Action::Database(rng.choice(flows).expect("some")));
                schedule.then(later, Action::DatabaseCut);
                schedule.then(later, Action::Database(Flow::Pass));
            }
            10 => {
                let flows = [Flow::Hold, Flow::HoldAnswers, Flow::Refuse];
                schedule.then(when, Action::Broker(rng.choice(flows).expect("some")));
                schedule.then(later, Action::BrokerCut);
                schedule.then(later, Action::Broker(Flow::Pass));
            }
            _ => {
                let channel = rng.choice(CHANNELS).expect("some");
                schedule.then(when, Action::RabbitDelete(channel.to_owned()));
            }
        }
    }
    in_order(schedule);
}

fn worker(rng: &mut Rng, schedule: &Schedule) -> usize {
    rng.usize(..schedule.setting.workers)
}

/// A few different ones below `of`, in any order.
fn some_of(rng: &mut Rng, few: usize, of: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..of).collect();
    rng.shuffle(&mut all);
    all.truncate(rng.usize(1..=few));
    all
}

fn ms(milliseconds: u64) -> When {
    When::At(Duration::from_millis(milliseconds))
}

fn after(milliseconds: u64) -> When {
    When::After(Duration::from_millis(milliseconds))
}

/// Random moments of a range in milliseconds, in order.
fn instants(rng: &mut Rng, how_many: Range<usize>, within: Range<u64>) -> Vec<When> {
    let mut at: Vec<u64> = (0..rng.usize(how_many))
        .map(|_| rng.u64(within.clone()))
        .collect();
    at.sort_unstable();
    at.into_iter().map(ms).collect()
}

/// Puts steps that were drawn in pairs in the order of their moments.
fn in_order(schedule: &mut Schedule) {
    schedule.steps.sort_by_key(|step| match step.when {
        When::At(at) | When::After(at) | When::Sent(_, at) => at,
    });
}
