//! What an answer must look like for a rule to apply.

use std::cell::OnceCell;
use std::ops::RangeInclusive;

use regex::Regex;
use reqwest::header::{HeaderMap, HeaderName};
use serde_json::Value;
use serde_json_path::JsonPath;
use toml_span::value::ValueInner;

use crate::config::{Section, inner, values};
use crate::provider::Answer;

/// An answer, read as JSON and as text at most once, however many rules look at it.
pub(super) struct Seen<'a> {
    pub(super) status: u16,
    pub(super) headers: &'a HeaderMap,
    body: &'a [u8],
    json: OnceCell<Option<Value>>,
    text: OnceCell<String>,
}

impl<'a> Seen<'a> {
    pub(super) fn new(answer: &'a Answer) -> Self {
        let (json, text) = (OnceCell::new(), OnceCell::new());
        Self {
            status: answer.status,
            headers: &answer.headers,
            body: &answer.body,
            json,
            text,
        }
    }

    /// The body as JSON, if it is JSON.
    pub(super) fn json(&self) -> Option<&Value> {
        self.json
            .get_or_init(|| serde_json::from_slice(self.body).ok())
            .as_ref()
    }

    /// The body as text, without blanks around it.
    pub(super) fn text(&self) -> &str {
        self.text
            .get_or_init(|| String::from_utf8_lossy(self.body).trim().to_owned())
    }

    pub(super) fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Conditions, all of which must hold.
pub(super) struct Conditions {
    /// None: any status.
    pub(super) status: Vec<RangeInclusive<u16>>,
    json: Expected,
    header: Vec<(HeaderName, Vec<String>)>,
    text: Option<Regex>,
}

impl Conditions {
    /// Reads `status`, `json`, `header` and `text`. What is wrong in them is noted.
    pub(super) fn read(section: &mut Section<'_, '_>) -> Self {
        let status = section.optional("status", |value| values::one_or_more(value, status));
        let json = section.section("json").map(Expected::read);
        let header = section.section("header").map(read_headers);
        let text = section.optional("text", |value| {
            let regex = Regex::new(&values::string(value)?)
                .map_err(|error| format!("bad regex: {}", last_line(&error)))?;
            if regex.is_match("") {
                return Err("matches an empty body, so it says nothing".into());
            }
            Ok(regex)
        });
        Self {
            status: status.unwrap_or_default(),
            json: json.unwrap_or_default(),
            header: header.unwrap_or_default(),
            text,
        }
    }

    /// Whether something in the body must be as expected.
    pub(super) fn look_at_the_body(&self) -> bool {
        !self.json.0.is_empty() || self.text.is_some()
    }

    /// Whether a header must be as expected.
    pub(super) fn look_at_a_header(&self) -> bool {
        !self.header.is_empty()
    }

    /// Whether an answer with a success status can meet them.
    pub(super) fn include_success(&self) -> bool {
        self.status.is_empty()
            || self
                .status
                .iter()
                .any(|range| *range.start() < 300 && *range.end() >= 200)
    }

    /// Whether all of them hold.
    pub(super) fn hold(&self, seen: &Seen<'_>) -> bool {
        let status =
            self.status.is_empty() || self.status.iter().any(|range| range.contains(&seen.status));
        let header = |(name, allowed): &(HeaderName, Vec<String>)| {
            seen.header(name)
                .is_some_and(|value| allowed.iter().any(|a| a.eq_ignore_ascii_case(value)))
        };
        status
            && self.header.iter().all(header)
            && (self.json.0.is_empty() || seen.json().is_some_and(|json| self.json.hold(json)))
            && self
                .text
                .as_ref()
                .is_none_or(|regex| regex.is_match(seen.text()))
    }

    /// What a named group of `text` caught.
    pub(super) fn caught<'s>(&self, group: &str, seen: &'s Seen<'_>) -> Option<&'s str> {
        Some(
            self.text
                .as_ref()?
                .captures(seen.text())?
                .name(group)?
                .as_str(),
        )
    }

    /// Whether `text` has a group of this name.
    pub(super) fn catch(&self, group: &str) -> bool {
        self.text
            .as_ref()
            .is_some_and(|regex| regex.capture_names().flatten().any(|name| name == group))
    }
}

/// JSONPaths, and the values that every node they select must have.
#[derive(Default)]
pub(super) struct Expected(Vec<(JsonPath, Vec<Value>)>);

impl Expected {
    /// Reads a table of JSONPath = value or array of values.
    pub(super) fn read(section: Section<'_, '_>) -> Self {
        let reading = section.reading;
        let mut expected = Vec::new();
        for (path, place, value) in section.entries() {
            match json_path(&path)
                .and_then(|path| Ok((path, values::one_or_more(inner(value), scalar)?)))
            {
                Ok(pair) => expected.push(pair),
                Err(message) => reading.problems.add(&place, message),
            }
        }
        Self(expected)
    }

    /// Whether every path selects at least one node, and only nodes with an expected value: of a
    /// message in two parts, one refused, this does not say that it was accepted.
    pub(super) fn hold(&self, json: &Value) -> bool {
        self.0.iter().all(|(path, allowed)| {
            let nodes = path.query(json);
            !nodes.is_empty()
                && nodes
                    .iter()
                    .all(|node| allowed.iter().any(|value| same(value, node)))
        })
    }
}

/// 2xx or one status.
pub(super) fn status(value: ValueInner<'_>) -> Result<RangeInclusive<u16>, String> {
    let class = value
        .as_str()
        .and_then(|text| text.strip_suffix("xx")?.parse::<u16>().ok());
    match class {
        Some(class @ 1..=5) => Ok(class * 100..=class * 100 + 99),
        _ if matches!(value, ValueInner::Integer(_)) => {
            values::integer(100..=599)(value).map(|one| one..=one)
        }
        _ => Err("expected a status such as 202, or a class such as \"2xx\"".into()),
    }
}

/// Compiles a JSONPath.
pub(super) fn json_path(text: &str) -> Result<JsonPath, String> {
    JsonPath::parse(text).map_err(|error| format!("bad JSONPath {text:?}: {error}"))
}

fn scalar(value: ValueInner<'_>) -> Result<Value, String> {
    match value {
        ValueInner::String(text) => Ok(text.into_owned().into()),
        ValueInner::Integer(number) => Ok(number.into()),
        ValueInner::Float(number) => Ok(number.into()),
        ValueInner::Boolean(truth) => Ok(truth.into()),
        ValueInner::Array(_) | ValueInner::Table(_) => {
            Err("expected a string, a number, true or false".into())
        }
    }
}

/// 0 and 0.0 are one number; 0 and "0" are not the same.
fn same(expected: &Value, found: &Value) -> bool {
    expected == found || matches!((expected.as_f64(), found.as_f64()), (Some(a), Some(b)) if a == b)
}

fn read_headers(section: Section<'_, '_>) -> Vec<(HeaderName, Vec<String>)> {
    let reading = section.reading;
    let mut headers = Vec::new();
    for (name, place, value) in section.entries() {
        let parsed = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| "not the name of a header".to_owned());
        match parsed.and_then(|name| Ok((name, values::one_or_more(inner(value), values::string)?)))
        {
            Ok(header) => headers.push(header),
            Err(message) => reading.problems.add(&place, message),
        }
    }
    headers
}

/// A regex error draws the pattern over several lines; the last one says what is wrong.
fn last_line(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.trim_start_matches("error: ").to_owned()
}
