//! Errors and warnings, in the style of compilers:
//!
//! ```text
//! callgate: profile.json:3:14: error: unknown action "SCMP_ACT_ALOW"
//!   help: the actions are SCMP_ACT_ALLOW, …
//! ```
//!
//! Messages go to standard error, results to standard output. On a terminal, long messages are wrapped to its width; elsewhere, each
//! part is one line. A [`Failure`] contains all errors of an input; warnings are printed where they arise.

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use anstyle::{AnsiColor, Style};
use callgate_bpf::diagnostic::{Diagnostic, Help, Severity};
use callgate_requests::source::{Message, Messages};

use crate::advice;
use crate::text::printable;
use crate::wrapping::{message_columns, width, wrap_to};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HELP: Style = AnsiColor::Cyan.on_default().bold();
const PLACE: Style = Style::new().bold();

/// The exit status for errors without a status of their own.
pub(crate) const ERROR_STATUS: u8 = 2;

/// Why a command failed: the messages and the exit status.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The input that the messages are about; `None` for the command line or the system.
    origin: Option<String>,
    messages: Vec<Diagnostic>,
    /// Whether line breaks in the texts are kept.
    is_multiline: bool,
    status: u8,
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// An error about the command line or the system.
    pub(crate) fn new(message: impl Into<String>) -> Failure {
        Failure::of_messages(None, vec![Diagnostic::error(None, message)])
    }

    /// An error about an input.
    pub(crate) fn about(origin: impl Into<String>, message: impl Into<String>) -> Failure {
        Failure { origin: Some(origin.into()), ..Failure::new(message) }
    }

    /// All errors (and the warnings between them) of an input.
    pub(crate) fn of(origin: impl Into<String>, messages: impl Into<Vec<Diagnostic>>) -> Failure {
        Failure::of_messages(Some(origin.into()), messages.into())
    }

    fn of_messages(origin: Option<String>, messages: Vec<Diagnostic>) -> Failure {
        let messages = messages.into_iter().map(advice::worded).collect();
        Failure { origin, messages, is_multiline: false, status: ERROR_STATUS }
    }

    /// Keeps line breaks and indentation in the texts: for tables and for the output of other
    /// programs.
    pub(crate) fn multiline(mut self) -> Failure {
        self.is_multiline = true;
        self
    }

    /// Adds help to the last message.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Failure {
        if let Some(last) = self.messages.last_mut() {
            last.help = help.into();
        }
        self
    }

    /// The text of the first message.
    pub(crate) fn message(&self) -> &str {
        self.messages.first().map_or("", |first| &first.message)
    }

    /// Adds to the help of the last message.
    pub(crate) fn more_help(mut self, more: &str) -> Failure {
        if let Some(last) = self.messages.last_mut() {
            last.add_help(more);
        }
        self
    }

    /// Sets another exit status.
    pub(crate) fn status(mut self, status: u8) -> Failure {
        self.status = status;
        self
    }

    /// Prints the first message as a warning, for a command that continues, with the effect in its help.
    pub(crate) fn print_as_warning(&self, effect: &str) {
        if let Some(first) = self.messages.first() {
            let first_line = first.message.lines().next().unwrap_or_default();
            print(self.origin.as_deref(), &Diagnostic::warning(None, first_line).help(effect));
        }
    }

    /// Prints the messages and returns the exit status.
    pub(crate) fn print(&self) -> u8 {
        for message in &self.messages {
            let origin = self.origin.as_deref();
            let is_multiline = self.is_multiline;
            let columns = message_columns();
            note(&Rendered { origin, message, is_multiline, columns }.to_string());
        }
        self.status
    }
}

impl From<Diagnostic> for Failure {
    fn from(message: Diagnostic) -> Failure {
        Failure::of_messages(None, vec![message])
    }
}

impl From<Messages> for Failure {
    /// The messages about the last source that has any; prints those about the sources before.
    fn from(mut messages: Messages) -> Failure {
        let origin = messages.last().and_then(|last| last.source.clone());
        let others = messages.iter().rposition(|one| one.source != origin).map_or(0, |at| at + 1);
        let own = messages.split_off(others);
        print_all(&messages);
        let is_multiline = own.iter().any(|one| one.is_multiline);
        let messages = own.into_iter().map(|one| one.diagnostic).collect();
        Failure { is_multiline, ..Failure::of_messages(origin, messages) }
    }
}

