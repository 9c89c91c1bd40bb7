//! The short help of `-h`: at most one screen of 24 lines with 80 columns.
//!
//! Arguments get a line each as far as there is room, those of the subcommand itself first. The names of the others
//! follow, by heading.

use std::fmt::Write;

use anstyle::Style;
use callgate_formats::languages::LANGUAGES;
use clap::builder::PossibleValue;
use clap::{Arg, Command};

use crate::output::width;

const LINES: usize = 24;
const COLUMNS: usize = 80;

/// The widest column of names.
const NAMES: usize = 28;

/// The most examples.
const EXAMPLES: usize = 2;

const HEADING: Style = Style::new().bold();

/// What people come for, each with the command line that answers it.
const TASKS: [(&str, &str); 5] = [
    ("Find what blocked a program, and the change that allows it", "journalctl -k | callgate why"),
    (
        "Make a profile for a program: Docker, Kubernetes, systemd and others",
        "callgate record -o T.json -- my-server; callgate generate T.json --to docker",
    ),
    (
        "See what a filter allows, and what changed",
        "callgate explain profile.json; callgate diff old.json new.json",
    ),
    (
        "Build a filter into a program: C, Rust, Go or a BPF file",
        "callgate compile policy.kafel --emit c -o filter.h",
    ),
    (
        "Make a filter faster, proved to do the same",
        "callgate optimize filter.bpf -o faster.bpf --stats",
    ),
];

/// The subcommands by what people want to do.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Make filters",
        &["compile", "optimize", "merge", "convert", "generate", "intersect", "union", "subtract"],
    ),
    (
        "Understand them",
        &["explain", "why", "lint", "report", "simulate", "diff", "subset", "check", "sources"],
    ),
    ("Run and measure", &["run", "test", "record", "dump", "probe", "bench", "fuzz"]),
    ("Filters as text", &["asm", "disasm", "policy"]),
    ("Shell", &["completions", "man", "help"]),
];

/// The short help of a command, which is built.
pub(crate) fn short_help(command: &Command) -> String {
    if command.get_name() == "callgate" {
        return of_root(command);
    }
    let mut args: Vec<&Arg> = command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str()))
        .collect();
    // Those that most subcommands have come last.
    args.sort_by_key(|arg| (!arg.is_positional(), rank(arg)));
    let mut described = args.len();
    loop {
        let text = render(command, &args, described);
        if described == 0 || text.lines().count() <= LINES {
            return text;
        }
        described -= 1;
    }
}

fn rank(arg: &Arg) -> u8 {
    match arg.get_help_heading() {
        None if arg.get_id() == "color" => 4,
        None => 0,
        Some("Output") => 1,
        Some("Reading") => 3,
        Some(_) => 2,
    }
}

