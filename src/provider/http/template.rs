//! Templates: from a message's variables to text, the same text every time.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use minijinja::value::{Enumerator, Object, Value};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Expression, UndefinedBehavior};

use super::escape::{json_text, percent_encode};
use crate::config::values::nearest;

/// Variables that every template has.
pub(super) const MESSAGE: &[&str] = &[
    "send_key",
    "to",
    "to_digits",
    "text",
    "subject",
    "html",
    "from",
    "reply_to",
    "metadata",
    "expires_at",
];

/// Variables that a look-up has besides [`MESSAGE`]: the time in which a record can lie.
pub(super) const TIMES: &[&str] = &["after", "before", "after_unix", "before_unix"];

/// What there is to call in a template: nothing that reads a clock or a random number.
static PLAIN: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.add_filter("json", |value: &Value| {
        json_text(value).ok_or_else(|| Error::from(ErrorKind::BadSerialization))
    });
    environment.add_filter("urlencode", |value: &Value| {
        percent_encode(&value.to_string())
    });
    environment
});

/// As [`PLAIN`], but whatever a template inserts is percent-encoded, so that no value can add a
/// path segment, a parameter or a host to a URL.
static URLS: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = PLAIN.clone();
    environment.remove_filter("urlencode"); // would encode twice
    environment.set_formatter(|out, _, value| {
        if value.is_undefined() || value.is_none() {
            return Err(ErrorKind::UndefinedError.into());
        }
        Ok(out.write_str(&percent_encode(&value.to_string()))?)
    });
    environment
});

const NAME: &str = "template";

/// One compiled template.
pub(super) struct Template {
    form: Form,
    /// The variables that it reads, such as `to` and `metadata.order`.
    names: BTreeSet<String>,
}

enum Form {
    /// No placeholder at all.
    Constant(String),
    /// Exactly one `{{ name }}` or `{{ name.part }}`, as most are: looked up, nothing to evaluate.
    Name(Vec<String>),
    /// Exactly one `{{ … }}`: keeps the value's type, and may have no value.
    Single(Expression<'static, 'static>),
    /// Text with placeholders.
    Text(Box<Environment<'static>>),
}

impl Template {
    /// Compiles a template for a header, a body or a field of one, and tries it on a sample.
    pub(super) fn parse(source: &str, variables: &[&[&str]]) -> Result<Self, String> {
        let single = source
            .strip_prefix("{{")
            .and_then(|rest| rest.strip_suffix("}}"));
        let compiled = single.map(|inner| PLAIN.compile_expression_owned(inner.to_owned()));
        if let Some(Ok(expression)) = compiled {
            let names: BTreeSet<_> = expression.undeclared_variables(true).into_iter().collect();
            let name = single.map(str::trim).filter(|name| names.contains(*name));
            let form = match name {
                Some(name) => Form::Name(name.split('.').map(str::to_owned).collect()),
                None => Form::Single(expression),
            };
            return Self { form, names }.checked(variables);
        }
        Self::compile(&PLAIN, source)?.checked(variables)
    }

    /// Compiles a template for a URL.
    pub(super) fn parse_url(source: &str, variables: &[&[&str]]) -> Result<Self, String> {
        Self::compile(&URLS, source)?.checked(variables)
    }

    fn compile(base: &Environment<'static>, source: &str) -> Result<Self, String> {
        if !["{{", "{%", "{#"].iter().any(|mark| source.contains(mark)) {
            if source.contains("}}") && source.matches('{').count() < source.matches('}').count() {
                return Err("bad template: a placeholder begins with {{".into());
            }
            return Ok(Self {
                form: Form::Constant(source.to_owned()),
                names: BTreeSet::new(),
            });
        }
        let mut environment = base.clone();
        environment
            .add_template_owned(NAME, source.to_owned())
            .map_err(|error| explain(&error))?;
        let names = environment
            .get_template(NAME)
            .map_err(|error| explain(&error))?
            .undeclared_variables(true);
        Ok(Self {
            form: Form::Text(Box::new(environment)),
            names: names.into_iter().collect(),
        })
    }

