//! Two columns of bars, one for each policy, on one scale. At most 80 columns wide.

use std::fmt::Write as _;

use super::{figures::money, sweep::SweepPoint};

/// Cells per bar. Label 10, two bars with their figures, marks and gaps: 78 columns in all.
const BAR: u32 = 20;
const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// Draws the points, one per line: `▸` at the given value, `*` at the cheaper policy.
#[must_use]
pub fn chart(points: &[SweepPoint]) -> String {
    let most = points
        .iter()
        .flat_map(|point| [point.at_most_once, point.at_least_once])
        .fold(0.0, f64::max);
    let mut text = format!(
        "  {:>10}  {:<32}  {}\n",
        "", "at-most-once", "at-least-once"
    );
    for point in points {
        let (once, again) = (point.at_most_once, point.at_least_once);
        let near = (once - again).abs() <= 1e-6 * once.max(again);
        let star = |cheaper: bool| if cheaper && !near { '*' } else { ' ' };
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{} {:>10}  {}  {}",
            if point.given { '▸' } else { ' ' },
            point.label,
            column(once, most, star(once < again)),
            column(again, most, star(again < once)).trim_end(),
        );
    }
    text
}

/// A bar, its figure and its mark: 32 columns, unless the figure needs more than 10.
fn column(value: f64, most: f64, mark: char) -> String {
    let figure = format!("{}{mark}", money(value));
    let bar = bar(value, most);
    let room = 32_usize.saturating_sub(bar.chars().count() + 1);
    format!("{bar} {figure:<room$}")
}

/// `value` in eighths of a cell, so that `most` fills the bar.
fn bar(value: f64, most: f64) -> String {
    if most <= 0.0 {
        return String::new();
    }
    let filled = (1..=BAR * 8)
        .take_while(|eighth| f64::from(*eighth) * most <= value * f64::from(BAR * 8))
        .count();
    let mut bar = "█".repeat(filled / 8);
    match EIGHTHS.get(filled % 8) {
        Some(part) if *part != ' ' => bar.push(*part),
        // Something is not nothing, however short its bar.
        Some(_) | None if filled == 0 && value > 0.0 => bar.push('▏'),
        Some(_) | None => {}
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at_most_once: f64, at_least_once: f64) -> SweepPoint {
        SweepPoint {
            label: "1:1".into(),
            value: 1.0,
            given: true,
            at_most_once,
            at_least_once,
        }
    }

    #[test]
    fn the_greatest_value_fills_the_bar_and_half_of_it_fills_half() {
        assert_eq!(bar(80.0, 80.0), "█".repeat(20));
        assert_eq!(bar(40.0, 80.0), "█".repeat(10));
        assert_eq!(bar(1.0, 80.0), "▎");
        assert_eq!(
            (bar(0.0, 80.0).as_str(), bar(0.001, 80.0).as_str()),
            ("", "▏")
        );
    }

    #[test]
    fn a_chart_of_nothing_has_no_bars() {
        let text = chart(&[point(0.0, 0.0)]);
        assert!(!text.contains(['█', '▏', '*']), "{text}");
    }

    #[test]
    fn the_cheaper_policy_has_the_star() {
        let text = chart(&[point(10.0, 20.0)]);
        assert!(text.contains("10*") && !text.contains("20*"), "{text}");
    }

    #[test]
    fn no_line_is_wider_than_eighty_columns() {
        for value in [0.0, 0.5, 1.0, 999_999.0, 123_456_789.0, 1e14, 1e300] {
            for line in chart(&[point(value, value / 3.0), point(value / 7.0, value)]).lines() {
                assert!(line.chars().count() <= 80, "{line}");
            }
        }
    }
}
