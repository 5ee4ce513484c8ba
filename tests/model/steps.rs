//! Every step that some process, the broker, the provider, a person or time may take next.

use std::fmt;

use nuncio::domain::change::Change;
use nuncio::domain::phase::Phase;

use crate::provider::Learnt;
use crate::setting::{Promise, Setting};
use crate::state::State;
use crate::{person, resolver, worker};

/// What happens in a step, put into words only when it is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum What {
    Plain(&'static str),
    Heard(&'static str, Learnt),
    Wrote(Phase),
    Decided(&'static str, Change),
}

impl From<&'static str> for What {
    fn from(words: &'static str) -> Self {
        Self::Plain(words)
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(words) => f.write_str(words),
            Self::Heard(words, learnt) => write!(f, "{words}: {learnt:?}"),
            Self::Wrote(phase) => write!(f, "writes {phase}"),
            Self::Decided(words, change) => {
                write!(f, "{words}, and decides: {}", change.to)?;
                for (word, set) in [
                    ("under a new key", change.new_key),
                    ("a possible duplicate", change.possible_duplicate),
                    ("an empty read", change.empty_read),
                ] {
                    if set {
                        write!(f, ", {word}")?;
                    }
                }
                Ok(())
            }
        }
    }
}

/// A step, named by who takes it and what happens. It carries the state that it leads to, so that
/// it is worked out once.
#[derive(Clone, PartialEq)]
pub struct Step {
    pub who: &'static str,
    pub what: What,
    pub next: State,
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.who, self.what)?;
        match self.next.provider.effects() {
            0 => Ok(()),
            effects => write!(f, " [{effects} sent]"),
        }
    }
}

/// Collects the steps of one state.
pub struct Steps<'a> {
    pub setting: &'a Setting,
    pub state: &'a State,
    left: [u32; 5],
    found: Vec<Step>,
}

impl<'a> Steps<'a> {
    /// All steps that may come next.
    pub fn of(setting: &'a Setting, state: &'a State) -> Vec<Step> {
        let mut steps = Self {
            setting,
            state,
            left: state.left(setting),
            found: Vec::with_capacity(8),
        };
        worker::steps(&mut steps);
        resolver::steps(&mut steps);
        person::steps(&mut steps);
        steps.world();
        if steps.found.is_empty() && !state.is_at_rest() {
            steps.stuck();
        }
        steps.found
    }

    /// Nothing can be done, and the row is open: a step of its own, so that a property sees it.
    fn stuck(&mut self) {
        let mut next = self.now();
        next.seen.stuck = true;
        if next != *self.state {
            let what = What::Plain("can do nothing more");
            let who = "nobody";
            self.found.push(Step { who, what, next });
        }
    }

    /// Adds a step that takes `faults` from the budget.
    pub fn add(&mut self, who: &'static str, what: impl Into<What>, faults: u8, next: State) {
        let Some(next) = next.pay(faults) else { return };
        let step = Step {
            who,
            what: what.into(),
            next: next.in_order(),
        };
        // Every step leaves less to be done: no behaviour goes on for ever.
        assert!(
            step.next.left(self.setting) < self.left || self.setting.mutation.is_some(),
            "{step:?} leads in a circle: {:#?}",
            self.state
        );
        self.found.push(step);
    }

    /// The same state, to be changed.
    pub fn now(&self) -> State {
        self.state.clone()
    }

    fn world(&mut self) {
        let setting = self.setting;
        if let Some(later) = self.state.later(setting) {
            self.add("time", "goes on", 0, later);
        }
        if self.state.redeliveries > 0 {
            let mut next = self.now();
            next.redeliveries -= 1;
            next.queue += 1;
            self.add("broker", "delivers again", 0, next);
        }
        if setting.may_expire && !self.state.expired {
            let mut next = self.now();
            next.expired = true;
            self.add("time", "passes expires_at", 1, next);
        }
        if (setting.may_change || setting.may_move) && self.state.bytes == 0 {
            let mut next = self.now();
            next.bytes = 1;
            self.add("world", "the configuration changes", 1, next);
        }
        self.orphans();
        if !setting.keeps(Promise::KeyRemembered)
            && let Some(provider) = self.state.provider.forgetful()
        {
            let mut next = self.now();
            next.provider = provider;
            self.add("provider", "loses its keys", 1, next);
        }
    }

    /// Requests whose sender has given up, and that arrive all the same.
    fn orphans(&mut self) {
        let flights = &self.state.provider.orphans;
        for (index, flight) in flights.iter().enumerate() {
            if index > 0 && flights[index - 1] == *flight {
                continue;
            }
            let mut provider = self.state.provider.clone();
            provider.orphans.remove(index);
            for (provider, learnt, faults) in provider.reactions(self.setting, *flight) {
                let mut next = self.now();
                if provider == next.provider {
                    continue;
                }
                next.provider = provider;
                self.add(
                    "provider",
                    What::Heard("late, to nobody", learnt),
                    faults,
                    next,
                );
            }
        }
    }
}

/// Whether the row stands open for that kind of claim.
pub fn due(state: &State, phase: Phase) -> bool {
    state
        .row
        .is_some_and(|row| row.phase == phase && row.due == 0)
}
