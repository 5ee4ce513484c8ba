//! Tables for a terminal, all in one style.

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};

const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table with its header.
#[must_use]
pub fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(header);
    table
}

/// Aligns all columns from the `from`th (counted from zero) to the right: figures.
pub fn figures(table: &mut Table, from: usize) {
    for column in table.column_iter_mut().skip(from) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}
