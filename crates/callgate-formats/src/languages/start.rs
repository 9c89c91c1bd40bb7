//! Beginnings of texts, by which languages are recognized.

/// Whether all bytes are text: no control characters but white space.
pub(crate) fn is_text(text: &[u8]) -> bool {
    text.iter().all(|byte| !byte.is_ascii_control() || byte.is_ascii_whitespace())
}
