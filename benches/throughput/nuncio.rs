//! nuncio's configuration for the benchmark.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use nuncio::config::{self, Config};

use crate::broker::{EXCHANGE, QUEUE};
use crate::message::CHANNEL;

/// Writes the file. Everything that is not said has its default.
pub(crate) fn write(folder: &Path, provider: &str, in_flight: usize) -> anyhow::Result<PathBuf> {
    let text = format!(
        r#"
[database]
url = "env:BENCH_DATABASE_URL"
[broker]
url = "env:BENCH_AMQP_URL"
exchange = "{EXCHANGE}"
[http]
listen = "127.0.0.1:0"
[channels.{CHANNEL}]
kind = "sms"
policy = "at-most-once"
provider = "stub"
queue = "{QUEUE}"
concurrency = {in_flight}
[providers.stub]
kind = "http"
request_timeout = "10s"
[providers.stub.send]
method = "POST"
url = "{provider}"
json = {{ to = "{{{{ to }}}}", text = "{{{{ text }}}}", reference = "{{{{ send_key }}}}", published_us = "{{{{ metadata.published_us }}}}" }}
[[providers.stub.send.answers]]
status = "2xx"
json = {{ "$.status" = "accepted" }}
id = "$.id"
means = "accepted"
"#
    );
    let file = folder.join(format!("nuncio-{in_flight}.toml"));
    std::fs::write(&file, text)?;
    Ok(file)
}

/// Reads it as nuncio does.
pub(crate) fn read(file: &Path, amqp: &str, database: &str) -> anyhow::Result<Arc<Config>> {
    let variable = |name: &str| match name {
        "BENCH_AMQP_URL" => Some(amqp.to_owned()),
        "BENCH_DATABASE_URL" => Some(database.to_owned()),
        _ => None,
    };
    let config = config::load(file, &variable).map_err(|errors| anyhow!("{errors}"))?;
    Ok(Arc::new(config))
}
