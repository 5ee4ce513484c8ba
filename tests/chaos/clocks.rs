//! No wall clock of a worker enters a decision.

use std::path::{Path, PathBuf};

/// Where the product reads a wall clock, and why it may.
const READ: [(&str, &str); 2] = [
    (
        "src/check.rs",
        "a look-up that only tries whether the provider answers",
    ),
    ("src/resolver.rs", "a metric: when the last pass succeeded"),
];

/// Ways to read one.
const WAYS: [&str; 3] = ["SystemTime::now", "Utc::now", "Local::now"];

/// Parts that run in no worker: the sandbox is a provider, with clocks of its own.
const ELSEWHERE: [&str; 2] = ["src/sandbox", "src/plan"];

#[test]
fn the_wall_clock_is_read_in_two_places_and_neither_decides() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut read: Vec<String> = sources(&root.join("src"))
        .into_iter()
        .filter(|path| {
            let text = std::fs::read_to_string(path).expect("a source can be read");
            WAYS.iter().any(|way| text.contains(way))
        })
        .map(|path| {
            let path = path.strip_prefix(root).expect("it is below");
            path.to_str().expect("its name is text").to_owned()
        })
        .filter(|path| !ELSEWHERE.iter().any(|part| path.starts_with(part)))
        .collect();
    read.sort_unstable();
    assert_eq!(read, READ.map(|(path, _)| path));
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder can be read");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                sources(&path)
            } else {
                vec![path]
            }
        })
        .filter(|path| path.extension().is_some_and(|ending| ending == "rs"))
        .collect()
}
