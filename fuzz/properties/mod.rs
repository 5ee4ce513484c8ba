//! What holds for any input. The fuzz targets include this, and so does the bounded run among the
//! ordinary tests (`tests/it/proof/fuzz.rs`).

#![allow(
    dead_code,
    clippy::expect_used,
    reason = "each fuzz target uses one half; a property that does not hold ends the run"
)]

pub mod answer;
pub mod decode;
mod dialects;
mod log;
mod text;

use std::sync::{Arc, LazyLock};

use nuncio::config::{self, Channel};

/// Channels with one gateway each, in the ways that common gateways speak.
static CHANNELS: LazyLock<Vec<Arc<Channel>>> = LazyLock::new(|| {
    let env = |name: &str| {
        Some(match name {
            "NUNCIO_DATABASE_URL" => "postgres://db/nuncio".to_owned(),
            "NUNCIO_AMQP_URL" => "amqp://mq".to_owned(),
            _ => "secret".to_owned(),
        })
    };
    config::parse("gateways.toml", include_str!("gateways.toml"), &env)
        .unwrap_or_else(|errors| panic!("{errors}"))
        .channels
});

/// The channel of this name, else the first one: an input that names none is tried too.
fn channel(name: &[u8]) -> &'static Channel {
    let named = CHANNELS.iter().find(|c| c.name.as_bytes() == name);
    named.or(CHANNELS.first()).expect("the file has channels")
}

/// What is before and after the first line end; without one, all is before it.
fn line(input: &[u8]) -> (&[u8], &[u8]) {
    match input.iter().position(|&byte| byte == b'\n') {
        Some(end) => (&input[..end], &input[end + 1..]),
        None => (input, &[]),
    }
}
