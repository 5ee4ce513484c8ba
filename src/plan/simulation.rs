//! The seeded run that the design publishes: the same losses dealt to three strategies.

use serde::Serialize;

use super::{
    capability::{Dedupe, Lookup, Policy},
    chance::Probability,
    expected::Expected,
    mulberry::Mulberry32,
    predict::predict,
    situation::Situation,
};

/// What is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RunInputs {
    /// Seed of mulberry32.
    pub seed: u32,
    /// How many messages, each a few nanoseconds of work per try.
    pub messages: u32,
    /// How often each may be tried, 1 or more.
    pub tries: u32,
    /// Share of requests lost on the way out.
    pub request_loss: Probability,
    /// Share of answers lost on the way back.
    pub answer_loss: Probability,
}

impl RunInputs {
    /// The published run: seed 34, 1,000 messages, up to 8 tries, one in ten lost each way.
    pub const PUBLISHED: Self = Self {
        seed: 34,
        messages: 1_000,
        tries: 8,
        request_loss: Probability::clamped(0.1),
        answer_loss: Probability::clamped(0.1),
    };
}

/// One strategy's counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RunRow {
    /// Requests sent.
    pub sends: u64,
    /// Messages that reached the recipient at least once.
    pub applied: u64,
    /// Messages that never did.
    pub lost: u64,
    /// Messages the recipient got beyond the first of each.
    pub duplicates: u64,
}

/// The three strategies over the same draws.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Run {
    /// What was simulated.
    pub inputs: RunInputs,
    /// One try, whatever happens.
    pub at_most_once: RunRow,
    /// Tries until an answer comes; the provider remembers nothing.
    pub at_least_once: RunRow,
    /// The same, and the provider drops what it already has.
    pub at_least_once_with_dedup: RunRow,
    /// What a run with these inputs is expected to give.
    pub expected: RunExpected,
}

/// What a simulated run is expected to give, with the spread of a single run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RunExpected {
    /// Lost by at-most-once.
    pub lost: Expected,
    /// Requests of at-least-once.
    pub sends: Expected,
    /// Duplicates of at-least-once without dedup.
    pub duplicates: Expected,
}

/// Runs the simulation. For each message and try the request is drawn first, then the answer, for
/// every permitted try whether it is used or not: so each strategy meets the same losses.
#[must_use]
pub fn simulate(inputs: RunInputs) -> Run {
    let mut random = Mulberry32::new(inputs.seed);
    let (mut once, mut again, mut dedup) =
        (RunRow::default(), RunRow::default(), RunRow::default());
    for _ in 0..inputs.messages {
        let (mut requests, mut effects, mut answered) = (0, 0, false);
        for attempt in 0..inputs.tries {
            let arrived = random.draw() >= inputs.request_loss.get();
            let heard = random.draw() >= inputs.answer_loss.get();
            if attempt == 0 {
                once.add(1, u64::from(arrived));
            }
            if !answered {
                requests += 1;
                effects += u64::from(arrived);
                answered = arrived && heard;
            }
        }
        again.add(requests, effects);
        dedup.add(requests, effects.min(1));
    }
    Run {
        inputs,
        at_most_once: once,
        at_least_once: again,
        at_least_once_with_dedup: dedup,
        expected: inputs.expected(),
    }
}

impl RunInputs {
    fn expected(self) -> RunExpected {
        let Self {
            messages,
            tries,
            request_loss,
            answer_loss,
            ..
        } = self;
        let blind = Situation {
            tries,
            ..Situation::new(Dedupe::None, Lookup::None, request_loss, answer_loss)
        };
        let again = predict(messages, Policy::AtLeastOnce, &blind);
        RunExpected {
            lost: Expected::binomial(messages, request_loss),
            sends: again.requests,
            duplicates: again.duplicates,
        }
    }
}

impl RunRow {
    fn add(&mut self, requests: u64, effects: u64) {
        self.sends += requests;
        self.applied += u64::from(effects > 0);
        self.lost += u64::from(effects == 0);
        self.duplicates += effects.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_run_is_reproduced_exactly() {
        let run = simulate(RunInputs::PUBLISHED);
        let row = |sends, applied, lost, duplicates| RunRow {
            sends,
            applied,
            lost,
            duplicates,
        };
        assert_eq!(run.at_most_once, row(1000, 905, 95, 0));
        assert_eq!(run.at_least_once, row(1231, 1000, 0, 119));
        assert_eq!(run.at_least_once_with_dedup, row(1231, 1000, 0, 0));
    }

    #[test]
    fn every_message_is_applied_or_lost() {
        let inputs = RunInputs {
            seed: 7,
            tries: 2,
            ..RunInputs::PUBLISHED
        };
        let run = simulate(inputs);
        for row in [
            run.at_most_once,
            run.at_least_once,
            run.at_least_once_with_dedup,
        ] {
            assert_eq!(row.applied + row.lost, u64::from(inputs.messages));
        }
    }
}
