//! What is checked: a filter, with its text if it has one.

use callgate_bpf::diagnostic::Diagnostic;
use callgate_core::{Endian, LongProgram};
use callgate_formats::Profile;
use callgate_formats::statements::Statements;

use crate::Description;

/// A filter of a stack.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    pub(super) filter: Description<'a>,
    pub(super) program: Option<(&'a LongProgram, Endian)>,
    pub(super) statements: Option<&'a Statements>,
    pub(super) warnings: &'a [Diagnostic],
    pub(super) warnings_of_files: &'a [(String, Diagnostic)],
}

impl<'a> Subject<'a> {
    /// A filter without a text.
    pub fn new(filter: impl Into<Description<'a>>) -> Subject<'a> {
        Subject {
            filter: filter.into(),
            program: None,
            statements: None,
            warnings: &[],
            warnings_of_files: &[],
        }
    }

    /// A program, whose cost is checked as well.
    pub fn program(program: &'a LongProgram, endian: Endian) -> Subject<'a> {
        let filter = Description::program(program, endian);
        Subject { program: Some((program, endian)), ..Subject::new(filter) }
    }

    /// A profile. Findings have positions if it was read with `statements`.
    pub fn profile(profile: &'a Profile) -> Subject<'a> {
        let statements = profile.statements.as_ref();
        Subject { statements, warnings: &profile.warnings, ..Subject::new(profile) }
    }

    /// The same filter, with what its text states.
    #[must_use]
    pub fn with_statements(self, statements: Option<&'a Statements>) -> Subject<'a> {
        Subject { statements, ..self }
    }

    /// The same filter, with the warnings of its reader.
    #[must_use]
    pub fn with_warnings(self, warnings: &'a [Diagnostic]) -> Subject<'a> {
        Subject { warnings, ..self }
    }

    /// The same filter, with the warnings of a reader of several files, each with the name of its file.
    #[must_use]
    pub fn with_warnings_of_files(self, warnings: &'a [(String, Diagnostic)]) -> Subject<'a> {
        Subject { warnings_of_files: warnings, ..self }
    }
}
