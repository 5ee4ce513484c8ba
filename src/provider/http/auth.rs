//! Credentials: one header, whose value comes from the environment.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use super::call::Credentials;
use crate::config::{Section, values};

/// Reads `auth`: bearer, basic, or a header of the provider's own. `None` when something in it is
/// wrong; `Some(None)` when there is none.
pub(super) fn read(section: &mut Section<'_, '_>) -> Option<Credentials> {
    if !section.has("auth") {
        section.take("auth");
        return Some(None);
    }
    let mut auth = section.section("auth")?;
    let ways: Vec<_> = ["bearer", "basic", "header"]
        .into_iter()
        .filter(|way| auth.has(way))
        .collect();
    let place = auth.own_place();
    let credentials = match ways[..] {
        ["bearer"] => bearer(&mut auth),
        ["basic"] => basic(&mut auth),
        ["header"] => header(&mut auth),
        _ => {
            auth.reading.problems.add(
                &place,
                "expected one of bearer, basic, or header with value",
            );
            return None;
        }
    };
    auth.finish();
    credentials.map(Some)
}

fn bearer(auth: &mut Section<'_, '_>) -> Option<(HeaderName, HeaderValue)> {
    let token = auth.secret("bearer")?;
    let value = format!("Bearer {}", token.expose_secret()).into();
    secret_header(auth, "bearer", AUTHORIZATION, &value)
}

fn basic(auth: &mut Section<'_, '_>) -> Option<(HeaderName, HeaderValue)> {
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

fn header(auth: &mut Section<'_, '_>) -> Option<(HeaderName, HeaderValue)> {
    let name = auth.required("header", |value| {
        HeaderName::from_bytes(values::string(value)?.as_bytes())
            .map_err(|_| "not the name of a header".into())
    });
    let value = auth.secret("value");
    secret_header(auth, "value", name?, &value?)
}

fn secret_header(
    auth: &Section<'_, '_>,
    key: &str,
    name: HeaderName,
    value: &SecretString,
) -> Option<(HeaderName, HeaderValue)> {
    let Ok(mut value) = HeaderValue::from_str(value.expose_secret()) else {
        auth.wrong(
            key,
            "the secret has a character that a header cannot carry, perhaps a line end",
        );
        return None;
    };
    value.set_sensitive(true); // not shown by Debug
    Some((name, value))
}
