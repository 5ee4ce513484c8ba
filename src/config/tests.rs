//! Whole files, right and wrong.

use super::*;

fn env(name: &str) -> Option<String> {
    match name {
        "NUNCIO_DATABASE_URL" => Some("postgres://nuncio:secret@db/nuncio".into()),
        "NUNCIO_AMQP_URL" => Some("amqp://nuncio:secret@mq:5672/%2f".into()),
        "GATEWAY_TOKEN" => Some("t0ken".into()),
        _ => None,
    }
}

fn right(text: &str) -> Config {
    parse("nuncio.toml", text, &env).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn the_example_loads() {
    let config = right(include_str!("../../examples/nuncio.toml"));
    assert_eq!(config.channels.len(), 2);
}
