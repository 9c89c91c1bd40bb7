//! Messages with the source that each is about.

use std::fmt;

use crate::compile::CompileError;
use callgate_bpf::diagnostic::{Diagnostic, Help, Severity};

/// A message about a source, or about the request.
#[derive(Clone, Debug)]
pub struct Message {
    /// The name of the source; `None` for the request.
    pub source: Option<String>,
    /// The message.
    pub diagnostic: Diagnostic,
    /// Whether line breaks in it are its own, such as those of a table, and not from an input.
    pub is_multiline: bool,
}

/// All messages of a failed request; at least one is an error.
pub type Messages = Vec<Message>;

impl Message {
    /// A message about the request.
    pub fn of_request(diagnostic: Diagnostic) -> Message {
        Message { source: None, diagnostic, is_multiline: false }
    }

    /// A message about a source.
    pub fn about(source: &str, diagnostic: Diagnostic) -> Message {
        Message { source: Some(source.to_owned()), ..Message::of_request(diagnostic) }
    }

    /// Messages about a source.
    pub fn all(source: &str, diagnostics: impl Into<Vec<Diagnostic>>) -> Messages {
        diagnostics.into().into_iter().map(|one| Message::about(source, one)).collect()
    }

    /// An error about a source.
    pub fn error(source: &str, text: impl Into<String>, help: impl Into<Help>) -> Messages {
        Message::all(source, [Diagnostic::error(None, text).help(help)])
    }

    /// A warning about a source.
    pub fn warning(source: &str, text: impl Into<String>, help: impl Into<Help>) -> Message {
        Message::about(source, Diagnostic::warning(None, text).help(help))
    }

    /// An error of the compiler about a source, in lines of its own.
    pub(super) fn lines(
        source: &str,
        text: impl Into<String>,
        help: Option<impl Into<Help>>,
    ) -> Messages {
        let help = help.map(Into::into).unwrap_or_default();
        let errors = Message::error(source, text, help);
        errors.into_iter().map(|error| Message { is_multiline: true, ..error }).collect()
    }

    /// The message for a failed compilation. `give_values` is how variables get values.
    pub fn failed(source: &str, error: &CompileError, give_values: &str) -> Messages {
        Message::lines(source, error.to_string(), error.help_or_values(give_values))
    }
}

impl fmt::Display for Message {
    /// `profile.json:2:20: error: …`, with the advice in a line of its own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Diagnostic { severity, position, message, help, .. } = &self.diagnostic;
        f.write_str(self.source.as_deref().unwrap_or("callgate"))?;
        if let Some(at) = position {
            write!(f, ":{}:{}", at.line, at.column)?;
        }
        let severity = match severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, ": {severity}: {message}")?;
        if help.is_empty() { Ok(()) } else { write!(f, "\n  help: {help}") }
    }
}
