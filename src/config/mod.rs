//! The configuration file: read, checked, and refused with every mistake at once.
//!
//! [`parse`] goes from text to [`Config`] without touching anything; [`load`] reads the file
//! first. Rules that span several keys are errors here, before a port is bound or a queue
//! declared, not warnings while messages flow. `docs/configuration.md` lists every key.

mod channel;
mod error;
mod process;
mod provider;
mod section;
#[cfg(test)]
mod tests;
mod types;
pub(crate) mod values;
mod words;

use std::path::Path;

pub(crate) use error::Place;
pub use error::{ConfigError, ConfigErrors};
pub(crate) use provider::{Common, Own};
pub use section::Env;
pub(crate) use section::{Reading, Section, inner};
pub use types::{Broker, Channel, Config, Database, Http, LEASE_MARGIN, Log, LogFormat, Resolver};
pub use words::capability_words;

use error::Problems;

/// Reads the file at `path` and checks it. `env` reads environment variables.
///
/// # Errors
/// Every mistake in the file, or that it cannot be read.
pub fn load(path: &Path, env: Env<'_>) -> Result<Config, ConfigErrors> {
    let name = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => parse(&name, &text, env),
        Err(error) => Err(ConfigErrors {
            file: name,
            errors: vec![ConfigError {
                line: 0,
                column: 0,
                path: String::new(),
                message: format!("cannot be read: {error}"),
            }],
        }),
    }
}

/// Checks a configuration. `name` is what mistakes are reported under.
///
/// # Errors
/// Every mistake.
pub fn parse(name: &str, text: &str, env: Env<'_>) -> Result<Config, ConfigErrors> {
    let reading = Reading {
        problems: Problems::default(),
        env,
    };
    let config = read(&reading, text);
    match (reading.problems.into_errors(name, text), config) {
        (None, Some(config)) => Ok(config),
        (Some(errors), _) => Err(errors),
        // cannot be: what could not be read has left a note
        (None, None) => Err(ConfigErrors {
            file: name.to_owned(),
            errors: Vec::new(),
        }),
    }
}

fn read(reading: &Reading<'_>, text: &str) -> Option<Config> {
    let value = match toml_span::parse(text) {
        Ok(value) => value,
        Err(error) => {
            let place = Place {
                offset: error.span.start,
                path: String::new(),
            };
            reading.problems.add(&place, format!("not TOML: {error}"));
            return None;
        }
    };
    let mut file = Section::open(reading, String::new(), value)?;
    let database = process::database(&mut file);
    let broker = process::broker(&mut file);
    let http = process::http(&mut file);
    let resolver = process::resolver(&mut file);
    let log = process::log(&mut file);
    let providers = provider::read_all(&mut file);
    let channels = channel::read_all(&mut file, &providers);
    let shutdown_grace = process::shutdown_grace(&mut file, &providers);
    file.finish();
    Some(Config {
        database: database?,
        broker: broker?,
        http: http?,
        resolver: resolver?,
        shutdown_grace,
        log,
        warnings: provider::unused(&providers, &channels),
        channels,
    })
}
