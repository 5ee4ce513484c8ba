//! `nuncio sandbox`: a local provider that fails on demand, for the demo, the tests and staging.
//!
//! It does what real providers do (accept, refuse, throttle, remember idempotency keys, keep a log
//! that lags) and what they do at the worst moment. And it counts what it physically sent, which no
//! real provider tells. docs/sandbox.md is the reference of its HTTP interface.
//!
//! A request passes three stations, and a fault belongs to one of them:
//!
//! 1. `front`: lost, throttled, unauthorized, redirected; the provider never sees it, no key is taken.
//! 2. `send`: the provider claims the key (`keys`), decides, and writes down what it sends (`book`).
//! 3. `edge`: the answer is cut, replaced by a gateway's page, spoilt or held back.
//!
//! Hence a repeat under the same key after any fault of the third kind is a replay, not a send.
//! Which fault hits is the `plan`'s to say: scripts first, else draws that depend on nothing but
//! seed, reference and number (`draw`).

mod answer;
mod args;
mod arrival;
mod book;
mod clock;
mod counts;
mod draw;
mod edge;
mod entry;
mod fault;
mod front;
mod histogram;
mod keys;
mod log_fault;
mod look_up;
mod message;
mod name;
mod plan;
mod release;
mod requests;
mod routes;
mod send;
mod server;
mod settings;
mod state;
mod tally;
mod unruly;

pub use args::{SandboxArgs, run};
pub use fault::{Fault, UnknownFault};
pub use log_fault::{LogFault, LogFaults};
pub use plan::{FaultPlan, PlanError};
pub use server::serve;
pub use settings::Settings;
