//! One value out of an answer: by JSONPath, or from a header.

use reqwest::header::HeaderName;
use serde_json::Value;
use serde_json_path::JsonPath;

use super::conditions::{Seen, json_path};

/// Where in an answer a value is.
pub(super) enum Pick {
    /// The first node of a JSONPath.
    Json(JsonPath),
    /// A header.
    Header(HeaderName),
}

impl Pick {
    /// Reads `$.path` or `header:Name`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix("header:") {
            Some(name) => HeaderName::from_bytes(name.trim().as_bytes())
                .map(Self::Header)
                .map_err(|_| format!("{name:?} is not the name of a header")),
            None if text.starts_with('$') => json_path(text).map(Self::Json),
            None => Err(format!(
                "expected a JSONPath such as \"$.id\", or \"header:NAME\", found {text:?}"
            )),
        }
    }

    /// The value as text; `None` if it is not there, empty, or neither text nor a number.
    pub(super) fn from(&self, seen: &Seen<'_>) -> Option<String> {
        match self {
            Self::Json(path) => first(path, seen.json()?),
            Self::Header(name) => seen
                .header(name)
                .map(str::trim)
                .filter(|text| !text.is_empty())
                .map(str::to_owned),
        }
    }
}

/// The first node of a path as text.
pub(super) fn first(path: &JsonPath, json: &Value) -> Option<String> {
    match path.query(json).first()? {
        Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    }
}
