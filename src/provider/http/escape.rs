//! Two encodings that templates and URLs share.

use minijinja::Value;

/// Every byte but RFC 3986's unreserved ones as `%XX`: safe as a path segment, as a query
/// component and in a form.
pub(super) fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
            let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble & 15)]);
            encoded.extend(['%', digit(byte >> 4), digit(byte)]);
        }
    }
    encoded
}

/// The value as JSON, keys in a fixed order.
pub(super) fn json_text(value: &Value) -> Option<String> {
    serde_json::to_string(value).ok()
}