    fn checked(self, variables: &[&[&str]]) -> Result<Self, String> {
        for name in &self.names {
            let root = name.split('.').next().unwrap_or(name);
            let known = || variables.iter().flat_map(|list| list.iter().copied());
            if known().any(|variable| variable == root)
                || PLAIN.globals().any(|(global, _)| global == root)
            {
                continue;
            }
            let hint = match nearest(root, known()) {
                Some(close) => format!("did you mean `{close}`?"),
                None => format!("there are {}", known().collect::<Vec<_>>().join(", ")),
            };
            return Err(format!("unknown variable `{root}`, {hint}"));
        }
        match self.evaluate(&sample()) {
            Ok(_) => Ok(self),
            Err(error) => Err(explain(&error)),
        }
    }

    /// Whether it says the same for every message.
    pub(super) fn is_constant(&self) -> bool {
        matches!(self.form, Form::Constant(_))
    }

    /// Whether it reads one of these variables.
    pub(super) fn reads(&self, variables: &[&str]) -> bool {
        self.names
            .iter()
            .any(|name| variables.contains(&name.as_str()))
    }

    /// The value; `None` when the whole template is one placeholder without a value.
    ///
    /// An error says which variable is missing, and never what any of them holds.
    pub(super) fn value(&self, variables: &Value) -> Result<Option<Value>, String> {
        self.evaluate(variables).map_err(|error| {
            let unset = self.names.iter().filter(|name| is_unset(variables, name));
            let unset: Vec<_> = unset.map(|name| format!("`{name}`")).collect();
            if unset.is_empty() {
                error.kind().to_string()
            } else {
                format!("the message has no {}", unset.join(", "))
            }
        })
    }

    /// As [`Template::value`], as text.
    pub(super) fn text(&self, variables: &Value) -> Result<Option<String>, String> {
        Ok(self.value(variables)?.map(|value| value.to_string()))
    }

    fn evaluate(&self, variables: &Value) -> Result<Option<Value>, Error> {
        match &self.form {
            Form::Constant(text) => Ok(Some(Value::from(text.as_str()))),
            Form::Name(path) => {
                let value = path
                    .iter()
                    .try_fold(variables.clone(), |value, part| value.get_attr(part))?;
                Ok(some(value))
            }
            Form::Single(expression) => Ok(some(expression.eval(variables.clone())?)),
            Form::Text(environment) => {
                let text = environment.get_template(NAME)?.render(variables.clone())?;
                Ok(Some(Value::from(text)))
            }
        }
    }
}

fn some(value: Value) -> Option<Value> {
    (!value.is_undefined() && !value.is_none()).then_some(value)
}

fn is_unset(variables: &Value, name: &str) -> bool {
    name.split('.')
        .try_fold(variables.clone(), |value, part| value.get_attr(part).ok())
        .is_none_or(|value| value.is_undefined())
}

/// For the person who writes the template; holds nothing of a message.
fn explain(error: &Error) -> String {
    match error.detail() {
        Some(detail) => format!("bad template: {}: {detail}", error.kind()),
        None => format!("bad template: {}", error.kind()),
    }
}

/// Every variable with some value: enough to find a misspelt filter before the first message.
fn sample() -> Value {
    let names = MESSAGE
        .iter()
        .chain(TIMES)
        .filter(|name| **name != "metadata");
    let pairs = names.map(|name| (*name, Value::from("1")));
    Value::from_pairs(pairs.chain([("metadata", Value::from_object(AnyName))]))
}

/// Metadata in which every name is there.
#[derive(Debug)]
struct AnyName;

impl Object for AnyName {
    fn get_value(self: &Arc<Self>, _: &Value) -> Option<Value> {
        Some(Value::from("1"))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Empty
    }
}
