//! Whole files, right and wrong.

use std::time::Duration;

use secrecy::ExposeSecret;

use super::*;
use crate::domain::capability::{Capability, Dedupe, LookUp};
use crate::domain::notification::Kind;
use crate::domain::policy::Policy;
use crate::domain::schedule::Schedule;

fn env(name: &str) -> Option<String> {
    match name {
        "NUNCIO_DATABASE_URL" => Some("postgres://nuncio:secret@db/nuncio".into()),
        "NUNCIO_AMQP_URL" => Some("amqp://nuncio:secret@mq:5672/%2f".into()),
        "EMPTY" => Some(String::new()),
        "TWO_LINES" => Some("one\ntwo".into()),
        _ if name.starts_with("GATEWAY_") => Some("t0ken".into()),
        _ => None,
    }
}

fn right(text: &str) -> Config {
    parse("nuncio.toml", text, &env).unwrap_or_else(|errors| panic!("{errors}"))
}

fn wrong(text: &str) -> String {
    parse("nuncio.toml", text, &env)
        .err()
        .map(|errors| errors.to_string())
        .expect("errors")
}

/// The least that works.
const LEAST: &str = r#"
[channels.sms]
kind = "sms"
policy = "at-least-once"
provider = "gateway"

[providers.gateway]
kind = "http"

[providers.gateway.send]
url = "https://gateway.example/send"
json = { to = "{{ to }}", text = "{{ text }}" }

[[providers.gateway.send.answers]]
id = "$.id"
means = "accepted"
"#;

#[test]
fn the_least_that_works_gets_every_default() {
    let config = right(LEAST);
    assert_eq!(
        config.database.url.expose_secret(),
        "postgres://nuncio:secret@db/nuncio"
    );
    assert_eq!(
        (config.database.pool, config.database.pgbouncer),
        (4, false)
    );
    assert_eq!(
        config.broker.url.expose_secret(),
        "amqp://nuncio:secret@mq:5672/%2f"
    );
    assert_eq!(
        (config.broker.prefetch, config.broker.exchange.as_str()),
        (1000, "nuncio")
    );
    assert_eq!(config.http.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.resolver.every, Duration::from_secs(5));
    assert_eq!(
        (config.resolver.batch, config.resolver.max_resends),
        (200, 100)
    );
    assert_eq!(config.shutdown_grace, Duration::from_secs(30));
    assert_eq!(config.log.format, LogFormat::Text);
    assert!(config.warnings.is_empty());

    let channel = &config.channels[0];
    assert_eq!(
        (&*channel.name, channel.kind, channel.policy),
        ("sms", Kind::Sms, Policy::AtLeastOnce)
    );
    assert_eq!(
        (
            channel.queue.as_str(),
            channel.quorum,
            channel.delivery_limit
        ),
        ("nuncio.sms", true, None)
    );
    assert_eq!((channel.concurrency, channel.max_sends), (64, 20));
    assert_eq!(channel.provider.request_timeout, Duration::from_secs(10));
    assert_eq!(channel.lease, Duration::from_secs(30));
    assert_eq!(channel.schedule, Schedule::DEFAULT);
    assert_eq!(channel.resolve_within, Duration::from_secs(3600));
    assert_eq!(
        (channel.expires_after, channel.from.as_deref()),
        (None, None)
    );
    assert_eq!(
        channel.provider.adapter.capability(),
        Capability {
            dedupe: Dedupe::None,
            look_up: LookUp::None
        }
    );
}

#[test]
fn the_examples_load() {
    let config = right(include_str!("../../examples/nuncio.toml"));
    assert_eq!(
        config.channels.iter().map(|c| &*c.name).collect::<Vec<_>>(),
        ["sms", "sms-otp"]
    );
    assert_eq!(
        config.channels[1].expires_after,
        Some(Duration::from_secs(600))
    );
    assert!(config.warnings.is_empty());
    right(include_str!("../../examples/compose.toml"));
}

