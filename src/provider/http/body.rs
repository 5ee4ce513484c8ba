//! Request bodies: JSON, form, or text.

use std::collections::BTreeMap;

use minijinja::Value;
use serde::Serialize;
use toml_span::value::ValueInner;

use super::escape::percent_encode;
use super::template::Template;
use crate::config::{Place, Reading, Section, inner, values};

/// What a request carries.
pub(super) enum Body {
    None,
    Json(Json),
    Form(Vec<(String, Template)>),
    Text {
        template: Template,
        content_type: String,
    },
}

/// A JSON value with templates in the place of strings.
pub(super) enum Json {
    Fixed(serde_json::Value),
    Text(Template),
    Array(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

/// A [`Json`] with its values, to be written.
#[derive(Serialize)]
#[serde(untagged)]
enum Rendered<'a> {
    Fixed(&'a serde_json::Value),
    Text(Value),
    Array(Vec<Rendered<'a>>),
    Object(BTreeMap<&'a str, Rendered<'a>>),
}

impl Body {
    /// Reads `json`, `form` or `body`: one of them or none.
    pub(super) fn read(section: &mut Section<'_, '_>, variables: &[&[&str]]) -> Option<Self> {
        let given: Vec<_> = ["json", "form", "body"]
            .into_iter()
            .filter(|name| section.has(name))
            .collect();
        if let [_, second, ..] = given[..] {
            section.wrong(
                second,
                format!("a request has one body: {}", given.join(" or ")),
            );
        }
        let reading = section.reading;
        let place = section.place("json");
        let json = section
            .take("json")
            .map(|value| read_json(reading, &place, value, variables));
        let form = section
            .section("form")
            .map(|form| read_form(form, variables));
        let content_type = section.optional("content_type", values::line);
        let text = section.optional("body", |value| {
            Template::parse(&values::string(value)?, variables)
        });
        if given == ["body"] && content_type.is_none() {
            section.wrong("content_type", "is missing: it says what `body` is");
        }
        if given != ["body"] && content_type.is_some() {
            section.wrong(
                "content_type",
                "goes with `body`; json and form say it themselves",
            );
        }
        match (json, form, text) {
            (Some(json), _, _) => Some(Self::Json(json?)),
            (_, Some(form), _) => Some(Self::Form(form?)),
            (_, _, Some(template)) => Some(Self::Text {
                template,
                content_type: content_type?,
            }),
            (None, None, None) => given.is_empty().then_some(Self::None),
        }
    }

    /// The value of the Content-Type header.
    pub(super) fn content_type(&self) -> Option<&str> {
        match self {
            Self::None => None,
            Self::Json(_) => Some("application/json"),
            Self::Form(_) => Some("application/x-www-form-urlencoded"),
            Self::Text { content_type, .. } => Some(content_type),
        }
    }

    /// Whether a template in it reads one of these variables.
    pub(super) fn reads(&self, variables: &[&str]) -> bool {
        match self {
            Self::None => false,
            Self::Json(json) => json.reads(variables),
            Self::Form(fields) => fields.iter().any(|(_, template)| template.reads(variables)),
            Self::Text { template, .. } => template.reads(variables),
        }
    }

    /// The bytes.
    pub(super) fn render(&self, variables: &Value) -> Result<Vec<u8>, String> {
        match self {
            Self::None => Ok(Vec::new()),
            Self::Json(json) => {
                let value = json.render(variables)?;
                serde_json::to_vec(&value).map_err(|_| "cannot be written as JSON".to_owned())
            }
            Self::Form(fields) => {
                let mut pairs = Vec::with_capacity(fields.len());
                for (name, template) in fields {
                    if let Some(value) = template.text(variables)? {
                        pairs.push(format!(
                            "{}={}",
                            percent_encode(name),
                            percent_encode(&value)
                        ));
                    }
                }
                Ok(pairs.join("&").into_bytes())
            }
            Self::Text { template, .. } => {
                Ok(template.text(variables)?.unwrap_or_default().into_bytes())
            }
        }
    }
}

impl Json {
    fn reads(&self, variables: &[&str]) -> bool {
        match self {
            Self::Fixed(_) => false,
            Self::Text(template) => template.reads(variables),
            Self::Array(items) => items.iter().any(|item| item.reads(variables)),
            Self::Object(fields) => fields.values().any(|field| field.reads(variables)),
        }
    }

    /// `None` for a placeholder without a value: the field, or the element, is left out.
    fn render(&self, variables: &Value) -> Result<Option<Rendered<'_>>, String> {
        Ok(match self {
            Self::Fixed(value) => Some(Rendered::Fixed(value)),
            Self::Text(template) => template.value(variables)?.map(Rendered::Text),
            Self::Array(items) => {
                let mut array = Vec::with_capacity(items.len());
                for item in items {
                    array.extend(item.render(variables)?);
                }
                Some(Rendered::Array(array))
            }
            Self::Object(fields) => {
                let mut object = BTreeMap::new();
                for (name, field) in fields {
                    if let Some(value) = field.render(variables)? {
                        object.insert(name.as_str(), value);
                    }
                }
                Some(Rendered::Object(object))
            }
        })
    }
}

fn read_json(
    reading: &Reading<'_>,
    place: &Place,
    value: toml_span::Value<'_>,
    variables: &[&[&str]],
) -> Option<Json> {
    Some(match inner(value) {
        ValueInner::String(source) => match Template::parse(&source, variables) {
            Ok(template) => Json::Text(template),
            Err(message) => {
                reading.problems.add(place, message);
                return None;
            }
        },
        ValueInner::Integer(number) => Json::Fixed(number.into()),
        ValueInner::Float(number) => Json::Fixed(number.into()),
        ValueInner::Boolean(truth) => Json::Fixed(truth.into()),
        ValueInner::Array(items) => {
            let items: Vec<_> = items
                .into_iter()
                .map(|item| read_json(reading, place, item, variables))
                .collect();
            Json::Array(items.into_iter().collect::<Option<_>>()?)
        }
        table @ ValueInner::Table(_) => {
            let section = Section::open(reading, place.path.clone(), toml_span::Value::new(table))?;
            let fields: Vec<_> = section
                .entries()
                .into_iter()
                .map(|(name, place, value)| (name, read_json(reading, &place, value, variables)))
                .collect();
            Json::Object(
                fields
                    .into_iter()
                    .map(|(name, field)| Some((name, field?)))
                    .collect::<Option<_>>()?,
            )
        }
    })
}

fn read_form(section: Section<'_, '_>, variables: &[&[&str]]) -> Option<Vec<(String, Template)>> {
    let reading = section.reading;
    let mut fields = Vec::new();
    let mut wrong = false;
    for (name, place, value) in section.entries() {
        let read = |value: ValueInner<'_>| {
            let source = match value {
                ValueInner::Integer(number) => number.to_string(),
                ValueInner::Boolean(truth) => truth.to_string(),
                ValueInner::String(source) => source.into_owned(),
                ValueInner::Float(_) | ValueInner::Array(_) | ValueInner::Table(_) => {
                    return Err("expected a string, an integer, true or false".into());
                }
            };
            Template::parse(&source, variables)
        };
        match values::one_or_more(inner(value), read) {
            Ok(templates) => {
                fields.extend(
                    templates
                        .into_iter()
                        .map(|template| (name.clone(), template)),
                );
            }
            Err(message) => {
                reading.problems.add(&place, message);
                wrong = true;
            }
        }
    }
    (!wrong).then_some(fields)
}
