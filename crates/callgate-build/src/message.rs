//! Errors and warnings about a policy, like those of a compiler.

use crate::excerpt::excerpt;
use callgate_bpf::diagnostic::{Diagnostic, Severity};
use callgate_bpf::printable::visible;
use std::fmt;
use std::path::PathBuf;

/// A message about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    file: String,
    diagnostic: Diagnostic,
    /// The line of the file with a mark.
    excerpt: Option<String>,
}

impl Message {
    /// A message about a file with this text.
    pub(crate) fn about(file: &str, text: &str, diagnostic: Diagnostic) -> Message {
        let excerpt = diagnostic.position.and_then(|position| excerpt(text, position));
        Message { file: file.to_owned(), diagnostic, excerpt }
    }

    /// Whether it is an error; otherwise it is a warning.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.diagnostic.severity == Severity::Error
    }

    /// The message with its position in the file.
    #[must_use]
    pub fn diagnostic(&self) -> &Diagnostic {
        &self.diagnostic
    }

    /// The first line: file, position and message.
    pub(crate) fn line(&self) -> String {
        format!("{}: {}", self.place(), self.text(" "))
    }

    /// The message with this between its lines. It may contain names from the policy, so a compiler must not print it as it is.
    fn text(&self, separator: &str) -> String {
        let lines: Vec<String> = self.diagnostic.message.lines().map(visible).collect();
        lines.join(separator)
    }

    fn place(&self) -> String {
        let file = visible(&self.file);
        match self.diagnostic.position {
            Some(position) => format!("{file}:{}:{}", position.line, position.column),
            None => file,
        }
    }
}

impl fmt::Display for Message {
    /// `file:line:column: message`, the line of the file with a mark, and the help. Without `error:` before it, which the
    /// caller or the compiler adds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place(), self.text("\n    "))?;
        if let Some(excerpt) = &self.excerpt {
            write!(f, "\n{excerpt}")?;
        }
        let mut prefix = "help: ";
        for line in self.diagnostic.help.lines() {
            write!(f, "\n  = {prefix}{}", visible(line))?;
            prefix = "      ";
        }
        Ok(())
    }
}

/// Why a policy cannot be compiled: at least one error, and the warnings between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    messages: Vec<Message>,
    files: Vec<PathBuf>,
}

impl Error {
    pub(crate) fn of(messages: Vec<Message>) -> Error {
        Error { messages, files: Vec::new() }
    }

    /// The error with the files that were read before it.
    pub(crate) fn with_files(self, files: Vec<PathBuf>) -> Error {
        Error { files, ..self }
    }

    /// The error with another one after it.
    pub(crate) fn followed_by(mut self, other: Error) -> Error {
        self.messages.extend(other.messages);
        self
    }

    /// An error about a file as a whole.
    pub(crate) fn about(file: &str, message: impl Into<String>, help: &str) -> Error {
        let diagnostic = Diagnostic::error(None, message).help(help);
        Error::of(vec![Message::about(file, "", diagnostic)])
    }

    /// The errors, and the warnings between them, in the order of the text.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The files on which the error depends: those that were read, and those that could not be read.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }
}

impl fmt::Display for Error {
    /// The messages in the form of rustc, without a line break at the end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, message) in self.messages.iter().enumerate() {
            let end = if nth > 0 { "\n\n" } else { "" };
            let severity = if message.is_error() { "error" } else { "warning" };
            write!(f, "{end}{severity}: {message}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::diagnostic::Position;
    use callgate_bpf::printable::HIDDEN;

    #[test]
    fn no_part_of_a_message_has_hidden_characters() {
        for c in HIDDEN.iter().flat_map(|(first, last, _)| *first..=*last) {
            let name = format!("a{c}b");
            let position = Some(Position { line: 2, column: 1 });
            let diagnostic = Diagnostic::error(position, format!("no `{name}`")).help(&name);
            let message = Message::about(&name, &format!("\n{name}"), diagnostic);
            for shown in [message.line(), message.to_string()] {
                assert!(!shown.contains(|one| one == c && c != '\n'), "{c:?}: {shown}");
            }
        }
    }

    #[test]
    fn the_lines_of_a_message_do_not_look_like_others() {
        let message = Message::about("a\nb", "", Diagnostic::error(None, "x\nerror: y"));
        assert_eq!(message.to_string(), "a\\nb: x\n    error: y");
        assert_eq!(message.line(), "a\\nb: x error: y");
        let message = Message::about("ملف", "", Diagnostic::error(None, "`默认` é"));
        assert_eq!(message.to_string(), "ملف: `默认` é");
    }
}
