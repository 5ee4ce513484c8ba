//! `[channels.NAME]`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rlibphonenumber::Region;
use toml_span::value::ValueInner;

use super::process::amqp_name;
use super::provider::{Listed, Providers};
use super::section::Section;
use super::types::{Channel, LEASE_MARGIN};
use super::values::{choice, duration, integer, line, name as check_name, nearest, string, words};
use crate::domain::capability::Capability;
use crate::domain::notification::Kind;
use crate::domain::policy::Policy;
use crate::domain::schedule::Schedule;
use crate::domain::{mailbox, recipient};
use crate::provider::Provider;

const KINDS: &[(&str, Kind)] = &[("sms", Kind::Sms), ("email", Kind::Email)];
const POLICIES: &[(&str, Policy)] = &[
    ("at-most-once", Policy::AtMostOnce),
    ("at-least-once", Policy::AtLeastOnce),
];
const QUEUE_TYPES: &[(&str, bool)] = &[("quorum", true), ("classic", false)];

const CONCURRENCY: usize = 64;
/// Added to the request timeout when no lease is given: a stalled database commit of this length
/// still does not put a living worker's row into doubt.
const LEASE_BEYOND_TIMEOUT: Duration = Duration::from_secs(20);
/// With the default pauses about an hour of "not now" before a notification is given up.
const MAX_SENDS: u32 = 20;
/// What gateways commonly take; a text that needs more is mostly a mistake, and each one costs.
const MAX_SEGMENTS: u32 = 10;
const RESOLVE_WITHIN: Duration = Duration::from_secs(3600);

pub(super) fn read_all(file: &mut Section<'_, '_>, providers: &Providers) -> Vec<Arc<Channel>> {
    let Some(all) = file.section("channels") else {
        file.wrong(
            "channels",
            "at least one channel is needed, as in [channels.sms]",
        );
        return Vec::new();
    };
    let reading = all.reading;
    let nowhere = all.own_place();
    let entries = all.entries();
    if entries.is_empty() {
        reading.problems.add(
            &nowhere,
            "at least one channel is needed, as in [channels.sms]",
        );
    }
    let mut queues = BTreeMap::new();
    let mut channels = Vec::new();
    for (name, place, value) in entries {
        if let Err(message) = check_name(&name) {
            reading.problems.add(&place, message);
        }
        let Some(mut section) = Section::open(reading, place.path, value) else {
            continue;
        };
        let queue = section
            .optional("queue", amqp_name)
            .unwrap_or_else(|| format!("nuncio.{name}"));
        if let Some(other) = queues.insert(queue.clone(), name.clone()) {
            section.wrong("queue", format!("channel {other} already reads {queue:?}"));
        }
        channels.extend(read(name, queue, section, providers).map(Arc::new));
    }
    channels
}

fn read(
    name: String,
    queue: String,
    mut section: Section<'_, '_>,
    providers: &Providers,
) -> Option<Channel> {
    let kind = section.required("kind", choice(KINDS));
    let policy = section.required("policy", choice(POLICIES));
    let listed = listed(&mut section, providers);
    let request_timeout = listed
        .map(|listed| listed.request_timeout)
        .unwrap_or_default();
    let lease = section
        .optional("lease", duration)
        .unwrap_or(request_timeout + LEASE_BEYOND_TIMEOUT);
    let resolve_within = section
        .optional("resolve_within", duration)
        .unwrap_or(RESOLVE_WITHIN);
    let provider = listed.and_then(|listed| listed.provider.clone());
    if let Some(listed) = listed {
        check_lease(&section, lease, listed.request_timeout);
        check_settle(&section, listed.capability, resolve_within);
    }
    let quorum = section.optional("queue_type", choice(QUEUE_TYPES));
    let delivery_limit = section.optional("delivery_limit", integer(1..=1_000_000));
    let concurrency = section.optional("concurrency", integer(1..=4096));
    let max_sends = section.optional("max_sends", integer(1..=1000));
    let schedule = schedule(&mut section);
    let expires_after = section.optional("expires_after", duration);
    let from = section.optional("from", line);
    let from = sender(&section, kind, provider.as_ref(), from);
    let default_region = section.optional("default_region", region);
    let max_segments = section.optional("max_segments", integer(1..=255));
    if kind == Some(Kind::Sms) {
        recipient::load_plans();
    }
    if kind == Some(Kind::Email) {
        for name in ["default_region", "max_segments"] {
            if section.has_had(name) {
                section.wrong(name, "is for channels of kind \"sms\"");
            }
        }
    }
    section.finish();
    Some(Channel {
        name: name.into(),
        kind: kind?,
        queue,
        quorum: quorum.unwrap_or(true),
        delivery_limit,
        policy: policy?,
        provider: provider?,
        concurrency: concurrency.unwrap_or(CONCURRENCY),
        lease,
        max_sends: max_sends.unwrap_or(MAX_SENDS),
        schedule,
        resolve_within,
        expires_after,
        default_region,
        max_segments: max_segments.unwrap_or(MAX_SEGMENTS),
        from,
    })
}

