//! The command line as a whole.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser, Subcommand, ValueEnum};

use crate::commands::{
    asm, bench, check, compile, completions, diff, disasm, dump, explain, fuzz, generate, man,
    merge, optimize, record, run, simulate,
};
use crate::output;
use crate::report::Result;
use crate::text::printable;

/// Compile, prove, run, explain and compare seccomp filters
#[derive(Debug, Parser)]
#[command(
    name = "callgate",
    version,
    max_term_width = 80,
    after_help = "\
A SOURCE is [FORMAT:]WHAT, anything that means a filter:
  container-default    the built-in profile for containers
  profile.json         a Docker, OCI or Podman profile; the formats oci, docker,
                       podman, runc and crun fix the dialect
  profile.yaml         the same in YAML, or a Kubernetes SeccompProfile
  filter.bpf           raw instructions; write bpf: in front of other names
  bpftext:filter.txt   instructions as text: tcpdump -d, -dd or -ddd, hex,
                       assembler or the listings of other tools
  socket:filter.txt    a program for packets in either form, for `simulate` and
                       `bench engines`
  -                    standard input
  pid:1234             the filters of a running process or thread (as root);
                       pid:1234/0 the oldest of them

Examples:
  callgate run -- sh -c 'echo this runs; unshare -U true'
  callgate compile profile.json -o filter.bpf --stats
  callgate diff profile.json filter.bpf

Exit status: 0 done, 1 different (diff, fuzz) or denied (check), 2 trouble; run
and record: the command's."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,

    /// Colours: on a terminal unless NO_COLOR is set, always, or never
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    color: Color,
}

#[derive(Debug, Subcommand)]
enum Command {
    Compile(compile::CompileArgs),
    Optimize(optimize::OptimizeArgs),
    Merge(merge::MergeArgs),
    Run(run::RunArgs),
    Record(record::RecordArgs),
    Disasm(disasm::DisasmArgs),
    Dump(dump::DumpArgs),
    Asm(asm::AsmArgs),
    Simulate(simulate::SimulateArgs),
    Diff(diff::DiffArgs),
    Explain(explain::ExplainArgs),
    Generate(generate::GenerateArgs),
    Check(check::CheckArgs),
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

/// Does what the command line says; the exit status.
pub(crate) fn run() -> Result<u8> {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // Help and the version are results, and what cannot be written is an error; clap would not say so.
        Err(asked) if !asked.use_stderr() => {
            output::print(&asked.render().ansi().to_string())?;
            return Ok(0);
        }
        Err(mistake) => one_line(mistake).exit(),
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
        Command::Run(args) => run::run(&args),
        Command::Record(args) => record::run(&args),
        Command::Disasm(args) => disasm::run(&args),
        Command::Dump(args) => dump::run(&args),
        Command::Asm(args) => asm::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Generate(args) => generate::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Fuzz(args) => fuzz::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Completions(args) => completions::run(&args, Cli::command()),
        Command::Man(args) => man::run(&args, Cli::command()),
    }
}

/// Escapes what a message repeats of the command line; see [`printable`].
fn one_line(mut mistake: clap::Error) -> clap::Error {
    let words: Vec<(ContextKind, ContextValue)> =
        mistake.context().map(|(kind, value)| (kind, value.clone())).collect();
    for (kind, value) in words {
        let value = match value {
            // Made from the definition alone, and of several lines.
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
        mistake.insert(kind, value);
    }
    mistake
}

/// A tip keeps its styles, unless a word in it has escapes of its own.
fn printable_tip(tip: StyledStr) -> StyledStr {
    let plain = tip.to_string();
    let clean = printable(&plain).to_string();
    if clean == plain { tip } else { StyledStr::from(clean) }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        super::Cli::command().debug_assert();
    }

    /// Below the options the help is printed line by line; clap breaks a longer line anywhere.
    #[test]
    fn notes_fit_into_80_columns() {
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
