//! Diagnostics of an input: what is wrong, where, and what to do. The caller prints them.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use crate::advice::Advice;

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
    pub(crate) const START: Position = Position { line: 1, column: 1 };

    /// The position of a byte offset in a text; the end of the text for offsets past it.
    pub fn of(text: &str, offset: usize) -> Position {
        let Position { mut line, mut column } = Position::START;
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

/// A mistake that readers of several languages report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// A rule that never decides, because another one takes precedence.
    Overruled,
    /// A condition that does not hold for any value.
    NeverMatches,
    /// Several conditions on one argument that are alternatives.
    OrConditions,
    /// Conditions that `socketcall` or `ipc` evades.
    Multiplexer,
    /// Rules that syscalls of x32 evade.
    X32,
    /// A text that exceeds a limit of its reader: its size, its depth, or the number of its parts.
    TooLarge,
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
    /// The advice with which the help begins, if interfaces word it in their own way.
    pub advice: Option<Advice>,
    /// The mistake, if it is one of those that readers of several languages report.
    pub topic: Option<Topic>,
    /// The names of the syscalls that it is about, where a tool asks for them.
    pub syscalls: Box<[String]>,
}

/// An error at a position.
pub(crate) fn error(position: Position, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Some(position), message)
}

impl Diagnostic {
    /// An error.
    pub fn error(position: Option<Position>, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            position,
            message: message.into(),
            help: String::new(),
            advice: None,
            topic: None,
            syscalls: Box::default(),
        }
    }

    /// A warning.
    pub fn warning(position: Option<Position>, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(position, message) }
    }

    /// The same message with advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<Help>) -> Diagnostic {
        self.set_help(help);
        self
    }

    /// Gives the message this advice.
    pub fn set_help(&mut self, help: impl Into<Help>) {
        let Help { text, advice } = help.into();
        self.help = text;
        self.advice = advice;
    }

    /// Adds to the help.
    pub fn add_help(&mut self, more: &str) {
        if !self.help.is_empty() {
            self.help.push_str("; ");
        }
        self.help.push_str(more);
    }

    /// The same message with its advice in the words of an interface; `words` has those that differ from the words of the
    /// library.
    #[must_use]
    pub fn in_words(mut self, words: impl FnOnce(&Advice) -> Option<String>) -> Diagnostic {
        self.help = Help::from(&self).in_words(words);
        self.advice = None;
        self
    }

    /// Says that the text exceeds a limit of its reader, and what to do.
    pub fn set_too_large(&mut self, help: impl Into<Help>) {
        self.set_help(help);
        self.topic = Some(Topic::TooLarge);
    }

    /// The same message about one of the common mistakes.
    #[must_use]
    pub fn topic(self, topic: Topic) -> Diagnostic {
        Diagnostic { topic: Some(topic), ..self }
    }
}

/// What to do: a text, or [`Advice`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Help {
    text: String,
    advice: Option<Advice>,
}

impl Help {
    /// The advice that interfaces word in their own way, if it is such advice.
    pub fn advice(&self) -> Option<&Advice> {
        self.advice.as_ref()
    }

    /// The text with the advice in the words of an interface, and what was added to it.
    pub fn in_words(&self, words: impl FnOnce(&Advice) -> Option<String>) -> String {
        let worded = self.advice.as_ref().and_then(|advice| {
            let more = self.text.strip_prefix(&*advice.to_string())?;
            words(advice).map(|own| own + more)
        });
        worded.unwrap_or_else(|| self.text.clone())
    }
}

