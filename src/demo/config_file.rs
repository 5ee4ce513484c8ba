//! The configuration of the demo's workers, as a user would write it.

use std::net::SocketAddr;

use super::lanes::{
    CONCURRENCY, LANES, LEASE, Lane, MAX_SENDS, REQUEST_TIMEOUT, RETENTION, SETTLE, WINDOW,
};
use super::stage::Servers;
use crate::plan::Policy;

/// The file's text: `addresses` are those of the lanes' providers.
pub(super) fn text(name: &str, servers: &Servers, addresses: &[SocketAddr]) -> String {
    let database = quoted(&servers.database_of(name));
    let broker = quoted(&servers.broker);
    let mut text = format!(
        r#"# Written by `nuncio demo`.
shutdown_grace = "10s"

[database]
url = {database}

[broker]
url = {broker}
exchange = "{name}"
prefetch = 16                # so that all workers get their share

[http]
listen = "127.0.0.1:0"

[resolver]
every = "1s"
batch = 32                   # small pages: what a killed resolver had taken comes back soon
max_resends = 10000
"#
    );
    for (lane, address) in LANES.iter().zip(addresses) {
        text += &channel(name, lane);
        text += &provider(lane, *address);
    }
    text
}

fn channel(name: &str, lane: &Lane) -> String {
    let (channel, policy) = (lane.name, lane.policy.as_str());
    let lease = LEASE.as_millis();
    let kind = if lane.policy == Policy::AtMostOnce {
        "sms"
    } else {
        "email"
    };
    format!(
        r#"
[channels.{channel}]
kind = "{kind}"
policy = "{policy}"
provider = "{channel}"
queue = "{name}.{channel}"
concurrency = {CONCURRENCY}
lease = "{lease}ms"
max_sends = {MAX_SENDS}
retry = {{ first = "500ms", longest = "2s" }}
"#
    )
}

fn provider(lane: &Lane, address: SocketAddr) -> String {
    let name = lane.name;
    let timeout = REQUEST_TIMEOUT.as_secs();
    let mut text = format!(
        r#"
[providers.{name}]
kind = "http"
request_timeout = "{timeout}s"
"#
    );
    if lane.remembers {
        let window = WINDOW.as_secs();
        text += &format!("dedupe = {{ kind = \"replay\", window = \"{window}s\" }}\n");
    }
    text += &format!(
        r#"
[providers.{name}.send]
method = "POST"
url = "http://{address}/send"
headers = {{ "Idempotency-Key" = "{{{{ send_key }}}}" }}
json = {{ to = "{{{{ to }}}}", text = "{{{{ text }}}}", reference = "{{{{ send_key }}}}" }}
not_processed = [429, 503]

[[providers.{name}.send.answers]]
status = "2xx"
json = {{ "$.status" = "accepted" }}
id = "$.id"
means = "accepted"

[[providers.{name}.send.answers]]
status = 409
json = {{ "$.code" = "in_progress" }}
means = "in-progress"

[[providers.{name}.send.answers]]
status = 409
json = {{ "$.code" = "key_mismatch" }}
means = "mismatch"
"#
    );
    if lane.remembers {
        let (settle, retention) = (SETTLE.as_secs(), RETENTION.as_secs() / 86_400);
        text += &format!(
            r#"
[providers.{name}.lookup]
by = "reference"
url = "http://{address}/log?reference={{{{ send_key }}}}"
records = "$.records"
reference = "$.reference"
id = "$.id"
settle = "{settle}s"
retention = "{retention}d"
"#
        );
    }
    text
}

/// A basic string of TOML. JSON's escapes are a part of TOML's.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
