//! From RabbitMQ into the ledger: topology, decoding, and the consumer that reopens itself; and dead
//! letters back again.

pub mod batch;
pub mod consumer;
pub mod dead_letters;
pub mod decode;
pub mod publish;
pub mod subscription;
pub mod topology;
