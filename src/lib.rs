//! nuncio

pub mod config;
pub mod domain;
pub mod provider;
