//! Messages about a text, as many as somebody may read: the others are counted.

use callgate_bpf::diagnostic::{Diagnostic, Position, Severity};

/// How many warnings, and how many errors, are kept: nobody reads more.
pub const LIMIT: usize = 500;

/// Messages in the order in which they are found.
#[derive(Debug)]
pub struct Messages {
    kept: Vec<Diagnostic>,
    /// Warnings and errors so far, those left out included.
    counts: [usize; 2],
    /// Where a message goes that is left out.
    left_out: Diagnostic,
}

/// What takes messages about a text, by what it calls a place there.
pub trait Report {
    /// A place in the text.
    type At;

    /// Adds an error or a warning; the message may be given advice afterwards.
    fn report(
        &mut self,
        severity: Severity,
        at: Self::At,
        message: impl Into<String>,
    ) -> &mut Diagnostic;

    /// How many errors or warnings were reported, those left out included.
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
    /// None as yet.
    pub fn new() -> Messages {
        Messages { kept: Vec::new(), counts: [0; 2], left_out: Diagnostic::warning(None, "") }
    }

    /// Adds an error or a warning at a place that is found only when the message is kept.
    pub fn report_at(
        &mut self,
        severity: Severity,
        at: impl FnOnce() -> Position,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        let [warnings, errors] = &mut self.counts;
        let count = if severity == Severity::Error { errors } else { warnings };
        *count += 1;
        if *count > LIMIT {
            return &mut self.left_out;
        }
        let warning = Diagnostic::warning(Some(at()), message);
        self.kept.push(Diagnostic { severity, ..warning });
        match self.kept.last_mut() {
            Some(last) => last,
            None => &mut self.left_out,
        }
    }

    /// Adds an error.
    pub fn error(&mut self, at: Position, message: impl Into<String>) -> &mut Diagnostic {
        self.report(Severity::Error, at, message)
    }

    /// Adds a warning.
    pub fn warn(&mut self, at: Position, message: impl Into<String>) -> &mut Diagnostic {
        self.report(Severity::Warning, at, message)
    }

    /// Adds an error that another reader of the text found.
    pub fn add(&mut self, error: Diagnostic) {
        self.counts[1] += 1;
        self.kept.push(error);
    }

    /// Whether an error was added.
    pub fn failed(&self) -> bool {
        self.counts[1] > 0
    }

    /// All messages in the order of the text.
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
