//! Errors, diagnostics and status codes.

use std::ffi::{CString, c_char, c_int};

use callgate_bpf::diagnostic::{Diagnostic, Help, Severity};
use callgate_linux::InstallError;
use callgate_requests::source::{Message, Messages};

/// The result of a function; the values are those of `callgate.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Status {
    Argument = 1,
    Source = 2,
    System = 3,
    Internal = 4,
}

/// Why a function failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    messages: Messages,
    errno: c_int,
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    fn new(status: Status, diagnostic: Diagnostic) -> Failure {
        Failure { status, messages: vec![Message::of_request(diagnostic)], errno: 0 }
    }

    /// An argument of the function is wrong.
    pub(crate) fn argument(message: impl Into<String>, help: impl Into<Help>) -> Failure {
        Failure::of_argument(Diagnostic::error(None, message).help(help))
    }

    /// The same from a diagnostic.
    pub(crate) fn of_argument(diagnostic: Diagnostic) -> Failure {
        Failure::new(Status::Argument, diagnostic)
    }

    /// The body panicked.
    pub(crate) fn panic(what: &str) -> Failure {
        let message = format!("a defect of callgate: {what}");
        let help = "please report it with the source";
        Failure::new(Status::Internal, Diagnostic::error(None, message).help(help))
    }

    /// A source is wrong: these warnings and errors.
    pub(crate) fn source(mut warnings: Messages, errors: Messages) -> Failure {
        warnings.extend(errors);
        Failure { status: Status::Source, messages: warnings, errno: 0 }
    }

    /// The kernel refused a filter.
    pub(crate) fn install(error: &InstallError) -> Failure {
        let diagnostic = Diagnostic::error(None, error.to_string()).help(error.help());
        Failure { errno: error.errno(), ..Failure::new(Status::System, diagnostic) }
    }

    /// The object for C.
    pub(crate) fn into_error(self) -> Error {
        let lines: Vec<String> = self.messages.iter().map(Message::to_string).collect();
        let text = lines.join("\n");
        Error { errno: self.errno, text: c_text(text.trim_end()), list: List::new(self.messages) }
    }
}

/// What a function makes of sources, with its warnings.
pub(crate) fn warned<T>(
    make: impl FnOnce(&mut Messages) -> std::result::Result<T, Messages>,
) -> Result<(T, Messages)> {
    let mut warnings = Messages::new();
    match make(&mut warnings) {
        Ok(made) => Ok((made, warnings)),
        Err(errors) => Err(Failure::source(warnings, errors)),
    }
}

/// A text for C. A zero byte would end it, so it becomes the replacement character.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

/// `callgate_error`.
#[derive(Debug)]
pub struct Error {
    pub(crate) errno: c_int,
    pub(crate) text: CString,
    pub(crate) list: List,
}

/// `callgate_diagnostic`. The texts belong to the object that the list is of.
#[repr(C)]
#[derive(Debug)]
pub struct CDiagnostic {
    source: *const c_char,
    message: *const c_char,
    help: *const c_char,
    line: u32,
    column: u32,
    severity: u32,
    reserved: u32,
}

/// Diagnostics with their texts.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) items: Vec<CDiagnostic>,
    _texts: Vec<CString>,
}

impl List {
    pub(crate) fn new(messages: Messages) -> List {
        let mut texts = Vec::new();
        // The text of a CString keeps its address when the CString moves.
        let mut text = |text: &str| {
            let text = c_text(text);
            let address = text.as_ptr();
            texts.push(text);
            address
        };
        let item = |Message { source, diagnostic, .. }: Message| CDiagnostic {
            source: text(source.as_deref().unwrap_or_default()),
            message: text(&diagnostic.message),
            help: text(&diagnostic.help),
            line: diagnostic.position.map_or(0, |position| position.line),
            column: diagnostic.position.map_or(0, |position| position.column),
            severity: match diagnostic.severity {
                Severity::Error => 1,
                Severity::Warning => 2,
            },
            reserved: 0,
        };
        List { items: messages.into_iter().map(item).collect(), _texts: texts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_an_error_has_all_messages() {
        let position = Some(callgate_bpf::diagnostic::Position { line: 2, column: 7 });
        let warning = Message::about("p.json", Diagnostic::warning(position, "odd"));
        let error = Message::about("p.json", Diagnostic::error(None, "bad\0").help("do this"));
        let error = Failure::source(vec![warning], vec![error]).into_error();
        let text = error.text.to_str().unwrap();
        assert_eq!(text, "p.json:2:7: warning: odd\np.json: error: bad\u{fffd}\n  help: do this");
        let [first, second] = error.list.items.as_slice() else { panic!("{error:?}") };
        assert_eq!((first.line, first.column, first.severity), (2, 7, 2));
        assert_eq!((second.line, second.column, second.severity), (0, 0, 1));
    }
}
