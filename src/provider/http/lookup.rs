//! Asking the provider's log. "Not there" is believed only when the log said so.

use std::time::Duration;

use reqwest::Method;
use serde_json::Value;
use serde_json_path::JsonPath;

use super::call::Call;
use super::conditions::{Conditions, Expected, Seen, json_path};
use super::records::{Match, Record};
use super::template::{MESSAGE, TIMES};
use super::variables;
use super::{answers, auth};
use crate::config::{Common, Section, values};
use crate::domain::capability::LookUp;
use crate::domain::outcome::LookUpAnswer;
use crate::provider::clean::{clean, redact};
use crate::provider::retry_after::retry_after;
use crate::provider::{Answer, Credentials, Question, Request};

/// Providers' ids are shorter; this only bounds what a hostile answer can store.
const LONGEST_ID: usize = 200;

/// Reads what a `lookup` can promise: `by`, `settle` and `retention`.
pub(super) fn read_capability(section: &mut Section<'_, '_>) -> Option<LookUp> {
    type Build = fn(Duration, Duration) -> LookUp;
    const BY: &[(&str, Build)] = &[
        ("reference", |settle, retention| LookUp::ByReference {
            settle,
            retention,
        }),
        ("recipient", |settle, retention| LookUp::ByRecipient {
            settle,
            retention,
        }),
    ];
    let by = section.required("by", values::choice(BY));
    let settle = section.required("settle", values::duration);
    let retention = section.required("retention", values::duration);
    // where a time is missing, that has been noted; the rest can still be checked
    Some(by?(
        settle.unwrap_or_default(),
        retention.unwrap_or(Duration::MAX),
    ))
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
}

impl Log {
    /// Reads the rest of `lookup`. Credentials of its own come before the provider's.
    pub(super) fn read(
        mut section: Section<'_, '_>,
        common: &Common,
        auth: Option<Option<Credentials>>,
        capability: Option<LookUp>,
    ) -> Option<Self> {
        let own = if section.has("auth") {
            auth::read(&mut section)
        } else {
            auth
        };
        let call = Call::read(
            &mut section,
            Method::GET,
            &[MESSAGE, TIMES],
            common,
            own.clone().flatten(),
        );
        let records = section.required("records", records_path);
        let by_reference = match capability {
            Some(LookUp::ByReference { .. }) => Some(true),
            Some(LookUp::ByRecipient { .. }) => Some(false),
            Some(LookUp::None) | None => None,
        };
        let matching = match by_reference {
            Some(true) => Match::read_reference(&mut section),
            Some(false) => Match::read_recipient(&mut section),
            None => None,
        };
        let only = section.section("where").map(Expected::read);
        let complete = section.section("complete").map(Expected::read);
        let absent = section.section("absent").map(read_absent);
        if let (Some(true), Some(call)) = (by_reference, &call)
            && !call.reads(&["send_key"])
        {
            section.wrong("url", "a look-up by reference must ask for {{ send_key }}");
        }
        if capability.is_some() {
            section.finish(); // else nobody knows which keys are right
        }
        own?;
        Some(Self {
            call: call?,
            records: records?,
            matching: matching?,
            only: only.unwrap_or_default(),
            complete,
            absent,
        })
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
        let Search { ids, foreign } = match self.search(question, &records) {
            Ok(search) => search,
            Err(why) => {
                return LookUpAnswer::Failed {
                    retry_after: None,
                    text: why.to_owned(),
                };
            }
        };
        if !ids.is_empty() {
            LookUpAnswer::Found(ids)
        } else if self.is_whole(&seen, foreign) {
            LookUpAnswer::Absent
        } else {
            let text = "no record of ours, but this may not be the whole log".to_owned();
            LookUpAnswer::Failed {
                retry_after: None,
                text,
            }
        }
    }

    fn search(&self, question: &Question<'_>, records: &[&Value]) -> Result<Search, &'static str> {
        let mut search = Search::default();
        for record in records {
            let counts = self.only.hold(record);
            match self.matching.record(question, record) {
                Ok(Record::Ours(id)) if counts => search.ids.push(clean(id, LONGEST_ID)),
                Err(why) if counts => return Err(why),
                Ok(Record::Foreign) => search.foreign = true,
                Ok(Record::Ours(_)) | Err(_) => {}
            }
        }
        search.ids.sort();
        search.ids.dedup();
        Ok(search)
    }

    /// Whether an answer without our record is all that the log has. Where the file says how to
    /// tell, that decides. Else records under other references show that the log did not do what
    /// it was asked, and ours may be on another page. By recipient, other records are expected,
    /// and a "no" is never proof.
    fn is_whole(&self, seen: &Seen<'_>, foreign: bool) -> bool {
        match (&self.complete, &self.matching) {
            (Some(complete), _) => seen.json().is_some_and(|json| complete.hold(json)),
            (None, Match::Reference { .. }) => !foreign,
            (None, Match::Recipient { .. }) => true,
        }
    }
}

/// What a search of the records found.
#[derive(Default)]
struct Search {
    /// The ids of the records that are ours.
    ids: Vec<String>,
    /// There were records of others.
    foreign: bool,
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
