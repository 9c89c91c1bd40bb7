//! The text of a script, and the returned value of a filter, from the conditions under which each value is returned.

use std::collections::BTreeMap;

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

    /// Adds a comment. It may contain untrusted names, so everything except printable ASCII is escaped: a line break
    /// would end the comment.
    pub(crate) fn comment(&mut self, comment: &str) {
        self.text.push_str("; ");
        self.escape(comment);
        self.text.push('\n');
    }

    /// Adds a definition, followed by a comment unless that is empty.
    pub(crate) fn define(&mut self, name: &str, sort: &str, term: &str, comment: &str) {
        self.text.push_str(&format!("(define-fun {name} () {sort} {term})"));
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

/// Values with the conditions under which they are returned. For each syscall, exactly one condition holds.
///
/// Each value has one condition. This form is efficient for solvers: the filters become Boolean terms, and only a few
/// values are compared. A nested if-then-else over all returns takes a hundred times as long.
#[derive(Default)]
pub(crate) struct Outcomes(BTreeMap<String, Vec<String>>);

impl Outcomes {
    /// The value is also returned under this condition.
    pub(crate) fn add(&mut self, value: String, when: String) {
        self.0.entry(value).or_default().push(when);
    }

    /// Defines the condition of each value, and the returned value as `NAME.verdictN`; returns its term.
    pub(crate) fn define(self, writer: &mut Writer, name: &str) -> String {
        let mut verdict: Option<String> = None;
        for (number, (value, when)) in self.0.into_iter().enumerate() {
            let returns = format!("{name}.returns{number}");
            writer.define(&returns, BOOL, &join("or", &when, "false"), &value);
            verdict = Some(match verdict {
                // The conditions cover all syscalls, so the first value needs none.
                None => value,
                Some(before) => {
                    let this = format!("{name}.verdict{number}");
                    writer.define(&this, WORD, &format!("(ite {returns} {value} {before})"), "");
                    this
                }
            });
        }
        verdict.unwrap_or_default()
    }
}
