//! nuncio

pub mod domain;
pub mod ledger;
pub mod ops;
pub mod provider;
