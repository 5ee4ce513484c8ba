//! One round: a schedule carried out on a world of its own, everything healed, the resolver run to
//! the end, and what has to hold then.

use std::time::Duration;

use fastrand::Rng;
use nuncio::domain::policy::Policy::{AtLeastOnce, AtMostOnce};
use nuncio::sandbox::{FaultPlan, Settings};
use tokio::time::Instant;

use crate::action::Action;
use crate::fleet::Fleet;
use crate::harness::{Audit, Channel, Config, Flow, Gives, PATIENCE, Proxy, World};
use crate::load::{Message, Orders, Producer, messages};
use crate::promises;
use crate::schedule::{Schedule, When};
use crate::servers::{Servers, WATERMARK};
use crate::tally::Tally;
use crate::witness::Witness;

/// Everything that a killed process may hold is past its lease after this: a resolver's is the
/// longest, 48 s with a request timeout of 2 s.
const LONGEST_LEASE: Duration = Duration::from_secs(60);

/// How long a moment that depends on the provider is waited for: it may never come.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Carries out a schedule, and asserts what has to hold after anything.
pub async fn run(schedule: &Schedule) -> Tally {
    let mut rng = Rng::with_seed(schedule.seed);
    let load = messages(&schedule.setting, &mut rng);
    let world = World::with_sandbox(provider(schedule)).await;
    let database = Proxy::before_postgres(&world.database.url).await;
    let broker = Proxy::before_url(&world.broker.url).await;
    let witness = Witness::before_sandbox(&world, &load).await;
    let config = config(&world, schedule, &database, &broker, &witness);
    let mut arena = Arena {
        world: &world,
        config: &config,
        database: &database,
        broker: &broker,
        fleet: Fleet::new(&world, &config, schedule.setting.clocks),
        servers: None,
        tally: Tally::default(),
    };
    // Declares the queues, so that the first message finds one.
    drop(world.publisher(&config).await);
    let confirmed = arena.carry_out(schedule, &load).await;
    arena.heal().await;
    arena.come_to_rest(&load).await;

    let seen = witness.seen();
    let mut audit = Audit::default();
    audit.requests_without_a_claim.clone_from(&seen.without);
    // A process that stood still between its last look at the clock and the request's first byte
    // cannot know; what comes of it is for the other assertions.
    if !schedule.does(|action| matches!(action, Action::Stop(_))) {
        audit.requests_without_a_claim.extend(seen.late.clone());
    }
    world.audit_with(&config, &audit).await;
    promises::hold(&world, &config, schedule, &load).await;
    promises::nothing_has_grown(&world, arena.fleet.largest());
    arena.fleet.stop().await;
    let mut tally = arena.tally;
    tally.count("messages", load.len() as u64);
    tally.count("published", confirmed);
    tally.count("cuts around a statement", database.caught());
    tally.observe(&world, &seen).await;
    tally
}

/// A provider with every fault that a request can meet, and a log that lags; or one that is only
/// busy, which leaves no doubt.
fn provider(schedule: &Schedule) -> Settings {
    let rates: &[(&str, f64)] = if schedule.setting.storm {
        &[
            ("drop", 0.04),
            ("cut_after_accept", 0.04),
            ("accept_then_504", 0.04),
            ("refuse_503", 0.04),
            ("throttle", 0.02),
            ("slow:400ms", 0.1),
        ]
    } else {
        &[
            ("refuse_503", 0.08),
            ("throttle", 0.04),
            ("slow:400ms", 0.1),
        ]
    };
    let rates = rates
        .iter()
        .map(|(name, rate)| (name.parse().expect("a fault's name"), *rate));
    Settings {
        plan: FaultPlan {
            seed: schedule.seed,
            rates: rates.collect(),
            ..FaultPlan::default()
        },
        log_lag: Duration::from_millis(300),
        latency: Duration::from_millis(5),
        ..Settings::default()
    }
}

fn config(
    world: &World,
    schedule: &Schedule,
    database: &Proxy,
    broker: &Proxy,
    witness: &Witness,
) -> Config {
    let lease = format!("{}ms", schedule.setting.lease.as_millis());
    let channel = |name, policy, gives| {
        Channel::new(name, policy, gives)
            .times("2s", &lease)
            .max_sends(50)
            .through(witness.address)
    };
    world
        .config()
        .channel(channel("amo", AtMostOnce, Gives::Nothing))
        .channel(channel("alo", AtLeastOnce, Gives::Nothing))
        .channel(channel("amo-full", AtMostOnce, Gives::ReplayAndLookUp))
        .channel(channel("alo-log", AtLeastOnce, Gives::LookUp))
        .pool(schedule.setting.pool)
        .database_through(database.address)
        .broker_through(broker.address)
}

struct Arena<'w> {
    world: &'w World,
    config: &'w Config,
    database: &'w Proxy,
    broker: &'w Proxy,
    fleet: Fleet<'w>,
    /// Found when first needed: not every schedule breaks one.
    servers: Option<Servers>,
    tally: Tally,
}

