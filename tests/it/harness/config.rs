//! Configuration files for tests.

use std::fmt::Write as _;
use std::net::SocketAddr;

use nuncio::domain::policy::Policy;
use url::Url;

/// What a channel's provider promises; the sandbox keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gives {
    /// No dedupe, no look-up: the request carries no key.
    Nothing,
    /// The first answer again, under the same key.
    Replay,
    /// A log that is searched by our reference.
    LookUp,
    /// Both.
    ReplayAndLookUp,
    /// A log that is searched by recipient and time.
    FuzzyLookUp,
    /// An answer under the same key that means "already have it".
    Tombstone,
}

/// A channel with its provider, both under one name.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Name of the channel and of its provider.
    pub name: String,
    /// `sms` or `email`.
    pub kind: &'static str,
    /// What to do when nothing can be known.
    pub policy: Policy,
    /// What the provider promises.
    pub gives: Gives,
    /// Total time of one request.
    pub request_timeout: String,
    /// How long a claim lasts. More than 5 s longer than `request_timeout`.
    pub lease: String,
    /// Requests at once.
    pub concurrency: usize,
    /// Attempt cap.
    pub max_sends: u32,
    /// How long the provider remembers a key.
    pub window: String,
    /// How long its log may lag.
    pub settle: String,
    /// How long its log keeps a record.
    pub retention: String,
    /// Where the provider is; the sandbox unless set.
    pub provider: Option<SocketAddr>,
    /// `http`, or `https` where the provider's address speaks TLS.
    pub scheme: &'static str,
    /// `quorum` or `classic`.
    pub queue_type: &'static str,
    /// More lines for `[channels.NAME]`.
    pub more: String,
    /// More lines for `[providers.NAME]`.
    pub more_of_provider: String,
}

impl Channel {
    /// An SMS channel with times that suit a test: the lease is long, since a test that wants it
    /// past can let time pass (see [`super::World::let_pass`]).
    pub fn new(name: &str, policy: Policy, gives: Gives) -> Self {
        Self {
            name: name.to_owned(),
            kind: "sms",
            policy,
            gives,
            request_timeout: "20s".into(),
            lease: "60s".into(),
            concurrency: 16,
            max_sends: 8,
            window: "1h".into(),
            settle: "1s".into(),
            retention: "1h".into(),
            provider: None,
            scheme: "http",
            queue_type: "quorum",
            more: String::new(),
            more_of_provider: String::new(),
        }
    }

    /// Request timeout and lease.
    pub fn times(mut self, request_timeout: &str, lease: &str) -> Self {
        self.request_timeout = request_timeout.into();
        self.lease = lease.into();
        self
    }

    /// Requests at once.
    pub fn concurrency(mut self, requests: usize) -> Self {
        self.concurrency = requests;
        self
    }

    /// Attempt cap.
    pub fn max_sends(mut self, sends: u32) -> Self {
        self.max_sends = sends;
        self
    }

    /// Reach the provider here: through a proxy, or another provider than the sandbox.
    pub fn through(mut self, address: SocketAddr) -> Self {
        self.provider = Some(address);
        self
    }

    /// A line more for `[channels.NAME]`.
    pub fn line(mut self, line: &str) -> Self {
        self.more += line;
        self.more.push('\n');
        self
    }

    fn has_a_key(&self) -> bool {
        matches!(
            self.gives,
            Gives::Replay | Gives::ReplayAndLookUp | Gives::Tombstone
        )
    }
}

/// A configuration file in the making.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its channels.
    pub channels: Vec<Channel>,
    /// Connections to the database.
    pub pool: u32,
    /// Pause between two passes of the resolver.
    pub resolve_every: String,
    /// How long a stop may take.
    pub grace: String,
    /// Unacked messages under way to a consumer.
    pub prefetch: u16,
    /// More lines at the top of the file, and more sections at its end.
    pub top: String,
    /// See `top`.
    pub end: String,
    database: Url,
    broker: Url,
    prefix: String,
    sandbox: SocketAddr,
}

impl Config {
    pub(super) fn new(database: &Url, broker: &super::Broker, sandbox: SocketAddr) -> Self {
        Self {
            channels: Vec::new(),
            pool: 4,
            resolve_every: "200ms".into(),
            grace: "30s".into(),
            prefetch: 100,
            top: String::new(),
            end: String::new(),
            database: database.clone(),
            broker: broker.url.clone(),
            prefix: broker.prefix.clone(),
            sandbox,
        }
    }

    /// One channel more.
    pub fn channel(mut self, channel: Channel) -> Self {
        self.channels.push(channel);
        self
    }

    /// Connections to the database.
    pub fn pool(mut self, connections: u32) -> Self {
        self.pool = connections;
        self
    }

    /// How long a stop may take.
    pub fn grace(mut self, time: &str) -> Self {
        self.grace = time.into();
        self
    }

    /// Reach the database here.
    pub fn database_through(mut self, proxy: SocketAddr) -> Self {
        redirect(&mut self.database, proxy);
        self
    }

    /// Reach the broker here.
    pub fn broker_through(mut self, proxy: SocketAddr) -> Self {
        redirect(&mut self.broker, proxy);
        self
    }

    /// The URL of the broker, to change what stands in it.
    pub fn broker_url(&mut self) -> &mut Url {
        &mut self.broker
    }

    /// The URL of the database, to change what stands in it.
    pub fn database_url(&mut self) -> &mut Url {
        &mut self.database
    }

