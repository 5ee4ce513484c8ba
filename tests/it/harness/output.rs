//! What programs print, kept in files, so that nothing has to read along.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// How much of each program's log a failed test shows.
const SHOWN: usize = 6_000;

/// The logs of a world's programs.
#[derive(Debug)]
pub(super) struct Outputs {
    folder: PathBuf,
    next: AtomicU32,
    files: Mutex<Vec<(String, PathBuf)>>,
}

impl Outputs {
    pub(super) fn in_folder(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            next: AtomicU32::new(1),
            files: Mutex::default(),
        }
    }

    /// A new file for a program's stderr.
    pub(super) fn file(&self, program: &str) -> (PathBuf, Stdio) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!("{number}-{program}.log"));
        let file = std::fs::File::create(&path).expect("a file can be made in the test's folder");
        let entry = (format!("{program} ({number})"), path.clone());
        self.files
            .lock()
            .expect("no holder of it panics")
            .push(entry);
        (path, file.into())
    }

    /// Every log: the program's name, and what it printed.
    pub(super) fn all(&self) -> Vec<(String, String)> {
        let files = self.files.lock().expect("no holder of it panics");
        files
            .iter()
            .map(|(program, path)| (program.clone(), read(path)))
            .collect()
    }

    /// Prints the ends of all logs, for a test that fails.
    pub(super) fn show(&self) {
        for (program, text) in self.all() {
            let mut start = text.len().saturating_sub(SHOWN);
            while !text.is_char_boundary(start) {
                start += 1;
            }
            eprintln!("---- {program} printed:\n{}", &text[start..]);
        }
    }
}

/// What a program has printed so far.
pub(super) fn read(path: &Path) -> String {
    std::fs::read(path).map_or_else(
        |error| panic!("{}: {error}", path.display()),
        |bytes| String::from_utf8_lossy(&bytes).into_owned(),
    )
}