impl Deref for Help {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Help {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<Advice> for Help {
    fn from(advice: Advice) -> Help {
        Help { text: advice.to_string(), advice: Some(advice) }
    }
}

impl From<&Diagnostic> for Help {
    fn from(diagnostic: &Diagnostic) -> Help {
        Help { text: diagnostic.help.clone(), advice: diagnostic.advice.clone() }
    }
}

macro_rules! from_text {
    ($($text:ty)*) => {$(
        impl From<$text> for Help {
            fn from(text: $text) -> Help {
                Help { text: text.into(), advice: None }
            }
        }
    )*};
}

from_text!(&str String &String Cow<'_, str>);

/// All messages about an input that cannot be used, as one error to be returned with `?`.
///
/// At least one of them is an error; warnings are among them, in the order of the text.
///
/// ```
/// use callgate_bpf::diagnostic::{Diagnostic, Diagnostics, Position};
///
/// fn read() -> Result<(), Diagnostics> {
///     let position = Some(Position { line: 3, column: 7 });
///     Err(Diagnostic::error(position, "unknown key \"nmae\"").help("did you mean \"name\"?"))?
/// }
/// let text = read().unwrap_err().to_string();
/// assert_eq!(text, "3:7: unknown key \"nmae\"\n  help: did you mean \"name\"?");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// The messages.
    pub fn into_vec(self) -> Vec<Diagnostic> {
        self.0
    }

    /// Where the first error is, when it is about a place.
    pub fn position(&self) -> Option<Position> {
        self.0.iter().find(|one| one.severity == Severity::Error).and_then(|one| one.position)
    }
}

impl From<Vec<Diagnostic>> for Diagnostics {
    fn from(messages: Vec<Diagnostic>) -> Diagnostics {
        Diagnostics(messages)
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(message: Diagnostic) -> Diagnostics {
        Diagnostics(vec![message])
    }
}

impl From<Diagnostics> for Vec<Diagnostic> {
    fn from(messages: Diagnostics) -> Vec<Diagnostic> {
        messages.0
    }
}

impl Deref for Diagnostics {
    type Target = [Diagnostic];

    fn deref(&self) -> &[Diagnostic] {
        &self.0
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl fmt::Display for Diagnostics {
    /// A line per message, with the advice in the line below it. Warnings say that they are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, message) in self.0.iter().enumerate() {
            if nth > 0 {
                f.write_str("\n")?;
            }
            if message.severity == Severity::Warning {
                f.write_str("warning: ")?;
            }
            message.fmt(f)?;
            if !message.help.is_empty() {
                write!(f, "\n  help: {}", message.help)?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

impl std::error::Error for Diagnostic {}

impl fmt::Display for Diagnostic {
    /// `line:column: message`, without the severity; the advice is left to the caller.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(position) = self.position {
            write!(f, "{}:{}: ", position.line, position.column)?;
        }
        f.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_1() {
        let text = "\u{feff}aé\n\nb";
        for (offset, line, column) in [
            (0, 1, 1),
            // A byte order mark has three bytes and no column, `é` two bytes and one column.
            (3, 1, 1),
            (4, 1, 2),
            (6, 1, 3),
            (7, 2, 1),
            (8, 3, 1),
            (9, 3, 2),
            (99, 3, 2),
        ] {
            assert_eq!(Position::of(text, offset), Position { line, column }, "{offset}");
        }
    }

    #[test]
    fn an_interface_words_advice_and_keeps_what_was_added() {
        let words = |advice: &Advice| (*advice == Advice::Optimize).then(|| "run -O".to_owned());
        let mut error = Diagnostic::error(None, "slow").help(Advice::Optimize);
        assert_eq!(error.help, Advice::Optimize.to_string());
        error.add_help("or wait");
        let worded = error.in_words(words);
        assert_eq!((worded.help.as_str(), &worded.advice), ("run -O; or wait", &None));
        assert_eq!(worded.clone().in_words(words), worded);
        let other = Diagnostic::error(None, "slow").help(Advice::Merge).in_words(words);
        assert_eq!(other.help, Advice::Merge.to_string());
    }

    fn warning_and_error() -> [Diagnostic; 2] {
        let at = |line| Some(Position { line, column: 1 });
        [Diagnostic::warning(at(1), "odd"), Diagnostic::error(at(2), "wrong").help("mend it")]
    }

    #[test]
    fn messages_survive_every_conversion() {
        let messages = warning_and_error();
        assert_eq!(messages.each_ref().map(|m| m.severity), [Severity::Warning, Severity::Error]);
        let all = Diagnostics::from(messages.to_vec());
        assert_eq!(*all, messages);
        assert_eq!(all.clone().into_vec(), messages);
        assert_eq!(Vec::from(all.clone()), messages);
        assert!(all.into_iter().eq(messages.clone()));
        let [_, error] = messages;
        assert_eq!(*Diagnostics::from(error.clone()), [error]);
    }

    #[test]
    fn the_position_is_that_of_the_first_error() {
        let [warning, error] = warning_and_error();
        let position = error.position;
        let elsewhere = Diagnostic::error(None, "nowhere");
        assert_eq!(Diagnostics::from(vec![warning.clone(), error, elsewhere]).position(), position);
        assert_eq!(Diagnostics::from(warning).position(), None);
    }

    #[test]
    fn each_message_is_a_line_with_its_help_below() {
        let all = Diagnostics::from(warning_and_error().to_vec());
        assert_eq!(all.to_string(), "warning: 1:1: odd\n2:1: wrong\n  help: mend it");
    }
}