    /// The queue of a channel.
    pub fn queue(&self, channel: &str) -> String {
        format!("{}nuncio.{channel}", self.prefix)
    }

    /// The exchange that producers publish to.
    pub fn exchange(&self) -> String {
        format!("{}nuncio", self.prefix)
    }

    /// The file.
    pub fn toml(&self) -> String {
        let mut toml = format!(
            "shutdown_grace = \"{}\"\n{}\n\
             [database]\nurl = \"{}\"\npool = {}\n\
             [broker]\nurl = \"{}\"\nprefetch = {}\nexchange = \"{}\"\n\
             [http]\nlisten = \"127.0.0.1:0\"\n\
             [resolver]\nevery = \"{}\"\n",
            self.grace,
            self.top,
            self.database,
            self.pool,
            self.broker,
            self.prefetch,
            self.exchange(),
            self.resolve_every
        );
        for channel in &self.channels {
            self.write_channel(&mut toml, channel);
            self.write_provider(&mut toml, channel);
        }
        toml + &self.end
    }

    fn write_channel(&self, toml: &mut String, channel: &Channel) {
        let name = &channel.name;
        let retry = "retry = { first = \"200ms\", longest = \"1s\" }";
        let retry = if channel.more.contains("retry") {
            ""
        } else {
            retry
        };
        write!(
            toml,
            "[channels.{name}]\nkind = \"{}\"\npolicy = \"{}\"\nprovider = \"{name}\"\n\
             queue = \"{}\"\nqueue_type = \"{}\"\nconcurrency = {}\nlease = \"{}\"\n\
             max_sends = {}\n{retry}\n{}",
            channel.kind,
            channel.policy,
            self.queue(name),
            channel.queue_type,
            channel.concurrency,
            channel.lease,
            channel.max_sends,
            channel.more,
        )
        .expect("a string takes everything");
    }

    fn write_provider(&self, toml: &mut String, channel: &Channel) {
        let provider = format!("providers.{}", channel.name);
        let address = channel.provider.unwrap_or(self.sandbox);
        let dedupe = match channel.gives {
            Gives::Replay | Gives::ReplayAndLookUp => "replay",
            Gives::Tombstone => "tombstone",
            Gives::Nothing | Gives::LookUp | Gives::FuzzyLookUp => "none",
        };
        let dedupe = match dedupe {
            "none" => "dedupe = \"none\"".to_owned(),
            kind => format!(
                "dedupe = {{ kind = \"{kind}\", window = \"{}\" }}",
                channel.window
            ),
        };
        let key = if channel.has_a_key() {
            "headers = { \"Idempotency-Key\" = \"{{ send_key }}\" }"
        } else {
            ""
        };
        let already = if channel.gives == Gives::Tombstone {
            ALREADY
        } else {
            ""
        };
        writeln!(
            toml,
            "[{provider}]\nkind = \"http\"\nrequest_timeout = \"{}\"\n{dedupe}\n{}\n\
             [{provider}.send]\nmethod = \"POST\"\nurl = \"{}://{address}/send\"\n{key}\n{SEND}{}",
            channel.request_timeout,
            channel.more_of_provider,
            channel.scheme,
            (already.to_owned() + ANSWERS).replace("@", &provider),
        )
        .expect("a string takes everything");
        let look_up = match channel.gives {
            Gives::LookUp | Gives::ReplayAndLookUp => BY_REFERENCE,
            Gives::FuzzyLookUp => BY_RECIPIENT,
            Gives::Nothing | Gives::Replay | Gives::Tombstone => return,
        };
        writeln!(
            toml,
            "{}settle = \"{}\"\nretention = \"{}\"",
            look_up
                .replace("@", &provider)
                .replace("ADDRESS", &format!("{}://{address}", channel.scheme)),
            channel.settle,
            channel.retention
        )
        .expect("a string takes everything");
    }
}

fn redirect(url: &mut Url, to: SocketAddr) {
    url.set_ip_host(to.ip()).expect("the URL has a host");
    url.set_port(Some(to.port())).expect("the URL has a port");
}

const SEND: &str = r#"json = { to = "{{ to }}", text = "{{ text }}", reference = "{{ send_key }}" }
not_processed = [429, 503]
"#;

const ALREADY: &str = r#"
[[@.send.answers]]
status = "2xx"
header = { "Idempotent-Replayed" = "true" }
id = "$.id"
means = "already"
"#;

const ANSWERS: &str = r#"
[[@.send.answers]]
status = "2xx"
json = { "$.status" = "accepted" }
id = "$.id"
means = "accepted"
[[@.send.answers]]
status = 409
json = { "$.code" = "in_progress" }
means = "in-progress"
[[@.send.answers]]
status = [409, 422]
json = { "$.code" = "key_mismatch" }
means = "mismatch"
[[@.send.answers]]
status = 400
json = { "$.code" = "opted_out" }
means = "opted-out"
[[@.send.answers]]
status = [400, 422]
text_of = "$.message"
means = "refused"
[[@.send.answers]]
status = "5xx"
header = { "Idempotent-Replayed" = "true" }
means = "replayed-failure"
"#;

const BY_REFERENCE: &str = r#"
[@.lookup]
by = "reference"
url = "ADDRESS/log?reference={{ send_key }}"
records = "$.records"
reference = "$.reference"
id = "$.id"
"#;

const BY_RECIPIENT: &str = r#"
[@.lookup]
by = "recipient"
url = "ADDRESS/log?to={{ to }}"
records = "$.records"
to = "$.to"
at = "$.at"
id = "$.id"
"#;
