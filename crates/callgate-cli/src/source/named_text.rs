//! Texts that are read together, such as a unit with its drop-ins, and messages about them.

use callgate::diagnostic::{Diagnostic, Position};
use callgate::formats::systemd::FileMessage;

use crate::report::{self, Failure, Result};

/// A text that is read, and its name in messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedText {
    pub(super) name: String,
    pub(super) text: String,
}

impl NamedText {
    /// A file that must be UTF-8; `help` is for one that is not.
    pub(super) fn of_bytes(name: String, bytes: Vec<u8>, help: &str) -> Result<NamedText> {
        match String::from_utf8(bytes) {
            Ok(text) => Ok(NamedText { name, text }),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let valid = String::from_utf8_lossy(&error.as_bytes()[..at]);
                let position = Position::of(&valid, valid.len());
                let message = Diagnostic::error(Some(position), "invalid UTF-8").help(help);
                Err(Failure::of(name, vec![message]))
            }
        }
    }
}

/// Prints messages, each with the name of its file.
pub(super) fn print(texts: &[NamedText], messages: Vec<FileMessage>) {
    for FileMessage { file, diagnostic } in messages {
        let name = texts.get(file).map_or("", |text| text.name.as_str());
        report::warn_all(name, &[diagnostic]);
    }
}

/// Messages with the names of their files; `name` is that of all.
pub(super) fn of_files(
    texts: &[NamedText],
    name: &str,
    messages: Vec<FileMessage>,
) -> Vec<(String, Diagnostic)> {
    let named = |FileMessage { file, diagnostic }| {
        (texts.get(file).map_or(name, |text| text.name.as_str()).to_owned(), diagnostic)
    };
    messages.into_iter().map(named).collect()
}

/// The messages about the last file that has any; prints those about the files before.
pub(super) fn failure(texts: &[NamedText], mut messages: Vec<FileMessage>) -> Failure {
    let last = messages.iter().map(|message| message.file).max().unwrap_or_default();
    let of_last = messages.split_off(messages.partition_point(|message| message.file < last));
    print(texts, messages);
    let name = texts.get(last).map_or("", |text| text.name.as_str());
    let diagnostics: Vec<Diagnostic> =
        of_last.into_iter().map(|message| message.diagnostic).collect();
    Failure::of(name, diagnostics)
}
