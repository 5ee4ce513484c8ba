//! nuncio

pub mod domain;
pub mod ledger;
pub mod provider;