/// The help with descriptions of the first `described` arguments.
fn render(command: &Command, args: &[&Arg], described: usize) -> String {
    let mut text = start(command);
    let commands = command.get_subcommands().map(Command::get_name);
    let commands: Vec<&str> = commands.filter(|name| *name != "help").collect();
    if !commands.is_empty() {
        wrap(&mut text, "Commands", &commands);
    }
    let (described, others) = args.split_at(described);
    let names: Vec<String> = described.iter().map(|arg| name(arg)).collect();
    let column = names.iter().map(String::len).max().unwrap_or(0).min(NAMES);
    for (arg, name) in described.iter().zip(names) {
        let room = COLUMNS - 4 - column.max(name.len());
        let _ = writeln!(text, "  {name:column$}  {}", description(arg, room));
    }
    let mut headings: Vec<&str> = Vec::new();
    for heading in others.iter().map(|arg| arg.get_help_heading().unwrap_or("Options")) {
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    for heading in headings {
        let own =
            others.iter().filter(|arg| arg.get_help_heading().unwrap_or("Options") == heading);
        let names: Vec<String> = own.map(|arg| plain_name(arg)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let more =
            if described.iter().any(|arg| arg.get_help_heading().unwrap_or("Options") == heading) {
                format!("More about {}", heading.to_lowercase())
            } else {
                heading.to_owned()
            };
        wrap(&mut text, if heading == "Options" { "More options" } else { &more }, &names);
    }
    let examples = examples(command);
    if !examples.is_empty() {
        let _ = writeln!(text, "\n{HEADING}Examples:{HEADING:#}");
        examples.iter().for_each(|example| text.push_str(&format!("{example}\n")));
    }
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let _ = writeln!(text, "\n`{name} --help` has everything.");
    text
}

/// What the command does, and its usage.
fn start(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let mut text = String::new();
    words(&mut text, "", about.split(' '));
    let _ = write!(text, "\n{}\n\n", usage.trim_end());
    text
}

/// All subcommands, in groups, with what each does.
pub(crate) fn all_commands(root: &Command) -> String {
    let mut text = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(text, "{HEADING}{title}{HEADING:#}");
        for name in names {
            let about = root.find_subcommand(name).and_then(Command::get_about);
            let about = match *name {
                "help" => "Print the help of a command".to_owned(),
                _ => about.map(ToString::to_string).unwrap_or_default(),
            };
            let name = format!("  {name:11}");
            let indent = " ".repeat(name.len() + 1);
            words(&mut text, &indent, [name.as_str()].into_iter().chain(about.split(' ')));
        }
        text.push('\n');
    }
    text + "`callgate COMMAND -h` is about a command; `callgate --help` has everything.\n"
}

fn of_root(command: &Command) -> String {
    let mut text = start(command);
    for (task, line) in TASKS {
        let _ = writeln!(text, "  {HEADING}{task}{HEADING:#}");
        let _ = writeln!(text, "    {line}");
    }
    let sources = format!(
        "A SOURCE is a filter: {}; a program; pid:1234, the filters of a process; docker-default and \
         other built-in ones.",
        languages()
    );
    text.push('\n');
    words(&mut text, "", sources.split(' '));
    text.push_str(
        "
`callgate --all` lists all commands. `callgate COMMAND -h` is about a command;
`callgate --help` has everything.
",
    );
    text
}

/// What policies are: `a profile (oci, docker, …), a Kafel policy, …`.
fn languages() -> String {
    let languages = LANGUAGES.iter().map(|language| match language.names {
        [] | [_] => language.what.to_owned(),
        names => {
            let names: Vec<&str> =
                names.iter().map(|name| name.alias.unwrap_or(name.name)).collect();
            format!("{} ({})", language.what, names.join(", "))
        }
    });
    languages.collect::<Vec<_>>().join(", ")
}

/// Names after a title, in lines.
fn wrap(text: &mut String, title: &str, names: &[&str]) {
    let title = format!("{HEADING}{title}:{HEADING:#}");
    words(text, "  ", [title.as_str()].into_iter().chain(names.iter().copied()));
}

/// Words in lines, of which all but the first are indented.
fn words<'w>(text: &mut String, indent: &str, words: impl IntoIterator<Item = &'w str>) {
    let mut column = 0;
    for word in words {
        if column > 0 && column + 1 + width(word) > COLUMNS {
            let _ = write!(text, "\n{indent}{word}");
            column = indent.len() + width(word);
        } else {
            let blank = if column > 0 { " " } else { "" };
            let _ = write!(text, "{blank}{word}");
            column += blank.len() + width(word);
        }
    }
    text.push('\n');
}

/// An argument with its values: `-o, --output <FILE>`.
fn name(arg: &Arg) -> String {
    if arg.is_positional() {
        return arg.to_string();
    }
    let short = arg.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
    // The display of an argument has only its long name.
    format!("{short}{arg}")
}

/// An argument without its values.
fn plain_name(arg: &Arg) -> String {
    match arg.get_long() {
        Some(long) => format!("--{long}"),
        None => arg.to_string(),
    }
}

