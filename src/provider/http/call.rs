//! One request as the file describes it: method, URL, headers, body, credentials.

use minijinja::Value;
use reqwest::Method;
use reqwest::header::{self, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::address::Address;
use super::body::Body;
use super::template::Template;
use crate::config::{Common, Section, inner, values};
use crate::provider::{Credentials, Request, Unrenderable};

/// Headers that the client writes itself, or that would change how the answer is read.
const OURS: &[HeaderName] = &[
    header::HOST,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::CONNECTION,
    header::UPGRADE,
    header::TE,
    header::TRAILER,
    header::EXPECT,
    header::ACCEPT_ENCODING,
];

const METHODS: &[(&str, Method)] = &[
    ("GET", Method::GET),
    ("POST", Method::POST),
    ("PUT", Method::PUT),
    ("PATCH", Method::PATCH),
];

/// A request with placeholders.
pub(super) struct Call {
    method: Method,
    address: Address,
    headers: Vec<(HeaderName, Template)>,
    body: Body,
    credentials: Option<Credentials>,
}

impl Call {
    /// Reads `method`, `url`, `headers` and the body.
    pub(super) fn read(
        section: &mut Section<'_, '_>,
        default: Method,
        variables: &[&[&str]],
        common: &Common,
        credentials: Option<Credentials>,
    ) -> Option<Self> {
        let method = section
            .optional("method", values::choice(METHODS))
            .unwrap_or(default);
        let address = section.required("url", |value| {
            Address::parse(&values::string(value)?, variables, common.allow_plain_http)
        });
        let headers = match section.section("headers") {
            Some(headers) => read_headers(headers, variables),
            None => Some(Vec::new()),
        };
        let body = Body::read(section, variables);
        if method == Method::GET && !matches!(body, None | Some(Body::None)) {
            section.wrong("method", "a GET has no body");
        }
        Some(Self {
            method,
            address: address?,
            headers: headers?,
            body: body?,
            credentials,
        })
    }

    /// Whether anything that goes out depends on one of these variables.
    pub(super) fn reads(&self, variables: &[&str]) -> bool {
        self.address.reads(variables)
            || self
                .headers
                .iter()
                .any(|(_, template)| template.reads(variables))
            || self.body.reads(variables)
    }

    /// The request for one message.
    pub(super) fn render(&self, variables: &Value) -> Result<Request, Unrenderable> {
        let wrong =
            |part: &str, message: String| Unrenderable::Message(format!("{part}: {message}"));
        let mut headers = HeaderMap::new();
        if let Some(content_type) = self.body.content_type() {
            let value = header_value(content_type).map_err(|error| wrong("content_type", error))?;
            headers.insert(CONTENT_TYPE, value);
        }
        for (name, template) in &self.headers {
            let part = || format!("header {name}");
            if let Some(text) = template
                .text(variables)
                .map_err(|error| wrong(&part(), error))?
            {
                headers.insert(
                    name,
                    header_value(&text).map_err(|error| wrong(&part(), error))?,
                );
            }
        }
        Ok(Request {
            method: self.method.clone(),
            url: self
                .address
                .render(variables)
                .map_err(|error| wrong("url", error))?,
            headers,
            credentials: self.credentials.clone(),
            body: self
                .body
                .render(variables)
                .map_err(|error| wrong("body", error))?
                .into(),
        })
    }
}

/// A header ends at a line end, so none may come from a message; and what is not ASCII means
/// something else to every receiver.
pub(super) fn header_value(text: &str) -> Result<HeaderValue, String> {
    if text.chars().any(char::is_control) {
        return Err("a value has a control character".into());
    }
    let ascii = text.is_ascii().then(|| HeaderValue::from_str(text).ok());
    ascii.flatten().ok_or_else(|| "a value is not ASCII".into())
}

fn read_headers(
    section: Section<'_, '_>,
    variables: &[&[&str]],
) -> Option<Vec<(HeaderName, Template)>> {
    let reading = section.reading;
    let mut headers = Vec::new();
    let mut wrong = false;
    for (name, place, value) in section.entries() {
        let template =
            values::string(inner(value)).and_then(|source| Template::parse(&source, variables));
        match header_name(&name).and_then(|name| Ok((name, template?))) {
            Ok(header) => headers.push(header),
            Err(message) => {
                reading.problems.add(&place, message);
                wrong = true;
            }
        }
    }
    (!wrong).then_some(headers)
}

fn header_name(name: &str) -> Result<HeaderName, String> {
    let parsed = HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| "not the name of a header".to_owned())?;
    if parsed == header::AUTHORIZATION || parsed == header::PROXY_AUTHORIZATION {
        return Err(
            "credentials belong into `auth`, where a changed secret does not change the message"
                .into(),
        );
    }
    if OURS.contains(&parsed) {
        return Err("this header is written by the HTTP client".into());
    }
    Ok(parsed)
}
