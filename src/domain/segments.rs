//! How many SMS a text is: what the recipient's network counts, and the provider bills.
//!
//! A text of the GSM 7-bit default alphabet and its extension table (3GPP TS 23.038) is counted in
//! septets; any other character makes all of it UCS-2, counted in UTF-16 units. A text that does not
//! fit into one SMS gives up 6 of 140 bytes of each for the header that joins them again. National
//! language tables are not counted with: gateways do not use them unasked.

/// Septets of one SMS, and of one of several.
const GSM: (u32, u32) = (160, 153);
/// UTF-16 units of one SMS, and of one of several.
const UCS2: (u32, u32) = (70, 67);

/// SMS that a text needs: at least 1.
///
/// A character of two units (a surrogate pair, or an extension character with its escape) is never
/// split over two SMS.
#[must_use]
pub fn segments(text: &str) -> u32 {
    if text.len() <= UCS2.0 as usize {
        return 1; // a byte is at most a unit, but for ^ and the like, which are two of 160
    }
    match count(text, GSM, septets) {
        Some(segments) => segments,
        None => count(text, UCS2, |c| Some(u32::from(c > '\u{ffff}') + 1)).unwrap_or(1),
    }
}

/// `None` when a character is not of this alphabet.
fn count(
    text: &str,
    (alone, joined): (u32, u32),
    units: impl Fn(char) -> Option<u32>,
) -> Option<u32> {
    let (mut all, mut segments, mut filled) = (0, 1, 0);
    for c in text.chars() {
        let units = units(c)?;
        all += units;
        if filled + units > joined {
            segments += 1;
            filled = 0;
        }
        filled += units;
    }
    Some(if all <= alone { 1 } else { segments })
}

/// Septets of a character, if the alphabet has it.
fn septets(c: char) -> Option<u32> {
    const GREEK: &str = "ΔΦΓΛΩΠΨΣΘΞ";
    match c {
        '^' | '{' | '}' | '\\' | '[' | '~' | ']' | '|' | '€' | '\u{c}' => Some(2),
        '\n' | '\r' | ' '..='_' | 'a'..='z' => Some(1),
        '£' | '¥' | 'è' | 'é' | 'ù' | 'ì' | 'ò' | 'Ç' | 'Ø' | 'ø' | 'Å' | 'å' | 'Æ' | 'æ' | 'ß'
        | 'É' | '¤' | '¡' | 'Ä' | 'Ö' | 'Ñ' | 'Ü' | '§' | '¿' | 'ä' | 'ö' | 'ñ' | 'ü' | 'à' => {
            Some(1)
        }
        _ if GREEK.contains(c) => Some(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The default alphabet in the order of its table, without the escape.
    const ALPHABET: &str = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?\
                            ¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà";

    #[test]
    fn the_alphabet_is_the_standards_and_nothing_else() {
        assert_eq!(ALPHABET.chars().count(), 127);
        for c in ALPHABET.chars() {
            assert_eq!(septets(c), Some(1), "{c:?}");
        }
        for c in "\u{c}^{}\\[~]|€".chars() {
            assert_eq!(septets(c), Some(2), "{c:?}");
        }
        let others = ('\0'..'\u{3000}').filter(|c| septets(*c).is_some()).count();
        assert_eq!(others, 127 + 10);
        // Letters that look as if they belonged to it.
        for c in ['`', 'ç', 'á', 'α', '’', '\t', '\u{1b}', '\u{a0}'] {
            assert_eq!(septets(c), None, "{c:?}");
        }
    }

    #[test]
    fn segments_are_counted_as_networks_do() {
        let table = [
            (String::new(), 1),
            ("a".repeat(160), 1),
            ("a".repeat(161), 2),
            ("a".repeat(306), 2),
            ("a".repeat(307), 3),
            ("a".repeat(159) + "€", 2),
            ("€".repeat(80), 1),
            ("€".repeat(81), 2),
            ("]".repeat(153), 3),
            // 76 of them and a septet left free in each: an escape is not torn from its character
            ("]".repeat(152), 2),
            ("a".to_owned() + &"]".repeat(152), 2),
            ("a".to_owned() + &"]".repeat(152) + "a", 2),
            ("a".to_owned() + &"]".repeat(152) + "aa", 3),
            ("this is a ".to_owned() + &"]".repeat(74) + "😘", 2),
            ("|".repeat(69) + "∞", 1),
            ("|".repeat(70) + "∞", 2),
            ("😎".repeat(35), 1),
            // 33 and a unit left free in each: a pair is not split
            ("😎".repeat(70), 3),
            ("😎".repeat(66), 2),
            ("😎".repeat(67), 3),
            ("a".repeat(159) + "’", 3),
            ("a".repeat(1600), 11),
            ("e\u{301}".repeat(800), 24),
        ];
        for (text, expected) in table {
            assert_eq!(segments(&text), expected, "{text}");
        }
    }
}
