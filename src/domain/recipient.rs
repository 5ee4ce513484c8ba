//! Recipients in canonical form, so that dedup, opt-out, sending and look-up speak of one person.

use email_address::{EmailAddress, Options};

use super::notification::Kind;

/// The canonical form of a recipient: E.164 for SMS (`+` and 8 to 15 digits), a lower-case domain
/// for mail.
///
/// Nothing is guessed: a number without its country code, or an address with letters beyond ASCII
/// (which would need SMTPUTF8 or A-labels), is refused.
///
/// # Errors
/// What is wrong with it, without repeating it.
pub fn canonical(kind: Kind, recipient: &str) -> Result<String, &'static str> {
    match kind {
        Kind::Sms => phone(recipient),
        Kind::Email => email(recipient),
    }
}

fn phone(number: &str) -> Result<String, &'static str> {
    const WRONG: &str = "\"to\" is not a phone number in E.164 form, such as +442079460018";
    let digits = number.strip_prefix('+').ok_or(WRONG)?;
    let all_digits = digits.bytes().all(|b| b.is_ascii_digit());
    if all_digits && (8..=15).contains(&digits.len()) && !digits.starts_with('0') {
        Ok(number.to_owned())
    } else {
        Err(WRONG)
    }
}

fn email(address: &str) -> Result<String, &'static str> {
    const WRONG: &str = "\"to\" is not a mail address in ASCII, such as ann@example.org";
    // With a display name, one person would have many spellings.
    let bare = Options::default().without_display_text();
    if !address.is_ascii() || EmailAddress::parse_with_options(address, bare).is_err() {
        return Err(WRONG);
    }
    let (local, domain) = address.rsplit_once('@').ok_or(WRONG)?;
    Ok(format!("{local}@{}", domain.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_numbers_are_taken() {
        assert_eq!(
            canonical(Kind::Sms, "+442079460018"),
            Ok("+442079460018".into())
        );
        for wrong in [
            "",
            "+",
            "112",
            "+00 000",
            "020 7946 0018",
            "0044207946001",
            "+0442079460018",
            "+44 20 7946 0018",
            "+4420794600181234",
            "+1415555267x5",
            "\u{ff0b}442079460018",
            "+\u{664}\u{664}2079460018",
        ] {
            assert!(canonical(Kind::Sms, wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_mail_address_keeps_its_local_part_and_lowers_its_domain() {
        assert_eq!(
            canonical(Kind::Email, "Ann.B@EXAMPLE.org"),
            Ok("Ann.B@example.org".into())
        );
        for wrong in [
            "",
            "ann",
            "ann@",
            "jörg@example.org",
            "info@bücher.example",
            "a@b@c",
            "Ann <ann@example.org>",
            "<ann@example.org>",
            "ann@example.org, bob@example.org",
            " ann@example.org",
            "a\r\nb@example.org",
        ] {
            assert!(canonical(Kind::Email, wrong).is_err(), "{wrong}");
        }
    }
}