#[test]
fn every_gateway_in_the_manual_loads() {
    let manual = include_str!("../../docs/http-provider.md");
    let blocks = manual
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next());
    let gateways: Vec<_> = blocks
        .filter(|block| block.contains("kind = \"http\""))
        .collect();
    assert!(gateways.len() >= 3);
    for gateway in gateways {
        let name = gateway
            .split("[providers.")
            .nth(1)
            .and_then(|rest| rest.split(']').next())
            .expect("name");
        right(&format!(
            "[channels.sms]\nkind = \"sms\"\npolicy = \"at-most-once\"\nprovider = \"{name}\"\n{gateway}"
        ));
    }
}

#[test]
fn a_file_with_many_mistakes_shows_all_of_them_with_their_places() {
    let text = include_str!("wrong.toml");
    assert_eq!(wrong(text), include_str!("wrong.txt").trim_end());
}

#[test]
fn a_file_that_is_not_toml_shows_where() {
    assert_eq!(
        wrong("[channels.sms]\nkind = sms\n"),
        "nuncio.toml:2:8: not TOML: invalid TOML value, did you mean to use a quoted string?\n1 error in the configuration"
    );
    for text in [
        "[",
        "a = 1\na = 2",
        "=",
        "a.b = 1\n[a]\nb = 2",
        "\u{0}",
        "x = \"\\q\"",
        "a.b = 1\n[[a]]",
        "[[a]]\n[a.b]\n[[a.b]]",
        "[a]\n[[a]]",
    ] {
        assert!(wrong(text).contains("error"), "{text:?}");
    }
}

#[test]
fn a_file_that_is_not_there_is_an_error_without_a_line() {
    let shown = load(Path::new("/nowhere/nuncio.toml"), &env)
        .err()
        .map(|errors| errors.to_string());
    assert_eq!(
        shown.as_deref(),
        Some(
            "/nowhere/nuncio.toml: cannot be read: No such file or directory (os error 2)\n1 error in the configuration"
        )
    );
}

#[test]
fn an_empty_file_says_what_is_needed() {
    let nothing = parse("nuncio.toml", "", &|_| None)
        .err()
        .map(|errors| errors.to_string());
    assert_eq!(
        nothing.as_deref(),
        Some(
            "nuncio.toml:1:1: broker: is missing, and the environment variable NUNCIO_AMQP_URL is not set\n\
             nuncio.toml:1:1: channels: at least one channel is needed, as in [channels.sms]\n\
             nuncio.toml:1:1: database: is missing, and the environment variable NUNCIO_DATABASE_URL is not set\n\
             3 errors in the configuration"
        )
    );
}

#[test]
fn no_secret_is_ever_shown() {
    let text = LEAST.replace(
        "kind = \"http\"",
        "kind = \"http\"\nauth = { bearer = \"env:TWO_LINES\" }",
    ) + "\n[database]\nurl = \"mysql://user:hunter2@db\"\n[broker]\nurl = \"hunter2\"\n";
    let shown = wrong(&text);
    assert!(
        !shown.contains("hunter2") && !shown.contains("two"),
        "{shown}"
    );
    assert!(
        shown.contains("database.url: is not a URL that begins with postgres:// or postgresql://"),
        "{shown}"
    );
    assert!(
        shown.contains("auth.bearer: the secret has a character that a header cannot carry"),
        "{shown}"
    );
}

#[test]
fn an_unused_provider_is_a_warning() {
    let spare = LEAST
        .split("[providers.gateway]")
        .nth(1)
        .map(|rest| rest.replace("gateway", "spare"));
    let config = right(&format!(
        "{LEAST}[providers.spare]{}",
        spare.unwrap_or_default()
    ));
    assert_eq!(
        config.warnings,
        ["providers.spare is not used by any channel"]
    );
}

