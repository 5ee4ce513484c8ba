//! A provider's words, made safe to store and to print.
//!
//! NUL breaks a Postgres write, an escape sequence takes over a terminal, and a bidi control makes
//! a line read as something else. Markup is left alone: a page escapes what it shows.

use std::borrow::Cow;

/// Shorter runs of digits than this are codes, not telephone numbers.
const SHORTEST_NUMBER: usize = 7;

/// One line of at most `most` characters: invalid UTF-8 and control characters replaced, runs of
/// blanks folded into one, and what is too long cut with an ellipsis.
#[must_use]
pub fn clean(text: impl AsRef<[u8]>, most: usize) -> String {
    let text = text.as_ref();
    // four bytes a character at most, and blanks to fold: no need to look at a whole 64 KiB page
    let head = text.get(..most.saturating_mul(16)).unwrap_or(text);
    let mut cleaned = String::new();
    let mut length = 0;
    let mut cut = head.len() < text.len();
    for c in String::from_utf8_lossy(head).chars().map(harmless) {
        if c == ' ' && (cleaned.is_empty() || cleaned.ends_with(' ')) {
            continue;
        }
        if length == most {
            cut = true;
            break;
        }
        cleaned.push(c);
        length += 1;
    }
    if cut {
        if length == most {
            cleaned.pop();
        }
        // no half of a joined emoji, no accent on the ellipsis
        let whole = cleaned
            .trim_end_matches(['\u{200D}', ' ', '\u{FFFD}'])
            .len();
        cleaned.truncate(whole);
        cleaned.push('…');
    }
    cleaned.truncate(cleaned.trim_end().len());
    cleaned
}

fn harmless(c: char) -> char {
    match c {
        _ if c.is_whitespace() => ' ', // line ends and U+2028 among them
        _ if c.is_control() => '\u{FFFD}',
        // direction and invisible formatting; ZWJ and ZWNJ stay, since words and emoji need them
        '\u{061C}' | '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' => '\u{FFFD}',
        '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{E0000}'..='\u{E007F}' => '\u{FFFD}',
        _ => c,
    }
}

/// Takes a recipient out of a provider's words: providers like to repeat the number in an error.
#[must_use]
pub fn redact<'t>(text: &'t str, recipient: &str) -> Cow<'t, str> {
    let digits = recipient.trim_start_matches('+');
    let mut text = Cow::Borrowed(text);
    for form in [recipient, digits] {
        let telling = form.contains('@') || form.chars().count() >= SHORTEST_NUMBER;
        if telling && text.contains(form) {
            text = Cow::Owned(text.replace(form, "[recipient]"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_breaks_a_write_or_a_terminal_is_left() {
        let table: [(&[u8], &str); 8] = [
            (b"plain", "plain"),
            (b"a\0b", "a\u{FFFD}b"),
            (b"\x1b[31mred\x1b[0m", "\u{FFFD}[31mred\u{FFFD}[0m"),
            (b"  two\r\n\t lines ", "two lines"),
            (b"\xff\xfeabc", "\u{FFFD}\u{FFFD}abc"),
            (
                "pay \u{202E}001\u{2066}".as_bytes(),
                "pay \u{FFFD}001\u{FFFD}",
            ),
            ("a\u{2028}b\u{85}c\u{9b}d".as_bytes(), "a b c\u{FFFD}d"),
            (b"", ""),
        ];
        for (bytes, expected) in table {
            assert_eq!(clean(bytes, 100), expected, "{bytes:?}");
        }
    }

    #[test]
    fn what_is_too_long_is_cut_between_characters() {
        assert_eq!(clean("überlang", 8), "überlang");
        assert_eq!(clean("überlang", 4), "übe…");
        assert_eq!(clean("👩\u{200D}🚀 x", 3), "👩…");
        assert_eq!(clean("ü".repeat(100_000), 5).chars().count(), 5);
        assert_eq!(clean(" ".repeat(100_000), 5), "…");
        assert_eq!(clean("abc", 0), "…");
    }

    #[test]
    fn the_recipient_is_taken_out_with_and_without_its_plus() {
        let words = "The 'To' number +4915112345678 (4915112345678) is not valid";
        assert_eq!(
            redact(words, "+4915112345678"),
            "The 'To' number [recipient] ([recipient]) is not valid"
        );
        assert_eq!(redact("code 12345", "+12345"), "code 12345");
        assert_eq!(
            redact("no such box a@b.de", "a@b.de"),
            "no such box [recipient]"
        );
    }
}