fn listed<'p>(section: &mut Section<'_, '_>, providers: &'p Providers) -> Option<&'p Listed> {
    let name = section.required("provider", string)?;
    let listed = providers.get(&name);
    if listed.is_none() {
        let mut message = format!("there is no [providers.{name}]");
        if let Some(close) = nearest(&name, providers.keys().map(String::as_str)) {
            message += &format!(", did you mean `{close}`?");
        }
        section.wrong("provider", message);
    }
    listed
}

/// What a mail channel sends from stands in a header, as a message's own `from` does.
fn sender(
    section: &Section<'_, '_>,
    kind: Option<Kind>,
    provider: Option<&Provider>,
    from: Option<String>,
) -> Option<String> {
    let from = from?;
    if kind != Some(Kind::Email) {
        return Some(from);
    }
    let smtputf8 = provider.is_some_and(|provider| provider.smtputf8);
    match mailbox::mailbox(&from, smtputf8) {
        _ if mailbox::is_no_header(&from) => {
            section.wrong("from", "has a line break or an encoded word (=?...?=)");
            None
        }
        Ok(canonical) => Some(canonical),
        Err(wrong) => {
            section.wrong("from", wrong);
            None
        }
    }
}

fn region(value: ValueInner<'_>) -> Result<Region, String> {
    let code = string(value)?;
    recipient::region(&code)
        .ok_or_else(|| format!("expected a region of two letters, such as \"GB\", found {code:?}"))
}

fn check_lease(section: &Section<'_, '_>, lease: Duration, request_timeout: Duration) {
    if lease <= request_timeout + LEASE_MARGIN {
        section.wrong(
            "lease",
            format!(
                "{} must be more than {} longer than the provider's request timeout, {}",
                words(lease),
                words(LEASE_MARGIN),
                words(request_timeout)
            ),
        );
    }
}

/// Only a look-up that has failed for so long is given up, so it must get to mean something first.
fn check_settle(
    section: &Section<'_, '_>,
    capability: Option<Capability>,
    resolve_within: Duration,
) {
    let times = capability.and_then(|capability| capability.look_up.times());
    if let Some((settle, _)) = times.filter(|(settle, _)| *settle >= resolve_within) {
        section.wrong("resolve_within", format!(
            "{} must be longer than the provider's settle time, {}: rows would be given up before its log can be believed",
            words(resolve_within), words(settle)
        ));
    }
}

fn schedule(section: &mut Section<'_, '_>) -> Schedule {
    let mut schedule = Schedule::DEFAULT;
    let Some(mut retry) = section.section("retry") else {
        return schedule;
    };
    let first = retry.optional("first", duration);
    let longest = retry.optional("longest", duration);
    let asked = retry.optional("longest_asked", duration);
    schedule.first = first.unwrap_or(schedule.first);
    schedule.longest = longest.unwrap_or(schedule.longest.max(schedule.first));
    schedule.longest_asked = asked.unwrap_or(schedule.longest_asked);
    if schedule.longest < schedule.first {
        retry.wrong("longest", "must not be shorter than retry.first");
    }
    retry.finish();
    schedule
}
