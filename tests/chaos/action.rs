//! What a schedule can do, and its words.

use std::fmt;
use std::time::Duration;

use crate::harness::{Cut, Flow};

/// One thing that is done to a running system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// SIGKILL, and a new process in its place at once.
    Kill(usize),
    /// SIGSTOP.
    Stop(usize),
    /// SIGCONT.
    Continue(usize),
    /// SIGTERM, and a new process beside it at once.
    Restart(usize),
    /// Postgres is shut down with its sessions ended, and started.
    PostgresRestart,
    /// Postgres is shut down as by a power cut, and recovers.
    PostgresCrash,
    /// The database takes no writes, and every session ends.
    PostgresReadOnly,
    /// It takes them again. Sessions that think otherwise stay.
    PostgresWritable,
    /// What the proxy in front of Postgres does.
    Database(Flow),
    /// Every connection to Postgres is cut.
    DatabaseCut,
    /// The next execution of a statement is cut, before or after it took place.
    DatabaseCutAround(Cut, Statement),
    /// The broker's application is stopped and started.
    RabbitRestart,
    /// The broker closes every connection.
    RabbitClose,
    /// A channel's queue is deleted, with what is in it; the producer then publishes all again.
    RabbitDelete(String),
    /// The broker has no memory left, and blocks who publishes.
    RabbitAlarm,
    /// It has.
    RabbitCalm,
    /// How long a delivery may stay unacked, for consumers that come from now on.
    RabbitAckTimeout(Duration),
    /// What the proxy in front of RabbitMQ does.
    Broker(Flow),
    /// Every connection to RabbitMQ is cut.
    BrokerCut,
    /// Everything that was published so far is published again.
    Replay,
}

/// A statement of the ledger, by what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    /// A batch of new notifications.
    Claim,
    /// A batch of rows that came due.
    Due,
    /// A batch of decisions.
    Settle,
    /// Rows past their lease.
    TakeOver,
}

impl Statement {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Claim, Self::Due, Self::Settle, Self::TakeOver];

    /// A text that is in it and in no other.
    pub fn text(self) -> &'static str {
        match self {
            Self::Claim => "insert into notification",
            Self::Due => "with due as",
            Self::Settle => "as u(id, attempt",
            Self::TakeOver => "with stale as",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Due => "due",
            Self::Settle => "settle",
            Self::TakeOver => "take-over",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill(worker) => write!(f, "kill {worker}"),
            Self::Stop(worker) => write!(f, "stop {worker}"),
            Self::Continue(worker) => write!(f, "continue {worker}"),
            Self::Restart(worker) => write!(f, "restart {worker}"),
            Self::PostgresRestart => write!(f, "postgres restart"),
            Self::PostgresCrash => write!(f, "postgres crash"),
            Self::PostgresReadOnly => write!(f, "postgres read-only"),
            Self::PostgresWritable => write!(f, "postgres writable"),
            Self::Database(flow) => write!(f, "database {}", Words(*flow)),
            Self::DatabaseCut => write!(f, "database cut"),
            Self::DatabaseCutAround(Cut::Before, statement) => {
                write!(f, "database cut-before {}", statement.name())
            }
            Self::DatabaseCutAround(Cut::After, statement) => {
                write!(f, "database cut-after {}", statement.name())
            }
            Self::RabbitRestart => write!(f, "rabbitmq restart"),
            Self::RabbitClose => write!(f, "rabbitmq close"),
            Self::RabbitDelete(channel) => write!(f, "rabbitmq delete {channel}"),
            Self::RabbitAlarm => write!(f, "rabbitmq alarm"),
            Self::RabbitCalm => write!(f, "rabbitmq calm"),
            Self::RabbitAckTimeout(time) => {
                write!(f, "rabbitmq ack-timeout {}ms", time.as_millis())
            }
            Self::Broker(flow) => write!(f, "broker {}", Words(*flow)),
            Self::BrokerCut => write!(f, "broker cut"),
            Self::Replay => write!(f, "replay"),
        }
    }
}

struct Words(Flow);

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Flow::Pass => write!(f, "pass"),
            Flow::Hold => write!(f, "hold"),
            Flow::HoldAnswers => write!(f, "hold-answers"),
            Flow::Delay(time) => write!(f, "delay {}ms", time.as_millis()),
            Flow::Refuse => write!(f, "refuse"),
        }
    }
}

/// Reads an action's words.
pub(super) fn read(words: &[&str]) -> Option<Action> {
    Some(match words {
        ["kill", worker] => Action::Kill(worker.parse().ok()?),
        ["stop", worker] => Action::Stop(worker.parse().ok()?),
        ["continue", worker] => Action::Continue(worker.parse().ok()?),
        ["restart", worker] => Action::Restart(worker.parse().ok()?),
        ["postgres", "restart"] => Action::PostgresRestart,
        ["postgres", "crash"] => Action::PostgresCrash,
        ["postgres", "read-only"] => Action::PostgresReadOnly,
        ["postgres", "writable"] => Action::PostgresWritable,
        ["database", "cut"] => Action::DatabaseCut,
        ["database", "cut-before", name] => {
            Action::DatabaseCutAround(Cut::Before, statement(name)?)
        }
        ["database", "cut-after", name] => Action::DatabaseCutAround(Cut::After, statement(name)?),
        ["database", flow @ ..] => Action::Database(read_flow(flow)?),
        ["rabbitmq", "restart"] => Action::RabbitRestart,
        ["rabbitmq", "close"] => Action::RabbitClose,
        ["rabbitmq", "delete", channel] => Action::RabbitDelete((*channel).to_owned()),
        ["rabbitmq", "alarm"] => Action::RabbitAlarm,
        ["rabbitmq", "calm"] => Action::RabbitCalm,
        ["rabbitmq", "ack-timeout", time] => Action::RabbitAckTimeout(read_time(time)?),
        ["broker", "cut"] => Action::BrokerCut,
        ["broker", flow @ ..] => Action::Broker(read_flow(flow)?),
        ["replay"] => Action::Replay,
        _ => return None,
    })
}

fn statement(name: &str) -> Option<Statement> {
    Statement::ALL.into_iter().find(|one| one.name() == name)
}

fn read_flow(words: &[&str]) -> Option<Flow> {
    Some(match words {
        ["pass"] => Flow::Pass,
        ["hold"] => Flow::Hold,
        ["hold-answers"] => Flow::HoldAnswers,
        ["refuse"] => Flow::Refuse,
        ["delay", time] => Flow::Delay(read_time(time)?),
        _ => return None,
    })
}

/// A time as schedules write it.
pub(super) fn read_time(text: &str) -> Option<Duration> {
    humantime::parse_duration(text).ok()
}
