//! The text of a script.

/// The sort of 32-bit values.
pub(crate) const WORD: &str = "(_ BitVec 32)";

/// The sort of truth values.
pub(crate) const BOOL: &str = "Bool";

/// A script that grows line by line.
#[derive(Default)]
pub(crate) struct Writer {
    text: String,
}

impl Writer {
    /// Adds a line as it is.
    pub(crate) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    pub(crate) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Adds a comment. It may contain untrusted names, so everything except printable ASCII is escaped: a line break
    /// would end the comment.
    pub(crate) fn comment(&mut self, comment: &str) {
        self.text.push_str("; ");
        self.escape(comment);
        self.text.push('\n');
    }

    /// Adds a definition, followed by a comment unless that is empty.
    pub(crate) fn define(&mut self, name: &str, sort: &str, term: &str, comment: &str) {
        for part in ["(define-fun ", name, " () ", sort, " ", term, ")"] {
            self.text.push_str(part);
        }
        if !comment.is_empty() {
            self.text.push_str(" ; ");
            self.escape(comment);
        }
        self.text.push('\n');
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }

    fn escape(&mut self, text: &str) {
        for c in text.chars() {
            if matches!(c, ' '..='~') {
                self.text.push(c);
            } else {
                self.text.extend(c.escape_default());
            }
        }
    }
}

/// A constant of 32 bits.
pub(crate) fn word(value: u32) -> String {
    format!("#x{value:08x}")
}

/// A constant of 64 bits.
pub(crate) fn long(value: u64) -> String {
    format!("#x{value:016x}")
}

/// `(or …)` or `(and …)` of any number of terms; `empty` without terms.
pub(crate) fn join(operator: &str, terms: &[String], empty: &str) -> String {
    match terms {
        [] => empty.to_owned(),
        [only] => only.clone(),
        _ => format!("({operator} {})", terms.join(" ")),
    }
}