impl Arena<'_> {
    /// Load and steps, side by side. Says how many messages were confirmed.
    async fn carry_out(&mut self, schedule: &Schedule, load: &[Message]) -> u64 {
        let setting = &schedule.setting;
        let mut producer = Producer::new(self.world, self.config);
        let before_the_workers = setting.over.is_zero();
        if before_the_workers {
            producer.publish_all(load, setting).await;
        }
        self.fleet.start(setting.workers);
        if !before_the_workers {
            self.fleet.ready().await;
        }
        let (orders, inbox) = Orders::about(load);
        let publishing = async {
            if !before_the_workers {
                producer.publish_all(load, setting).await;
            }
            producer.obey(inbox).await;
        };
        tokio::join!(publishing, self.take_steps(schedule, orders));
        producer.confirmed
    }

    async fn take_steps(&mut self, schedule: &Schedule, orders: Orders) {
        let began = Instant::now();
        for step in &schedule.steps {
            self.until(step.when, began).await;
            self.tally.act(&step.action);
            self.act(&step.action, &orders).await;
        }
        self.fleet.all_run();
    }

    async fn until(&self, when: When, began: Instant) {
        match when {
            When::At(time) => tokio::time::sleep_until(began + time).await,
            When::After(time) => tokio::time::sleep(time).await,
            When::Sent(count, after) => {
                let waits = Instant::now();
                while self.sent().await < count && waits.elapsed() < LONGEST_WAIT {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                tokio::time::sleep(after).await;
            }
        }
    }

    async fn sent(&self) -> u64 {
        let summary = self.world.sandbox.summary().await;
        summary["sent"].as_u64().expect("a count")
    }

    async fn act(&mut self, action: &Action, orders: &Orders) {
        match action {
            Action::Kill(place) => self.fleet.kill(*place).await,
            Action::Stop(place) => self.fleet.stand_still(*place),
            Action::Continue(place) => self.fleet.go_on(*place),
            Action::Restart(place) => self.fleet.restart(*place),
            Action::Database(flow) => self.database.flow(*flow),
            Action::DatabaseCut => self.database.cut(),
            Action::DatabaseCutAround(cut, statement) => {
                self.database.cut_around(*cut, statement.text());
            }
            Action::Broker(flow) => self.broker.flow(*flow),
            Action::BrokerCut => self.broker.cut(),
            Action::PostgresReadOnly => Servers::read_only(self.world, true).await,
            Action::PostgresWritable => Servers::read_only(self.world, false).await,
            Action::Replay => orders.replay(),
            Action::RabbitDelete(channel) => {
                let queue = self.config.queue(channel);
                self.world.broker.delete_queue(&queue).await;
                orders.replay();
            }
            Action::PostgresRestart => self.servers().restart_postgres("fast").await,
            Action::PostgresCrash => self.servers().restart_postgres("immediate").await,
            Action::RabbitRestart => {
                self.servers().rabbitmqctl(&["-q", "stop_app"]).await;
                self.servers().rabbitmqctl(&["-q", "start_app"]).await;
            }
            Action::RabbitClose => {
                let vhost = self.world.broker.vhost().to_owned();
                let close = ["-q", "close_all_connections", "-p", &vhost, "by the test"];
                self.servers().rabbitmqctl(&close).await;
            }
            Action::RabbitAlarm => self.servers().watermark("0.0000001").await,
            Action::RabbitCalm => self.servers().watermark(WATERMARK).await,
            Action::RabbitAckTimeout(time) => self.servers().ack_timeout(time.as_millis()).await,
        }
    }

    fn servers(&mut self) -> &mut Servers {
        self.servers.get_or_insert_with(Servers::private)
    }

    /// Whatever a schedule has left undone.
    async fn heal(&mut self) {
        self.database.flow(Flow::Pass);
        self.broker.flow(Flow::Pass);
        self.fleet.all_go_on();
        if let Some(servers) = &mut self.servers {
            servers.mend().await;
        }
        Servers::read_only(self.world, false).await;
    }

    /// Every message is a row, everybody stops in an orderly way, every lease ends, and one worker
    /// more brings all to rest.
    async fn come_to_rest(&mut self, load: &[Message]) {
        let all = i64::try_from(load.len()).expect("a few hundred");
        self.progress("every message is a row, and no queue holds one", |at| {
            at.rows == all && at.ready == 0
        })
        .await;
        self.fleet.stop().await;
        self.world.let_pass(LONGEST_LEASE).await;
        self.fleet.start(1);
        self.fleet.ready().await;
        self.progress("every row rests", |at| at.resting == all && at.ready == 0)
            .await;
    }

    /// Waits as long as it takes, and not when nothing moves any more.
    async fn progress(&mut self, what: &str, there: impl Fn(&Progress) -> bool) {
        let mut last = (Progress::default(), Instant::now());
        loop {
            self.fleet.all_run();
            let at = Progress::read(self.world).await.unwrap_or_default();
            if there(&at) {
                return;
            }
            if at != last.0 {
                last = (at, Instant::now());
            }
            assert!(
                last.1.elapsed() < PATIENCE,
                "nothing moves, and not yet: {what}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// How far a world has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Progress {
    rows: i64,
    resting: i64,
    ready: u32,
}

impl Progress {
    /// `None` while the database is on its way back.
    async fn read(world: &World) -> Option<Self> {
        let counts = sqlx::query_as(
            "select count(*), count(*) filter (where phase not in ('queued', 'sending'))
             from notification",
        );
        let (rows, resting) = counts.fetch_one(&world.database.pool).await.ok()?;
        let queues = world.broker.queues().await;
        Some(Self {
            rows,
            resting,
            ready: queues.values().map(|(ready, _)| ready).sum(),
        })
    }
}
