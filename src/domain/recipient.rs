//! Phone numbers in canonical form, so that dedup, opt-out, sending and look-up speak of one person.

use std::sync::LazyLock;

use rlibphonenumber::{NumberLengthType, PHONE_NUMBER_UTIL, ParseError, PhoneNumberFormat, Region};

/// Longer texts are no numbers, in bytes. The longest spelling of 15 digits is far below.
const LONGEST: usize = 80;

const NO_NUMBER: &str = "is not one phone number that can be reached from abroad, such as +442079460018; extensions and letters are none";
const NO_COUNTRY: &str =
    "is a phone number without a country code, and the channel has no default_region";

/// The E.164 form (`+` and 8 to 15 digits) of a phone number in any usual spelling.
///
/// One without its country code is read as a number of `default_region`, and is refused where there
/// is none: nothing is guessed. The region's numbering plan says which prefixes are no part of the
/// number and how long it can be, and so leaves out short and emergency numbers. Whether a number is
/// in use is not looked at: plans open new ranges faster than programs are updated.
///
/// # Errors
/// What is wrong with it, to be read after its name, without repeating it.
pub fn phone(number: &str, default_region: Option<Region>) -> Result<String, &'static str> {
    if number.len() > LONGEST || !number.chars().all(is_of_a_number) || has_late_plus(number) {
        return Err(NO_NUMBER);
    }
    let e164 = e164(number, default_region)?;
    // With a prefix too many, one form could lead to the next, and to another person.
    if e164 == number || self::e164(&e164, None).as_ref() == Ok(&e164) {
        Ok(e164)
    } else {
        Err(NO_NUMBER)
    }
}

fn e164(number: &str, default_region: Option<Region>) -> Result<String, &'static str> {
    let parsed = PHONE_NUMBER_UTIL.parse(number, default_region);
    let parsed = parsed.map_err(|error| match error {
        ParseError::InvalidCountryCode if default_region.is_none() && !has_plus(number) => {
            NO_COUNTRY
        }
        ParseError::InvalidCountryCode
        | ParseError::NotANumber(_)
        | ParseError::TooShortAfterIdd
        | ParseError::TooShortNsn
        | ParseError::TooLongNsn => NO_NUMBER,
    })?;
    match parsed.is_possible_with_reason() {
        Ok(NumberLengthType::IsPossible) => {}
        // A number that can only be dialled in its own town.
        Ok(NumberLengthType::IsPossibleLocalOnly) | Err(_) => return Err(NO_NUMBER),
    }
    let e164 = parsed.format_as(PhoneNumberFormat::E164);
    match e164.strip_prefix('+').map(str::len) {
        Some(8..=15) => Ok(e164.into_owned()),
        Some(_) | None => Err(NO_NUMBER),
    }
}

/// Loads the numbering plans, which takes 10 ms and 7 MB, before the first message has to wait for it.
pub fn load_plans() {
    LazyLock::force(&PHONE_NUMBER_UTIL);
}

/// A two-letter region that has a numbering plan, such as GB.
#[must_use]
pub fn region(code: &str) -> Option<Region> {
    let region = code.parse().ok()?;
    let mut known = PHONE_NUMBER_UTIL.get_supported_regions();
    known.any(|known| known == region).then_some(region)
}

/// Digits of any script and the separators that people write. The library would skip a text before
/// a number and cut one off behind it; that is too much of a guess here.
fn is_of_a_number(c: char) -> bool {
    c.is_ascii_digit() || "+ -().\u{a0}\u{202f}/".contains(c) || {
        !c.is_ascii()
            && (c.is_numeric()
                || matches!(
                    c,
                    '＋' | '\u{2010}'
                        ..='\u{2015}' | '−' | '（' | '）' | '．' | '／' | '－' | '\u{3000}'
                ))
    }
}

fn has_plus(number: &str) -> bool {
    number.contains(['+', '＋'])
}

