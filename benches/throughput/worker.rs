//! The workers that are compared, each a process of its own.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::{Child, Command};

use crate::broker::QUEUE;

/// What a worker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Floor,
    Naive,
    Nuncio,
}

/// One of those that are compared.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    program: PathBuf,
}

impl Worker {
    pub(crate) fn floor() -> anyhow::Result<Self> {
        Self::own("floor", Kind::Floor)
    }

    pub(crate) fn naive() -> anyhow::Result<Self> {
        Self::own("naive", Kind::Naive)
    }

    fn own(name: &str, kind: Kind) -> anyhow::Result<Self> {
        Ok(Self {
            name: name.to_owned(),
            kind,
            program: std::env::current_exe()?,
        })
    }

    pub(crate) fn nuncio() -> Self {
        Self {
            name: "nuncio".to_owned(),
            kind: Kind::Nuncio,
            program: env!("CARGO_BIN_EXE_nuncio").into(),
        }
    }

    pub(crate) fn other(program: &Path) -> Self {
        Self {
            name: program.file_name().map_or_else(
                || program.display().to_string(),
                |n| n.to_string_lossy().into(),
            ),
            kind: Kind::Nuncio,
            program: program.to_owned(),
        }
    }

    /// Starts it. It ends when the handle is dropped.
    pub(crate) fn start(&self, site: &Site<'_>) -> anyhow::Result<Child> {
        let mut command = Command::new(&self.program);
        match self.kind {
            Kind::Floor | Kind::Naive => {
                command
                    .arg(&self.name)
                    .args(["--queue", QUEUE, "--provider", &site.provider])
                    .args(["--in-flight", &site.in_flight.to_string()]);
            }
            Kind::Nuncio => {
                command.arg("run").arg("--config").arg(site.config);
            }
        }
        let child = command
            .env("BENCH_AMQP_URL", site.amqp)
            .env("BENCH_DATABASE_URL", site.database)
            .env("RUST_LOG", "warn")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        Ok(child)
    }
}

/// From where to where a worker carries messages.
pub(crate) struct Site<'a> {
    pub(crate) amqp: &'a str,
    pub(crate) database: &'a str,
    pub(crate) provider: String,
    pub(crate) config: &'a Path,
    pub(crate) in_flight: usize,
}