#[test]
fn plain_http_is_for_this_machine_unless_it_is_allowed() {
    let at = |url: &str, more: &str| {
        LEAST
            .replace("https://gateway.example/send", url)
            .replace("kind = \"http\"", &format!("kind = \"http\"\n{more}"))
    };
    for url in [
        "http://127.0.0.1:8025/send",
        "http://[::1]/send",
        "http://localhost/x",
        "http://a.localhost/",
    ] {
        right(&at(url, ""));
    }
    for url in [
        "http://gateway.example/send",
        "http://10.0.0.7/send",
        "http://localhost.example/",
    ] {
        assert!(
            wrong(&at(url, "")).contains("plain http:// shows credentials"),
            "{url}"
        );
        right(&at(url, "allow_plain_http = true"));
    }
}

#[test]
fn a_capability_is_told_in_words() {
    let config = right(include_str!("../../examples/nuncio.toml"));
    let capability = config.channels[1].provider.adapter.capability();
    assert_eq!(
        capability_words(&capability, Policy::AtMostOnce),
        [
            "replay for 1d, exact look-up (settle 5m, kept 30d)",
            "in doubt: replays, then looks up, then parks for a person"
        ]
    );
    let none = Capability {
        dedupe: Dedupe::None,
        look_up: LookUp::None,
    };
    assert_eq!(
        capability_words(&none, Policy::AtLeastOnce),
        [
            "no dedupe, no look-up",
            "in doubt: sends again and counts a possible duplicate"
        ]
    );
}

#[test]
fn an_sms_channel_has_a_region_and_a_limit_of_segments() {
    let channel = |line: &str| {
        let line = format!("kind = \"sms\"\n{line}");
        LEAST.replacen("kind = \"sms\"", &line, 1)
    };
    let config = right(&channel("default_region = \"GB\"\nmax_segments = 3"));
    let sms = &config.channels[0];
    assert_eq!(
        sms.default_region.map(|r| r.to_string()).as_deref(),
        Some("GB")
    );
    assert_eq!(sms.max_segments, 3);
    let least = &right(LEAST).channels[0];
    assert_eq!((least.default_region, least.max_segments), (None, 10));
    for (line, expected) in [
        (
            "default_region = \"UK\"",
            "expected a region of two letters, such as \"GB\"",
        ),
        ("default_region = 44", "expected a string"),
        ("max_segments = 0", "expected 1 to 255"),
        ("max_segments = 256", "expected 1 to 255"),
    ] {
        let said = wrong(&channel(line));
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_mail_channel_sends_from_one_mailbox_and_has_nothing_of_an_sms() {
    let channel = |line: &str| {
        let line = format!("kind = \"email\"\n{line}");
        LEAST.replacen("kind = \"sms\"", &line, 1)
    };
    let config = right(&channel("from = \"Desk <desk@BÜCHER.example>\""));
    assert_eq!(
        config.channels[0].from.as_deref(),
        Some("Desk <desk@xn--bcher-kva.example>")
    );
    for (line, expected) in [
        (
            "from = \"Desk\"",
            "channels.sms.from: is not one mail address",
        ),
        (
            "from = \"a@b.example, c@d.example\"",
            "channels.sms.from: is not one mail address",
        ),
        ("from = \"=?utf-8?q?a?= <a@b.example>\"", "an encoded word"),
        (
            "from = \"jörg@b.example\"",
            "letters beyond ASCII before the @",
        ),
        ("default_region = \"GB\"", "is for channels of kind \"sms\""),
        ("max_segments = 3", "is for channels of kind \"sms\""),
    ] {
        let said = wrong(&channel(line));
        assert!(said.contains(expected), "{said}");
    }
    let takes = channel("from = \"jörg@b.example\"").replacen(
        "kind = \"http\"",
        "kind = \"http\"\nsmtputf8 = true",
        1,
    );
    assert!(right(&takes).channels[0].provider.smtputf8);
}
