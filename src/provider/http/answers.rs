//! What an answer to a request means: the user's rules, then what any HTTP answer says.

use std::ops::RangeInclusive;

use crate::config::{Section, values};
use crate::domain::outcome::{Doubt, NotSent, Outcome};
use crate::provider::Answer;
use crate::provider::clean::clean;
use crate::provider::retry_after::retry_after;

use super::conditions::{Conditions, Seen, status};
use super::pick::Pick;

/// Providers' ids are shorter; this only bounds what a hostile answer can store.
const LONGEST_ID: usize = 200;
/// Enough of the provider's words to act on.
const LONGEST_TEXT: usize = 300;

/// What a rule says that an answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Means {
    Accepted,
    Already,
    Refused,
    OptedOut,
    NotSent(NotSent),
    Unknown(Doubt),
}

const MEANS: &[(&str, Means)] = &[
    ("accepted", Means::Accepted),
    ("already", Means::Already),
    ("refused", Means::Refused),
    ("opted-out", Means::OptedOut),
    ("not-processed", Means::NotSent(NotSent::NotProcessed)),
    ("throttled", Means::NotSent(NotSent::Throttled)),
    ("account", Means::NotSent(NotSent::Account)),
    ("in-progress", Means::Unknown(Doubt::InProgress)),
    ("mismatch", Means::Unknown(Doubt::KeyMismatch)),
    ("replayed-failure", Means::Unknown(Doubt::ReplayedFailure)),
    ("unknown", Means::Unknown(Doubt::ServerError)),
];

/// The rules, in order, and the statuses that the provider documents as "not processed".
pub(super) struct Answers {
    rules: Vec<Rule>,
    not_processed: Vec<RangeInclusive<u16>>,
}

struct Rule {
    conditions: Conditions,
    means: Means,
    id: Option<Pick>,
    words: Option<Pick>,
}

impl Answers {
    /// Reads `answers` and `not_processed`.
    pub(super) fn read(section: &mut Section<'_, '_>) -> Option<Self> {
        let not_processed = section.optional("not_processed", |value| {
            values::one_or_more(value, refusal_status)
        });
        let sections = section.sections("answers");
        let rules: Vec<_> = sections.into_iter().map(Rule::read).collect();
        if !rules
            .iter()
            .flatten()
            .any(|rule| rule.means == Means::Accepted)
            && rules.iter().all(Option::is_some)
        {
            section.wrong(
                "answers",
                "no answer has means = \"accepted\": nothing would ever count as sent",
            );
        }
        let rules = rules.into_iter().collect::<Option<_>>()?;
        Some(Self {
            rules,
            not_processed: not_processed.unwrap_or_default(),
        })
    }

    /// What an answer says.
    pub(super) fn outcome(&self, answer: &Answer) -> Outcome {
        let seen = Seen::new(answer);
        for rule in &self.rules {
            if let Some(outcome) = rule.apply(&seen) {
                return outcome;
            }
        }
        outcome(self.without_a_rule(seen.status), None, &seen, None)
    }

    /// What HTTP itself says. A success status proves nothing, and a refusal that nobody has
    /// described may come from a gateway in between, after the message went out.
    fn without_a_rule(&self, status: u16) -> Means {
        match status {
            429 if self.is_not_processed(status) => Means::NotSent(NotSent::Throttled),
            _ if self.is_not_processed(status) => Means::NotSent(NotSent::NotProcessed),
            // the account or the URL is wrong for every message alike; redirects are not followed
            300..=399 | 401..=405 => Means::NotSent(NotSent::Account),
            500.. => Means::Unknown(Doubt::ServerError),
            _ => Means::Unknown(Doubt::Unintelligible),
        }
    }

    fn is_not_processed(&self, status: u16) -> bool {
        self.not_processed
            .iter()
            .any(|range| range.contains(&status))
    }
}

impl Rule {
    fn read(mut section: Section<'_, '_>) -> Option<Self> {
        let mut conditions = Conditions::read(&mut section);
        let means = section.required("means", values::choice(MEANS));
        let pick = |value| Pick::parse(&values::string(value)?);
        let id = section.optional("id", pick);
        let words = section.optional("text_of", pick);
        if let Some(means) = means {
            let wants_id = id.is_some() || conditions.catch("id");
            if let Err(message) = check_proof(&conditions, means, wants_id) {
                section.wrong("means", message);
            }
            if means == Means::Accepted && conditions.status.is_empty() {
                conditions.status.push(200..=299);
            }
        }
        section.finish();
        Some(Self {
            conditions,
            means: means?,
            id,
            words,
        })
    }

