//! Layout of text that is written: JSON strings, and lines of words.

use std::fmt::{self, Display, Write};

/// A string of JSON, in quotes.
///
/// ```
/// use callgate_formats::layout::QuotedString;
/// assert_eq!(QuotedString("a\"b").to_string(), r#""a\"b""#);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct QuotedString<'t>(pub &'t str);

impl Display for QuotedString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if !is_printable(c) => {
                    let mut units = [0; 2];
                    c.encode_utf16(&mut units)
                        .iter()
                        .try_for_each(|unit| write!(f, "\\u{unit:04x}"))?;
                }
                c => f.write_char(c)?,
            }
        }
        f.write_str("\"")
    }
}

/// Whether a character is printable according to the standard library: not control characters, which end a line or move the
/// cursor, and not format characters, among them the bidirectional controls that reorder text.
pub fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, ' '..='~');
    }
    // After a letter, because `escape_debug` escapes a combining mark at the start of a text.
    String::from_iter(['a', c]).escape_debug().nth(1) == Some(c)
}

/// Text of an input in a comment or a message: in one line, with escapes for characters that are not printable.
///
/// ```
/// use callgate_formats::layout::visible;
/// assert_eq!(visible("a\u{202e}b\nc"), r"a\u{202e}b\nc");
/// ```
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_printable(c) {
            true => shown.push(c),
            false => shown.extend(c.escape_default()),
        }
    }
    shown
}

/// Joins words into lines of at most `width` characters; a longer word is a line of its own.
///
/// ```
/// use callgate_formats::layout::wrapped;
/// assert_eq!(wrapped(["one", "two", "three"], 8, ", "), ["one, two", "three"]);
/// ```
pub fn wrapped<'n>(
    words: impl IntoIterator<Item = &'n str>,
    width: usize,
    separator: &str,
) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line)
                if line.chars().count() + separator.len() + word.chars().count() <= width =>
            {
                line.push_str(separator);
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
