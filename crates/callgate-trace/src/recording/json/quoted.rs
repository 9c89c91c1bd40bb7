//! Strings in JSON.

use std::fmt::{self, Display, Write};

/// A string as JSON, with quotes and escapes.
pub(crate) struct QuotedString<'t>(pub(crate) &'t str);

impl Display for QuotedString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c.is_control() => {
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
