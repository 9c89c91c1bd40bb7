//! What help the words of a command line ask for.

use std::ffi::OsString;

use clap::Command;

/// Whether clap shows help because of `-h`, not of `--help` or `help`: it acts on the first of them.
pub(crate) fn is_short(words: &[OsString]) -> bool {
    let mut words = words.iter().skip(1);
    words
        .find(|word| *word == "-h" || *word == "--help" || *word == "help")
        .is_some_and(|w| w == "-h")
}

/// The innermost subcommand that the words name.
pub(crate) fn asked_command<'c>(root: &'c Command, words: &[OsString]) -> &'c Command {
    let mut command = root;
    for word in words.iter().skip(1).take_while(|word| *word != "-h") {
        if let Some(inner) = word.to_str().and_then(|word| command.find_subcommand(word)) {
            command = inner;
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_first_word_about_help_decides() {
        assert!(is_short(&words("x compile -h --help")));
        assert!(!is_short(&words("x compile --help -h")));
        assert!(!is_short(&words("x help compile")));
        assert!(!is_short(&words("x")));
    }

    #[test]
    fn the_innermost_command_is_found() {
        let root = Command::new("x")
            .subcommand(Command::new("bench").subcommand(Command::new("engines")))
            .subcommand(Command::new("diff"));
        let name = |text| asked_command(&root, &words(text)).get_name().to_owned();
        assert_eq!(name("x -h bench"), "x");
        assert_eq!(name("x --color always bench a engines -h"), "engines");
        assert_eq!(name("x diff bench -h"), "diff");
    }
}
