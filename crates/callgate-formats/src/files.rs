//! Messages about several files that are read together, such as a unit with its drop-ins.

use std::fmt;

use crate::diagnostics::messages::{Messages, Report as _, Suggestions};
use crate::diagnostics::positions::Positions;
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics, Position, Severity};

/// A place: a file, by its index, and a byte offset in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct At {
    pub(crate) file: usize,
    pub(crate) offset: usize,
}

/// A message, and the index of the file that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMessage {
    /// The index of the file.
    pub file: usize,
    /// The message.
    pub diagnostic: Diagnostic,
}

/// All messages about files that cannot be used. At least one is an error; warnings are among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileErrors(Vec<FileMessage>);

impl FileErrors {
    /// The messages, by file and position.
    pub fn into_vec(self) -> Vec<FileMessage> {
        self.0
    }
}

impl From<Vec<FileMessage>> for FileErrors {
    fn from(messages: Vec<FileMessage>) -> FileErrors {
        FileErrors(messages)
    }
}

impl From<Diagnostics> for FileErrors {
    /// Messages about the first file.
    fn from(messages: Diagnostics) -> FileErrors {
        let of_first = |diagnostic| FileMessage { file: 0, diagnostic };
        FileErrors(messages.into_vec().into_iter().map(of_first).collect())
    }
}

impl From<Diagnostic> for FileErrors {
    /// A message about the first file.
    fn from(message: Diagnostic) -> FileErrors {
        FileErrors(vec![FileMessage { file: 0, diagnostic: message }])
    }
}

impl std::ops::Deref for FileErrors {
    type Target = [FileMessage];

    fn deref(&self) -> &[FileMessage] {
        &self.0
    }
}

impl fmt::Display for FileErrors {
    /// A line per message, `file:line:column: message`; the first file has number 1.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, FileMessage { file, diagnostic }) in self.0.iter().enumerate() {
            let end = if nth > 0 { "\n" } else { "" };
            let warning = if diagnostic.severity == Severity::Warning { "warning: " } else { "" };
            write!(f, "{end}{warning}file {}:{diagnostic}", file + 1)?;
            if !diagnostic.help.is_empty() {
                write!(f, "\n  help: {}", diagnostic.help)?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for FileErrors {}

/// The files that are read, and the messages about them.
#[derive(Debug)]
pub(crate) struct Report<'t> {
    files: Vec<(Positions<'t>, Messages)>,
    suggestions: Suggestions,
    /// Stands in for messages about a file that does not exist.
    lost: Diagnostic,
}

impl<'t> Report<'t> {
    pub(crate) fn new(texts: impl IntoIterator<Item = &'t str>) -> Report<'t> {
        let files = texts.into_iter().map(|text| (Positions::new(text), Messages::new()));
        let suggestions = Suggestions::default();
        Report { files: files.collect(), suggestions, lost: Diagnostic::warning(None, "") }
    }

    pub(crate) fn warn(&mut self, at: At, message: impl Into<String>) -> &mut Diagnostic {
        self.report(Severity::Warning, at, message)
    }

    pub(crate) fn error(&mut self, at: At, message: impl Into<String>) -> &mut Diagnostic {
        self.report(Severity::Error, at, message)
    }

    /// Adds an error with what to do, after which there is no value.
    pub(crate) fn refuse<T>(
        &mut self,
        at: At,
        message: impl Into<String>,
        help: &str,
    ) -> Option<T> {
        self.error(at, message).help = help.to_owned();
        None
    }

    pub(crate) fn report(
        &mut self,
        severity: Severity,
        at: At,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        match self.files.get_mut(at.file) {
            Some((positions, messages)) => {
                messages.report_at(severity, || positions.of(at.offset), message)
            }
            None => &mut self.lost,
        }
    }

    /// Counts a message that would not be kept anyway, so that the caller need not format it; `false` while messages about
    /// the file are still kept, and this one must be reported.
    pub(crate) fn leave_out(&mut self, severity: Severity, at: At) -> bool {
        self.files.get_mut(at.file).is_some_and(|(_, messages)| messages.leave_out(severity))
    }

    /// Line and column of a place.
    pub(crate) fn position(&self, at: At) -> Position {
        let start = Position { line: 1, column: 1 };
        self.files.get(at.file).map_or(start, |(positions, _)| positions.of(at.offset))
    }

    /// The line of a place.
    pub(crate) fn line(&self, at: At) -> u32 {
        self.files.get(at.file).map_or(0, |(positions, _)| positions.of(at.offset).line)
    }

    /// The help for an unknown word, from a search for a similar one; after fifty words, `otherwise` without a search.
    pub(crate) fn did_you_mean(
        &mut self,
        search: impl FnOnce() -> Option<&'static str>,
        otherwise: &str,
    ) -> String {
        self.suggestions
            .find(search)
            .map_or_else(|| otherwise.to_owned(), |name| format!("did you mean {name}?"))
    }

    pub(crate) fn failed(&self) -> bool {
        self.files.iter().any(|(_, messages)| messages.failed())
    }

    pub(crate) fn finish(self) -> Vec<FileMessage> {
        let of_file = |(file, (_, messages)): (usize, (_, Messages))| {
            messages.finish().into_iter().map(move |diagnostic| FileMessage { file, diagnostic })
        };
        self.files.into_iter().enumerate().flat_map(of_file).collect()
    }
}
