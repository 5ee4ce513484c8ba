//! nuncio

pub mod app;
pub mod check;
pub mod config;
pub mod demo;
pub mod domain;
pub mod intake;
pub mod ledger;
pub mod metrics;
pub mod plan;
pub mod provider;
pub mod reconnect;
pub mod resolver;
pub mod sandbox;
pub mod table;
pub mod telemetry;
pub mod web;
pub mod worker;
