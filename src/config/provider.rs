//! `[providers.NAME]`: what every kind of provider has in common, and the list of kinds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::error::Place;
use super::section::Section;
use super::types::Channel;
use super::values::{boolean, choice, duration, name as check_name, words};
use crate::domain::capability::Capability;
use crate::provider::{Adapter, Provider};

/// What one kind of provider has of its own, as far as it could be read.
pub(crate) struct Own {
    /// `None` when it cannot be said; what is wrong elsewhere does not matter to it.
    pub(crate) capability: Option<Capability>,
    /// `None` when anything is wrong, which has been noted.
    pub(crate) adapter: Option<Arc<dyn Adapter>>,
}

/// Reads what one kind of provider has of its own.
type ReadKind = for<'s, 'r, 'de, 'c> fn(&'s mut Section<'r, 'de>, &'c Common) -> Own;

/// Every kind of provider. One more is a file with its adapter, and a line here.
const KINDS: &[(&str, ReadKind)] = &[("http", crate::provider::http::read)];

/// Long enough for a slow gateway; what takes longer is in doubt anyway.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Keys that every kind has.
pub(crate) struct Common {
    /// Total time for one request.
    pub(crate) request_timeout: Duration,
    /// Credentials and content may travel in clear to hosts other than this one.
    pub(crate) allow_plain_http: bool,
}

/// A provider as it stands in the file.
pub(super) struct Listed {
    place: Place,
    pub(super) request_timeout: Duration,
    /// `None` when it could not be read.
    pub(super) capability: Option<Capability>,
    /// `None` when something in it is wrong, which has been noted.
    pub(super) provider: Option<Provider>,
}

/// The providers by name.
pub(super) type Providers = BTreeMap<String, Listed>;

pub(super) fn read_all(file: &mut Section<'_, '_>) -> Providers {
    let mut providers = Providers::new();
    let Some(all) = file.section("providers") else {
        return providers;
    };
    let reading = all.reading;
    for (name, place, value) in all.entries() {
        if let Err(message) = check_name(&name) {
            reading.problems.add(&place, message);
        }
        if let Some(section) = Section::open(reading, place.path.clone(), value) {
            providers.insert(name.clone(), read(name, place, section));
        }
    }
    providers
}

fn read(name: String, place: Place, mut section: Section<'_, '_>) -> Listed {
    let kind = section.required("kind", choice(KINDS));
    let common = Common {
        request_timeout: section
            .optional("request_timeout", duration)
            .unwrap_or(REQUEST_TIMEOUT),
        allow_plain_http: section
            .optional("allow_plain_http", boolean)
            .unwrap_or_default(),
    };
    let smtputf8 = section.optional("smtputf8", boolean).unwrap_or_default();
    let own = kind.map(|read| read(&mut section, &common));
    let capability = own.as_ref().and_then(|own| own.capability);
    if let Some(capability) = capability {
        check_times(&section, &common, capability);
    }
    if kind.is_some() {
        section.finish(); // of an unknown kind, nobody knows which keys are right
    }
    Listed {
        place,
        request_timeout: common.request_timeout,
        capability,
        provider: own.and_then(|own| own.adapter).map(|adapter| Provider {
            name: name.into(),
            adapter,
            request_timeout: common.request_timeout,
            smtputf8,
        }),
    }
}

/// Times that would make the resolver's promises empty.
fn check_times(section: &Section<'_, '_>, common: &Common, capability: Capability) {
    let timeout = common.request_timeout;
    if let Some(window) = capability
        .dedupe
        .window()
        .filter(|window| *window < 2 * timeout)
    {
        section.wrong("dedupe", format!(
            "the window, {}, must be at least twice the request timeout, {}: a replay must begin and end inside it",
            words(window), words(timeout)
        ));
    }
    if let Some((settle, retention)) = capability
        .look_up
        .times()
        .filter(|(settle, retention)| settle >= retention)
    {
        section.wrong("lookup", format!(
            "settle, {}, must be shorter than retention, {}: \"not found\" would never mean anything",
            words(settle), words(retention)
        ));
    }
}

/// A provider that no channel uses is a warning: it may be there for tomorrow.
pub(super) fn unused(providers: &Providers, channels: &[Arc<Channel>]) -> Vec<String> {
    providers
        .iter()
        .filter(|(name, _)| {
            channels
                .iter()
                .all(|channel| *channel.provider.name != ***name)
        })
        .map(|(_, listed)| format!("{} is not used by any channel", listed.place.path))
        .collect()
}
