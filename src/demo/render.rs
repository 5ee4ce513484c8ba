//! The result for people.

use super::lanes::CONCURRENCY;
use super::next;
use super::promise::kept;
use super::report::{Account, Report};
use crate::plan::Expected;
use crate::table::{figures, table};

const HEADER: [&str; 9] = [
    "channel",
    "published",
    "rows",
    "physically sent",
    "lost",
    "duplicates",
    "parked",
    "requests",
    "promise held",
];

/// Everything that is printed at the end.
pub(super) fn text(report: &Report) -> String {
    let parts = [
        setting(report),
        measured(report),
        promises(report),
        note(report),
        next::text(report),
    ];
    parts.join("\n\n")
}

fn setting(report: &Report) -> String {
    let args = &report.args;
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    format!(
        "3 × {} notifications through RabbitMQ; {} of requests and {} of answers lost (seed {}); {} in mid-flight; {:.0} s.",
        args.messages,
        percent(args.drop.get()),
        percent(args.cut.get()),
        args.seed,
        match report.killed {
            0 => "no worker killed".to_owned(),
            1 => "a worker killed once".to_owned(),
            n => format!("workers killed {n} times"),
        },
        report.seconds,
    )
}

/// Two lines a channel: what was measured, and what was predicted.
fn measured(report: &Report) -> String {
    let mut table = table(HEADER);
    for account in &report.accounts {
        let Account {
            published, counts, ..
        } = account;
        table.add_row([
            account.lane.name.to_owned(),
            published.to_string(),
            counts.rows.to_string(),
            counts.physically_sent.to_string(),
            counts.lost.to_string(),
            counts.duplicates.to_string(),
            counts.parked.to_string(),
            account.requests.to_string(),
            if account.held() { "yes" } else { "NO" }.to_owned(),
        ]);
        let predicted = &account.predicted;
        let out = Expected {
            mean: f64::from(predicted.messages) - predicted.lost.mean,
            sd: predicted.lost.sd,
        };
        table.add_row([
            "  predicted".to_owned(),
            String::new(),
            String::new(),
            spread(out),
            spread(predicted.lost),
            spread(predicted.duplicates),
            spread(predicted.parked),
            spread(predicted.requests),
            String::new(),
        ]);
    }
    figures(&mut table, 1);
    table.trim_fmt()
}

fn spread(expected: Expected) -> String {
    if expected.sd < 0.05 {
        format!("{:.0}", expected.mean)
    } else {
        format!("{:.0} ± {:.0}", expected.mean, expected.sd.max(1.0))
    }
}

fn promises(report: &Report) -> String {
    let lines: Vec<String> = report.accounts.iter().map(promise).collect();
    lines.join("\n")
}

fn promise(account: &Account) -> String {
    let name = account.lane.name;
    let provider = account.lane.capability();
    if !account.held() {
        let breaches: Vec<String> = account.breaches.iter().map(ToString::to_string).collect();
        return format!("{name} ({provider}): BROKEN: {}.", breaches.join("; "));
    }
    let kept = kept(account.lane.promise, &account.counts);
    format!("{name} ({provider}): held: {kept}. {}", proofs(account))
}

fn proofs(account: &Account) -> String {
    let words = |(proof, count): (&String, &u64)| {
        let words = match proof.as_str() {
            "answer" => "the answer",
            "replay" => "a replay under the same key",
            "look_up" => "the provider's log",
            other => other,
        };
        format!("{count} by {words}")
    };
    let proofs: Vec<String> = account.counts.proofs.iter().map(words).collect();
    format!("Proved sent: {}.", proofs.join(", "))
}

fn note(report: &Report) -> String {
    let mut text = "Predicted: `nuncio plan`'s mean ± one standard deviation (19 in 20 counts are within two).".to_owned();
    if report.killed > 0 {
        text += &format!(
            "\nIt knows nothing of kills. Each leaves up to {CONCURRENCY} more rows in doubt on a channel, its concurrency; here\nup to {} in all, which at-most-once parks and at-least-once sends again.",
            report.doubt_by_kills(),
        );
    }
    text
}
