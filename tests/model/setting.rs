//! What one run of the model is about: a policy, a provider, the trouble that may happen, and
//! what is broken on purpose.
//!
//! Time goes in ticks. A request may take one tick, a claim lasts two, a log settles in two.

use std::fmt;
use std::time::Duration;

use nuncio::domain::capability::{Capability, Dedupe, LookUp};
use nuncio::domain::policy::Policy;
use nuncio::domain::schedule::Schedule;

/// One step of time.
pub const TICK: Duration = Duration::from_secs(60);
/// The request timeout.
pub const TIMEOUT: u8 = 1;
/// How long a claim, or a take-over, belongs to its owner.
pub const LEASE: u8 = 2;
/// The settle time of the log, as it is configured.
pub const SETTLE: u8 = 2;
/// After so many ticks of failing look-ups a row counts as undecidable.
pub const RESOLVE_WITHIN: u8 = 3;
/// How long a request may be on its way while its sender waits for the answer …
pub const ON_ITS_WAY: u8 = 2;
/// … and once the sender has given up.
pub const GIVEN_UP: u8 = 1;
/// How long the log hides a record.
pub const LAG: u8 = 1;
/// How much longer than its window the provider remembers a key: as long as a replay that was
/// begun in time can be on its way.
pub const GRACE: u8 = 2;

/// Every pause is one tick: what differs between them is of no matter to what may happen.
pub const SCHEDULE: Schedule = Schedule {
    first: TICK,
    longest: TICK,
    longest_asked: TICK,
};

/// What the provider does with a key that it has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    Nothing,
    /// The first answer is given again, refusals and failures too.
    Replay,
    /// "I already have it."
    Tombstone,
}

/// What can be asked of the provider's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Log {
    Nothing,
    ByReference,
    ByRecipient,
}

/// What has to be assumed about the world. Each has a counterexample without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// The log shows every record within the settle time.
    LogSettles,
    /// A request has its effect within the settle time after its claim ended, or never.
    RequestLandsInTime,
    /// The provider remembers a key for the whole window.
    KeyRemembered,
    /// … and a little longer, for a replay that began within it and lands late.
    KeyOutlastsLateReplay,
    /// A repeated key is answered from memory, before anything else about the request is looked at.
    MemoryComesFirst,
    /// What the provider calls "not processed" was not processed.
    NotProcessedIsTrue,
    /// A record that fits recipient and time, and is no other notification's, is ours.
    RecordIsOurs,
}

/// A decision or a guard that is broken on purpose. See `teeth`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    GuardWithoutAttempt,
    GuardWithoutPhase,
    TakeOverKeepsTheAttempt,
    RedeliveryClaimsAgain,
    AckBeforeTheClaim,
    NoLeaseCheck,
    TimeoutIsNotSent,
    RefusedInDoubtIsFailed,
    LostWorkerIsNotSent,
    OnlyKnownDoubtIsTakenOver,
    AbsentBeforeTheSettleTime,
    FailedLookUpIsAbsent,
    AbsentByRecipientIsProof,
    ReplayAfterTheWindow,
    ReplayOfChangedBytes,
    ReplayIsNotAnnounced,
    AgesOfTheTakeOver,
    NewerKeyEndsOlderDoubt,
    ExpiredInDoubtIsExpired,
    ResendUnderAtMostOnce,
    ResendIsNotCounted,
    ReplayAtAnotherProvider,
    PersonIgnoresTheVersion,
    AttemptsUsedUpInDoubtIsFailed,
    DueClaimMovesDoubt,
}

/// One configuration of the model.
#[derive(Clone, Debug)]
pub struct Setting {
    pub policy: Policy,
    pub memory: Memory,
    pub log: Log,
    /// How long a key is remembered; `None`: for longer than anything lasts here.
    pub window: Option<u8>,
    /// How long the log keeps a record; `None`: likewise.
    pub retention: Option<u8>,
    pub max_sends: u8,
    /// Things that may go wrong in one behaviour, in all.
    pub faults: u8,
    /// Extra copies of the message that the broker may deliver.
    pub redeliveries: u8,
    /// Times that a person looks at the row and decides.
    pub person: u8,
    pub may_expire: bool,
    /// The configuration may change, and with it the bytes of the request.
    pub may_change: bool,
    /// The channel may move to another provider of the same kind.
    pub may_move: bool,
    /// The log answers when asked, and the provider stores no failure under a key: then nothing
    /// is left to the policy.
    pub sure: bool,
    pub broken: Option<Promise>,
    pub mutation: Option<Mutation>,
}

