//! How many of N messages are lost, doubled and parked, and how far a count may stray from that.

use serde::Serialize;

use super::{
    capability::Policy,
    expected::Expected,
    fate::{Fate, Rest, fates},
    situation::Situation,
};

/// What happens to `messages` messages. Every count is a mean with its spread; the messages are
/// taken as independent of each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Prediction {
    /// How many messages this is about.
    pub messages: u32,
    /// Attempts, replays included, each one HTTP request (unless the worker died just before it).
    pub requests: Expected,
    /// Messages the recipients got, doubled ones included. This is what a provider's own count
    /// shows, and what it bills.
    pub physically_sent: Expected,
    /// Messages that never reached their recipient, whatever the ledger says.
    pub lost: Expected,
    /// The part of the lost that the ledger calls `sent`: a fuzzy look-up took another sender's
    /// message for ours. Nobody will look for these.
    pub lost_unnoticed: Expected,
    /// Messages that recipients got beyond the first of each.
    pub duplicates: Expected,
    /// Times a message was sent again in doubt. nuncio counts these; most were no duplicates.
    pub possible_duplicates: Expected,
    /// Messages left for a person.
    pub parked: Expected,
    /// The part of the parked that the recipient has in fact got.
    pub parked_delivered: Expected,
    /// The part of the parked that is lost unless the person sends it again.
    pub parked_lost: Expected,
    /// Messages proved absent with no attempt left: lost, and known to be. (A late log can be
    /// wrong about a few.)
    pub failed: Expected,
}

/// Predicts what becomes of `messages` messages under `policy`. Exact, not simulated: it adds up
/// every course that a message can take.
#[must_use]
pub fn predict(messages: u32, policy: Policy, situation: &Situation) -> Prediction {
    let mut tally = [Tally::default(); 10];
    fates(situation, policy, |chance, fate| {
        for (sum, value) in tally.iter_mut().zip(measures(fate)) {
            sum.add(chance, value);
        }
    });
    let [
        requests,
        physically_sent,
        lost,
        lost_unnoticed,
        duplicates,
        possible_duplicates,
        parked,
        parked_delivered,
        parked_lost,
        failed,
    ] = tally.map(|sum| sum.expected(messages));
    Prediction {
        messages,
        requests,
        physically_sent,
        lost,
        lost_unnoticed,
        duplicates,
        possible_duplicates,
        parked,
        parked_delivered,
        parked_lost,
        failed,
    }
}

/// What one message adds to each count, in the order of [`Prediction`]'s fields.
fn measures(fate: Fate) -> [u32; 10] {
    let Fate {
        requests,
        effects,
        possible_duplicates,
        rest,
    } = fate;
    let lost = effects == 0;
    let parked = rest == Rest::Parked;
    [
        requests,
        effects,
        u32::from(lost),
        u32::from(lost && rest == Rest::Sent),
        effects.saturating_sub(1),
        possible_duplicates,
        u32::from(parked),
        u32::from(parked && !lost),
        u32::from(parked && lost),
        u32::from(rest == Rest::Failed),
    ]
}

/// First and second moment of one count, per message.
#[derive(Clone, Copy, Default)]
struct Tally {
    mean: f64,
    square: f64,
}

impl Tally {
    fn add(&mut self, chance: f64, value: u32) {
        let value = f64::from(value);
        self.mean += chance * value;
        self.square += chance * value * value;
    }

    fn expected(self, messages: u32) -> Expected {
        let messages = f64::from(messages);
        // Below zero only by rounding.
        let variance = self.mean.mul_add(-self.mean, self.square).max(0.0);
        Expected {
            mean: messages * self.mean,
            sd: (messages * variance).sqrt(),
        }
    }
}
