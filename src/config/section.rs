//! Reading one table of the file: each key is taken once, mistakes are noted with their place,
//! and what nobody took is an unknown key.

use std::collections::BTreeMap;

use secrecy::SecretString;
use toml_span::Value;
use toml_span::value::{Key, Table, ValueInner};

use super::error::{Place, Problems};
use super::values;

/// Reads an environment variable.
pub type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What all of a file's tables share while it is read.
pub(crate) struct Reading<'a> {
    pub(crate) problems: Problems,
    pub(crate) env: Env<'a>,
}

/// One table of the file.
pub(crate) struct Section<'r, 'de> {
    pub(crate) reading: &'r Reading<'r>,
    path: String,
    offset: usize,
    table: Table<'de>,
    /// Where each key stood; kept after the key was taken.
    offsets: BTreeMap<String, usize>,
    known: Vec<&'static str>,
}

impl<'r, 'de> Section<'r, 'de> {
    /// Opens a table. A value of another type is noted, and gives `None`.
    pub(crate) fn open(reading: &'r Reading<'r>, path: String, value: Value<'de>) -> Option<Self> {
        let offset = value.span.start;
        let value = inner(value);
        let ValueInner::Table(table) = value else {
            let message = format!("expected a table, found {}", values::type_name(&value));
            reading.problems.add(&Place { offset, path }, message);
            return None;
        };
        let offsets = table
            .iter()
            .map(|(k, v)| (k.name.to_string(), v.span.start))
            .collect();
        Some(Self {
            reading,
            path,
            offset,
            table,
            offsets,
            known: Vec::new(),
        })
    }

    /// The place of a key's value; the table's own where the key is not there.
    pub(crate) fn place(&self, name: &str) -> Place {
        Place {
            offset: self.offsets.get(name).copied().unwrap_or(self.offset),
            path: join(&self.path, name),
        }
    }

    /// The place of the table.
    pub(crate) fn own_place(&self) -> Place {
        Place {
            offset: self.offset,
            path: self.path.clone(),
        }
    }

    /// Notes a mistake in a key.
    pub(crate) fn wrong(&self, name: &str, message: impl Into<String>) {
        self.reading.problems.add(&self.place(name), message);
    }

    /// Whether the key is there and not yet taken.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.table.contains_key(name)
    }

    /// Whether the key is in the file, taken or not.
    pub(crate) fn has_had(&self, name: &str) -> bool {
        self.offsets.contains_key(name)
    }

    /// Whether the key is there and holds a table.
    pub(crate) fn has_table(&self, name: &str) -> bool {
        self.table
            .get(name)
            .is_some_and(|value| value.as_table().is_some())
    }

    /// Takes a key's value as it stands.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<Value<'de>> {
        self.known.push(name);
        self.table.remove(name)
    }

    /// Takes a key that may be missing. A wrong value is noted, and gives `None`.
    pub(crate) fn optional<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(ValueInner<'de>) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.take(name)?;
        match read(inner(value)) {
            Ok(value) => Some(value),
            Err(message) => {
                self.wrong(name, message);
                None
            }
        }
    }

    /// Takes a key that must be there. A missing or wrong one is noted, and gives `None`.
    pub(crate) fn required<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(ValueInner<'de>) -> Result<T, String>,
    ) -> Option<T> {
        if !self.has(name) {
            self.known.push(name);
            self.wrong(name, "is missing");
            return None;
        }
        self.optional(name, read)
    }

    /// Takes a string that is a secret, or names the environment variable that holds it.
    pub(crate) fn secret(&mut self, name: &'static str) -> Option<SecretString> {
        let text = self.required(name, values::string)?;
        match values::secret(text, self.reading.env) {
            Ok(secret) => Some(secret),
            Err(message) => {
                self.wrong(name, message);
                None
            }
        }
    }

    /// Takes a table that may be missing.
    pub(crate) fn section(&mut self, name: &'static str) -> Option<Section<'r, 'de>> {
        let path = join(&self.path, name);
        let value = self.take(name)?;
        Section::open(self.reading, path, value)
    }

    /// Takes an array of tables that may be missing.
    pub(crate) fn sections(&mut self, name: &'static str) -> Vec<Section<'r, 'de>> {
        let Some(value) = self.take(name) else {
            return Vec::new();
        };
        let ValueInner::Array(items) = inner(value) else {
            self.wrong(name, "expected an array of tables, as in [[…]]");
            return Vec::new();
        };
        let path = |index: usize| format!("{}[{index}]", join(&self.path, name));
        let open = |(index, item)| Section::open(self.reading, path(index + 1), item);
        items.into_iter().enumerate().filter_map(open).collect()
    }

    /// Everything that is left, for a table whose keys are the user's own names; in the order of
    /// the names, so that moving lines in the file changes nothing.
    pub(crate) fn entries(self) -> Vec<(String, Place, Value<'de>)> {
        let path = self.path;
        self.table
            .into_iter()
            .map(|(key, value)| {
                let place = Place {
                    offset: value.span.start,
                    path: join(&path, &key.name),
                };
                (key.name.into_owned(), place, value)
            })
            .collect()
    }

    /// Notes every key that nobody took.
    pub(crate) fn finish(self) {
        for Key { name, span } in self.table.keys() {
            let place = Place {
                offset: span.start,
                path: join(&self.path, name),
            };
            let mut message = String::from("unknown key");
            if let Some(close) = values::nearest(name, self.known.iter().copied()) {
                message += &format!(", did you mean `{close}`?");
            }
            self.reading.problems.add(&place, message);
        }
    }
}

/// The value without its span. An empty one cannot come out of the parser; it reads as an empty
/// array, which no key accepts in silence.
pub(crate) fn inner(mut value: Value<'_>) -> ValueInner<'_> {
    if value.pointer("").is_none() {
        return ValueInner::Array(Vec::new());
    }
    value.take()
}

fn join(path: &str, name: &str) -> String {
    let bare = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    let name = if bare {
        name.to_owned()
    } else {
        format!("{name:?}")
    };
    if path.is_empty() {
        name
    } else {
        format!("{path}.{name}")
    }
}
