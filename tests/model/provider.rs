//! The provider, or both where the channel moves from one to another: what is remembered, what was
//! sent, and what may be answered.

use nuncio::domain::outcome::{Doubt, LookUpAnswer, NotSent, Outcome};

use crate::setting::{GIVEN_UP, Log, Memory, ON_ITS_WAY, Promise, Setting};

/// A request on the network or in the provider's works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Flight {
    pub generation: u8,
    pub bytes: u8,
    /// Ticks within which it arrives or is lost.
    pub left: u8,
    /// The provider has it and has not finished with it.
    pub begun: bool,
    /// Which provider it goes to: 0, or the one that the channel moves to.
    pub at: u8,
}

/// What is stored under an idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stored {
    InProgress,
    Accepted,
    Failed,
    Refused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Known {
    at: u8,
    generation: u8,
    bytes: u8,
    age: u8,
    stored: Stored,
}

/// A message that physically went out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Effect {
    at: u8,
    generation: u8,
    age: u8,
}

/// What one attempt learnt; the real [`Outcome`] without its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Learnt {
    Accepted,
    Refused,
    NotSent(NotSent),
    Unknown(Doubt),
}

impl Learnt {
    pub fn outcome(self) -> Outcome {
        let text = String::new();
        match self {
            Self::Accepted => Outcome::Accepted {
                provider_id: None,
                already: false,
            },
            Self::Refused => Outcome::Refused {
                opted_out: false,
                text,
            },
            Self::NotSent(cause) => Outcome::NotSent {
                cause,
                retry_after: None,
                text,
            },
            Self::Unknown(cause) => Outcome::Unknown {
                cause,
                look_after: None,
                text,
            },
        }
    }
}

/// One way in which a request may go: how it leaves the provider, what is learnt from it, and how
/// many faults it takes.
pub type Reaction = (Provider, Learnt, u8);

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Provider {
    known: Vec<Known>,
    effects: Vec<Effect>,
    /// The recipient has opted out: from now on the message is refused.
    refusing: bool,
    /// Requests whose sender no longer waits.
    pub orphans: Vec<Flight>,
    /// A key has carried two bodies.
    pub mismatch: bool,
    /// The provider has said so, rightly or not.
    pub says_mismatch: bool,
    /// A look-up by recipient has shown several records.
    pub several: bool,
}

impl Provider {
    pub fn effects(&self) -> usize {
        self.effects.len()
    }

    pub fn refuses(&self) -> bool {
        self.refusing
    }

    pub fn flight(setting: &Setting, at: u8, generation: u8, bytes: u8) -> Flight {
        let left = if setting.keeps(Promise::RequestLandsInTime) {
            ON_ITS_WAY
        } else {
            ON_ITS_WAY + 5
        };
        Flight {
            generation,
            bytes,
            left,
            begun: false,
            at,
        }
    }

    /// Everything that may come of a request that arrives, or that is finished with.
    pub fn reactions(&self, setting: &Setting, flight: Flight) -> Vec<Reaction> {
        if flight.begun {
            return vec![(self.finished(flight), Learnt::Accepted, 0)];
        }
        let throttled = Learnt::NotSent(NotSent::Throttled);
        let not_now = [throttled, Learnt::NotSent(NotSent::Account)];
        let mut all: Vec<Reaction> = not_now
            .into_iter()
            .map(|answer| (self.clone(), answer, 1))
            .collect();
        if !setting.keeps(Promise::NotProcessedIsTrue) {
            all.push((self.with(setting, flight, true, None), throttled, 1));
        }
        let known = self
            .known
            .iter()
            .find(|known| (known.at, known.generation) == (flight.at, flight.generation));
        if let Some(known) = known {
            all.extend(self.repeated(setting, flight, known));
        } else {
            all.extend(self.fresh(setting, flight));
        }
        all
    }

    fn repeated(&self, setting: &Setting, flight: Flight, known: &Known) -> Vec<Reaction> {
        let answer = match known.stored {
            _ if known.bytes != flight.bytes => {
                let mut provider = self.clone();
                provider.mismatch = true;
                provider.says_mismatch = true;
                return vec![(provider, Learnt::Unknown(Doubt::KeyMismatch), 0)];
            }
            Stored::InProgress => Learnt::Unknown(Doubt::InProgress),
            Stored::Accepted => Learnt::Accepted,
            Stored::Failed => Learnt::Unknown(Doubt::ReplayedFailure),
            Stored::Refused => Learnt::Refused,
        };
        let mut all = vec![(self.clone(), answer, 0)];
        if !setting.sure {
            // A fault of the provider's: the body is the same.
            let provider = Self {
                says_mismatch: true,
                ..self.clone()
            };
            all.push((provider, Learnt::Unknown(Doubt::KeyMismatch), 1));
        }
        if !setting.keeps(Promise::MemoryComesFirst) {
            all.push((self.refusing(), Learnt::Refused, 1));
        }
        all
    }

