//! Credentials, which come from the environment and stay out of what is hashed and printed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{AUTHORIZATION, HeaderName};
use secrecy::{ExposeSecret, SecretString};

use super::call::header_value;
use super::escape::percent_encode;
use crate::config::{Section, inner, values};
use crate::provider::Credentials;

/// Reads `auth`: bearer, basic, a header of the provider's own, or query parameters. `None` when something in it is
/// wrong; `Some(None)` when there is none.
pub(super) fn read(section: &mut Section<'_, '_>) -> Option<Option<Credentials>> {
    if !section.has("auth") {
        section.take("auth");
        return Some(None);
    }
    let mut auth = section.section("auth")?;
    let ways: Vec<_> = ["bearer", "basic", "header", "query"]
        .into_iter()
        .filter(|way| auth.has(way))
        .collect();
    let place = auth.own_place();
    let credentials = match ways[..] {
        ["bearer"] => bearer(&mut auth),
        ["basic"] => basic(&mut auth),
        ["header"] => header(&mut auth),
        ["query"] => query(&mut auth),
        _ => {
            auth.reading.problems.add(
                &place,
                "expected one of bearer, basic, query, or header with value",
            );
            return None;
        }
    };
    auth.finish();
    credentials.map(Some)
}

fn bearer(auth: &mut Section<'_, '_>) -> Option<Credentials> {
    let token = auth.secret("bearer")?;
    let value = format!("Bearer {}", token.expose_secret()).into();
    secret_header(auth, "bearer", AUTHORIZATION, &value)
}

fn basic(auth: &mut Section<'_, '_>) -> Option<Credentials> {
    let mut basic = auth.section("basic")?;
    let user = basic.secret("user");
    let password = basic.secret("password");
    basic.finish();
    let (user, password) = (user?, password?);
    if user.expose_secret().contains(':') {
        auth.wrong("basic", "a user name cannot hold a colon");
        return None;
    }
    let pair = SecretString::from(format!(
        "{}:{}",
        user.expose_secret(),
        password.expose_secret()
    ));
    let value = format!("Basic {}", STANDARD.encode(pair.expose_secret())).into();
    secret_header(auth, "basic", AUTHORIZATION, &value)
}

fn header(auth: &mut Section<'_, '_>) -> Option<Credentials> {
    let name = auth.required("header", |value| {
        HeaderName::from_bytes(values::string(value)?.as_bytes())
            .map_err(|_| "not the name of a header".into())
    });
    let value = auth.secret("value");
    secret_header(auth, "value", name?, &value?)
}

/// Names and secrets; encoded here, once.
fn query(auth: &mut Section<'_, '_>) -> Option<Credentials> {
    let query = auth.section("query")?;
    let reading = query.reading;
    let mut pairs = Vec::new();
    let mut wrong = false;
    for (name, place, value) in query.entries() {
        match values::string(inner(value)).and_then(|text| values::secret(text, reading.env)) {
            Ok(secret) => {
                let secret = percent_encode(secret.expose_secret());
                pairs.push(format!("{}={secret}", percent_encode(&name)));
            }
            Err(message) => {
                reading.problems.add(&place, message);
                wrong = true;
            }
        }
    }
    (!wrong).then(|| Credentials::Query(pairs.join("&").into()))
}

fn secret_header(
    auth: &Section<'_, '_>,
    key: &str,
    name: HeaderName,
    value: &SecretString,
) -> Option<Credentials> {
    let Ok(mut value) = header_value(value.expose_secret()) else {
        auth.wrong(
            key,
            "the secret has a character that a header cannot carry, perhaps a line end",
        );
        return None;
    };
    value.set_sensitive(true); // not shown by Debug
    Some(Credentials::Header(name, value))
}
