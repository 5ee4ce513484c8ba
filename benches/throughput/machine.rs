//! On what it was measured: figures without it say nothing.

use std::fs;
use std::process::Command;

use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) memory_gib: Option<u64>,
    pub(crate) system: String,
    pub(crate) postgres: String,
    pub(crate) rabbitmq: String,
    /// Load of the last minute when the benchmark began; of other programs, then.
    pub(crate) load_before: Option<f64>,
}

impl Machine {
    pub(crate) fn look(postgres: String) -> Self {
        let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
        let field = |file: &str, name: &str| {
            read(file)
                .lines()
                .find(|line| line.starts_with(name))
                .and_then(|line| Some(line.split_once([':', '='])?.1.trim().to_owned()))
        };
        let unknown = || "unknown".to_owned();
        let kib = field("/proc/meminfo", "MemTotal")
            .and_then(|size| size.split(' ').next()?.parse::<u64>().ok());
        Self {
            processor: field("/proc/cpuinfo", "model name").unwrap_or_else(unknown),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            memory_gib: kib.map(|kib| kib.div_ceil(1 << 20)),
            system: field("/etc/os-release", "PRETTY_NAME")
                .map_or_else(unknown, |name| name.trim_matches('"').to_owned()),
            postgres,
            rabbitmq: rabbitmq().unwrap_or_else(unknown),
            load_before: read("/proc/loadavg")
                .split(' ')
                .next()
                .and_then(|load| load.parse().ok()),
        }
    }
}

/// What scripts/services names says it; over AMQP alone the version is not to be had.
fn rabbitmq() -> Option<String> {
    let program = std::env::var_os("NUNCIO_RABBITMQCTL")?;
    let said = Command::new(program).arg("version").output().ok()?;
    let version = String::from_utf8(said.stdout).ok()?.trim().to_owned();
    (!version.is_empty()).then_some(version)
}
