//! nuncio

pub mod config;
pub mod domain;
pub mod ledger;
pub mod provider;
