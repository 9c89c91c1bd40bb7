//! Where the source stands among the words of the command line.
//!
//! A SOURCE is the first argument of a subcommand, or follows `-s`. Only where other words come first is it an option
//! alone: `callgate run -s SOURCE CMD`, `callgate check -s SOURCE RECORDING`. Each subcommand is defined with one of the two;
//! here, the words are changed into those of the other one. `--` separates a SOURCE from a command: `callgate run SOURCE --
//! CMD`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use clap::{Arg, ArgAction, Command, ValueHint};

use crate::hints;

const ID: &str = "source-option";

/// The subcommands whose first argument is a source also with the option `-s`, for messages and completions.
pub(crate) fn with_source_option(command: Command) -> Command {
    command.mut_subcommands(|subcommand| {
        let subcommand = with_source_option(subcommand);
        let first = subcommand.get_positionals().next();
        let help = first.and_then(Arg::get_help).map(ToString::to_string).unwrap_or_default();
        if !help.contains("a SOURCE") || has_source(&subcommand) {
            return subcommand;
        }
        let option = Arg::new(ID).short('s').long("source").value_name("SOURCE");
        let option = option.action(ArgAction::Append).value_hint(ValueHint::FilePath);
        subcommand.arg(option.help("The first argument, a SOURCE").hide(true))
    })
}

fn has_source(command: &Command) -> bool {
    command.get_arguments().any(|arg| arg.get_short() == Some('s'))
}

/// The words with the source where the definition of the subcommand has it; `None` if it is there.
pub(crate) fn with_source_in_place(root: &Command, words: &[OsString]) -> Option<Vec<OsString>> {
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let found = Found::of(root, words.get(..end)?)?;
    let is_first = found.command.get_arguments().any(|arg| arg.get_id() == ID);
    let has_cmd = found.command.get_positionals().any(Arg::is_trailing_var_arg_set);
    let (from, inserted): (Vec<usize>, Vec<OsString>) = match found.arguments.as_slice() {
        _ if is_first && !found.given.is_empty() && takes_several(found.command) => {
            return Some(in_place(words, found.given));
        }
        _ if is_first && !found.given.is_empty() => {
            let from = found.given.iter().flat_map(|one| one.at..one.at + one.words).collect();
            (from, found.given.into_iter().map(|one| one.value).collect())
        }
        [source]
            if has_cmd
                && has_source(found.command)
                && end < words.len()
                && found.given.is_empty()
                && !found.has_unknown
                && words.get(*source).is_some_and(|word| hints::may_be_source(word)) =>
        {
            (vec![*source], vec!["-s".into(), words.get(*source)?.clone()])
        }
        _ => return None,
    };
    let mut moved = words.get(..found.start)?.to_vec();
    moved.extend(inserted);
    let rest = words.iter().enumerate().skip(found.start).filter(|(at, _)| !from.contains(at));
    moved.extend(rest.map(|(_, word)| word.clone()));
    Some(moved)
}

/// Whether a subcommand takes several sources, whose order matters.
fn takes_several(command: &Command) -> bool {
    let is_source =
        |arg: &&Arg| arg.get_help().is_some_and(|help| help.to_string().contains("SOURCE"));
    let is_list = |arg: &Arg| arg.get_num_args().is_some_and(|range| range.max_values() > 1);
    let mut sources = command.get_positionals().filter(is_source);
    sources.next().is_some_and(is_list) || sources.next().is_some()
}

/// The words with each source where its option was.
fn in_place(words: &[OsString], given: Vec<GivenSource>) -> Vec<OsString> {
    let mut changed = words.to_vec();
    for GivenSource { at, words, value } in given.into_iter().rev() {
        changed.splice(at..at + words, [value]);
    }
    changed
}

/// A source that follows `-s`.
struct GivenSource {
    at: usize,
    /// In how many words the option and its value are.
    words: usize,
    value: OsString,
}

/// What is among the words of a subcommand.
struct Found<'c> {
    command: &'c Command,
    /// The index of the first word after the name of the subcommand.
    start: usize,
    /// The indexes of the arguments that are not options.
    arguments: Vec<usize>,
    given: Vec<GivenSource>,
    has_unknown: bool,
}