/// Runs a function and prints the warnings that it adds.
pub(crate) fn warning<T>(run: impl FnOnce(&mut Messages) -> T) -> T {
    let mut warnings = Messages::new();
    let result = run(&mut warnings);
    print_all(&warnings);
    result
}

/// Prints messages, each with its source.
fn print_all(messages: &[Message]) {
    for Message { source, diagnostic, .. } in messages {
        print(source.as_deref(), diagnostic);
    }
}

/// Prints warnings about an input.
pub(crate) fn warn_all(origin: &str, warnings: &[Diagnostic]) {
    for warning in warnings {
        print(Some(origin), warning);
    }
}

/// Prints a warning about an input as a whole.
pub(crate) fn warn_about(origin: &str, message: impl Into<String>, help: impl Into<Help>) {
    print(Some(origin), &Diagnostic::warning(None, message).help(help));
}

/// Prints a warning that is not about one input.
pub(crate) fn warn_of(warning: &Diagnostic) {
    print(None, warning);
}

/// Prints a warning about the command line.
pub(crate) fn warn(message: impl Into<String>, help: impl Into<Help>) {
    print(None, &Diagnostic::warning(None, message).help(help));
}

/// What writes messages. Unit tests set none: there, messages are part of the output of the test.
static WRITER: OnceLock<fn(&str)> = OnceLock::new();

/// Writes all messages to standard error from now on, with styles on a terminal.
pub(crate) fn to_standard_error() {
    let _ = WRITER.set(|text| {
        // In one write, so that messages of several processes do not mix. Errors are ignored: there is no other place to
        // report them.
        let _ = anstream::stderr().lock().write_all(text.as_bytes());
    });
}

/// Prints text to standard error.
pub(crate) fn note(text: &str) {
    match WRITER.get() {
        Some(write) => write(text),
        None => eprint!("{text}"),
    }
}

/// Whether warnings are printed.
static IS_MUTED: AtomicBool = AtomicBool::new(false);

/// Whether a function runs without printing its warnings.
pub(crate) fn is_muted() -> bool {
    IS_MUTED.load(Ordering::Relaxed)
}

/// Runs a function without printing its warnings: it repeats something whose warnings were printed.
pub(crate) fn muted<T>(run: impl FnOnce() -> T) -> T {
    let before = IS_MUTED.swap(true, Ordering::Relaxed);
    let result = run();
    IS_MUTED.store(before, Ordering::Relaxed);
    result
}

/// Whether warnings that were printed before are printed again.
static IS_REPEATING: AtomicBool = AtomicBool::new(true);

/// Runs a function without printing the warnings that were printed before: it reads an input again in another way.
pub(crate) fn unrepeated<T>(run: impl FnOnce() -> T) -> T {
    let before = IS_REPEATING.swap(false, Ordering::Relaxed);
    let result = run();
    IS_REPEATING.store(before, Ordering::Relaxed);
    result
}

/// The printed warnings, each with its input, for pages.
static PRINTED: Mutex<Vec<(Option<String>, Diagnostic)>> = Mutex::new(Vec::new());

/// The maximum number of warnings that are kept.
const MAX_PRINTED: usize = 1000;

/// The warnings that were printed so far, each with its input. Of many, only the first.
pub(crate) fn printed_warnings() -> Vec<(Option<String>, Diagnostic)> {
    PRINTED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn print(origin: Option<&str>, message: &Diagnostic) {
    if IS_MUTED.load(Ordering::Relaxed) {
        return;
    }
    let message = &advice::worded(message.clone());
    let mut printed = PRINTED.lock().unwrap_or_else(PoisonError::into_inner);
    let is_same = |(input, known): &(Option<String>, Diagnostic)| {
        input.as_deref() == origin && known == message
    };
    if !IS_REPEATING.load(Ordering::Relaxed) && printed.iter().any(is_same) {
        return;
    }
    if printed.len() < MAX_PRINTED {
        printed.push((origin.map(str::to_owned), message.clone()));
    }
    drop(printed);
    let columns = message_columns();
    note(&Rendered { origin, message, is_multiline: false, columns }.to_string());
}

struct Rendered<'a> {
    origin: Option<&'a str>,
    message: &'a Diagnostic,
    is_multiline: bool,
    /// The width to which texts are wrapped; `None` if they are not.
    columns: Option<usize>,
}

