//! What somebody may have meant who wrote a wrong command line.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use clap::Command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::help;
use crate::source::is_built_in;
use crate::text::shell_word;

/// The error with a tip, if it is a usual mistake.
pub(crate) fn hinted(mut error: clap::Error, root: &Command, words: &[OsString]) -> clap::Error {
    let tip = match error.kind() {
        ErrorKind::InvalidSubcommand => source_in_place_of_a_command(&error),
        ErrorKind::UnknownArgument => format_as_an_option(&error, root, words),
        _ => None,
    };
    if let Some(tip) = tip {
        let tips = vec![StyledStr::from(tip)];
        // clap's own guess is of a similar word.
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

/// `callgate profile.json`.
fn source_in_place_of_a_command(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    is_source(OsStr::new(word))
        .then(|| format!("'callgate explain {}' shows what this filter does", shell_word(word)))
}

/// `callgate explain --json`.
fn format_as_an_option(error: &clap::Error, root: &Command, words: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return None };
    let name = word.strip_prefix("--")?;
    let command = help::asked_command(root, words);
    let format = command.get_arguments().find(|arg| arg.get_long() == Some("format"))?;
    let is_format = format.get_possible_values().iter().any(|value| value.matches(name, false));
    is_format.then(|| format!("write '--format {name}'"))
}

/// `callgate run profile.json cmd`, where the source lacks `-s`.
pub(crate) fn source_in_place_of_a_program(command: &[OsString]) -> Option<String> {
    let (source, rest) = command.split_first()?;
    if rest.is_empty() || !is_source(source) {
        return None;
    }
    let word = |word: &OsString| shell_word(&word.to_string_lossy());
    let command: Vec<String> = rest.iter().map(word).collect();
    Some(format!("this is a filter: `callgate run -s {} -- {}`", word(source), command.join(" ")))
}

/// Whether a word before `--` may be a source and not a program: as [`is_source`], or it cannot be the name of a program.
pub(crate) fn may_be_source(word: &OsStr) -> bool {
    let text = word.to_string_lossy();
    let has_form = text == "-" || text.contains([':', ' ', '#']);
    let is_program = || callgate_linux::Command::find(&[word.to_owned()]).is_ok();
    has_form || is_source(word) || (Path::new(word).extension().is_some() && !is_program())
}

/// Whether a word is probably a source and not a program: a built-in profile, or a file that cannot be executed.
fn is_source(word: &OsStr) -> bool {
    let is_plain = |meta: Metadata| meta.is_file() && meta.mode() & 0o111 == 0;
    is_built_in(word) || fs::metadata(word).is_ok_and(is_plain)
}