impl Setting {
    /// Two workers, two resolvers, two extra copies of nothing: the usual trouble.
    pub const fn new(policy: Policy, memory: Memory, log: Log) -> Self {
        Self {
            policy,
            memory,
            log,
            window: Some(3),
            retention: None,
            max_sends: 2,
            faults: 3,
            redeliveries: 1,
            person: 0,
            may_expire: false,
            may_change: false,
            may_move: false,
            sure: false,
            broken: None,
            mutation: None,
        }
    }

    pub fn mutated(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }

    pub fn keeps(&self, promise: Promise) -> bool {
        self.broken != Some(promise)
    }

    /// What the real decisions are told about the provider.
    pub fn capability(&self) -> Capability {
        let window = self.window.map_or(Duration::MAX, ticks);
        let (settle, retention) = (ticks(SETTLE), self.retention.map_or(Duration::MAX, ticks));
        Capability {
            dedupe: match self.memory {
                Memory::Nothing => Dedupe::None,
                Memory::Replay => Dedupe::Replay { window },
                Memory::Tombstone => Dedupe::Tombstone { window },
            },
            look_up: match self.log {
                Log::Nothing => LookUp::None,
                Log::ByReference => LookUp::ByReference { settle, retention },
                Log::ByRecipient => LookUp::ByRecipient { settle, retention },
            },
        }
    }

    /// When the provider really forgets a key.
    pub fn forgets_at(&self) -> Option<u8> {
        let grace = if self.keeps(Promise::KeyOutlastsLateReplay) {
            GRACE
        } else {
            0
        };
        self.window.map(|window| window + grace)
    }

    /// How long the log really hides a record.
    pub fn lag(&self) -> u8 {
        if self.keeps(Promise::LogSettles) {
            LAG
        } else {
            SETTLE + 2
        }
    }

    /// The ages above which the age of a key, or of a record, no longer matters.
    pub fn oldest_key(&self) -> u8 {
        let window = match self.memory {
            Memory::Nothing => 0,
            Memory::Replay | Memory::Tombstone => self.window.unwrap_or(0),
        };
        window.max(self.kept())
    }

    pub fn oldest_record(&self) -> u8 {
        match self.log {
            Log::Nothing => 0,
            Log::ByReference | Log::ByRecipient => self.lag().max(self.kept()),
        }
    }

    fn kept(&self) -> u8 {
        match self.log {
            Log::Nothing => 0,
            Log::ByReference | Log::ByRecipient => self.retention.unwrap_or(0),
        }
    }
}

pub const fn ticks(count: u8) -> Duration {
    TICK.saturating_mul(count as u32)
}

/// A duration as ticks, rounded up.
pub fn in_ticks(duration: Duration) -> u8 {
    u8::try_from(duration.as_secs().div_ceil(TICK.as_secs())).unwrap_or(u8::MAX)
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let memory = match self.memory {
            Memory::Nothing => "no dedupe",
            Memory::Replay => "replay",
            Memory::Tombstone => "tombstone",
        };
        let log = match self.log {
            Log::Nothing => "no log",
            Log::ByReference => "log by reference",
            Log::ByRecipient => "log by recipient",
        };
        write!(f, "{}, {memory}, {log}", self.policy)?;
        for (word, set) in [
            (", may expire", self.may_expire),
            (", configuration may change", self.may_change),
            (", provider may change", self.may_move),
            (", log forgets", self.retention.is_some()),
            (", a person", self.person > 0),
            (", evidence to be had", self.sure),
        ] {
            f.write_str(if set { word } else { "" })?;
        }
        write!(f, ", {} faults", self.faults)
    }
}
