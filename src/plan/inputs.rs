//! From the command line to the inputs of each computation.

use super::{
    args::PlanArgs,
    capability::{Dedupe, Lookup},
    cost::Prices,
    memory_inputs::MemoryInputs,
    simulation::RunInputs,
    situation::Situation,
};

impl PlanArgs {
    pub(super) fn situation(&self) -> Situation {
        let (dedupe, lookup) = self.provider.map_or((Dedupe::None, Lookup::None), |known| {
            (known.dedupe, known.lookup)
        });
        Situation {
            dedupe: self.dedupe.unwrap_or(dedupe),
            lookup: self.look_up.unwrap_or(lookup),
            request_loss: self.request_loss,
            answer_loss: self.answer_loss,
            crash: self.crash,
            crash_after_send: self.crash_after_send,
            late_log: self.late_log,
            foreign_match: self.foreign_match,
            tries: self.tries,
            act_after: self.act_after,
            margin: self.margin,
        }
    }

    pub(super) const fn prices(&self) -> Prices {
        Prices {
            lost: self.lost,
            doubled: self.doubled,
            parked_minutes: self.parked_minutes,
            minute: self.minute,
        }
    }

    pub(super) fn run_inputs(&self) -> RunInputs {
        let situation = self.situation();
        RunInputs {
            seed: self.seed,
            messages: self.messages,
            tries: self.tries,
            request_loss: situation.not_arriving(),
            answer_loss: situation.not_heard(),
        }
    }

    pub(super) fn memory_inputs(&self) -> MemoryInputs {
        let example = MemoryInputs::default();
        let Self {
            rate,
            entry_bytes,
            copies,
            ..
        } = *self;
        MemoryInputs {
            rate,
            entry_bytes,
            copies,
            ages: if self.ages.is_empty() {
                example.ages
            } else {
                self.ages.clone()
            },
            windows: if self.windows.is_empty() {
                example.windows
            } else {
                self.windows.clone()
            },
            ..example
        }
    }
}
