//! The command line as a whole.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand, ValueEnum};

use crate::arguments;
use crate::commands::{
    asm, bench, check, compile, completions, convert, diff, disasm, dump, explain, fuzz, generate,
    lint, man, merge, optimize, record, report, run, sets, simulate, subset, test, why,
};
use crate::help;
use crate::hints;
use crate::output;
use crate::report::{ERROR_STATUS, Result, note};
use crate::text::printable;

/// Compile, prove, run, explain and compare seccomp filters
#[derive(Debug, Parser)]
#[command(
    name = "callgate",
    version,
    max_term_width = 80,
    after_help = "\
A SOURCE is [FORMAT:]NAME, a filter in any of these forms:
  container-default    the built-in profile for containers
  profile.json         a Docker, OCI or Podman profile; the formats oci, docker,
                       podman, runc and crun select the dialect
  profile.yaml         the same in YAML, or a Kubernetes SeccompProfile; one of
                       several in a file: profile.yaml#NAME
  nsjail.policy        a policy in Kafel's language, also .kafel; for other file
                       names, write kafel:NAME
  firecracker:FILE#vmm the filter of a thread in a document of Firecracker or
                       seccompiler; for the only one of a .json, write its name
  minijail.policy      a policy of minijail, such as `read: 1`; for other file
                       names, write minijail:NAME
  lxc:FILE             a seccomp profile of LXC; `lxc:` may be omitted
  snap:FILE            a seccomp profile of a snap (*.src): both filters that
                       snap-confine installs
  android:libc#app     a filter of Android, from the lists in bionic's directory
                       libc: app, app-zygote, system; a list alone: android:FILE
  filter.bpf           a program as raw instructions (struct sock_filter); for
                       other file names, write bpf:NAME
  foo.service          a systemd unit with its drop-ins (foo.service.d), or a
                       directory of drop-ins: all filters that it installs; for
                       other file names, write systemd:NAME
  systemd:TEXT         values of SystemCallFilter=, such as
                       '@system-service ~@resources', or lines of directives
  bpftext:filter.txt   a program as text: tcpdump -d, -dd or -ddd, hexadecimal,
                       assembler, or the listings of other tools
  socket:filter.txt    a socket filter, raw or as text, for `simulate` and
                       `bench engines`
  -                    standard input
  pid:1234             all filters of a running process or thread (needs root);
                       pid:1234/0 is the oldest of them
  preset:NAME          a restriction to add to other filters, such as
                       'container-default + preset:no-io-uring'; also
                       no-new-network, no-unix-sockets, no-sockets,
                       no-namespaces, no-ptrace, no-new-processes, and
                       pure-compute, which allows little else
  'A + B - C'          what A or B permits, without what C permits; A & B: what
                       both permit; B and C may be syscalls, as in
                       'container-default + ptrace - userfaultfd'
Without FORMAT, the file name extension and the content determine the format.

Examples:
  callgate run -- sh -c 'echo this runs; unshare -U true'
  callgate compile profile.json -o filter.bpf --stats
  callgate diff profile.json filter.bpf

Exit status: 0 success, 1 different (diff, fuzz), not a subset (subset), denied
(check, test), not expressible (convert) or findings (lint), 2 error, 3 too
noisy (bench); run and record return the exit status of the command."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,

    /// When to use colours: auto (on a terminal, unless NO_COLOR is set), always or never
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    color: Color,
}

#[derive(Debug, Subcommand)]
enum Command {
    Compile(compile::CompileArgs),
    Optimize(optimize::OptimizeArgs),
    Merge(merge::MergeArgs),
    Intersect(sets::IntersectArgs),
    Union(sets::UnionArgs),
    Subtract(sets::SubtractArgs),
    Run(run::RunArgs),
    Record(record::RecordArgs),
    Disasm(disasm::DisasmArgs),
    Dump(dump::DumpArgs),
    Asm(asm::AsmArgs),
    Simulate(simulate::SimulateArgs),
    Diff(diff::DiffArgs),
    Convert(convert::ConvertArgs),
    Subset(subset::SubsetArgs),
    Explain(explain::ExplainArgs),
    Why(why::WhyArgs),
    Lint(lint::LintArgs),
    Report(report::ReportArgs),
    Generate(generate::GenerateArgs),
    Check(check::CheckArgs),
    Test(test::TestArgs),
    Fuzz(fuzz::FuzzArgs),
    Bench(bench::BenchArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

/// Executes the command line; returns the exit status.
pub(crate) fn run() -> Result<u8> {
    let words: Vec<OsString> = std::env::args_os().collect();
    let cli: Cli = match arguments::parse(&command(), &words) {
        Ok(cli) => cli,
        Err(error) => return help_or_exit(error, &words),
    };
    match cli.color {
        Color::Auto => anstream::ColorChoice::Auto,
        Color::Always => anstream::ColorChoice::Always,
        Color::Never => anstream::ColorChoice::Never,
    }
    .write_global();
    match cli.command {
        Command::Compile(args) => compile::run(&args),
        Command::Optimize(args) => optimize::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Intersect(args) => sets::intersect(&args),
        Command::Union(args) => sets::union(&args),
        Command::Subtract(args) => sets::subtract(&args),
        Command::Run(args) => run::run(&args),
        Command::Record(args) => record::run(&args),
        Command::Disasm(args) => disasm::run(&args),
        Command::Dump(args) => dump::run(&args),
        Command::Asm(args) => asm::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Subset(args) => subset::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Why(args) => why::run(&args),
        Command::Lint(args) => lint::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Generate(args) => generate::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Test(args) => test::run(&args),
        Command::Fuzz(args) => fuzz::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Completions(args) => completions::run(&args, command()),
        Command::Man(args) => man::run(&args, command()),
    }
}

/// The command line with options under headings.
pub(crate) fn command() -> clap::Command {
    help::with_headings(Cli::command())
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
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        super::Cli::command().debug_assert();
    }

    /// clap does not wrap the text after the options at words.
    #[test]
    fn the_text_after_the_options_fits_80_columns() {
        let whole = super::Cli::command();
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
