//! The simulated runs.

use super::{
    super::{
        figures::{grouped, percent, spread},
        report::Report,
        simulation::{Run, RunInputs, RunRow},
    },
    table, wrap,
};

pub(super) fn simulation(report: &Report) -> String {
    let published = one_run("The published run", &report.published_run);
    if report.run.inputs == RunInputs::PUBLISHED {
        return published;
    }
    format!(
        "{published}\n\n{}",
        one_run("The same with your rates", &report.run)
    )
}

fn one_run(name: &str, run: &Run) -> String {
    let RunInputs {
        seed,
        messages,
        tries,
        request_loss,
        answer_loss,
    } = run.inputs;
    let row = |name: &str, row: RunRow| {
        let [sends, applied, lost, duplicates] = [row.sends, row.applied, row.lost, row.duplicates]
            .map(|count| grouped(&count.to_string()));
        [name.to_owned(), sends, applied, lost, duplicates]
    };
    let rows = [
        row("at-most-once", run.at_most_once),
        row("at-least-once", run.at_least_once),
        row("at-least-once + dedup", run.at_least_once_with_dedup),
    ];
    let setting = format!(
        "mulberry32 seeded {seed}, {} messages, up to {tries} tries, p_m = {}, p_a = {}:",
        grouped(&messages.to_string()),
        percent(request_loss),
        percent(answer_loss),
    );
    format!(
        "{}\n{}\nExpected: {} lost in one try, {} doubled, {} sends.",
        wrap("", &format!("{name}: {setting}")),
        table(["strategy", "sends", "applied", "lost", "duplicates"], rows),
        spread(run.expected.lost),
        spread(run.expected.duplicates),
        spread(run.expected.sends),
    )
}
