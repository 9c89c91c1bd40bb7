//! Errors in program text. A text that is not a program may have an error on each of a million lines, so
//! only the first ones are kept, and the others are counted.

use std::fmt;

use crate::diagnostic::Diagnostic;

/// How many errors are kept.
const KEPT: usize = 20;

/// How many errors [`AsmError`] prints.
const PRINTED: usize = 5;

/// Errors as they are found.
#[derive(Debug, Default)]
pub(crate) struct Errors(AsmError);

impl Errors {
    /// Adds an error.
    pub(crate) fn push(&mut self, error: Diagnostic) {
        if self.0.diagnostics.len() < KEPT {
            self.0.diagnostics.push(error);
        } else {
            self.0.left_out += 1;
        }
    }

    /// Adds an error, unless there is one with the same message.
    pub(crate) fn push_new(&mut self, error: Diagnostic) {
        if !self.0.diagnostics.iter().any(|known| known.message == error.message) {
            self.push(error);
        }
    }

    /// Those that are kept.
    pub(crate) fn list(&self) -> &[Diagnostic] {
        &self.0.diagnostics
    }

    /// Adds the errors of a part of the text.
    pub(crate) fn append(&mut self, other: Errors) {
        self.0.left_out += other.0.left_out;
        self.extend(other.0.diagnostics);
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.diagnostics.is_empty()
    }

    /// `Ok` if there are no errors.
    pub(crate) fn check(mut self) -> Result<(), AsmError> {
        self.0.diagnostics.sort_by_key(|diagnostic| diagnostic.position);
        if self.is_empty() { Ok(()) } else { Err(self.0) }
    }
}

impl Extend<Diagnostic> for Errors {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, errors: I) {
        errors.into_iter().for_each(|error| self.push(error));
    }
}

/// The errors in a program text, with positions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AsmError {
    diagnostics: Vec<Diagnostic>,
    left_out: usize,
}

impl From<Diagnostic> for AsmError {
    fn from(error: Diagnostic) -> AsmError {
        AsmError { diagnostics: vec![error], left_out: 0 }
    }
}

impl AsmError {
    /// The same with other messages.
    pub(crate) fn map(self, change: impl FnMut(Diagnostic) -> Diagnostic) -> AsmError {
        AsmError { diagnostics: self.diagnostics.into_iter().map(change).collect(), ..self }
    }

    /// At most 20 errors, by position. Never empty.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// The number of other errors.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// The errors, and a message with the number of errors that are left out.
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        let mut diagnostics = self.diagnostics;
        let message = match self.left_out {
            0 => return diagnostics,
            1 => "1 more error is left out".to_owned(),
            more => format!("{more} more errors are left out"),
        };
        diagnostics.push(Diagnostic::error(None, message));
        diagnostics
    }
}

impl fmt::Display for AsmError {
    /// One line with advice for each of the first errors, then the number of others.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, diagnostic) in self.diagnostics.iter().take(PRINTED).enumerate() {
            if nth > 0 {
                f.write_str("\n")?;
            }
            diagnostic.fmt(f)?;
            if !diagnostic.help.is_empty() {
                write!(f, "; {}", diagnostic.help)?;
            }
        }
        match self.diagnostics.len().saturating_sub(PRINTED) + self.left_out {
            0 => Ok(()),
            1 => f.write_str("\nand 1 more error"),
            more => write!(f, "\nand {more} more errors"),
        }
    }
}

impl std::error::Error for AsmError {}