impl<'c> Found<'c> {
    /// `None` if the words name no subcommand.
    fn of(root: &'c Command, words: &[OsString]) -> Option<Found<'c>> {
        let mut found =
            Found { command: root, start: 1, arguments: vec![], given: vec![], has_unknown: false };
        let mut at = 1;
        while let Some(word) = words.get(at) {
            let next = words.get(at + 1);
            let length = match Word::of(root, found.command, word) {
                Word::Argument => {
                    let inner = word.to_str().and_then(|name| found.command.find_subcommand(name));
                    match inner.filter(|_| found.arguments.is_empty()) {
                        Some(inner) => (found.command, found.start) = (inner, at + 1),
                        None => found.arguments.push(at),
                    }
                    1
                }
                Word::Option { arg, value: None } if takes_next(arg, next) => {
                    if arg.get_short() == Some('s') {
                        let value = next?.clone();
                        found.given.push(GivenSource { at, words: 2, value });
                    }
                    2
                }
                Word::Option { arg, value } => {
                    if let Some(value) = value.filter(|_| arg.get_short() == Some('s')) {
                        found.given.push(GivenSource { at, words: 1, value });
                    }
                    1
                }
                Word::Unknown => {
                    found.has_unknown = true;
                    1
                }
            };
            at += length;
        }
        (found.start > 1).then_some(found)
    }
}

/// Whether an option without a value in the same word takes the next word. No source begins with `-`, except for standard
/// input: `compile -s -o x.bpf` lacks one.
fn takes_next(arg: &Arg, next: Option<&OsString>) -> bool {
    let may_lack_one = arg.get_num_args().is_some_and(|range| range.min_values() == 0);
    let is_option = |word: &OsString| {
        let text = word.to_string_lossy();
        text.starts_with('-')
            && (arg.get_short() != Some('s') || text != "-" && !begins_with_stdin(&text))
    };
    let is_value = |word: &OsString| match arg.get_short() == Some('s') || may_lack_one {
        true => !is_option(word),
        false => true,
    };
    arg.get_action().takes_values() && !arg.is_require_equals_set() && next.is_some_and(is_value)
}

/// What a word is.
enum Word<'c> {
    Argument,
    Option { arg: &'c Arg, value: Option<OsString> },
    Unknown,
}

impl<'c> Word<'c> {
    fn of(root: &'c Command, command: &'c Command, word: &OsStr) -> Word<'c> {
        let text = word.to_string_lossy();
        if text == "-" || !text.starts_with('-') || begins_with_stdin(&text) {
            return Word::Argument;
        }
        let value =
            |from: usize| word.as_bytes().get(from..).map(|v| OsStr::from_bytes(v).to_owned());
        let find = |is: &dyn Fn(&Arg) -> bool| {
            [command, root].into_iter().flat_map(Command::get_arguments).find(|arg| is(arg))
        };
        let (arg, value) = if let Some(long) = text.strip_prefix("--") {
            let (name, has_value) =
                long.split_once('=').map_or((long, false), |(name, _)| (name, true));
            let is = |arg: &Arg| {
                let aliases = arg.get_all_aliases().unwrap_or_default();
                arg.get_long() == Some(name) || aliases.contains(&name)
            };
            (find(&is), if has_value { value(name.len() + 3) } else { None })
        } else {
            let short = text.chars().nth(1);
            let is_long = text.chars().nth(2).is_some();
            let from = if text.chars().nth(2) == Some('=') { 3 } else { 2 };
            (find(&|arg| arg.get_short() == short), if is_long { value(from) } else { None })
        };
        arg.map_or(Word::Unknown, |arg| Word::Option { arg, value })
    }
}

/// Whether a text combines standard input, `-`, with something: an operator between blanks follows.
pub(crate) fn begins_with_stdin(text: &str) -> bool {
    let mut words = text.split(' ').filter(|word| !word.is_empty());
    text.starts_with("- ") && matches!(words.nth(1), Some("+" | "-" | "&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words after the change; those before it if there is none.
    fn moved(line: &str) -> String {
        let words: Vec<OsString> =
            ["callgate"].into_iter().chain(line.split(' ')).map(OsString::from).collect();
        let moved = with_source_in_place(&crate::cli::command(), &words).unwrap_or(words);
        let words: Vec<&str> = moved.iter().skip(1).map(|word| word.to_str().unwrap()).collect();
        words.join(" ")
    }

    #[test]
    fn a_source_after_s_is_the_first_argument() {
        for (given, expected) in [
            ("compile -s x.json", "compile x.json"),
            ("compile -o y.bpf --source=x.json --stats", "compile x.json -o y.bpf --stats"),
            ("--color never explain read -sx.json", "--color never explain x.json read"),
            ("why --arch x86 --source x.json openat -100", "why x.json --arch x86 openat -100"),
            ("diff -s a.json --source b.json clone", "diff a.json b.json clone"),
            ("bench engines -s x.json --time 1", "bench engines x.json --time 1"),
            ("bench -s x.json -s y.json", "bench x.json y.json"),
            ("test -s x.json -- cmd -s y", "test x.json -- cmd -s y"),
            ("fuzz --kernel -s x.json", "fuzz --kernel x.json"),
            ("lint -s - x.json", "lint - x.json"),
            ("subset a.json -s b.json", "subset a.json b.json"),
            ("merge a.json -s b.json --stats c.json", "merge a.json b.json --stats c.json"),
            ("diff a.json --source=b.json", "diff a.json b.json"),
        ] {
            assert_eq!(moved(given), expected);
        }
    }

    #[test]
    fn a_source_before_a_command_is_an_option() {
        for (given, expected) in [
            ("run x.json -- ls -l", "run -s x.json -- ls -l"),
            ("run --caps none x.json --strict -- ls", "run -s x.json --caps none --strict -- ls"),
        ] {
            assert_eq!(moved(given), expected);
        }
    }

    #[test]
    fn other_words_stay() {
        for line in [
            "compile x.json -o -s",
            "compile x.json --name -s",
            "run -s x.json -- ls -- -l",
            "run -s x.json ls -- -l",
            "run ls -l",
            "run ls -l -- x",
            "run -- ls -- -l",
            "check -s x.json T.json",
            "asm -s",
            "dump 1 -s x",
            "compile -s",
            "compile -s -o y.bpf",
            "explain -s --format json",
            "run grep -s -- pattern file",
            "run make -- -j8",
            "-s x",
        ] {
            assert_eq!(moved(line), line);
        }
    }
}
