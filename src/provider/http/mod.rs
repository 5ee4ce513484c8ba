//! The declarative provider: a gateway described in the configuration file.
//!
//! `docs/http-provider.md` is its manual. Everything is compiled when the file is read, so that a
//! mistake is found by `nuncio check` and not by the first message; what is left for a message is
//! to fill in templates and to compare.

mod address;
mod answers;
mod auth;
mod body;
mod call;
mod conditions;
mod escape;
mod lookup;
mod pick;
mod records;
mod template;
#[cfg(test)]
mod tests;
mod variables;

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;

use super::{Adapter, Answer, Message, Question, Request, Unrenderable};
use crate::config::{Common, Section, values};
use crate::domain::capability::{Capability, Dedupe, LookUp};
use crate::domain::outcome::{LookUpAnswer, Outcome};

use answers::Answers;
use call::{Call, Credentials};
use lookup::Log;
use template::MESSAGE;

/// A gateway that the user described.
struct HttpProvider {
    call: Call,
    answers: Answers,
    log: Option<Log>,
    dedupe: Dedupe,
}

impl Adapter for HttpProvider {
    fn capability(&self) -> Capability {
        Capability {
            dedupe: self.dedupe,
            look_up: self.log.as_ref().map_or(LookUp::None, Log::capability),
        }
    }

    fn request(&self, message: &Message<'_>) -> Result<Request, Unrenderable> {
        self.call.render(&variables::of_message(message))
    }

    fn outcome(&self, answer: &Answer) -> Outcome {
        self.answers.outcome(answer)
    }

    fn look_up(&self, question: &Question<'_>) -> Option<Request> {
        self.log.as_ref()?.request(question)
    }

    fn found(&self, question: &Question<'_>, answer: &Answer) -> LookUpAnswer {
        match &self.log {
            Some(log) => log.found(question, answer),
            None => LookUpAnswer::Failed {
                retry_after: None,
                text: "there is no look-up".into(),
            },
        }
    }
}

/// Reads what a provider of this kind has of its own: `dedupe`, `auth`, `send` and `lookup`.
pub(crate) fn read(section: &mut Section<'_, '_>, common: &Common) -> Option<Arc<dyn Adapter>> {
    let dedupe = read_dedupe(section);
    let auth = auth::read(section);
    let send = if section.has("send") {
        section
            .section("send")
            .and_then(|send| read_send(send, common, auth.clone().flatten(), dedupe))
    } else {
        section.take("send");
        section.wrong("send", "is missing");
        None
    };
    let log = section
        .section("lookup")
        .map(|log| Log::read(log, common.allow_plain_http, auth.clone()));
    let (call, answers) = send?;
    if let Some(Some(log)) = &log
        && matches!(log.capability(), LookUp::ByReference { .. })
        && !call.reads(&["send_key"])
    {
        section.wrong(
            "send",
            "a look-up by reference finds nothing unless the request carries {{ send_key }}",
        );
    }
    auth?;
    let log = match log {
        Some(log) => Some(log?),
        None => None,
    };
    Some(Arc::new(HttpProvider {
        call,
        answers,
        log,
        dedupe: dedupe?,
    }))
}

fn read_send(
    mut send: Section<'_, '_>,
    common: &Common,
    auth: Credentials,
    dedupe: Option<Dedupe>,
) -> Option<(Call, Answers)> {
    let call = Call::read(
        &mut send,
        Method::POST,
        &[MESSAGE],
        common.allow_plain_http,
        auth,
    );
    let answers = Answers::read(&mut send);
    if let Some(call) = &call {
        let place = send.own_place();
        if !call.reads(&["to", "to_digits"]) {
            send.reading
                .problems
                .add(&place, "nothing in the request carries {{ to }}");
        }
        if dedupe.is_some_and(|dedupe| dedupe != Dedupe::None) && !call.reads(&["send_key"]) {
            send.reading.problems.add(
                &place,
                "dedupe is declared, but nothing in the request carries {{ send_key }}",
            );
        }
    }
    send.finish();
    Some((call?, answers?))
}

/// Reads `dedupe`: `"none"`, which is also the default, or a table of kind and window.
fn read_dedupe(section: &mut Section<'_, '_>) -> Option<Dedupe> {
    type Build = fn(Duration) -> Dedupe;
    const KINDS: &[(&str, Build)] = &[
        ("replay", |window| Dedupe::Replay { window }),
        ("tombstone", |window| Dedupe::Tombstone { window }),
        ("client-id", |window| Dedupe::ClientId { window }),
    ];
    if !section.has("dedupe") {
        section.take("dedupe");
        return Some(Dedupe::None);
    }
    if !section.has_table("dedupe") {
        return section.optional("dedupe", |value| match value.as_str() {
            Some("none") => Ok(Dedupe::None),
            _ => Err(
                "expected \"none\", or a table such as { kind = \"replay\", window = \"24h\" }"
                    .into(),
            ),
        });
    }
    let mut dedupe = section.section("dedupe")?;
    let kind = dedupe.required("kind", values::choice(KINDS));
    let window = dedupe.required("window", values::duration);
    dedupe.finish();
    Some(kind?(window?))
}
