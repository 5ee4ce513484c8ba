//! The formulas behind the answer.

use super::{
    super::{
        closed_form::ClosedForms,
        figures::{percent, plain},
        report::Report,
    },
    table, wrap,
};

pub(super) fn formulas(report: &Report) -> String {
    let (at, forms) = (&report.situation, &report.formulas);
    let row = |name: String, forms: ClosedForms| {
        let [sends, rest @ ..] =
            [forms.sends, forms.duplicates, forms.lost, forms.unsettled].map(plain);
        let [duplicates, lost, unsettled] = rest;
        [name, sends, duplicates, lost, unsettled]
    };
    let rows = [
        row("tries without limit".to_owned(), forms.without_limit),
        row(format!("at most {} tries", at.tries), forms.with_limit),
        row("one try".to_owned(), forms.one_try),
    ];
    let turn = forms.break_even_ratio.map_or_else(
        || "Without lost requests, sending again saves nothing.".to_owned(),
        |ratio| {
            format!(
                "With people's time free, sending again is cheaper once a lost message costs more \
                 than p_a / ((1−p_a) p_m) = {} doubled ones.",
                plain(ratio)
            )
        },
    );
    format!(
        "Per message, without dedup or log; p_m = {}, p_a = {} (deaths included):\n{}\n{}\n{}",
        percent(at.not_arriving()),
        percent(at.not_heard()),
        table(
            ["", "sends", "duplicates", "lost", "in doubt at the end"],
            rows
        ),
        "Without limit: sends 1/((1−p_m)(1−p_a)), duplicates p_a/(1−p_a), lost 0.",
        wrap("", &turn),
    )
}
