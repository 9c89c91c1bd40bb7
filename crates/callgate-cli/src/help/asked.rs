//! What help the words of a command line ask for.

use std::ffi::OsString;

use clap::Command;

/// Whether clap shows help because of `-h`, not of `--help` or the subcommand `help`: it acts on the first of them.
pub(crate) fn is_short(root: &Command, words: &[OsString]) -> bool {
    // After an operand, and after a command without subcommands, `help` is an operand.
    let mut command = Some(root);
    for word in words.iter().skip(1) {
        if *word == "-h" {
            return true;
        }
        if *word == "--help" || (*word == "help" && command.is_some_and(Command::has_subcommands)) {
            return false;
        }
        let is_option = word.as_encoded_bytes().starts_with(b"-");
        if let Some(outer) = command.filter(|_| !is_option) {
            command = word.to_str().and_then(|word| outer.find_subcommand(word));
        }
    }
    false
}

/// Whether the words ask for a list of all commands, `--all`, perhaps with `-h` or `help`; and the value of `--color`, if it
/// has one.
pub(crate) fn asked_for_all(words: &[OsString]) -> Option<Option<&str>> {
    let (mut is_asked, mut color) = (false, None);
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        match word.to_str()? {
            "--all" => is_asked = true,
            "-h" | "help" => {}
            "--color" => color = Some(words.next()?.to_str()?),
            word => color = Some(word.strip_prefix("--color=")?),
        }
    }
    is_asked.then_some(color)
}

/// Whether the words ask for the version and nothing else. With other words, the definition of the command line decides.
pub(crate) fn asked_for_version(words: &[OsString]) -> bool {
    matches!(words, [_, word] if word == "--version" || word == "-V")
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
        let root = Command::new("x").subcommand(Command::new("compile"));
        assert!(is_short(&root, &words("x compile -h --help")));
        assert!(is_short(&root, &words("x compile help -h")));
        assert!(!is_short(&root, &words("x help -h")));
        assert!(is_short(&root, &words("x compile a.json help -h")));
        assert!(!is_short(&root, &words("x compile --help -h")));
        assert!(!is_short(&root, &words("x help compile")));
        assert!(!is_short(&root, &words("x")));
    }

    #[test]
    fn all_commands_are_listed_if_nothing_else_is_asked() {
        for line in ["x --all", "x -h --all", "x --all -h", "x help --all"] {
            assert_eq!(asked_for_all(&words(line)), Some(None), "{line}");
        }
        for line in ["x --color never --all", "x --all --color=never"] {
            assert_eq!(asked_for_all(&words(line)), Some(Some("never")), "{line}");
        }
        for line in
            ["x", "x -h", "x diff --all", "x --all diff", "x --help --all", "x --color --all"]
        {
            assert_eq!(asked_for_all(&words(line)), None, "{line}");
        }
    }

    #[test]
    fn the_version_is_printed_at_once_if_nothing_else_is_asked() {
        assert!(asked_for_version(&words("x --version")) && asked_for_version(&words("x -V")));
        for line in ["x", "x -v", "x --version --all", "x run --version", "x --version -h"] {
            assert!(!asked_for_version(&words(line)), "{line}");
        }
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