/// The columns before the further lines of a message, more than before its help.
const INDENT: usize = 4;

impl Rendered<'_> {
    /// A text, in front of which columns are used.
    fn text(&self, f: &mut fmt::Formatter<'_>, text: &str, used: usize) -> fmt::Result {
        if self.is_multiline {
            return text.lines().try_for_each(|line| writeln!(f, "{}", printable(line)));
        }
        let Some(columns) = self.columns else { return writeln!(f, "{}", printable(text)) };
        let mut wrapped = String::new();
        wrap_to(columns, &mut wrapped, &printable(text).to_string(), used, INDENT);
        f.write_str(&wrapped)
    }

    /// What is before the word of the severity: the input and the place in it.
    fn head(&self) -> String {
        let Some(origin) = self.origin else { return "callgate: ".to_owned() };
        let place = self.message.position;
        let place = place.map_or_else(String::new, |at| format!("{}:{}:", at.line, at.column));
        format!("callgate: {}:{place} ", printable(origin))
    }
}

impl fmt::Display for Rendered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = self.head();
        let (style, word) = match self.message.severity {
            Severity::Error => (ERROR, "error:"),
            Severity::Warning => (WARNING, "warning:"),
        };
        write!(f, "{PLACE}{head}{PLACE:#}{style}{word}{style:#} ")?;
        self.text(f, &self.message.message, width(&head) + word.len() + 1)?;
        if !self.message.help.is_empty() {
            write!(f, "  {HELP}help:{HELP:#} ")?;
            self.text(f, &self.message.help, "  help: ".len())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::diagnostic::Position;

    fn plain(origin: Option<&str>, message: &Diagnostic) -> String {
        wrapped(origin, message, None)
    }

    fn wrapped(origin: Option<&str>, message: &Diagnostic, columns: Option<usize>) -> String {
        let rendered = Rendered { origin, message, is_multiline: false, columns };
        anstream::adapter::strip_str(&rendered.to_string()).to_string()
    }

    #[test]
    fn a_message_is_wrapped_to_the_width_of_a_terminal() {
        let position = Some(Position { line: 3, column: 14 });
        let error = Diagnostic::error(position, "this message has many words, more than a line")
            .help("give fewer of them, or a wider terminal than this one");
        assert_eq!(
            wrapped(Some("p.json"), &error, Some(40)),
            "callgate: p.json:3:14: error: this\n    message has many words, more than a\n    line\n  \
             help: give fewer of them, or a wider\n    terminal than this one\n"
        );
        assert_eq!(plain(Some("p.json"), &error).lines().count(), 2, "not on a terminal");
    }

    #[test]
    fn messages_look_like_those_of_a_compiler() {
        let position = Some(Position { line: 3, column: 14 });
        let error = Diagnostic::error(position, "bad").help("do that");
        assert_eq!(
            plain(Some("p.json"), &error),
            "callgate: p.json:3:14: error: bad\n  help: do that\n"
        );
        assert_eq!(plain(Some("-"), &Diagnostic::warning(None, "x")), "callgate: -: warning: x\n");
        assert_eq!(plain(None, &Diagnostic::error(None, "x")), "callgate: error: x\n");
    }

    #[test]
    fn an_input_cannot_send_escape_sequences() {
        let error = Diagnostic::error(None, "unknown \"\u{1b}[2J\"");
        assert_eq!(plain(None, &error), "callgate: error: unknown \"\\u{1b}[2J\"\n");
    }

    #[test]
    fn a_message_is_one_line_for_any_name() {
        let name = "a\ncallgate: all is well\u{202e}";
        let escaped = r"a\ncallgate: all is well\u{202e}";
        let error = Diagnostic::error(None, format!("no {name}")).help(name);
        let shown = format!("callgate: {escaped}: error: no {escaped}\n  help: {escaped}\n");
        assert_eq!(plain(Some(name), &error), shown);
    }
}
