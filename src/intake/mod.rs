//! From RabbitMQ into the ledger: topology, decoding, and the consumer that reopens itself.

pub mod batch;
pub mod consumer;
pub mod decode;
pub mod publish;
pub mod topology;
