//! What was asked, and the answer in a sentence.

use super::{
    super::{
        capability::{Dedupe, Lookup},
        figures::{money, percent, plain},
        report::Report,
        verdict::{BreakEven, Verdict},
    },
    wrap,
};

pub(super) fn question(report: &Report) -> String {
    let (at, prices) = (&report.situation, &report.prices);
    let provider = match report.provider {
        Some(known) => format!(
            "{}: {}, {} ({}).",
            known.name,
            dedupe(at.dedupe),
            lookup(at.lookup),
            known.note
        ),
        None => format!("{}, {}.", dedupe(at.dedupe), lookup(at.lookup)),
    };
    let losses = format!(
        "{} of requests and {} of answers lost; the worker dies in {} of attempts; up to {} attempts.",
        percent(at.request_loss),
        percent(at.answer_loss),
        percent(at.crash),
        at.tries
    );
    let money = format!(
        "lost {}, doubled {}, parked {} ({} min of a person at {}).",
        plain(prices.lost),
        plain(prices.doubled),
        plain(prices.parked()),
        plain(prices.parked_minutes),
        plain(prices.minute)
    );
    [
        wrap("Channel   ", &losses),
        wrap("Provider  ", &provider),
        wrap("Prices    ", &money),
    ]
    .join("\n")
}

fn dedupe(dedupe: Dedupe) -> String {
    match dedupe {
        Dedupe::None => "forgets keys at once".to_owned(),
        Dedupe::Replay { .. } | Dedupe::Tombstone { .. } | Dedupe::ClientId { .. } => {
            format!("remembers keys ({dedupe})")
        }
    }
}

fn lookup(lookup: Lookup) -> String {
    match lookup {
        Lookup::None => "has no log to ask".to_owned(),
        Lookup::ByReference { .. } => format!("has an exact log ({lookup})"),
        Lookup::ByRecipient { .. } => format!("has a fuzzy log ({lookup})"),
    }
}

pub(super) fn verdict(report: &Report) -> String {
    let verdict = match report.decision.verdict {
        Verdict::Cheaper { policy, saves } => {
            format!(
                "{} is cheaper: it saves {} per million messages.",
                policy.as_str(),
                money(saves)
            )
        }
        Verdict::Same => "Both policies cost the same here.".to_owned(),
    };
    let turn = match report.decision.break_even {
        BreakEven::At { lost_price, ratio } => {
            let ratio = ratio.map(|ratio| format!(" ({} times a doubled one)", plain(ratio)));
            format!(
                "The answer turns at {} for a lost message{}: above it at-least-once is cheaper, \
                 below it at-most-once.",
                plain(lost_price),
                ratio.unwrap_or_default()
            )
        }
        BreakEven::Always { policy } => format!(
            "Whatever a lost message costs, {} is never the dearer one.",
            policy.as_str()
        ),
        BreakEven::NoDifference => {
            "They do the same: evidence settles every doubt before the policy is asked, or there \
             is no second attempt."
                .to_owned()
        }
    };
    wrap("", &format!("{verdict} {turn}"))
}
