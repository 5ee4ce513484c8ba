//! A schedule: a setting, and what is done to it when. It can be printed and read back, so that a
//! failing one can be run again.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::action::{self, Action, read_time};

/// What a round does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Which kind of fault it was drawn for.
    pub name: String,
    /// What it was drawn from, and the sandbox's faults with it.
    pub seed: u64,
    /// What it is done to.
    pub setting: Setting,
    /// In order: a step waits for its moment, and for the one before it to be done.
    pub steps: Vec<Step>,
}

/// Processes and load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Processes, each with both roles.
    pub workers: usize,
    /// Connections to the database of each.
    pub pool: u32,
    /// Notifications on each of the four channels.
    pub messages: usize,
    /// Times that each is published.
    pub copies: usize,
    /// The time over which they are published. Zero: all before the first worker starts.
    pub over: Duration,
    /// How wrong the wall clocks of the workers are, in minutes: the first worker's is slow by as
    /// much, the second's fast, and so on.
    pub clocks: u32,
    /// How long a claim lasts.
    pub lease: Duration,
    /// The provider has faults that leave doubt; else it is only busy at times.
    pub storm: bool,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its moment.
    pub when: When,
    /// What is done.
    pub action: Action,
}

/// A moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// So long after the beginning of the load.
    At(Duration),
    /// So long after the step before it was done, which may have taken a while.
    After(Duration),
    /// So long after the provider has physically sent so many, or cannot any more.
    Sent(u64, Duration),
}

impl Schedule {
    /// A step more.
    pub fn then(&mut self, when: When, action: Action) {
        self.steps.push(Step { when, action });
    }

    /// With a provider that leaves no doubt, and claims that outlast the trouble: whatever else
    /// happens, every message must then be sent once, and none be left to a person.
    pub fn calm(&mut self) {
        self.setting.storm = false;
        self.setting.lease = Duration::from_secs(30);
    }

    /// Whether a step's action is like this.
    pub fn does(&self, like: impl Fn(&Action) -> bool) -> bool {
        self.steps.iter().any(|step| like(&step.action))
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let setting = &self.setting;
        writeln!(f, "schedule {} seed {}", self.name, self.seed)?;
        writeln!(
            f,
            "setting workers {} pool {} messages {} copies {} over {}ms clocks {} lease {}ms \
             provider {}",
            setting.workers,
            setting.pool,
            setting.messages,
            setting.copies,
            setting.over.as_millis(),
            setting.clocks,
            setting.lease.as_millis(),
            if setting.storm { "storm" } else { "busy" }
        )?;
        for step in &self.steps {
            match step.when {
                When::At(time) => write!(f, "at {}ms", time.as_millis())?,
                When::After(time) => write!(f, "after {}ms", time.as_millis())?,
                When::Sent(count, time) => write!(f, "sent {count} +{}ms", time.as_millis())?,
            }
            writeln!(f, " {}", step.action)?;
        }
        Ok(())
    }
}

impl FromStr for Schedule {
    /// The line that is no part of a schedule.
    type Err = String;

    /// Lines, or the same with `;` between them. Empty ones and those that begin with `#` say
    /// nothing.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut lines = text
            .split(['\n', ';'])
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        let first = lines.next().unwrap_or_default();
        let second = lines.next().unwrap_or_default();
        let (name, seed) = head(first).ok_or_else(|| first.to_owned())?;
        let setting = setting(second).ok_or_else(|| second.to_owned())?;
        let steps = lines.map(|line| step(line).ok_or_else(|| line.to_owned()));
        Ok(Self {
            name,
            seed,
            setting,
            steps: steps.collect::<Result<_, _>>()?,
        })
    }
}

fn head(line: &str) -> Option<(String, u64)> {
    let ["schedule", name, "seed", seed] = words(line)[..] else {
        return None;
    };
    Some((name.to_owned(), seed.parse().ok()?))
}

fn setting(line: &str) -> Option<Setting> {
    let words = words(line);
    let of = |name: &str| {
        words
            .windows(2)
            .find(|pair| pair[0] == name)
            .map(|pair| pair[1])
    };
    Some(Setting {
        workers: of("workers")?.parse().ok()?,
        pool: of("pool")?.parse().ok()?,
        messages: of("messages")?.parse().ok()?,
        copies: of("copies")?.parse().ok()?,
        over: read_time(of("over")?)?,
        clocks: of("clocks")?.parse().ok()?,
        lease: read_time(of("lease")?)?,
        storm: of("provider")? == "storm",
    })
}

fn step(line: &str) -> Option<Step> {
    let words = words(line);
    let (when, action) = match &words[..] {
        ["at", time, action @ ..] => (When::At(read_time(time)?), action),
        ["after", time, action @ ..] => (When::After(read_time(time)?), action),
        ["sent", count, time, action @ ..] => {
            let time = read_time(time.strip_prefix('+')?)?;
            (When::Sent(count.parse().ok()?, time), action)
        }
        _ => return None,
    };
    let action = action::read(action)?;
    Some(Step { when, action })
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn every_schedule_reads_back_as_itself_and_comes_again_from_its_seed() {
    for kind in crate::draw::KINDS {
        for seed in 0..20 {
            let drawn = crate::draw::schedule(kind.name, seed);
            let read: Schedule = drawn.to_string().parse().expect("it was printed");
            assert_eq!(read, drawn);
            assert_eq!(crate::draw::schedule(kind.name, seed), drawn);
        }
    }
}
