//! Parses the words of the command line.
//!
//! A combination of sources may begin with `-`, standard input: `- + ptrace`. clap takes this word for a group of short
//! options. If the words cannot be parsed otherwise, a blank is put before it: sources ignore it, and clap takes a word
//! that begins with a blank for an argument. Mistyped options remain errors, and words that clap accepts are unchanged.

use std::ffi::OsString;

use clap::{Command, FromArgMatches};

/// Parses the words, the first of which is the name of the program.
pub(crate) fn parse<P: FromArgMatches>(
    command: &Command,
    words: &[OsString],
) -> Result<P, clap::Error> {
    try_parse(command, words).or_else(|error| {
        let mut changed = words.to_vec();
        let end = changed.iter().position(|word| word == "--").unwrap_or(changed.len());
        let mut has_combination = false;
        for word in changed.iter_mut().take(end) {
            if let Some(text) = word.to_str().filter(|text| begins_with_stdin(text)) {
                *word = format!(" {text}").into();
                has_combination = true;
            }
        }
        if !has_combination {
            return Err(error);
        }
        let is_help = |second: &clap::Error| !second.use_stderr();
        try_parse(command, &changed).map_err(|second| if is_help(&second) { second } else { error })
    })
}

fn try_parse<P: FromArgMatches>(command: &Command, words: &[OsString]) -> Result<P, clap::Error> {
    let mut command = command.clone();
    let matches = command.try_get_matches_from_mut(words)?;
    P::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Whether a text combines standard input, `-`, with something: an operator between blanks follows.
fn begins_with_stdin(text: &str) -> bool {
    let mut words = text.split(' ').filter(|word| !word.is_empty());
    text.starts_with("- ") && matches!(words.nth(1), Some("+" | "-" | "&"))
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
        parse(&Words::command(), &words).ok()
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
