//! Figures as a person reads them.

use super::{chance::Probability, expected::Expected};

/// A count with thousands separators. Fractions matter only while the count is small.
pub(super) fn count(value: f64) -> String {
    let decimals = match value.abs() {
        small if small < 1e-9 => 0,
        small if small < 0.001 => return "<0.001".to_owned(),
        small if small < 1.0 => return plain(value),
        small if small < 10.0 => 1,
        _ => 0,
    };
    grouped(&format!("{value:.decimals$}"))
}

/// A count with its spread: `90,000 ± 286`.
pub(super) fn spread(expected: Expected) -> String {
    // A mean that reads as 0 has a spread that should, too.
    let sd = if expected.mean < 1e-9 {
        0.0
    } else {
        expected.sd
    };
    format!("{} ± {}", count(expected.mean), count(sd))
}

/// An amount of money: whole numbers, cents below 100, powers of ten when it no longer fits.
pub(super) fn money(value: f64) -> String {
    match value.abs() {
        huge if huge >= 99_999_999.5 => format!("{value:.2e}"),
        small if small > 0.0 && small < 0.005 => "<0.01".to_owned(),
        small if small > 0.0 && small < 99.995 && small.fract() != 0.0 => format!("{value:.2}"),
        _ => grouped(&format!("{value:.0}")),
    }
}

/// A number as short as it is: three digits after the point at most, no trailing zeros.
pub(super) fn plain(value: f64) -> String {
    if value >= 1e6 || (value > 0.0 && value < 0.001) {
        return format!("{value:.1e}");
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A probability as a percentage.
pub(super) fn percent(chance: Probability) -> String {
    format!("{}%", plain(chance.get() * 100.0))
}

/// Bytes in decimal units, as disks are sold: `1.44 GB`.
pub(super) fn bytes(value: u64) -> String {
    let unit = [
        (1_000_000_000_000, "TB"),
        (1_000_000_000, "GB"),
        (1_000_000, "MB"),
        (1_000, "kB"),
    ]
    .into_iter()
    .find(|(size, _)| value >= *size);
    let Some((size, name)) = unit else {
        return format!("{value} B");
    };
    let (whole, hundredths) = (value / size, value % size / (size / 100));
    let fraction = format!("{hundredths:02}");
    match fraction.trim_end_matches('0') {
        "" => format!("{} {name}", grouped(&whole.to_string())),
        fraction => format!("{}.{fraction} {name}", grouped(&whole.to_string())),
    }
}

/// `1234567.5` as `1,234,567.5`.
pub(super) fn grouped(number: &str) -> String {
    let (whole, fraction) = number
        .find('.')
        .map_or((number, ""), |point| number.split_at(point));
    let mut text = String::new();
    let digits = whole.trim_start_matches('-').len();
    for (index, digit) in whole.chars().enumerate() {
        let left = whole.len() - index;
        if digit.is_ascii_digit() && left % 3 == 0 && left < digits {
            text.push(',');
        }
        text.push(digit);
    }
    text + fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        for (plain, separated) in [
            ("0", "0"),
            ("999", "999"),
            ("1000", "1,000"),
            ("-123456.7", "-123,456.7"),
        ] {
            assert_eq!(grouped(plain), separated);
        }
    }

    #[test]
    fn bytes_read_as_the_design_writes_them() {
        let sizes = [
            614_400,
            120_000_000,
            1_440_000_000,
            34_560_000_000,
            241_920_000_000,
        ];
        let texts = ["614.4 kB", "120 MB", "1.44 GB", "34.56 GB", "241.92 GB"];
        assert_eq!(sizes.map(bytes), texts);
    }

    #[test]
    fn a_small_figure_never_reads_as_zero() {
        assert_eq!(
            (count(0.0).as_str(), count(0.000_4).as_str()),
            ("0", "<0.001")
        );
        assert_eq!(
            (money(0.0).as_str(), money(0.000_4).as_str()),
            ("0", "<0.01")
        );
        assert_eq!(
            (plain(0.01).as_str(), plain(0.000_01).as_str()),
            ("0.01", "1.0e-5")
        );
    }
}
