//! The sections about the process: database, broker, listener, resolver, log, shutdown.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use toml_span::value::ValueInner;
use url::Url;

use super::provider::Providers;
use super::section::Section;
use super::types::{Broker, Database, Http, Log, LogFormat, Resolver};
use super::values::{boolean, choice, duration, integer, line, secret, string, words};

/// One connection is enough to work: nothing is held across a provider call. Four let claims,
/// outcomes, the resolver and the console go on side by side.
const POOL: u32 = 4;

/// Enough to fill batches of claims while acks are under way; a crash gives at most this many
/// messages back to the queue.
const PREFETCH: u16 = 1000;

const EVERY: Duration = Duration::from_secs(5);
const BATCH: u32 = 200;
const MAX_RESENDS: u32 = 100;

/// What container schedulers give before they kill.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(30);

const LOG_FORMATS: &[(&str, LogFormat)] = &[("text", LogFormat::Text), ("json", LogFormat::Json)];

pub(super) fn database(file: &mut Section<'_, '_>) -> Option<Database> {
    const SCHEMES: &[&str] = &["postgres", "postgresql"];
    const VARIABLE: &str = "NUNCIO_DATABASE_URL";
    let Some(mut section) = file.section("database") else {
        let url = url_from_env(file, "database", VARIABLE, SCHEMES)?;
        return Some(Database {
            url,
            pool: POOL,
            pgbouncer: false,
        });
    };
    let url = url_or_env(&mut section, VARIABLE, SCHEMES);
    let pool = section.optional("pool", integer(1..=1000));
    let pgbouncer = section.optional("pgbouncer", boolean);
    section.finish();
    Some(Database {
        url: url?,
        pool: pool.unwrap_or(POOL),
        pgbouncer: pgbouncer.unwrap_or_default(),
    })
}

pub(super) fn broker(file: &mut Section<'_, '_>) -> Option<Broker> {
    const SCHEMES: &[&str] = &["amqp", "amqps"];
    const VARIABLE: &str = "NUNCIO_AMQP_URL";
    let exchange = || "nuncio".to_owned();
    let Some(mut section) = file.section("broker") else {
        let url = url_from_env(file, "broker", VARIABLE, SCHEMES)?;
        return Some(Broker {
            url,
            prefetch: PREFETCH,
            exchange: exchange(),
        });
    };
    let url = url_or_env(&mut section, VARIABLE, SCHEMES);
    let prefetch = section.optional("prefetch", integer(1..=u16::MAX));
    let named = section.optional("exchange", amqp_name);
    section.finish();
    Some(Broker {
        url: url?,
        prefetch: prefetch.unwrap_or(PREFETCH),
        exchange: named.unwrap_or_else(exchange),
    })
}

/// A name that AMQP can carry.
pub(super) fn amqp_name(value: ValueInner<'_>) -> Result<String, String> {
    let name = line(value)?;
    if name.len() > 255 {
        return Err("is longer than 255 bytes".into());
    }
    if name.starts_with("amq.") {
        return Err("names that begin with \"amq.\" belong to the broker".into());
    }
    Ok(name)
}

fn url_or_env(
    section: &mut Section<'_, '_>,
    variable: &str,
    schemes: &[&str],
) -> Option<SecretString> {
    if !section.has("url") {
        section.take("url");
        return url_from_env(section, "url", variable, schemes);
    }
    let url = section.secret("url")?;
    check_url(section, "url", url, schemes)
}

fn url_from_env(
    section: &Section<'_, '_>,
    key: &str,
    variable: &str,
    schemes: &[&str],
) -> Option<SecretString> {
    match secret(format!("env:{variable}"), section.reading.env) {
        Ok(url) => check_url(section, key, url, schemes),
        Err(message) => {
            section.wrong(key, format!("is missing, and {message}"));
            None
        }
    }
}

fn check_url(
    section: &Section<'_, '_>,
    key: &str,
    url: SecretString,
    schemes: &[&str],
) -> Option<SecretString> {
    match Url::parse(url.expose_secret()) {
        Ok(parsed) if schemes.contains(&parsed.scheme()) => Some(url),
        _ => {
            // not the URL itself, which may hold a password
            section.wrong(
                key,
                format!(
                    "is not a URL that begins with {}://",
                    schemes.join(":// or ")
                ),
            );
            None
        }
    }
}

pub(super) fn http(file: &mut Section<'_, '_>) -> Option<Http> {
    let default = SocketAddr::from((Ipv4Addr::LOCALHOST, 8080));
    let Some(mut section) = file.section("http") else {
        return Some(Http { listen: default });
    };
    let listen = section.optional("listen", |value| {
        let text = string(value)?;
        text.parse().map_err(|_| {
            format!("expected an address and a port, such as \"127.0.0.1:8080\", found {text:?}")
        })
    });
    section.finish();
    Some(Http {
        listen: listen.unwrap_or(default),
    })
}

pub(super) fn resolver(file: &mut Section<'_, '_>) -> Option<Resolver> {
    let mut resolver = Resolver {
        every: EVERY,
        batch: BATCH,
        max_resends: MAX_RESENDS,
    };
    if let Some(mut section) = file.section("resolver") {
        resolver.every = section.optional("every", duration).unwrap_or(EVERY);
        resolver.batch = section
            .optional("batch", integer(1..=10_000))
            .unwrap_or(BATCH);
        resolver.max_resends = section
            .optional("max_resends", integer(1..=10_000))
            .unwrap_or(MAX_RESENDS);
        section.finish();
    }
    Some(resolver)
}

pub(super) fn log(file: &mut Section<'_, '_>) -> Log {
    let mut format = LogFormat::default();
    if let Some(mut section) = file.section("log") {
        format = section
            .optional("format", choice(LOG_FORMATS))
            .unwrap_or_default();
        section.finish();
    }
    Log { format }
}

/// A process that is killed in mid-request leaves doubt; one that may finish does not.
pub(super) fn shutdown_grace(file: &mut Section<'_, '_>, providers: &Providers) -> Duration {
    let grace = file
        .optional("shutdown_grace", duration)
        .unwrap_or(SHUTDOWN_GRACE);
    let slowest = providers
        .iter()
        .max_by_key(|(_, listed)| listed.request_timeout);
    if let Some((name, listed)) = slowest.filter(|(_, listed)| grace <= listed.request_timeout) {
        file.wrong(
            "shutdown_grace",
            format!(
                "{} must be longer than the request timeout of provider {name}, {}",
                words(grace),
                words(listed.request_timeout)
            ),
        );
    }
    grace
}