/// The first clauses of a description that fit, without its defaults, and with its values if they fit.
fn description(arg: &Arg, room: usize) -> String {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let help = help.split(" [default").next().unwrap_or_default().replace('\n', " ");
    let fits = |text: &str| text.chars().count() <= room;
    if fits(&help) {
        let values = arg.get_possible_values();
        let values: Vec<&str> = values.iter().map(PossibleValue::get_name).collect();
        let with_values = format!("{help}: {}", values.join(", "));
        let has_values = !values.is_empty() && !arg.is_hide_possible_values_set();
        return if has_values && fits(&with_values) { with_values } else { help };
    }
    // What follows a colon is a list or an explanation, which has no meaning without its end.
    let whole = help.find(':').unwrap_or(help.len());
    let ends = help.match_indices([';', ':', '(', '.']).map(|(at, _)| at).filter(|at| *at <= whole);
    let mut clauses = ends.rev().filter_map(|at| help.get(..at)).map(str::trim_end);
    if let Some(clause) = clauses.find(|text| fits(text) && text.contains(' ')) {
        return clause.to_owned();
    }
    let mut short = String::new();
    for word in help.split(' ') {
        if short.chars().count() + 1 + word.chars().count() + 2 > room {
            break;
        }
        short = if short.is_empty() { word.to_owned() } else { format!("{short} {word}") };
    }
    format!("{} …", short.trim_end_matches(','))
}

/// The first examples of the text after the options, without explanations of other lines.
fn examples(command: &Command) -> Vec<String> {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let lines = text.lines().skip_while(|line| *line != "Examples:").skip(1);
    lines
        .take_while(|line| line.starts_with("  ") && !line.ends_with('\\'))
        .take(EXAMPLES)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all<'c>(command: &'c Command, found: &mut Vec<&'c Command>) {
        for one in command.get_subcommands().filter(|one| one.get_name() != "help") {
            found.push(one);
            all(one, found);
        }
    }

    #[test]
    fn short_help_is_one_screen() {
        let mut root = crate::cli::command();
        root.build();
        let mut commands = vec![&root];
        all(&root, &mut commands);
        assert!(commands.len() > 25, "{}", commands.len());
        for command in commands {
            let text = anstream::adapter::strip_str(&short_help(command)).to_string();
            assert!(text.lines().count() <= LINES, "{text}");
            let long = text.lines().find(|line| line.chars().count() > COLUMNS);
            assert_eq!(long, None, "{}", command.get_name());
            assert!(text.contains("Usage: callgate") && text.contains("--help` has"), "{text}");
            for arg in command.get_positionals() {
                let named = text.matches(&arg.to_string()).count();
                assert!(named >= 1, "{}: {arg}", command.get_name());
            }
        }
    }

    #[test]
    fn all_commands_have_a_line() {
        let mut root = crate::cli::command();
        root.build();
        let text = anstream::adapter::strip_str(&all_commands(&root)).to_string();
        for command in root.get_subcommands() {
            let start = format!("  {:11} ", command.get_name());
            assert!(text.lines().any(|line| line.starts_with(&start)), "{start}");
        }
        assert_eq!(text.lines().find(|line| line.chars().count() > COLUMNS), None);
        for (_, line) in TASKS {
            let mut names =
                line.split("callgate ").skip(1).filter_map(|rest| rest.split(' ').next());
            assert!(names.all(|name| root.find_subcommand(name).is_some()), "{line}");
        }
    }

    #[test]
    fn each_command_is_in_one_group() {
        let mut root = crate::cli::command();
        root.build();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let mut all: Vec<&str> = root.get_subcommands().map(Command::get_name).collect();
        grouped.sort_unstable();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }

    #[test]
    fn descriptions_end_with_a_clause_or_an_ellipsis() {
        let of = |help: &'static str, room| description(&Arg::new("x").help(help), room);
        assert_eq!(of("The format [default: text]", 40), "The format");
        assert_eq!(
            of("The architecture of the filter; may be repeated", 40),
            "The architecture of the filter"
        );
        assert_eq!(of("The architecture of the filter", 22), "The architecture of …");
        assert_eq!(
            of("When to use colours: auto (on a terminal), always", 30),
            "When to use colours"
        );
    }
}
