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

use super::{Adapter, Answer, Credentials, Message, Question, Request, Unrenderable};
use crate::config::{Common, Own, Section, values};
use crate::domain::capability::{Capability, Dedupe, LookUp};
use crate::domain::outcome::{LookUpAnswer, Outcome};

use answers::Answers;
use call::Call;
use lookup::Log;
use template::MESSAGE;

/// A gateway that the user described.
struct HttpProvider {
    call: Call,
    answers: Answers,
    log: Option<Log>,
    capability: Capability,
}

impl Adapter for HttpProvider {
    fn capability(&self) -> Capability {
        self.capability
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
pub(crate) fn read(section: &mut Section<'_, '_>, common: &Common) -> Own {
    let dedupe = read_dedupe(section);
    let auth = auth::read(section);
    let send = read_send(section, common, auth.clone().flatten(), dedupe);
    let mut lookup = section.section("lookup");
    let look_up = match &mut lookup {
        Some(lookup) => lookup::read_capability(lookup),
        None => Some(LookUp::None),
    };
    let log = lookup.map(|lookup| Log::read(lookup, common, auth.clone(), look_up));
    if let (Some(LookUp::ByReference { .. }), Some((call, _))) = (look_up, &send)
        && !call.reads(&["send_key"])
    {
        section.wrong(
            "send",
            "a look-up by reference finds nothing unless the request carries {{ send_key }}",
        );
    }
    let capability = dedupe
        .zip(look_up)
        .map(|(dedupe, look_up)| Capability { dedupe, look_up });
    let log = log.map_or(Some(None), |log| log.map(Some)); // none at all, or one that was read
    let adapter =
        capability
            .zip(send)
            .zip(log)
            .zip(auth)
            .map(|(((capability, (call, answers)), log), _)| {
                Arc::new(HttpProvider {
                    call,
                    answers,
                    log,
                    capability,
                }) as Arc<dyn Adapter>
            });
    Own {
        capability,
        adapter,
    }
}

fn read_send(
    section: &mut Section<'_, '_>,
    common: &Common,
    auth: Option<Credentials>,
    dedupe: Option<Dedupe>,
) -> Option<(Call, Answers)> {
    if !section.has("send") {
        section.take("send");
        section.wrong("send", "is missing");
        return None;
    }
    let mut send = section.section("send")?;
    let call = Call::read(&mut send, Method::POST, &[MESSAGE], common, auth);
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