/// A plus anywhere but at the beginning: two numbers, or a typing error.
fn has_late_plus(number: &str) -> bool {
    let mut chars = number.trim_start().chars();
    chars.next();
    has_plus(chars.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_number_gives_its_one_form() {
        let table = [
            ("+442079460018", None, "+442079460018"),
            ("+44 20 7946 0018", None, "+442079460018"),
            (" +442079460018", None, "+442079460018"),
            ("+44 (0)20 7946 0018", None, "+442079460018"),
            ("+4402079460018", None, "+442079460018"),
            (
                "\u{ff0b}\u{ff14}\u{ff14} 20 7946 0018",
                None,
                "+442079460018",
            ),
            ("+\u{664}\u{664}2079460018", None, "+442079460018"),
            ("0044 (0)20 7946 0018", Some("GB"), "+442079460018"),
            ("020 7946 0018", Some("GB"), "+442079460018"),
            ("020\u{2011}7946\u{2011}0018", Some("GB"), "+442079460018"),
            ("+442079460018", Some("US"), "+442079460018"),
            ("(415) 555-2671", Some("US"), "+14155552671"),
            ("1 415 555 2671", Some("US"), "+14155552671"),
            ("0171 234567", Some("DE"), "+49171234567"),
            // its zero is part of it
            ("06 1234 5678", Some("IT"), "+390612345678"),
            ("+39 06 1234 5678", None, "+390612345678"),
            // no range of its plan, and as long as one: for the provider to say
            ("+15550001234", None, "+15550001234"),
        ];
        for (given, from, canonical) in table {
            let from = from.map(|code| region(code).expect("a region"));
            assert_eq!(phone(given, from), Ok(canonical.to_owned()), "{given}");
        }
    }

    #[test]
    fn what_is_not_one_complete_number_is_refused() {
        let gb = region("GB");
        for wrong in [
            "",
            "+",
            "112",
            "999",
            "+112",
            "+00 000",
            "+0442079460018",
            "+4420794600181234",
            "+1 (415) 555-2671 x5",
            "+1415555267x5",
            "+14155552671;ext=5",
            "+14155552671,5",
            "+1 800 FLOWERS",
            "tel:+442079460018",
            "call +442079460018",
            "+442079460018 or +442079460019",
            "+442079460018/+442079460019",
            "+442079460018\n",
            "+999 1234567890",
            "7946 0018",
            &"1".repeat(1000),
        ] {
            assert!(phone(wrong, gb).is_err(), "{wrong}");
        }
        assert_eq!(phone("020 7946 0018", None), Err(NO_COUNTRY));
        assert_eq!(phone("0044 20 7946 0018", None), Err(NO_COUNTRY));
        // dialled in one town
        assert_eq!(phone("555-2671", region("US")), Err(NO_NUMBER));
    }

    #[test]
    fn whatever_is_written_with_digits_and_separators_has_one_form_or_none() {
        let mut random = fastrand::Rng::with_seed(7);
        let regions = ["GB", "US", "DE", "IT", "RU", "AR", "MX", "BR"].map(region);
        let signs = [
            "+", "00", "0", "1", "8", " ", "-", "(", ")", "/", ".", "\u{664}",
        ];
        let mut taken = 0;
        for _ in 0..20_000 {
            let from = regions[random.usize(..regions.len())].filter(|_| random.bool());
            let mut number = String::new();
            for _ in 0..random.usize(..16) {
                match random.u8(..3) {
                    0 => number += signs[random.usize(..signs.len())],
                    _ => number += &random.u32(..100).to_string(),
                }
            }
            if let Ok(canonical) = phone(&number, from) {
                taken += 1;
                assert_eq!(phone(&canonical, None).as_ref(), Ok(&canonical), "{number}");
                assert_eq!(phone(&canonical, from).as_ref(), Ok(&canonical), "{number}");
            }
        }
        assert!(taken > 1000, "{taken} only");
    }

    #[test]
    fn a_region_is_two_letters_with_a_numbering_plan() {
        assert!(region("GB").is_some() && region("DE").is_some());
        for wrong in ["", "UK", "XX", "GBR", "001", "ZZ"] {
            assert_eq!(region(wrong), None, "{wrong}");
        }
    }
}
