//! Messages about a text: a limited number is kept, the others are counted.

use callgate_bpf::diagnostic::{Diagnostic, Diagnostics, Position, Severity};

/// Maximum number of errors, and of warnings, that are kept.
pub const LIMIT: usize = 500;

/// Messages in the order in which they are found.
#[derive(Debug)]
pub struct Messages {
    kept: Vec<Diagnostic>,
    /// Number of warnings and errors so far, including those that were not kept.
    counts: [usize; 2],
    /// Stands in for a message that is not kept, so that [`Report::report`] can always return one.
    left_out: Diagnostic,
}

/// A collector of messages about a text, with its own kind of place (an offset, a position).
pub trait Report {
    /// A place in the text.
    type At;

    /// Adds an error or a warning. The caller may set the help of the returned message.
    fn report(
        &mut self,
        severity: Severity,
        at: Self::At,
        message: impl Into<String>,
    ) -> &mut Diagnostic;

    /// Counts an error or a warning that would not be kept anyway, so that the caller need not format it; `false`
    /// while messages are still kept, and this one must be reported.
    fn leave_out(&mut self, severity: Severity) -> bool;

    /// Number of errors or warnings reported so far, including those that were not kept.
    fn reported(&self, severity: Severity) -> usize;
}

impl Report for Messages {
    type At = Position;

    fn report(
        &mut self,
        severity: Severity,
        at: Position,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.report_at(severity, || at, message)
    }

    fn leave_out(&mut self, severity: Severity) -> bool {
        let count = self.count(severity);
        let is_full = *count >= LIMIT;
        *count += usize::from(is_full);
        is_full
    }

    fn reported(&self, severity: Severity) -> usize {
        self.counts[usize::from(severity == Severity::Error)]
    }
}

impl Default for Messages {
    fn default() -> Messages {
        Messages::new()
    }
}

impl Messages {
    /// No messages yet.
    pub fn new() -> Messages {
        Messages { kept: Vec::new(), counts: [0; 2], left_out: Diagnostic::warning(None, "") }
    }

    /// Adds an error or a warning whose position is computed only when the message is kept.
    pub(crate) fn report_at(
        &mut self,
        severity: Severity,
        at: impl FnOnce() -> Position,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        let count = self.count(severity);
        *count += 1;
        if *count <= LIMIT {
            let warning = Diagnostic::warning(Some(at()), message);
            self.kept.push(Diagnostic { severity, ..warning });
            if let Some(kept) = self.kept.last_mut() {
                return kept;
            }
        }
        &mut self.left_out
    }

    fn count(&mut self, severity: Severity) -> &mut usize {
        let [warnings, errors] = &mut self.counts;
        if severity == Severity::Error { errors } else { warnings }
    }

    /// Adds an error.
    pub fn error(&mut self, at: Position, message: impl Into<String>) -> &mut Diagnostic {
        self.report(Severity::Error, at, message)
    }

    /// Adds a warning.
    pub fn warn(&mut self, at: Position, message: impl Into<String>) -> &mut Diagnostic {
        self.report(Severity::Warning, at, message)
    }

    /// Adds an error that another reader of the same text found.
    pub fn add(&mut self, error: Diagnostic) {
        self.counts[1] += 1;
        self.kept.push(error);
    }

    /// Whether there is an error.
    pub fn failed(&self) -> bool {
        self.counts[1] > 0
    }

    /// All messages in the order of the text, then the numbers of those that were not kept.
    pub fn finish(mut self) -> Vec<Diagnostic> {
        self.kept.sort_by_key(|diagnostic| diagnostic.position);
        let [warnings, errors] = self.counts.map(|count| count.saturating_sub(LIMIT));
        if errors > 0 {
            let message = format!("{errors} more errors are left out");
            self.kept.push(Diagnostic::error(None, message));
        }
        if warnings > 0 {
            let message = format!("{warnings} more warnings are left out");
            self.kept.push(Diagnostic::warning(None, message));
        }
        self.kept
    }
}

/// What was read with the warnings about it, or all messages if one is an error. Without an error, there is a value.
pub(crate) fn result_of<T>(
    value: Option<T>,
    failed: bool,
    messages: Vec<Diagnostic>,
) -> Result<(T, Vec<Diagnostic>), Diagnostics> {
    match value {
        Some(value) if !failed => Ok((value, messages)),
        _ => Err(messages.into()),
    }
}

/// The maximum number of unknown words that get a suggestion. Each search compares the word with every candidate, and a
/// text in another language may have a million unknown words.
const MAX_SUGGESTIONS: usize = 50;

/// Counts the searches for suggestions about an input.
#[derive(Debug, Default)]
pub struct Suggestions(usize);

impl Suggestions {
    /// The result of this search; `None` after the limit.
    pub fn find<T>(&mut self, search: impl FnOnce() -> Option<T>) -> Option<T> {
        if self.0 == MAX_SUGGESTIONS {
            return None;
        }
        self.0 += 1;
        search()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_searches_are_made() {
        let mut suggestions = Suggestions::default();
        let mut searched = 0;
        for _ in 0..60 {
            suggestions.find(|| {
                searched += 1;
                Some(())
            });
        }
        assert_eq!(searched, 50);
        assert_eq!(suggestions.find(|| Some(())), None);
    }
}
