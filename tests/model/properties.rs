//! What must hold in every state, by name.

use nuncio::domain::phase::Phase;
use nuncio::domain::policy::Policy;
use stateright::Property;

use crate::Protocol;
use crate::setting::Setting;
use crate::state::State;

pub const AT_MOST_ONE: &str = "at-most-once: one effect at most, unless a person sent it again";
pub const COUNTED: &str =
    "at-least-once: every effect after the first was counted before as a possible duplicate";
pub const NAMED_END: &str = "at-least-once: what is not sent ends in a named exception";
pub const EXACTLY_ONE: &str =
    "where evidence is to be had: sent once, and nothing left to the policy";
pub const NO_EFFECT: &str = "what is called certainly not sent had no effect";
pub const AN_EFFECT: &str = "what is called sent had an effect";
pub const ONE_OWNER: &str = "an attempt has one owner, and only that one changes the row";
pub const LEGAL: &str = "every move is legal, and every row satisfies the constraints";
pub const CLAIMED: &str = "no request goes out without a committed claim that covers it";
pub const NOT_IN_DOUBT: &str = "at-most-once: no worker sends in doubt, unless a person said so";
pub const ONE_BODY: &str = "a send key never carries two bodies";
pub const NOTHING_VANISHES: &str = "a message is in the queue, in a hand, or in the ledger";
pub const RESTS: &str = "every behaviour ends at rest";
/// Not a demand: that the model can do at all what it is about.
pub const CAN_BE_SENT: &str = "it can be sent";

pub fn all() -> Vec<Property<Protocol>> {
    fn always(name: &'static str, holds: fn(&Protocol, &State) -> bool) -> Property<Protocol> {
        Property::<Protocol>::always(name, holds)
    }
    vec![
        always(AT_MOST_ONE, |m, s| {
            m.policy == Policy::AtLeastOnce
                || s.provider.effects() <= 1 + usize::from(s.seen.forced)
        }),
        always(COUNTED, |m, s| {
            let counted = s.row.map_or(0, |row| row.possible_duplicates);
            m.policy == Policy::AtMostOnce || s.provider.effects() <= 1 + usize::from(counted)
        }),
        always(NAMED_END, |m, s| {
            m.policy == Policy::AtMostOnce || named(m, s)
        }),
        always(EXACTLY_ONE, |m, s| !m.sure || exactly_one(m, s)),
        always(NO_EFFECT, |_, s| {
            !s.phase().is_some_and(Phase::certainly_not_sent) || s.provider.effects() == 0
        }),
        always(AN_EFFECT, |_, s| {
            s.phase() != Some(Phase::Sent) || s.provider.effects() > 0
        }),
        always(ONE_OWNER, |_, s| s.owners() <= 1 && !s.seen.stale_write),
        always(LEGAL, |_, s| {
            let broken = s.row.and_then(|row| row.broken_constraint());
            !s.seen.illegal_move && broken.is_none()
        }),
        always(CLAIMED, |_, s| !s.seen.unclaimed_request),
        always(NOT_IN_DOUBT, |_, s| !s.seen.sent_in_doubt),
        always(ONE_BODY, |_, s| !s.provider.mismatch),
        always(NOTHING_VANISHES, |_, s| {
            s.row.is_some() || s.queue > 0 || s.workers.iter().any(|w| w.has_delivery())
        }),
        always(RESTS, |_, s| !s.seen.stuck),
        Property::<Protocol>::sometimes(CAN_BE_SENT, |_, s| s.phase() == Some(Phase::Sent)),
    ]
}

/// Under at-least-once a row that is neither open nor sent says why, and that is so.
fn named(setting: &Setting, state: &State) -> bool {
    let Some(row) = state.row else { return true };
    let used_up = row.sends >= setting.max_sends;
    match row.phase {
        Phase::Queued | Phase::Sending | Phase::Sent => true,
        Phase::Failed => used_up || state.provider.refuses(),
        Phase::Expired => state.expired,
        Phase::Cancelled => state.seen.closed,
        Phase::Unconfirmed => state.expired || state.seen.closed,
        Phase::Parked => used_up || state.provider.several || state.provider.says_mismatch,
        Phase::Superseded | Phase::Suppressed => false,
    }
}

/// Evidence settles all doubt: no resend on a guess, and nothing for a person but what is a fault.
fn exactly_one(setting: &Setting, state: &State) -> bool {
    let Some(row) = state.row else { return true };
    let effects = state.provider.effects();
    let used_up = row.sends >= setting.max_sends;
    row.possible_duplicates == 0
        && effects <= 1
        && match row.phase {
            Phase::Sent => effects == 1,
            Phase::Failed => used_up || state.provider.refuses(),
            Phase::Expired => state.expired,
            Phase::Queued | Phase::Sending => true,
            Phase::Parked
            | Phase::Unconfirmed
            | Phase::Superseded
            | Phase::Suppressed
            | Phase::Cancelled => false,
        }
}
