//! Mail addresses, alone and with a name before them.

use email_address::{EmailAddress, Options};
use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};

const NO_ADDRESS: &str = "is not one mail address, such as ann@example.org";
const NOT_ASCII: &str =
    "has letters beyond ASCII before the @, which the provider does not declare to take (smtputf8)";
const NO_NAME: &str = "has a name that is not one: a comma, a colon and the like belong in quotes";

/// The canonical form of a bare address: its domain in lower case and in A-labels, the part before
/// the `@` as it is, since only its own server knows what that means.
///
/// # Errors
/// What is wrong with it, to be read after its name, without repeating it. Letters beyond ASCII
/// before the `@` are, unless `smtputf8`: they have no ASCII form.
pub fn address(text: &str, smtputf8: bool) -> Result<String, &'static str> {
    let (local, domain) = text.rsplit_once('@').ok_or(NO_ADDRESS)?;
    if !local.is_ascii() && !smtputf8 {
        return Err(NOT_ASCII);
    }
    if local.chars().any(breaks_a_line) {
        return Err(NO_ADDRESS);
    }
    let canonical = format!("{local}@{}", in_a_labels(domain)?);
    // With a display name, one person would have many spellings.
    let bare = Options::default().without_display_text();
    match EmailAddress::parse_with_options(&canonical, bare) {
        Ok(_) => Ok(canonical),
        Err(_) => Err(NO_ADDRESS),
    }
}

fn in_a_labels(domain: &str) -> Result<String, &'static str> {
    let lower = domain.to_ascii_lowercase();
    if lower.is_ascii() && !lower.contains("xn--") {
        return Ok(lower);
    }
    let ascii = Uts46::new().to_ascii(
        domain.as_bytes(),
        AsciiDenyList::STD3,
        Hyphens::Allow,
        DnsLength::Verify,
    );
    ascii.map(Into::into).map_err(|_| NO_ADDRESS)
}

/// The canonical form of what becomes a header such as From: an address, or a name and an address
/// in angle brackets. One of them: a second one would be a reader that nobody meant.
///
/// # Errors
/// As [`address`].
pub fn mailbox(text: &str, smtputf8: bool) -> Result<String, &'static str> {
    let Some(before) = text.strip_suffix('>') else {
        return address(text, smtputf8);
    };
    let (name, bare) = before.rsplit_once('<').ok_or(NO_ADDRESS)?;
    let bare = address(bare, smtputf8)?;
    match name.trim() {
        "" => Ok(bare),
        name if is_name(name) => Ok(format!("{name} <{bare}>")),
        _ => Err(NO_NAME),
    }
}

/// A quoted string, or words without what has a meaning in an address list.
fn is_name(name: &str) -> bool {
    let quoted = name
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    let Some(inside) = quoted else {
        return !name.contains(['(', ')', '<', '>', '[', ']', ':', ';', '@', '\\', ',', '"']);
    };
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        // A quote ends it, and an escape needs something to escape.
        if c == '"' || (c == '\\' && chars.next().is_none()) {
            return false;
        }
    }
    true
}

/// Whether a text would end the header line that it stands in, or hides a text that would: an
/// encoded word (RFC 2047) is read as what it decodes to, line ends included.
#[must_use]
pub fn is_no_header(text: &str) -> bool {
    text.chars().any(breaks_a_line) || has_encoded_word(text)
}

