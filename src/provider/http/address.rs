//! URLs with placeholders, from which no value can lead away.

use minijinja::Value;
use url::{Host, Url};

use super::template::Template;

/// A URL template whose scheme, host and port are fixed.
pub(super) struct Address {
    template: Template,
    /// Scheme, host and port as written: what every rendered URL must have.
    fixed: Url,
    /// The whole URL, where it is the same for every message.
    constant: Option<Url>,
}

impl Address {
    /// Compiles a URL. Plain HTTP is for this machine only, unless it was allowed.
    pub(super) fn parse(
        source: &str,
        variables: &[&[&str]],
        allow_plain_http: bool,
    ) -> Result<Self, String> {
        let head = source
            .find(['{', '?', '#'])
            .map_or(source, |end| &source[..end]);
        let placeholder = source[head.len()..].starts_with('{');
        let path_begun = head
            .split_once("://")
            .is_some_and(|(_, rest)| rest.contains('/'));
        if placeholder && !path_begun {
            return Err("scheme, host and port must be written out, without a placeholder".into());
        }
        let fixed = Url::parse(head).map_err(|error| format!("not a URL: {error}"))?;
        if !["http", "https"].contains(&fixed.scheme()) {
            return Err(format!(
                "expected https:// or http://, found {}:",
                fixed.scheme()
            ));
        }
        if !fixed.username().is_empty() || fixed.password().is_some() {
            return Err("credentials belong into `auth`, not into a URL".into());
        }
        if source.contains('#') && !source.contains("{#") {
            return Err("a fragment never reaches the provider".into());
        }
        if fixed.scheme() == "http" && !allow_plain_http && !is_this_machine(&fixed) {
            return Err("plain http:// shows credentials and messages to the network; use https://, or set allow_plain_http = true on the provider".into());
        }
        let template = Template::parse_url(source, variables)?;
        let is_constant = template.is_constant();
        let mut address = Self {
            template,
            fixed,
            constant: None,
        };
        if is_constant {
            address.constant = Some(address.render(&Value::UNDEFINED)?);
        }
        Ok(address)
    }

    /// Whether it reads one of these variables.
    pub(super) fn reads(&self, variables: &[&str]) -> bool {
        self.template.reads(variables)
    }

    /// The URL for one message.
    pub(super) fn render(&self, variables: &Value) -> Result<Url, String> {
        if let Some(url) = &self.constant {
            return Ok(url.clone());
        }
        let text = self.template.text(variables)?.unwrap_or_default();
        let url = Url::parse(&text).map_err(|error| format!("not a URL: {error}"))?;
        // values are percent-encoded, so only `.` and `..` could still change where it leads
        if url.origin() != self.fixed.origin()
            || slashes_in_path(&text) != url.path().matches('/').count()
        {
            return Err("a value leads to another place".into());
        }
        Ok(url)
    }
}

fn slashes_in_path(url: &str) -> usize {
    let path = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = path.split(['?', '#']).next().unwrap_or(path);
    path.matches('/').count().max(1)
}

fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
