//! What is tried: three channels, their providers' capabilities, and their times.

use std::time::Duration;

use super::args::DemoArgs;
use super::promise::Promise;
use crate::plan::{Dedupe, Lookup, Policy, Situation};
use crate::sandbox::{Fault, FaultPlan, Settings};

/// Requests under way at once on a channel of one worker, and so the most that a kill leaves in
/// doubt there.
pub(super) const CONCURRENCY: u32 = 8;

/// About how long the sending takes, as far as the latencies below allow: room for the kills.
const SENDING: Duration = Duration::from_secs(6);

/// Bounds of how long an answer takes after the acceptance: long enough that a kill finds requests
/// open, and far below the request timeout.
const LATENCIES: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(500)];

/// Total time for a request. A lost one fails at once; this is for a machine that is busy.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a killed worker's claims stay its own: the shortest that the configuration allows.
pub(super) const LEASE: Duration = Duration::from_millis(7100);

/// How long the provider with a memory remembers a key. Longer than the first replays take, and
/// shorter than a lease: what a killed worker left is settled by the provider's log.
pub(super) const WINDOW: Duration = Duration::from_secs(8);

/// How long its log lags, and how long nuncio is told to give it.
pub(super) const LOG_LAG: Duration = Duration::from_secs(1);
/// See [`LOG_LAG`].
pub(super) const SETTLE: Duration = Duration::from_secs(3);

/// How long its log is kept, by the sandbox and by the configuration.
pub(super) const RETENTION: Duration = Duration::from_secs(30 * 86_400);

/// Attempts for one notification: with up to three in four failing, one in 10^124 runs out.
pub(super) const MAX_SENDS: u32 = 1000;

/// About how long after an attempt the resolver acts on it.
const ACT_AFTER: Duration = Duration::from_secs(1);

/// Attempts that the prediction follows; what is left after them is too rare to show.
const TRIES: u32 = 40;

/// One of the three channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lane {
    /// The channel's name, and its provider's.
    pub(super) name: &'static str,
    pub(super) policy: Policy,
    pub(super) promise: Promise,
    /// Whether its provider remembers keys and has a log that can be asked.
    pub(super) remembers: bool,
}

/// The three.
pub(super) const LANES: [Lane; 3] = [
    Lane {
        name: "at-most-once",
        policy: Policy::AtMostOnce,
        promise: Promise::NeverTwice,
        remembers: false,
    },
    Lane {
        name: "at-least-once",
        policy: Policy::AtLeastOnce,
        promise: Promise::NeverLost,
        remembers: false,
    },
    Lane {
        name: "at-least-once-with-key",
        policy: Policy::AtLeastOnce,
        promise: Promise::EachOnce,
        remembers: true,
    },
];

impl Lane {
    /// What the provider promises, in words.
    pub(super) fn capability(&self) -> &'static str {
        if self.remembers {
            "key and look-up"
        } else {
            "no key, no look-up"
        }
    }

    /// How its provider behaves.
    pub(super) fn settings(&self, args: &DemoArgs) -> Settings {
        let rates = [(Fault::Drop, args.drop), (Fault::CutAfterAccept, args.cut)];
        Settings {
            plan: FaultPlan {
                seed: args.seed,
                rates: rates.map(|(fault, share)| (fault, share.get())).into(),
                ..FaultPlan::default()
            },
            window: WINDOW,
            log_lag: LOG_LAG,
            log_retention: RETENTION,
            idempotency: self.remembers,
            latency: latency(args),
            ..Settings::default()
        }
    }

    /// The same for the prediction.
    pub(super) fn situation(&self, args: &DemoArgs) -> Situation {
        let (dedupe, lookup) = if self.remembers {
            let lookup = Lookup::ByReference {
                settle: SETTLE,
                retention: RETENTION,
            };
            (Dedupe::Replay { window: WINDOW }, lookup)
        } else {
            (Dedupe::None, Lookup::None)
        };
        Situation {
            tries: TRIES,
            act_after: ACT_AFTER,
            margin: REQUEST_TIMEOUT,
            ..Situation::new(dedupe, lookup, args.drop, args.cut)
        }
    }
}

/// The fewer notifications, the slower the answers.
fn latency(args: &DemoArgs) -> Duration {
    let [least, most] = LATENCIES;
    (SENDING * CONCURRENCY * args.workers / args.messages).clamp(least, most)
}