fn breaks_a_line(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

fn has_encoded_word(text: &str) -> bool {
    text.match_indices("=?").any(|(at, begin)| {
        let mut parts = text[at + begin.len()..].splitn(4, '?');
        let charset = parts.next().unwrap_or_default();
        let encoding = parts.next().unwrap_or_default();
        let ended = parts.nth(1).is_some_and(|rest| rest.starts_with('='));
        let encoded = ["b", "q"]
            .into_iter()
            .any(|e| encoding.eq_ignore_ascii_case(e));
        !charset.is_empty() && encoded && ended
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_has_one_form_and_the_part_before_it_is_left_alone() {
        let table = [
            ("Ann.B@EXAMPLE.org", "Ann.B@example.org"),
            ("info@bücher.example", "info@xn--bcher-kva.example"),
            ("info@BÜCHER.example", "info@xn--bcher-kva.example"),
            ("info@bu\u{308}cher.example", "info@xn--bcher-kva.example"),
            ("info@XN--bcher-kva.example", "info@xn--bcher-kva.example"),
            ("xn--gr-zia@example.org", "xn--gr-zia@example.org"),
            ("a@ＥＸＡＭＰＬＥ.org", "a@example.org"),
            ("a@example。org", "a@example.org"),
            ("\"a b\"@example.org", "\"a b\"@example.org"),
            ("a@pаypal.example", "a@xn--pypal-4ve.example"),
        ];
        for (given, canonical) in table {
            assert_eq!(address(given, false), Ok(canonical.to_owned()));
        }
    }

    #[test]
    fn letters_beyond_ascii_before_the_at_need_a_provider_that_takes_them() {
        assert_eq!(address("jörg@example.org", false), Err(NOT_ASCII));
        assert_eq!(
            address("jörg@bücher.example", true),
            Ok("jörg@xn--bcher-kva.example".to_owned())
        );
        assert_eq!(address("jörg\u{2028}x@example.org", true), Err(NO_ADDRESS));
    }

    #[test]
    fn what_is_not_one_address_is_refused() {
        for wrong in [
            "",
            "ann",
            "ann@",
            "@example.org",
            "a@b@c",
            "Ann <ann@example.org>",
            "<ann@example.org>",
            "ann@example.org, bob@example.org",
            " ann@example.org",
            "ann@example.org ",
            "a\r\nb@example.org",
            "\"a\r\nBcc: x\"@example.org",
            "ann@example.org\r\nBcc: x@example.org",
            "ann@b\u{fc}cher.example\u{2028}",
            "ann@xn--a.example",
            "ann@b\u{fc}cher..example",
            &format!("ann@{}.example", "ü".repeat(64)),
        ] {
            assert!(address(wrong, true).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_name_before_the_address_cannot_bring_a_second_one() {
        let table = [
            (
                "Billing <billing@example.com>",
                "Billing <billing@example.com>",
            ),
            (
                "J. Dœ  <j@BÜCHER.example>",
                "J. Dœ <j@xn--bcher-kva.example>",
            ),
            ("<j@example.com>", "j@example.com"),
            (
                "\"Smith, Bob\" <b@example.com>",
                "\"Smith, Bob\" <b@example.com>",
            ),
            (
                "\"a \\\" b\" <b@example.com>",
                "\"a \\\" b\" <b@example.com>",
            ),
        ];
        for (given, canonical) in table {
            assert_eq!(mailbox(given, false), Ok(canonical.to_owned()));
        }
        for wrong in [
            "Billing",
            "a@example.com, b@example.com",
            "a@example.com, B <b@example.com>",
            "A <a@example.com>, B <b@example.com>",
            "Smith, Bob <b@example.com>",
            "friends: a@example.com;",
            "\"a\" x@example.com, \"b\" <b@example.com>",
            "\"a\\\" <b@example.com>",
            "Bob (<a@example.com>",
            "Bob <b@example.com> x",
            "Bob <b@example.com>>",
            "Bob <<b@example.com>",
        ] {
            assert!(mailbox(wrong, false).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_encoded_word_is_found_and_what_only_looks_like_one_is_not() {
        for bad in [
            "=?utf-8?b?DQpCY2M6IHhAZXhhbXBsZS5jb20=?=",
            "Re: =?ISO-8859-1?Q?a=0D=0Ab?= there",
            "=?=?utf-8*en?B?YQ==?=",
            "a\nb",
            "a\u{2029}b",
        ] {
            assert!(is_no_header(bad), "{bad:?}");
        }
        for good in [
            "",
            "1 =? 2",
            "=?utf-8?x?y?=",
            "=??b?y?=",
            "what=?b?why?",
            "🔥 ü",
        ] {
            assert!(!is_no_header(good), "{good:?}");
        }
    }
}
