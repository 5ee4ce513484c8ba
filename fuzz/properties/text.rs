//! What may be stored, printed and shown.

/// No character that breaks a write (NUL) or a terminal (escapes), or that makes a line read as
/// another (bidi controls, line separators); and not too long.
pub(super) fn is_clean(text: &str, most: usize) {
    let harmful = |c: char| {
        c.is_control()
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
    };
    assert!(!text.contains(harmful), "not clean: {text:?}");
    let long = text.chars().count();
    assert!(long <= most, "{long} characters, {most} at most: {text:?}");
}
