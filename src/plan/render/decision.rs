//! The answer itself: the verdict in a sentence, the counts behind it, and what would change it.

use super::{
    super::{
        chart::chart,
        compare::Comparison,
        cost::Priced,
        expected::Expected,
        figures::{count, money, spread},
        predict::Prediction,
        report::Report,
        sweep::Sweep,
        verdict::{Decision, Verdict},
    },
    table, wrap,
};

pub(super) fn decision(report: &Report, over: Sweep) -> String {
    let points = report.sweeps.iter().find(|series| series.over == over);
    [
        super::question::question(report),
        super::question::verdict(report),
        counts(&report.decision),
        format!(
            "The same channel, by what its provider promises (cost per million):\n{}",
            comparison(&report.comparison)
        ),
        format!(
            "{}\n{}",
            wrap(
                "",
                &format!(
                    "Cost per million by {} (▸ yours, * cheaper):",
                    over.heading()
                )
            ),
            points
                .map(|series| chart(&series.points))
                .unwrap_or_default()
                .trim_end()
        ),
    ]
    .join("\n\n")
}

fn counts(decision: &Decision) -> String {
    let (once, again) = (&decision.at_most_once, &decision.at_least_once);
    let row = |name: &str, of: fn(&Prediction) -> Expected| {
        [
            name.to_owned(),
            spread(of(&once.counts)),
            spread(of(&again.counts)),
        ]
    };
    let cost =
        |name: &str, of: fn(&Priced) -> f64| [name.to_owned(), money(of(once)), money(of(again))];
    let rows = [
        row("requests made", |counts| counts.requests),
        row("messages received", |counts| counts.physically_sent),
        row("lost", |counts| counts.lost),
        row("  of them marked sent", |counts| counts.lost_unnoticed),
        row("doubled", |counts| counts.duplicates),
        row("sent again in doubt", |counts| counts.possible_duplicates),
        row("parked for a person", |counts| counts.parked),
        row("  of them received", |counts| counts.parked_delivered),
        row("  of them lost", |counts| counts.parked_lost),
        row("failed, proved absent", |counts| counts.failed),
        [
            "hours of a person".to_owned(),
            count(once.cost.person_hours),
            count(again.cost.person_hours),
        ],
        cost("cost of the lost", |priced| priced.cost.lost),
        cost("cost of the doubled", |priced| priced.cost.doubled),
        cost("cost of the parked", |priced| priced.cost.parked),
        cost("cost in all", |priced| priced.cost.total),
    ];
    table(
        ["per million messages", "at-most-once", "at-least-once"],
        rows,
    )
}

fn comparison(kinds: &[Comparison]) -> String {
    let rows = kinds.iter().map(|kind| {
        let cheaper = match kind.decision.verdict {
            Verdict::Cheaper { policy, .. } => policy.as_str(),
            Verdict::Same => "same",
        };
        [
            kind.provider.to_owned(),
            money(kind.decision.at_most_once.cost.total),
            money(kind.decision.at_least_once.cost.total),
            cheaper.to_owned(),
        ]
    });
    table(
        ["provider", "at-most-once", "at-least-once", "cheaper"],
        rows,
    )
}
