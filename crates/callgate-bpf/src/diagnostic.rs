//! Diagnostics of an input: what is wrong, where, and what to do. The caller prints them.

use std::fmt;

/// A position in a text. Lines and columns start at 1; columns count characters, without a byte order
/// mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl Position {
    /// The position of a byte offset in a text; the end of the text for offsets past it.
    pub fn of(text: &str, offset: usize) -> Position {
        let mut line = 1;
        let mut column = 1;
        for (at, c) in text.char_indices() {
            if at >= offset {
                break;
            }
            if c == '\n' {
                line += 1;
                column = 1;
            } else if c != '\u{feff}' {
                column += 1;
            }
        }
        Position { line, column }
    }
}

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// A warning: the input is valid, but perhaps not what was intended.
    Warning,
    /// An error: the input is invalid; there is no result.
    Error,
}

/// One message about an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The severity.
    pub severity: Severity,
    /// The position, if the message is about one.
    pub position: Option<Position>,
    /// What is wrong, with the offending text, the limit and the given value.
    pub message: String,
    /// What to do about it; may be empty.
    pub help: String,
}

impl Diagnostic {
    /// An error.
    pub fn error(position: Option<Position>, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            position,
            message: message.into(),
            help: String::new(),
        }
    }

    /// A warning.
    pub fn warning(position: Option<Position>, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(position, message) }
    }

    /// The same message with advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = help.into();
        self
    }
}

impl fmt::Display for Diagnostic {
    /// `line:column: message`, without the severity; the advice is left to the caller.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(position) = self.position {
            write!(f, "{}:{}: ", position.line, position.column)?;
        }
        f.write_str(&self.message)
    }
}
