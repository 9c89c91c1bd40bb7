//! Layout of text that is written: JSON strings, and lines of words.

use std::fmt::{self, Display};

use callgate_bpf::printable::is_printable;

/// A string of JSON, in quotes. Characters that are not printable are escaped, because terminals and web pages show what
/// programs print.
///
/// ```
/// use callgate_formats::layout::QuotedString;
/// assert_eq!(QuotedString("a\"b\u{202e}").to_string(), r#""a\"b\u202e""#);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct QuotedString<'t>(pub &'t str);

impl Display for QuotedString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        // Most text needs no escape, and is written as a whole.
        let mut rest = self.0;
        while let Some(at) = rest.find(|c| matches!(c, '"' | '\\') || !is_printable(c)) {
            let (plain, tail) = rest.split_at(at);
            f.write_str(plain)?;
            let mut chars = tail.chars();
            match chars.next() {
                Some(c @ ('"' | '\\')) => write!(f, "\\{c}")?,
                Some('\n') => f.write_str("\\n")?,
                Some('\t') => f.write_str("\\t")?,
                Some(c) => {
                    let mut units = [0; 2];
                    for unit in c.encode_utf16(&mut units) {
                        write!(f, "\\u{unit:04x}")?;
                    }
                }
                None => {}
            }
            rest = chars.as_str();
        }
        f.write_str(rest)?;
        f.write_str("\"")
    }
}

/// Numbers less than 4096 in decimal, others in hexadecimal.
pub(crate) fn number(value: u64) -> String {
    if value < 4096 { value.to_string() } else { format!("{value:#x}") }
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

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::printable::HIDDEN;

    #[test]
    fn hidden_characters_are_escaped_in_json() {
        for c in HIDDEN.iter().flat_map(|(first, last, _)| *first..=*last) {
            let escaped = QuotedString(&c.to_string()).to_string();
            assert!(escaped.starts_with("\"\\") && escaped.is_ascii(), "{c:?}: {escaped}");
            assert!(!escaped.contains(c), "{c:?}: {escaped}");
        }
        assert_eq!(
            QuotedString("\n\t\r\u{e0041}\u{3164}").to_string(),
            r#""\n\t\u000d\udb40\udc41\u3164""#
        );
        assert_eq!(QuotedString("é日 عربي עברית").to_string(), "\"é日 عربي עברית\"");
    }
}
