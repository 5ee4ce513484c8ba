//! A folder of the demo's own for its configuration and its workers' logs.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;

/// Removed with all that is in it when dropped, unless it is kept. Readable by its owner only,
/// since the servers' URLs may hold passwords.
pub(super) struct Folder {
    path: PathBuf,
    kept: AtomicBool,
}

impl Folder {
    pub(super) fn create(name: &str) -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .with_context(|| format!("cannot create the folder {}", path.display()))?;
        Ok(Self {
            path,
            kept: AtomicBool::new(false),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn config(&self) -> PathBuf {
        self.path.join("nuncio.toml")
    }

    pub(super) fn write_config(&self, text: &str) -> anyhow::Result<()> {
        let path = self.config();
        let write = || -> std::io::Result<()> {
            let mut options = OpenOptions::new();
            let mut file = options
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path)?;
            file.write_all(text.as_bytes())
        };
        write().with_context(|| format!("cannot write {}", path.display()))
    }

    /// Leaves it where it is.
    pub(super) fn keep(&self) -> &Path {
        self.kept.store(true, Ordering::Relaxed);
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.kept.load(Ordering::Relaxed) {
            // In the system's folder for such things; what is left there is harmless.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
