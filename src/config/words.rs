//! What a provider promises and what a policy makes of it, in words for `nuncio check`.

use super::values::words;
use crate::domain::capability::{Capability, Dedupe, LookUp};
use crate::domain::policy::Policy;

/// Says what the capability is, and what happens to a message in doubt: one line each.
///
/// The second line names, in their order, the ways out of doubt that the resolver has.
#[must_use]
pub fn capability_words(capability: &Capability, policy: Policy) -> Vec<String> {
    vec![
        format!(
            "{}, {}",
            dedupe(capability.dedupe),
            look_up(capability.look_up)
        ),
        format!("in doubt: {}", in_doubt(capability, policy)),
    ]
}

fn dedupe(dedupe: Dedupe) -> String {
    match dedupe {
        Dedupe::None => "no dedupe".into(),
        Dedupe::Replay { window } => format!("replay for {}", words(window)),
        Dedupe::Tombstone { window } => format!("tombstone for {}", words(window)),
        Dedupe::ClientId { window } => format!("our own message id for {}", words(window)),
    }
}

fn look_up(look_up: LookUp) -> String {
    let (name, settle, retention) = match look_up {
        LookUp::None => return "no look-up".into(),
        LookUp::ByReference { settle, retention } => ("exact", settle, retention),
        LookUp::ByRecipient { settle, retention } => ("fuzzy", settle, retention),
    };
    format!(
        "{name} look-up (settle {}, kept {})",
        words(settle),
        words(retention)
    )
}

fn in_doubt(capability: &Capability, policy: Policy) -> String {
    let mut steps = Vec::new();
    if capability.dedupe != Dedupe::None {
        steps.push("replays");
    }
    if capability.look_up != LookUp::None {
        steps.push("looks up");
    }
    steps.push(match policy {
        Policy::AtMostOnce => "parks for a person",
        Policy::AtLeastOnce => "sends again and counts a possible duplicate",
    });
    steps.join(", then ")
}
