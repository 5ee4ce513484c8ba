//! The protocol, model-checked: every interleaving, within bounds, of workers, resolvers, a
//! broker, a provider, a person and time, around the real decisions of `nuncio::domain`.
//!
//! [`setting`] says what is varied, [`steps`] what may happen, [`properties`] what must hold.
//! `honest` holds them to it; `teeth` breaks decisions and guards, and each time the model finds
//! a property that falls; `promises` shows what each assumption about the world is needed for.
//! `docs/proof-model.md` has the results. `cargo test --test model -- --nocapture` prints them.

mod check;
mod decisions;
mod person;
mod process;
mod properties;
mod provider;
mod resolver;
mod row;
mod setting;
mod state;
mod steps;
mod worker;

mod honest;
mod promises;
mod teeth;

use std::ops::Deref;

use stateright::{Model, Property};

use setting::Setting;
use state::State;
use steps::{Step, Steps};

/// The model of one setting.
#[derive(Clone, Debug)]
pub struct Protocol(Setting);

impl Deref for Protocol {
    type Target = Setting;

    fn deref(&self) -> &Setting {
        &self.0
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State::first(&self.0)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Step>) {
        actions.extend(Steps::of(&self.0, state));
    }

    fn next_state(&self, _last: &State, step: Step) -> Option<State> {
        Some(step.next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}
