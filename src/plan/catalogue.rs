//! What known providers promise, as far as their public documentation says (gathered 2026-11).
//!
//! Settle times are mostly undocumented: where the note says "assumed", measure before you rely on
//! it, and give the real one with `--look-up`.

use std::time::Duration;

use serde::Serialize;

use super::capability::{Dedupe, Lookup};

/// One provider's promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CatalogueEntry {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does with a second request under the same key.
    pub dedupe: Dedupe,
    /// What its log can say.
    pub lookup: Lookup,
    /// What to know before trusting these numbers.
    pub note: &'static str,
}

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The known providers: SMS first, then email.
pub const CATALOGUE: [CatalogueEntry; 19] = [
    entry(
        "bird",
        replay(3 * HOUR),
        Lookup::None,
        "list by tag: lag and retention undocumented",
    ),
    entry(
        "infobip",
        client_id(48 * HOUR),
        exact(10 * MINUTE, 48 * HOUR),
        "window and settle time assumed",
    ),
    entry(
        "sinch",
        Dedupe::None,
        exact(10 * MINUTE, 14 * DAY),
        "settle time assumed",
    ),
    entry(
        "vonage",
        Dedupe::None,
        Lookup::None,
        "report by client_ref is asynchronous and paid",
    ),
    entry(
        "twilio",
        Dedupe::None,
        fuzzy(10 * MINUTE, 400 * DAY),
        "settle time assumed",
    ),
    entry(
        "telnyx",
        Dedupe::None,
        fuzzy(10 * MINUTE, 10 * DAY),
        "settle time and retention assumed",
    ),
    entry(
        "plivo",
        Dedupe::None,
        Lookup::None,
        "its list has no filter by recipient",
    ),
    entry(
        "messagebird",
        Dedupe::None,
        fuzzy(10 * MINUTE, 30 * DAY),
        "settle time and retention assumed",
    ),
    entry("aws-sms", Dedupe::None, Lookup::None, "no read API"),
    entry(
        "resend",
        replay(DAY),
        Lookup::None,
        "its list has no filter",
    ),
    entry(
        "sparkpost",
        replay(DAY),
        exact(10 * MINUTE, 10 * DAY),
        "settle time assumed",
    ),
    entry(
        "brevo",
        tombstone(15 * MINUTE),
        exact(10 * MINUTE, 30 * DAY),
        "two pages disagree: 15 or 30 min; settle time assumed",
    ),
    entry(
        "postmark",
        Dedupe::None,
        exact(5 * MINUTE, 45 * DAY),
        "settle time assumed",
    ),
    entry(
        "mailgun",
        Dedupe::None,
        exact(30 * MINUTE, DAY),
        "its own trust threshold; free plan's retention",
    ),
    entry(
        "sendgrid",
        Dedupe::None,
        fuzzy(10 * MINUTE, 30 * DAY),
        "settle time assumed; exact by unique_args is a paid add-on",
    ),
    entry(
        "mailjet",
        Dedupe::None,
        exact(10 * MINUTE, 30 * DAY),
        "settle time and retention assumed",
    ),
    entry(
        "mailersend",
        Dedupe::None,
        Lookup::None,
        "activity by date only",
    ),
    entry(
        "ses",
        Dedupe::None,
        Lookup::None,
        "look-up only by an id we may not have",
    ),
    entry("smtp", Dedupe::None, Lookup::None, "nothing to ask"),
];

/// The entry of that name.
#[must_use]
pub fn find_provider(name: &str) -> Option<&'static CatalogueEntry> {
    CATALOGUE.iter().find(|entry| entry.name == name)
}

const fn entry(
    name: &'static str,
    dedupe: Dedupe,
    lookup: Lookup,
    note: &'static str,
) -> CatalogueEntry {
    CatalogueEntry {
        name,
        dedupe,
        lookup,
        note,
    }
}

const fn replay(seconds: u64) -> Dedupe {
    Dedupe::Replay {
        window: Duration::from_secs(seconds),
    }
}

const fn tombstone(seconds: u64) -> Dedupe {
    Dedupe::Tombstone {
        window: Duration::from_secs(seconds),
    }
}

const fn client_id(seconds: u64) -> Dedupe {
    Dedupe::ClientId {
        window: Duration::from_secs(seconds),
    }
}

const fn exact(settle: u64, retention: u64) -> Lookup {
    Lookup::ByReference {
        settle: Duration::from_secs(settle),
        retention: Duration::from_secs(retention),
    }
}

const fn fuzzy(settle: u64, retention: u64) -> Lookup {
    Lookup::ByRecipient {
        settle: Duration::from_secs(settle),
        retention: Duration::from_secs(retention),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_promise_can_be_given_on_the_command_line_too() {
        for known in CATALOGUE {
            assert_eq!(
                known.dedupe.to_string().parse(),
                Ok(known.dedupe),
                "{}",
                known.name
            );
            assert_eq!(
                known.lookup.to_string().parse(),
                Ok(known.lookup),
                "{}",
                known.name
            );
            assert_eq!(find_provider(known.name), Some(&known));
        }
    }
}
