//! What is wrong with a configuration: all of it at once, each with its place.

use std::cell::RefCell;
use std::fmt;

use thiserror::Error;

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigError {
    /// Line, from 1. Zero when the mistake has no place in the file.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Path of the key, such as `providers.gateway.send.url`. Empty for the file as a whole.
    pub path: String,
    /// What is wrong, and what would be right. Never holds a secret's value.
    pub message: String,
}

/// Every mistake in one configuration file, sorted by line.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub struct ConfigErrors {
    /// The file's name, as it was given.
    pub file: String,
    /// The mistakes: at least one.
    pub errors: Vec<ConfigError>,
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for error in &self.errors {
            f.write_str(&self.file)?;
            if error.line > 0 {
                write!(f, ":{}:{}", error.line, error.column)?;
            }
            if !error.path.is_empty() {
                write!(f, ": {}", error.path)?;
            }
            writeln!(f, ": {}", error.message)?;
        }
        match self.errors.len() {
            1 => f.write_str("1 error in the configuration"),
            many => write!(f, "{many} errors in the configuration"),
        }
    }
}

/// Where in the file something is: byte offset and path.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) offset: usize,
    pub(crate) path: String,
}

/// Collects mistakes while the file is read, so that reading goes on after the first.
#[derive(Default)]
pub(crate) struct Problems(RefCell<Vec<(Place, String)>>);

impl Problems {
    /// Notes one.
    pub(crate) fn add(&self, place: &Place, message: impl Into<String>) {
        self.0.borrow_mut().push((place.clone(), message.into()));
    }

    /// Says where each one is, in lines and columns of `text`. `None` when there are none.
    pub(crate) fn into_errors(self, file: &str, text: &str) -> Option<ConfigErrors> {
        let mut errors: Vec<_> = self
            .0
            .into_inner()
            .into_iter()
            .map(|(place, message)| {
                let (line, column) = line_and_column(text, place.offset);
                ConfigError {
                    line,
                    column,
                    path: place.path,
                    message,
                }
            })
            .collect();
        errors.sort();
        errors.dedup();
        (!errors.is_empty()).then(|| ConfigErrors {
            file: file.to_owned(),
            errors,
        })
    }
}

fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.matches('\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}
