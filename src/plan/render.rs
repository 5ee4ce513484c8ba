//! The report as text for a terminal, at most 80 columns wide.

mod decision;
mod formulas;
mod memory;
mod question;
mod runs;

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use super::{args::Section, report::Report, sweep::Sweep};

/// The parts asked for, in a fixed order.
pub(super) fn render(report: &Report, show: &[Section], over: Sweep) -> String {
    let wants = |section| show.contains(&section) || show.contains(&Section::All);
    let mut parts = Vec::new();
    if wants(Section::Decision) {
        parts.push(decision::decision(report, over));
    }
    if wants(Section::Formulas) {
        parts.push(formulas::formulas(report));
    }
    if wants(Section::Simulation) {
        parts.push(runs::simulation(report));
    }
    if wants(Section::Memory) {
        parts.push(memory::memory(&report.memory));
    }
    if wants(Section::Decision) || wants(Section::Assumptions) {
        parts.push(assumptions(report));
    }
    if !wants(Section::All) {
        parts.push(
            "More: --show formulas, simulation, memory or all; --over answer-loss; --json."
                .to_owned(),
        );
    }
    parts.join("\n\n")
}

/// One line, under the header.
const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table with words on the left and figures on the right of each column.
fn table<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut table = Table::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(80)
        .set_header(header)
        .add_rows(rows);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt()
}

fn assumptions(report: &Report) -> String {
    let lines: Vec<_> = report
        .assumptions
        .iter()
        .map(|text| wrap("- ", text))
        .collect();
    format!("What this takes for granted:\n{}", lines.join("\n"))
}

/// Breaks `text` into lines of at most 80 columns; the first starts with `first`, the others with
/// as many spaces.
fn wrap(first: &str, text: &str) -> String {
    let (indent, mut lines, mut line) = (" ".repeat(first.len()), Vec::new(), first.to_owned());
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > 80 {
            lines.push(std::mem::replace(&mut line, indent.clone()));
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    lines.push(line);
    lines.join("\n")
}
