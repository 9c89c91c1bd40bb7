//! The command line as a whole.
//!
//! The definitions of all subcommands take longer to build than most filters to compile, so a command line that is correct
//! is parsed with the definition of its subcommand alone. Help and messages need the others.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Args as _, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::commands::{
    asm, bench, check, compile, completions, convert, diff, disasm, dry_run, dump, explain, fuzz,
    generate, lint, man, merge, optimize, policy, probe, record, report, run, sets, simulate,
    sources, subset, why,
};
use crate::report::{ERROR_STATUS, Failure, Result, note};
use crate::source_words::with_source_option;
use crate::text::printable;
use crate::{arguments, help, hints, output};

/// Compile, prove, run, explain and compare seccomp filters
#[derive(Debug, Parser)]
#[command(name = "callgate", version, max_term_width = 80)]
struct Root {
    /// When to use colours: auto (on a terminal, unless NO_COLOR is set), always or never
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    color: Color,

    /// List all commands, in groups
    #[arg(long)]
    all: bool,
}

/// What follows the options in the full help.
fn sources() -> String {
    let forms = help::forms_of_sources();
    format!("A SOURCE is [FORMAT:]NAME, a filter in any of these forms:\n{forms}")
        + "\
Without FORMAT, the file name extension and the content determine the format.

A SOURCE is the first argument of a command or follows -s, and most commands use
container-default without one. -- separates it from a command to execute:
`callgate run profile.json -- make` is `callgate run -s profile.json make`.

Examples:
  callgate run -- sh -c 'echo this runs; unshare -U true'
  callgate compile profile.json -o filter.bpf --stats
  callgate diff profile.json filter.bpf

Exit status: 0 success, 1 different (diff, fuzz), not a subset (subset), denied
(check, test), not expressible (convert) or findings (lint), 2 error, 3 too
noisy (bench); run and record return the exit status of the command."
}

/// A parsed command line.
#[derive(Debug)]
struct Cli {
    root: Root,
    command: Command,
}

impl FromArgMatches for Cli {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Cli, clap::Error> {
        Cli::from_arg_matches_mut(&mut matches.clone())
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> std::result::Result<Cli, clap::Error> {
        let root = Root::from_arg_matches_mut(matches)?;
        Ok(Cli { root, command: Command::from_arg_matches_mut(matches)? })
    }

