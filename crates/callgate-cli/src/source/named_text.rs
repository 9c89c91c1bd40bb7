//! Texts that are read together, such as a unit with its drop-ins, and messages about them.

use callgate_bpf::diagnostic::{Diagnostic, Position};
use callgate_formats::diagnostics::quote::without_quotes;
use callgate_formats::hidden_characters;
use callgate_formats::systemd::FileMessage;

use super::place::Place;
use crate::options::SourceOptions;
use crate::report::{self, Failure, Result};

/// Help for a source that is not text.
pub(super) const RAW_HELP: &str = "for a program as raw instructions, write bpf:FILE";

/// A text that is read, and its name in messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedText {
    pub(super) name: String,
    pub(super) text: String,
    /// If it is not in the tree of the source: the message of --strict. Messages do not quote it then.
    pub(super) refusal: Option<String>,
    /// What it is in its source, as the languages call it.
    pub(super) role: &'static str,
}

impl NamedText {
    /// A text that may be quoted.
    pub(super) fn of(name: String, text: String) -> NamedText {
        NamedText { name, text, refusal: None, role: "" }
    }

    /// A file that must be UTF-8; `help` is for one that is not.
    pub(super) fn of_bytes(name: String, bytes: Vec<u8>, help: &str) -> Result<NamedText> {
        match String::from_utf8(bytes) {
            Ok(text) => Ok(NamedText::of(name, text)),
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

/// The text of a source; with --strict, an error if it is not what it looks like.
pub(super) fn checked_text(
    place: &Place,
    bytes: Vec<u8>,
    help: &str,
    options: &SourceOptions,
) -> Result<String> {
    let text = place.text(bytes, help)?;
    check_characters(&place.name(), &text, options)?;
    Ok(text)
}

/// With --strict, fails for texts that are not what they look like, and for those that are not in the tree of the source.
pub(super) fn check_texts(texts: &[NamedText], options: &SourceOptions) -> Result<()> {
    texts.iter().try_for_each(|one| {
        if let (true, Some(refusal)) = (options.strict, &one.refusal) {
            return Err(Failure::new(refusal.clone()).help("put a copy of the file into the tree"));
        }
        check_characters(&one.name, &one.text, options)
    })
}

/// With --strict, fails for a text that is not what it looks like.
fn check_characters(name: &str, text: &str, options: &SourceOptions) -> Result<()> {
    let hidden = if options.strict { hidden_characters(text) } else { Vec::new() };
    if hidden.is_empty() { Ok(()) } else { Err(Failure::of(name, hidden)) }
}

/// A message without what it quotes, if it is about a text that must not be quoted.
fn quotable(text: Option<&NamedText>, diagnostic: Diagnostic) -> Diagnostic {
    match text {
        Some(NamedText { refusal: Some(_), .. }) => without_quotes(diagnostic),
        _ => diagnostic,
    }
}

/// Prints messages, each with the name of its file.
pub(super) fn print(texts: &[NamedText], messages: Vec<FileMessage>) {
    for FileMessage { file, diagnostic } in messages {
        let text = texts.get(file);
        let name = text.map_or("", |text| text.name.as_str());
        report::warn_all(name, &[quotable(text, diagnostic)]);
    }
}

/// Messages with the names of their files; `name` is that of all.
pub(super) fn of_files(
    texts: &[NamedText],
    name: &str,
    messages: Vec<FileMessage>,
) -> Vec<(String, Diagnostic)> {
    let named = |FileMessage { file, diagnostic }| {
        let text = texts.get(file);
        (text.map_or(name, |text| text.name.as_str()).to_owned(), quotable(text, diagnostic))
    };
    messages.into_iter().map(named).collect()
}

/// The messages about the last file that has any; prints those about the files before.
pub(super) fn failure(texts: &[NamedText], mut messages: Vec<FileMessage>) -> Failure {
    let last = messages.iter().map(|message| message.file).max().unwrap_or_default();
    let of_last = messages.split_off(messages.partition_point(|message| message.file < last));
    print(texts, messages);
    let text = texts.get(last);
    let name = text.map_or("", |text| text.name.as_str());
    let shown = of_last.into_iter().map(|message| quotable(text, message.diagnostic));
    let diagnostics: Vec<Diagnostic> = shown.collect();
    Failure::of(name, diagnostics)
}