    /// The outcome, if the rule is for this answer. An id that the rule names is part of the
    /// proof: without it, an accepting rule is not for this answer.
    fn apply(&self, seen: &Seen<'_>) -> Option<Outcome> {
        if !self.conditions.hold(seen) {
            return None;
        }
        let caught = || self.conditions.caught("id", seen).map(str::to_owned);
        let id = match &self.id {
            Some(pick) => pick.from(seen),
            None => caught(),
        };
        let id = id
            .map(|id| clean(id, LONGEST_ID))
            .filter(|id| !id.is_empty());
        if id.is_none() && self.needs_id() {
            return None;
        }
        Some(outcome(self.means, id, seen, self.words.as_ref()))
    }

    /// Whether the id is part of the proof.
    fn needs_id(&self) -> bool {
        let named = self.id.is_some() || self.conditions.catch("id");
        match self.means {
            Means::Accepted => named,
            // a status that is no success, or the body, may be proof without it
            Means::Already => {
                self.conditions.include_success() && !self.conditions.look_at_the_body()
            }
            Means::Refused | Means::OptedOut | Means::NotSent(_) | Means::Unknown(_) => false,
        }
    }
}

/// A success status alone says nothing: several providers put refusals into a 200.
fn check_proof(conditions: &Conditions, means: Means, wants_id: bool) -> Result<(), String> {
    let proof = conditions.look_at_the_body() || wants_id;
    match means {
        Means::Accepted if !proof => {
            Err("\"accepted\" needs proof: an `id` that must be there, or a `json` or `text` that only a success has".into())
        }
        Means::Already if !proof && conditions.include_success() => {
            Err("\"already\" needs proof: an `id`, a `json` or `text` condition, or a `status` that is no success".into())
        }
        Means::Unknown(Doubt::ServerError) | Means::Accepted | Means::Already => Ok(()),
        Means::Refused | Means::OptedOut | Means::NotSent(_) | Means::Unknown(_)
            if conditions.include_success() && !conditions.look_at_the_body() && !conditions.look_at_a_header() =>
        {
            Err("a success status alone says nothing: add a `json`, `text` or `header` condition".into())
        }
        Means::Refused | Means::OptedOut | Means::NotSent(_) | Means::Unknown(_) => Ok(()),
    }
}

fn refusal_status(value: toml_span::value::ValueInner<'_>) -> Result<RangeInclusive<u16>, String> {
    let range = status(value)?;
    if *range.start() < 400 {
        return Err("only a 4xx or 5xx can mean \"not processed\"".into());
    }
    Ok(range)
}

fn outcome(means: Means, id: Option<String>, seen: &Seen<'_>, words: Option<&Pick>) -> Outcome {
    let text = || text(seen, words);
    match means {
        Means::Accepted => Outcome::Accepted {
            provider_id: id,
            already: false,
        },
        Means::Already => Outcome::Accepted {
            provider_id: id,
            already: true,
        },
        Means::Refused => Outcome::Refused {
            opted_out: false,
            text: text(),
        },
        Means::OptedOut => Outcome::Refused {
            opted_out: true,
            text: text(),
        },
        Means::NotSent(cause) => Outcome::NotSent {
            cause,
            retry_after: retry_after(seen.headers),
            text: text(),
        },
        Means::Unknown(cause) => Outcome::Unknown {
            cause,
            look_after: retry_after(seen.headers),
            text: text(),
        },
    }
}

/// Status and the provider's own words: the raw code is what a person needs to look it up.
pub(super) fn text(seen: &Seen<'_>, words: Option<&Pick>) -> String {
    let said = match words.and_then(|words| words.from(seen)) {
        Some(said) => clean(said, LONGEST_TEXT),
        None => clean(seen.text(), LONGEST_TEXT),
    };
    if said.is_empty() {
        format!("HTTP {}", seen.status)
    } else {
        format!("HTTP {}: {said}", seen.status)
    }
}