    fn update_from_arg_matches(
        &mut self,
        matches: &ArgMatches,
    ) -> std::result::Result<(), clap::Error> {
        *self = Cli::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Declares the subcommands: the name, the arguments, and the function that executes them.
macro_rules! subcommands {
    ($($name:literal $variant:ident($args:ty) => $run:expr,)*) => {
        #[derive(Debug, Subcommand)]
        enum Command {
            $(#[command(name = $name)] $variant($args),)*
        }

        impl Command {
            /// The definition of the subcommand with this name.
            fn definition(name: &str) -> Option<clap::Command> {
                match name {
                    $($name => Some(<$args>::augment_args(clap::Command::new($name))),)*
                    _ => None,
                }
            }

            /// Executes the subcommand; returns the exit status.
            fn run(&self) -> Result<u8> {
                match self {
                    $(Command::$variant(args) => $run(args),)*
                }
            }
        }
    };
}

subcommands! {
    "compile" Compile(compile::CompileArgs) => compile::run,
    "optimize" Optimize(optimize::OptimizeArgs) => optimize::run,
    "merge" Merge(merge::MergeArgs) => merge::run,
    "intersect" Intersect(sets::IntersectArgs) => sets::intersect,
    "union" Union(sets::UnionArgs) => sets::union,
    "subtract" Subtract(sets::SubtractArgs) => sets::subtract,
    "run" Run(run::RunArgs) => run::run,
    "record" Record(record::RecordArgs) => record::run,
    "disasm" Disasm(disasm::DisasmArgs) => disasm::run,
    "dump" Dump(dump::DumpArgs) => dump::run,
    "probe" Probe(probe::ProbeArgs) => probe::run,
    "asm" Asm(asm::AsmArgs) => asm::run,
    "sources" Sources(sources::SourcesArgs) => sources::run,
    "simulate" Simulate(simulate::SimulateArgs) => simulate::run,
    "diff" Diff(diff::DiffArgs) => diff::run,
    "policy" Policy(policy::PolicyArgs) => policy::run,
    "convert" Convert(convert::ConvertArgs) => convert::run,
    "subset" Subset(subset::SubsetArgs) => subset::run,
    "explain" Explain(explain::ExplainArgs) => explain::run,
    "why" Why(why::WhyArgs) => why::run,
    "lint" Lint(lint::LintArgs) => lint::run,
    "report" Report(report::ReportArgs) => report::run,
    "generate" Generate(generate::GenerateArgs) => generate::run,
    "check" Check(check::CheckArgs) => check::run,
    "test" Test(dry_run::DryRunArgs) => dry_run::run,
    "fuzz" Fuzz(fuzz::FuzzArgs) => fuzz::run,
    "bench" Bench(bench::BenchArgs) => bench::run,
    "completions" Completions(completions::CompletionsArgs) => |args| completions::run(args, command()),
    "man" Man(man::ManArgs) => |args| man::run(args, command()),
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

impl Color {
    fn apply(self) {
        match self {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

/// What `--version` prints. Even the definition without subcommands takes a tenth of the time of this process.
const VERSION: &str = concat!("callgate ", env!("CARGO_PKG_VERSION"), "\n");

/// Executes the command line; returns the exit status.
pub(crate) fn run() -> Result<u8> {
    let words: Vec<OsString> = std::env::args_os().collect();
    if help::asked_for_version(&words) {
        output::print(VERSION)?;
        return Ok(0);
    }
    if let Some(color) = help::asked_for_all(&words) {
        // An unknown colour is an error below.
        if let Ok(color) = color.map_or(Ok(Color::Auto), |color| Color::from_str(color, false)) {
            color.apply();
            output::print(&help::all_commands(&command()))?;
            return Ok(0);
        }
    }
    let cli = match parse(&words) {
        Ok(cli) => cli,
        Err(error) => return help_or_exit(error, &words),
    };
    cli.root.color.apply();
    if cli.root.all {
        return Err(Failure::new("--all lists the commands").help("omit it, or the command"));
    }
    cli.command.run()
}

/// Parses the words, the first of which is the name of the program.
fn parse(words: &[OsString]) -> std::result::Result<Cli, clap::Error> {
    let subcommand = words.iter().skip(1).find_map(|word| command_of(word.to_str()?));
    if let Some(Ok(cli)) = subcommand.map(|command| arguments::parse(command, words)) {
        return Ok(cli);
    }
    arguments::parse(command(), words)
}

/// The command line with options under headings.
pub(crate) fn command() -> clap::Command {
    let root = Command::augment_subcommands(root()).after_help(sources());
    help::with_headings(with_source_option(root))
}

/// The same with the subcommand of this name only.
fn command_of(name: &str) -> Option<clap::Command> {
    Some(help::with_headings(with_source_option(root().subcommand(Command::definition(name)?))))
}

/// The command line without subcommands, and without what only help shows.
fn root() -> clap::Command {
    Root::command().subcommand_required(true).arg_required_else_help(true)
}

/// Prints the help or the version that the words ask for; otherwise, ends the process with an error.
fn help_or_exit(error: clap::Error, words: &[OsString]) -> Result<u8> {
    let mut root = command();
    root.build();
    let short = || help::short_help(help::asked_command(&root, words));
    match error.kind() {
        ErrorKind::DisplayHelp if help::is_short(&root, words) => output::print(&short())?,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            note(&short());
            return Ok(ERROR_STATUS);
        }
        // clap ignores errors when it writes help and the version to standard output.
        _ if !error.use_stderr() => output::print(&error.render().ansi().to_string())?,
        _ => escaped(hints::hinted(error, &root, words)).exit(),
    }
    Ok(0)
}

/// Escapes the words of the command line that a message quotes; see [`printable`].
fn escaped(mut error: clap::Error) -> clap::Error {
    let words: Vec<(ContextKind, ContextValue)> =
        error.context().map(|(kind, value)| (kind, value.clone())).collect();
    for (kind, value) in words {
        let value = match value {
            // Contains nothing of the command line, and has several lines.
            _ if kind == ContextKind::Usage => continue,
            ContextValue::String(word) => ContextValue::String(printable(&word).to_string()),
            ContextValue::Strings(words) => ContextValue::Strings(
                words.iter().map(|word| printable(word).to_string()).collect(),
            ),
            ContextValue::StyledStr(tip) => ContextValue::StyledStr(printable_tip(tip)),
            ContextValue::StyledStrs(tips) => {
                ContextValue::StyledStrs(tips.into_iter().map(printable_tip).collect())
            }
            _ => continue,
        };
        error.insert(kind, value);
    }
    error
}

/// Escapes a tip; it keeps its styles unless something must be escaped.
fn printable_tip(tip: StyledStr) -> StyledStr {
    let plain = tip.to_string();
    let clean = printable(&plain).to_string();
    if clean == plain { tip } else { StyledStr::from(clean) }
}

#[cfg(test)]
mod manifests;

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    #[test]
    fn the_definition_is_consistent() {
        super::command().debug_assert();
    }

    #[test]
    fn a_subcommand_alone_is_defined_as_among_all() {
        let mut whole = super::command();
        whole.build();
        for expected in whole.get_subcommands().filter(|command| command.get_name() != "help") {
            let name = expected.get_name();
            let mut alone = super::command_of(name).unwrap();
            alone.build();
            let own = alone.find_subcommand(name).unwrap();
            // Each has a place in the list of subcommands, which only help shows.
            let [own, expected] = [own, expected].map(|one| one.clone().display_order(0));
            assert_eq!(format!("{own:?}"), format!("{expected:?}"));
        }
        assert!(super::command_of("help").is_none() && super::command_of("complie").is_none());
    }

    #[test]
    fn the_version_is_that_of_the_whole_definition() {
        let whole = super::command().render_version();
        assert_eq!(super::VERSION, whole);
        let words = ["callgate", "--version"].map(OsString::from);
        let error = super::parse(&words).unwrap_err();
        assert_eq!(error.render().to_string(), whole);
    }

    #[test]
    fn the_first_subcommand_counts_even_if_another_word_is_one() {
        let parsed = |words: &[&str]| {
            let words: Vec<OsString> = ["callgate"].iter().chain(words).map(Into::into).collect();
            super::parse(&words).ok().map(|cli| format!("{:?}", cli.command))
        };
        for words in [
            &["--color", "never", "diff", "compile", "run"][..],
            &["--color=never", "diff", "compile", "run"],
            &["diff", "compile", "--color", "never", "run"],
        ] {
            assert!(parsed(words).unwrap().starts_with("Diff("), "{words:?}");
        }
        assert_eq!(parsed(&["--color", "diff", "compile"]), None);
        assert_eq!(parsed(&["x", "compile"]), None);
    }

    /// clap does not wrap the text after the options at words.
    #[test]
    fn the_text_after_the_options_fits_80_columns() {
        let whole = super::command();
        let mut commands = vec![&whole];
        let mut seen = Vec::new();
        while let Some(command) = commands.pop() {
            let notes = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let long = notes.lines().find(|line| line.chars().count() > 80);
            assert_eq!(long, None, "{}", command.get_name());
            commands.extend(command.get_subcommands());
            seen.push(command.get_name());
        }
        assert!(seen.contains(&"engines"), "{seen:?}");
    }
}
