//! An isolated world for each test: a database, queues, a sandbox and a folder of its own, real
//! processes in it, and questions about what became of it all.
//!
//! ```ignore
//! let world = World::new().await;
//! let config = world.config().channel(Channel::new("sms", AtMostOnce, Gives::Nothing));
//! let worker = world.start(&config).await;            // `nuncio run`, ready
//! world.publisher(&config).await.send("sms", "order-1").await;
//! world.rest().await;                                 // nothing is queued or sending
//! worker.stop().await;
//! world.audit(&config).await;                         // what holds after every test
//! ```
//!
//! Nothing in here waits for a fixed time. [`wait_until`] waits for a condition, and names it when
//! it does not come.

#![allow(
    dead_code,
    unused_imports,
    reason = "a part that no test of the day uses is still the harness's"
)]

mod audit;
mod broker;
mod config;
mod database;
mod environment;
mod frontend;
mod http;
mod output;
mod process;
mod proxy;
mod publisher;
mod rows;
mod sandbox;
mod wait;
mod world;

pub use audit::Audit;
pub use broker::{Broker, Depth};
pub use config::{Channel, Config, Gives};
pub use database::Database;
pub use http::{Answered, Http};
pub use process::{Ended, Scraped, Worker};
pub use proxy::{Cut, Flow, Proxy};
pub use publisher::{Publisher, body, recipient};
pub use rows::{Line, Quarantined, Row};
pub use sandbox::{Arrived, Sandbox};
pub use wait::{PATIENCE, wait_until};
pub use world::World;
