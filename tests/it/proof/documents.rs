//! The tests that documents name exist, and the tables are whole.

use std::collections::BTreeSet;
use std::path::PathBuf;

/// The cases that people who run such systems reported.
const CASES: [u8; 44] = [
    1, 2, 3, 4, 6, 8, 9, 10, 11, 14, 15, 17, 19, 20, 22, 25, 26, 27, 28, 29, 30, 32, 34, 35, 36,
    37, 38, 39, 40, 41, 42, 44, 45, 46, 49, 50, 51, 52, 53, 55, 56, 57, 58, 60,
];

const INVARIANTS: u8 = 12;

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)).ok()
}

/// The rows of all tables of a document whose first cell is of this form, by first cell.
fn rows(document: &str, is_first: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let text = read(document).unwrap_or_else(|| panic!("{document} cannot be read"));
    text.lines()
        .filter_map(|line| {
            let (first, rest) = line.strip_prefix("| ")?.split_once(" | ")?;
            is_first(first).then(|| (first.to_owned(), rest.to_owned()))
        })
        .collect()
}

/// What stands in backquotes as `path/of/a/file.rs::name_of_a_test`.
fn named(text: &str) -> BTreeSet<(&str, &str)> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted
        .filter_map(|quoted| quoted.split_once(".rs::"))
        .collect()
}

/// Whether a file has such a test: a function, or a line of a macro that makes tests.
fn has_test(file: &str, name: &str) -> bool {
    let Some(source) = read(file) else {
        return false;
    };
    let made_by_a_macro = format!("{name}: ");
    source.contains("#[test]") && source.contains(&format!("fn {name}()"))
        || source.contains("#[tokio::test") && source.contains(&format!("fn {name}()"))
        || source
            .lines()
            .any(|line| line.trim_start().starts_with(&made_by_a_macro))
}

#[test]
fn every_test_that_a_document_names_exists() {
    let mut missing = Vec::new();
    let mut found = 0;
    for document in ["README.md", "docs/cases.md", "docs/proof.md"] {
        let text = read(document).unwrap_or_else(|| panic!("{document} cannot be read"));
        for (file, name) in named(&text) {
            found += 1;
            if !has_test(&format!("{file}.rs"), name) {
                missing.push(format!("{document}: {file}.rs::{name}"));
            }
        }
    }
    assert!(
        missing.is_empty(),
        "named, and not there:\n{}",
        missing.join("\n")
    );
    assert!(
        found > 100,
        "{found} names only: are they still written that way?"
    );
}

#[test]
fn every_case_has_one_row_with_a_test_or_the_reason_why_none() {
    let is_case = |first: &str| first.starts_with('C') && first[1..].parse::<u8>().is_ok();
    let rows = rows("docs/cases.md", is_case);
    let ids: Vec<u8> = rows
        .iter()
        .filter_map(|(id, _)| id[1..].parse().ok())
        .collect();
    assert_eq!(ids, CASES);
    for (id, rest) in rows {
        let reasoned = ["Later", "Not offered", "Judged otherwise"];
        let reason = reasoned.into_iter().any(|reason| rest.contains(reason));
        assert!(reason || !named(&rest).is_empty(), "{id} has neither");
    }
}

#[test]
fn every_invariant_has_a_test_in_the_readme() {
    let rows = rows("README.md", |first| first.parse::<u8>().is_ok());
    let numbers: Vec<u8> = rows.iter().filter_map(|(n, _)| n.parse().ok()).collect();
    assert_eq!(numbers, (1..=INVARIANTS).collect::<Vec<_>>());
    for (number, rest) in rows {
        assert!(!named(&rest).is_empty(), "invariant {number} has no test");
    }
}
