//! Who decides, and in which words: stored in the history, so cleaned before.

use crate::provider::clean::clean;

/// Longer names do not fit the history's column of names.
const LONGEST_NAME: usize = 80;
/// Enough for a reason and a link; not for a mail thread.
const LONGEST_TEXT: usize = 500;

/// A person's name.
pub(super) fn name(text: &str) -> Result<String, String> {
    let name = clean(text, LONGEST_NAME);
    match &*name {
        "" => Err("must not be empty".to_owned()),
        // the history tells people from programs by this name
        "worker" | "resolver" | "ledger" => Err(format!("{name} is not a person")),
        _ => Ok(name),
    }
}

/// A reason or a proof.
pub(super) fn text(text: &str) -> Result<String, String> {
    let cleaned = clean(text, usize::MAX);
    match cleaned.chars().count() {
        0 => Err("must not be empty".to_owned()),
        1..=LONGEST_TEXT => Ok(cleaned),
        length => Err(format!(
            "{length} characters are too many: at most {LONGEST_TEXT}"
        )),
    }
}
