//! Asking the provider's log. "Not there" is believed only when the log said so.

use reqwest::Method;
use serde_json::Value;
use serde_json_path::JsonPath;

use super::answers;
use super::call::{Call, Credentials};
use super::conditions::{Conditions, Expected, Seen, json_path};
use super::records::{Match, Record, expected};
use super::template::{MESSAGE, TIMES};
use super::variables;
use crate::config::{Section, values};
use crate::domain::capability::LookUp;
use crate::domain::outcome::LookUpAnswer;
use crate::provider::clean::{clean, redact};
use crate::provider::retry_after::retry_after;
use crate::provider::{Answer, Question, Request};

/// Providers' ids are shorter; this only bounds what a hostile answer can store.
const LONGEST_ID: usize = 200;

#[derive(Clone, Copy)]
enum By {
    Reference,
    Recipient,
}

/// How to ask the log, and how to read it.
pub(super) struct Log {
    call: Call,
    /// The array of records, or the one record.
    records: JsonPath,
    matching: Match,
    /// What a record must be besides ours, such as outbound.
    only: Expected,
    /// What an answer without our record must say for it to be the whole log.
    complete: Option<Expected>,
    /// An answer that is no list of records, and means that there are none.
    absent: Option<Conditions>,
    capability: LookUp,
}

impl Log {
    /// Reads `lookup`.
    pub(super) fn read(
        mut section: Section<'_, '_>,
        allow_plain_http: bool,
        auth: Option<Credentials>,
    ) -> Option<Self> {
        let by = section.required(
            "by",
            values::choice(&[("reference", By::Reference), ("recipient", By::Recipient)]),
        );
        let auth = if section.has("auth") {
            super::auth::read(&mut section)
        } else {
            auth
        };
        let call = Call::read(
            &mut section,
            Method::GET,
            &[MESSAGE, TIMES],
            allow_plain_http,
            auth.clone().flatten(),
        );
        let records = section.required("records", records_path);
        let matching = match by {
            Some(By::Reference) => Match::read_reference(&mut section),
            Some(By::Recipient) => Match::read_recipient(&mut section),
            None => None,
        };
        let only = expected(&mut section, "where").unwrap_or_default();
        let complete = expected(&mut section, "complete");
        let absent = section.section("absent").map(read_absent);
        let settle = section.required("settle", values::duration);
        let retention = section.required("retention", values::duration);
        if let (Some(By::Reference), Some(call)) = (by, &call)
            && !call.reads(&["send_key"])
        {
            section.wrong("url", "a look-up by reference must ask for {{ send_key }}");
        }
        if by.is_some() {
            section.finish(); // else nobody knows which keys are right
        }
        let (settle, retention) = (settle?, retention?);
        auth?;
        Some(Self {
            call: call?,
            records: records?,
            matching: matching?,
            only,
            complete,
            absent,
            capability: match by? {
                By::Reference => LookUp::ByReference { settle, retention },
                By::Recipient => LookUp::ByRecipient { settle, retention },
            },
        })
    }

    pub(super) fn capability(&self) -> LookUp {
        self.capability
    }

    pub(super) fn request(&self, question: &Question<'_>) -> Option<Request> {
        self.call.render(&variables::of_question(question)).ok()
    }

    /// What an answer says about the message.
    pub(super) fn found(&self, question: &Question<'_>, answer: &Answer) -> LookUpAnswer {
        let seen = Seen::new(answer);
        if self
            .absent
            .as_ref()
            .is_some_and(|absent| absent.hold(&seen))
        {
            return LookUpAnswer::Absent;
        }
        let failed = |why: &str| LookUpAnswer::Failed {
            retry_after: retry_after(seen.headers),
            text: redact(
                &format!("{why}: {}", answers::text(&seen, None)),
                question.message.to,
            )
            .into_owned(),
        };
        if !(200..300).contains(&seen.status) {
            return failed("the log did not answer");
        }
        let Some(records) = seen.json().and_then(|json| records(&self.records, json)) else {
            return failed("the answer has no list of records");
        };
        match self.ours(question, &records) {
            Err(why) => LookUpAnswer::Failed {
                retry_after: None,
                text: why.to_owned(),
            },
            Ok(ids) if !ids.is_empty() => LookUpAnswer::Found(ids),
            Ok(_) if self.is_whole(&seen, &records) => LookUpAnswer::Absent,
            Ok(_) => LookUpAnswer::Failed {
                retry_after: None,
                text: "no record of ours, but this may not be the whole log".to_owned(),
            },
        }
    }

    fn ours(
        &self,
        question: &Question<'_>,
        records: &[&Value],
    ) -> Result<Vec<String>, &'static str> {
        let mut ids = Vec::new();
        for record in records.iter().filter(|record| self.only.hold(record)) {
            if let Record::Ours(id) = self.matching.record(question, record)? {
                ids.push(clean(id, LONGEST_ID));
            }
        }
        ids.sort();
        ids.dedup();
        Ok(ids)
    }

    /// Whether an answer without our record is all that the log has. Where the file says how to
    /// tell, that decides. Else records under other references show that the log did not do what
    /// it was asked, and ours may be on another page. By recipient, other records are expected,
    /// and a "no" is never proof.
    fn is_whole(&self, seen: &Seen<'_>, records: &[&Value]) -> bool {
        match (&self.complete, &self.matching) {
            (Some(complete), _) => seen.json().is_some_and(|json| complete.hold(json)),
            (None, Match::Reference { .. }) => records.is_empty(),
            (None, Match::Recipient { .. }) => true,
        }
    }
}

/// The records, if the answer has a place for them: an error in a 200 has none, and must not look
/// like an empty log.
fn records<'j>(path: &JsonPath, json: &'j Value) -> Option<Vec<&'j Value>> {
    match path.query(json).exactly_one().ok()? {
        Value::Array(records) => Some(records.iter().collect()),
        record @ Value::Object(_) => Some(vec![record]),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn records_path(value: toml_span::value::ValueInner<'_>) -> Result<JsonPath, String> {
    let text = values::string(value)?;
    if let Some(array) = text.strip_suffix("[*]") {
        return Err(format!(
            "name the array itself, {array:?}, so that an empty log can be told from an error"
        ));
    }
    json_path(&text)
}

/// A 404 alone may come from a wrong URL, so it must say more.
fn read_absent(mut section: Section<'_, '_>) -> Conditions {
    let place = section.own_place();
    let conditions = Conditions::read(&mut section);
    if !conditions.look_at_the_body() {
        section.reading.problems.add(
            &place,
            "needs a `json` or `text` condition: a status alone may come from a wrong URL",
        );
    }
    section.finish();
    conditions
}
