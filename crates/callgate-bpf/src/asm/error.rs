//! What is wrong with program text. A text that is no program may be wrong on each of a million lines, so
//! the first mistakes are kept, and the others counted.

use std::fmt;

use crate::diagnostic::Diagnostic;

/// How many errors are kept.
const KEPT: usize = 20;

/// How many errors [`AsmError`] prints.
const PRINTED: usize = 5;

/// Errors as they are found.
#[derive(Debug, Default)]
pub(crate) struct Errors {
    kept: Vec<Diagnostic>,
    left_out: usize,
}

impl Errors {
    /// One more error.
    pub(crate) fn push(&mut self, error: Diagnostic) {
        if self.kept.len() < KEPT {
            self.kept.push(error);
        } else {
            self.left_out += 1;
        }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// An error unless there is nothing to report.
    pub(crate) fn check(mut self) -> Result<(), AsmError> {
        if self.kept.is_empty() {
            return Ok(());
        }
        self.kept.sort_by_key(|diagnostic| diagnostic.position);
        Err(AsmError { diagnostics: self.kept, left_out: self.left_out })
    }
}

impl Extend<Diagnostic> for Errors {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, errors: I) {
        errors.into_iter().for_each(|error| self.push(error));
    }
}

/// Why program text cannot be read: what is wrong with it, with positions.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// What is wrong, by position: 20 errors at the most. Never empty.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// How many errors there are beside these.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// All that is to be said: the errors, and how many are left out.
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
    /// One line per error, with advice, the first few of them, then how many more there are.
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
