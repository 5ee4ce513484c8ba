//! nuncio

pub mod domain;
pub mod provider;
