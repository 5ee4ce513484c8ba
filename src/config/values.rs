//! From TOML values to Rust values, with messages that say what would be right.

use std::ops::RangeInclusive;
use std::time::Duration;

use secrecy::SecretString;
use toml_span::value::ValueInner;

use super::section::{Env, inner};

/// What a value is, with its article.
pub(crate) fn type_name(value: &ValueInner<'_>) -> &'static str {
    match value {
        ValueInner::String(_) => "a string",
        ValueInner::Integer(_) => "an integer",
        ValueInner::Float(_) => "a float",
        ValueInner::Boolean(_) => "a boolean",
        ValueInner::Array(_) => "an array",
        ValueInner::Table(_) => "a table",
    }
}

fn expected<T>(what: &str, found: &ValueInner<'_>) -> Result<T, String> {
    Err(format!("expected {what}, found {}", type_name(found)))
}

/// Any string.
pub(crate) fn string(value: ValueInner<'_>) -> Result<String, String> {
    let ValueInner::String(text) = value else {
        return expected("a string", &value);
    };
    Ok(text.into_owned())
}

/// A string of at least one character, none of them a control character.
pub(crate) fn line(value: ValueInner<'_>) -> Result<String, String> {
    let text = string(value)?;
    if text.trim().is_empty() || text.chars().any(char::is_control) {
        return Err("expected one line of text".into());
    }
    Ok(text)
}

/// `true` or `false`.
pub(crate) fn boolean(value: ValueInner<'_>) -> Result<bool, String> {
    let ValueInner::Boolean(truth) = value else {
        return expected("true or false", &value);
    };
    Ok(truth)
}

/// A whole number within a range.
pub(crate) fn integer<'de, T>(
    range: RangeInclusive<T>,
) -> impl FnOnce(ValueInner<'de>) -> Result<T, String>
where
    T: TryFrom<i64> + PartialOrd + std::fmt::Display,
{
    move |value| {
        let ValueInner::Integer(number) = value else {
            return expected("an integer", &value);
        };
        let fits = T::try_from(number)
            .ok()
            .filter(|number| range.contains(number));
        fits.ok_or_else(|| {
            format!(
                "expected {} to {}, found {number}",
                range.start(),
                range.end()
            )
        })
    }
}

/// A span of time with its unit, longer than zero.
pub(crate) fn duration(value: ValueInner<'_>) -> Result<Duration, String> {
    const HOW: &str = "a span of time with its unit, such as \"500ms\", \"10s\", \"5m\" or \"24h\"";
    /// Longer ones overflow a database interval sooner or later, and are typing errors.
    const LONGEST: Duration = Duration::from_secs(10 * 366 * 86_400);
    let ValueInner::String(text) = value else {
        return expected(HOW, &value);
    };
    match humantime::parse_duration(&text) {
        Ok(Duration::ZERO) => Err("must be longer than zero".into()),
        Ok(span) if span > LONGEST => Err("must not be longer than ten years".into()),
        Ok(span) => Ok(span),
        Err(_) => Err(format!("expected {HOW}, found {text:?}")),
    }
}

/// A span of time as the file would say it: in the largest unit that divides it.
pub(crate) fn words(span: Duration) -> String {
    const UNITS: [(u128, &str); 5] = [
        (86_400_000, "d"),
        (3_600_000, "h"),
        (60_000, "m"),
        (1000, "s"),
        (1, "ms"),
    ];
    let millis = span.as_millis();
    let fits = |(unit, _): &&(u128, &str)| millis >= *unit && millis.is_multiple_of(*unit);
    match UNITS.iter().find(fits) {
        Some((unit, name)) => format!("{}{name}", millis / unit),
        None => format!("{millis}ms"),
    }
}

/// One of a few words.
pub(crate) fn choice<'de, T: Clone>(
    words: &'static [(&'static str, T)],
) -> impl FnOnce(ValueInner<'de>) -> Result<T, String> {
    move |value| {
        let text = string(value)?;
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == text) {
            return Ok(meaning.clone());
        }
        let mut list: Vec<_> = words
            .iter()
            .map(|(word, _)| format!("\"{word}\""))
            .collect();
        let last = list.pop().unwrap_or_default();
        let list = if list.is_empty() {
            last
        } else {
            format!("{} or {last}", list.join(", "))
        };
        Err(format!("expected {list}, found {text:?}"))
    }
}

/// One value, or an array of them.
pub(crate) fn one_or_more<T>(
    value: ValueInner<'_>,
    read: impl Fn(ValueInner<'_>) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let ValueInner::Array(items) = value else {
        return Ok(vec![read(value)?]);
    };
    if items.is_empty() {
        return Err("must not be empty".into());
    }
    items.into_iter().map(|item| read(inner(item))).collect()
}

/// A secret: `env:NAME` is read from the environment, anything else stands for itself.
pub(crate) fn secret(text: String, env: Env<'_>) -> Result<SecretString, String> {
    let Some(name) = text.strip_prefix("env:") else {
        return Ok(text.into());
    };
    match env(name) {
        Some(secret) if secret.is_empty() => {
            Err(format!("the environment variable {name} is empty"))
        }
        Some(secret) => Ok(secret.into()),
        None => Err(format!("the environment variable {name} is not set")),
    }
}

/// A name for a channel or a provider.
pub(crate) fn name(text: &str) -> Result<(), String> {
    let first = text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    let rest = text
        .chars()
        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if first && rest && text.len() <= 63 {
        return Ok(());
    }
    Err("a name is 1 to 63 of a-z, 0-9 and -, and does not begin with -".into())
}

/// The closest of the known words, if one is close enough to be a typing error.
pub(crate) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    known
        .into_iter()
        .map(|candidate| (edits(word, candidate), candidate))
        .filter(|(edits, candidate)| *edits <= 1 + candidate.len().min(word.len()) / 4)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein distance, one row at a time.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, y) in row.iter_mut().skip(1).zip(&b) {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = *cell;
            left = substituted.min(left + 1).min(*cell + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1
        }
    }
    row.last().copied().unwrap_or_default()
}
