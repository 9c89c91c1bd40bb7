//! Messages with the source that each is about.

use crate::compile::CompileError;
use callgate_bpf::diagnostic::Diagnostic;

/// A message about a source, or about the request.
#[derive(Clone, Debug)]
pub struct Message {
    /// The name of the source; `None` for the request.
    pub source: Option<String>,
    /// The message.
    pub diagnostic: Diagnostic,
}

/// All messages of a failed request; at least one is an error.
pub type Messages = Vec<Message>;

impl Message {
    /// A message about a source.
    pub fn about(source: &str, diagnostic: Diagnostic) -> Message {
        Message { source: Some(source.to_owned()), diagnostic }
    }

    /// Messages about a source.
    pub fn all(source: &str, diagnostics: impl Into<Vec<Diagnostic>>) -> Messages {
        diagnostics.into().into_iter().map(|one| Message::about(source, one)).collect()
    }

    /// The message for a failed compilation.
    pub fn failed(source: &str, error: &CompileError) -> Messages {
        let give_values = "give the values with `set`, or request a `template`";
        let help = error.help_or_values(give_values).unwrap_or_default();
        Message::all(source, vec![Diagnostic::error(None, error.to_string()).help(help)])
    }
}