    fn fresh(&self, setting: &Setting, flight: Flight) -> Vec<Reaction> {
        let refused = if setting.memory == Memory::Replay {
            self.with(setting, flight, false, Some(Stored::Refused))
        } else {
            self.clone()
        };
        if self.refusing {
            return vec![(refused, Learnt::Refused, 0)];
        }
        let accepted = self.with(setting, flight, true, Some(Stored::Accepted));
        let error = Learnt::Unknown(Doubt::ServerError);
        let mut all = vec![
            (accepted.clone(), Learnt::Accepted, 0),
            (refused.refusing(), Learnt::Refused, 1),
            (self.clone(), error, 1),
        ];
        match setting.memory {
            Memory::Nothing => all.push((accepted, error, 1)),
            Memory::Tombstone => all.push((accepted, error, 1)),
            Memory::Replay if setting.sure => all.push((accepted, error, 1)),
            Memory::Replay => {
                for effect in [false, true] {
                    let failed = self.with(setting, flight, effect, Some(Stored::Failed));
                    all.push((failed, error, 1));
                }
            }
        }
        if setting.memory != Memory::Nothing {
            let mut begun = self.with(setting, flight, false, Some(Stored::InProgress));
            // The sender waits in vain, and gives up.
            begun.abandon(
                setting,
                Flight {
                    begun: true,
                    ..flight
                },
            );
            all.push((begun, Learnt::Unknown(Doubt::Timeout), 1));
        }
        all
    }

    /// A message goes out, or not, and something is stored under its key, or not.
    fn with(
        &self,
        setting: &Setting,
        flight: Flight,
        effect: bool,
        stored: Option<Stored>,
    ) -> Self {
        let mut provider = self.clone();
        if effect {
            provider.effects.push(Effect {
                at: flight.at,
                generation: flight.generation,
                age: 0,
            });
            provider.effects.sort_unstable();
        }
        if let Some(stored) = stored
            && setting.memory != Memory::Nothing
        {
            provider.known.push(Known {
                at: flight.at,
                generation: flight.generation,
                bytes: flight.bytes,
                age: 0,
                stored,
            });
            provider.known.sort_unstable();
        }
        provider
    }

    fn finished(&self, flight: Flight) -> Self {
        let mut provider = self.clone();
        provider.effects.push(Effect {
            at: flight.at,
            generation: flight.generation,
            age: 0,
        });
        provider.effects.sort_unstable();
        for known in &mut provider.known {
            if (known.at, known.generation) == (flight.at, flight.generation) {
                known.stored = Stored::Accepted;
            }
        }
        provider
    }

    fn refusing(&self) -> Self {
        Self {
            refusing: true,
            ..self.clone()
        }
    }

    /// What the log shows when it is asked for the message, under this key or for its recipient.
    pub fn shown(&self, setting: &Setting, at: u8, generation: u8) -> LookUpAnswer {
        let ids: Vec<String> = self
            .effects
            .iter()
            .filter(|effect| effect.at == at)
            .filter(|effect| setting.log == Log::ByRecipient || effect.generation == generation)
            .filter(|effect| effect.age >= setting.lag())
            .filter(|effect| setting.retention.is_none_or(|end| effect.age < end))
            .enumerate()
            .map(|(number, _)| number.to_string())
            .collect();
        if ids.is_empty() {
            LookUpAnswer::Absent
        } else {
            LookUpAnswer::Found(ids)
        }
    }

    /// The provider has lost all keys before their time.
    pub fn forgetful(&self) -> Option<Self> {
        let provider = Self {
            known: Vec::new(),
            ..self.clone()
        };
        (!self.known.is_empty()).then_some(provider)
    }

    /// The sender of a request waits no longer; the request may still arrive.
    pub fn abandon(&mut self, setting: &Setting, flight: Flight) {
        let left = if setting.keeps(Promise::RequestLandsInTime) {
            flight.left.min(GIVEN_UP)
        } else {
            flight.left
        };
        self.orphans.push(Flight { left, ..flight });
        self.orphans.sort_unstable();
    }

    /// Whether a request that is worked on has to be finished with before time goes on.
    pub fn is_due(&self) -> bool {
        self.orphans
            .iter()
            .any(|flight| flight.begun && flight.left == 0)
    }

    pub fn tick(&mut self, setting: &Setting) {
        // A request that has not arrived by now never will.
        self.orphans
            .retain(|flight| flight.left > 0 || flight.begun);
        for known in &mut self.known {
            known.age += u8::from(setting.window.is_some());
        }
        if let Some(end) = setting.forgets_at() {
            self.known
                .retain(|known| known.age < end || known.stored == Stored::InProgress);
            for known in &mut self.known {
                known.age = known.age.min(end);
            }
        }
        for effect in &mut self.effects {
            effect.age = (effect.age + 1).min(setting.oldest_record());
        }
        for flight in &mut self.orphans {
            flight.left = flight.left.saturating_sub(1);
        }
        self.orphans.sort_unstable();
    }

    pub fn time_left(&self, setting: &Setting) -> u32 {
        let end = setting.forgets_at().unwrap_or(0) + 1;
        let known = self.known.iter().map(|known| end - known.age.min(end));
        let effects = self
            .effects
            .iter()
            .map(|effect| setting.oldest_record() - effect.age);
        let flights = self.orphans.iter().map(|flight| flight.left);
        known.chain(effects).chain(flights).map(u32::from).sum()
    }
}
