//! Parses the words of the command line.
//!
//! A combination of sources may begin with `-`, standard input: `- + ptrace`. clap takes this word for a group of short
//! options. If the words cannot be parsed otherwise, a blank is put before it: sources ignore it, and clap takes a word
//! that begins with a blank for an argument. So are lines of logs that begin with dashes: `--- SIGSYS {…} ---`. Mistyped options
//! remain errors, and words that clap accepts are unchanged.

use std::ffi::OsString;

use clap::{Command, FromArgMatches};

use crate::source_words::{begins_with_stdin, with_source_in_place};

/// Parses the words, the first of which is the name of the program.
pub(crate) fn parse<P: FromArgMatches>(
    command: Command,
    words: &[OsString],
) -> Result<P, clap::Error> {
    let moved = with_source_in_place(&command, words);
    let words = moved.as_deref().unwrap_or(words);
    let Some(changed) = with_blanks(words) else { return try_parse(command, words) };
    try_parse(command.clone(), words).or_else(|error| {
        let is_help = |second: &clap::Error| !second.use_stderr();
        try_parse(command, &changed).map_err(|second| if is_help(&second) { second } else { error })
    })
}

/// The words, with a space before each one that begins with dashes but is not an option; `None` if there is no such word.
fn with_blanks(words: &[OsString]) -> Option<Vec<OsString>> {
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let is_changed = |text: &str| begins_with_stdin(text) || is_of_log(text);
    if !words.iter().take(end).any(|word| word.to_str().is_some_and(is_changed)) {
        return None;
    }
    let changed = words.iter().enumerate().map(|(index, word)| match word.to_str() {
        Some(text) if index < end && is_changed(text) => format!(" {text}").into(),
        _ => word.clone(),
    });
    Some(changed.collect())
}

/// Whether a word is a line of a log that begins with dashes, such as `--- SIGSYS {…} ---` of strace and `-- Boot … --` of the journal.
fn is_of_log(text: &str) -> bool {
    text.trim_start_matches('-').starts_with(' ') && text.starts_with("--")
}

fn try_parse<P: FromArgMatches>(
    mut command: Command,
    words: &[OsString],
) -> Result<P, clap::Error> {
    let mut matches = command.try_get_matches_from_mut(words)?;
    P::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// A subset of the real command line.
    #[derive(clap::Parser)]
    struct Words {
        sources: Vec<OsString>,
        #[arg(short)]
        source: Option<OsString>,
        #[arg(long)]
        emit: Option<String>,
        #[arg(last = true)]
        command: Vec<OsString>,
    }

    fn parsed(words: &[&str]) -> Option<Words> {
        let words: Vec<OsString> = ["x"].iter().chain(words).map(OsString::from).collect();
        parse(Words::command(), &words).ok()
    }

    #[test]
    fn combinations_may_begin_with_standard_input() {
        let sources = |words: &[&str]| parsed(words).map(|words| words.sources);
        let of = |words: &[&str]| Some(words.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(sources(&["- + ptrace"]), of(&[" - + ptrace"]));
        assert_eq!(sources(&["-  - ptrace", "a b"]), of(&[" -  - ptrace", "a b"]));
        assert_eq!(sources(&["a", "- & b", "--emit", "c"]), of(&["a", " - & b"]));
        assert_eq!(sources(&["--", "- + ptrace"]), of(&[]));
        let Some(words) = parsed(&["-s", "- + ptrace", "--", "- + x"]) else { panic!("an error") };
        assert_eq!(words.source, Some(" - + ptrace".into()));
        assert_eq!(words.command, ["- + x"]);
    }

    #[test]
    fn mistyped_options_are_errors() {
        for words in
            [&["--emti"][..], &["-+"], &["- ptrace"], &["-x + b"], &["--emti", "c", "- + b"]]
        {
            assert!(parsed(words).is_none(), "{words:?}");
        }
    }
}
