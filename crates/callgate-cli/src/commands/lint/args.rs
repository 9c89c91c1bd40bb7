//! The command line of `callgate lint`.

use std::ffi::OsString;

use callgate::lint::{Allow, AllowError, Level};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ValueEnum, ValueHint};

use crate::advice;
use crate::options::SourceOptions;
use crate::source::BUILT_IN;

/// Find mistakes in filters, and ways to evade them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each finding has an identifier, the place in the profile, what to do about it,
and syscalls that show it, with their verdicts. The syscalls are derived from
the semantics of the filter, and were run through it. `--list-checks` explains
all identifiers.

A comment silences a check in its line and in the next one, or in the whole
file; IDs are separated by commas, and ID=SYSCALL is only about one syscall:
  # callgate: allow(ID)
  # callgate: allow-file(ID, ID=SYSCALL)
JSON has no comments; any value with this text is one, such as that of a key
\"comment\", for the object with this key. `--allow` silences a check in all
sources.

Examples:
  callgate lint profile.json
  callgate lint nginx.service --level note
  callgate lint policies/*.policy --allow powerful-call=ptrace
  callgate lint profile.json --format sarif > lint.sarif
  callgate lint --list-checks

Exit status: 0 no findings, 1 findings, 2 error.")]
pub(crate) struct LintArgs {
    /// The filters, each a SOURCE (see `callgate --help`)
    #[arg(value_name = "SOURCE", default_value = BUILT_IN, value_hint = ValueHint::FilePath)]
    pub(super) sources: Vec<OsString>,

    /// The least serious findings that count
    #[arg(long, value_name = "LEVEL", default_value = "warning", value_parser = level_parser())]
    pub(super) level: Level,

    /// Silence a check, for one syscall or for all; may be repeated
    #[arg(long, value_name = "ID[=SYSCALL]", value_parser = parse_allow)]
    pub(super) allow: Vec<Allow>,

    /// List all checks
    #[arg(long, alias = "list", conflicts_with = "sources")]
    pub(super) list_checks: bool,

    /// The format of the report
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(super) format: LintFormat,

    #[command(flatten)]
    pub(super) reading: SourceOptions,
}

/// The format of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LintFormat {
    /// Text for people
    Text,
    /// JSON with stable keys
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
}

/// Parses a level; help, completions and messages list all of them.
fn level_parser() -> impl TypedValueParser<Value = Level> {
    let names = PossibleValuesParser::new(Level::ALL.map(Level::name));
    let named = |name: String| Level::ALL.into_iter().find(|level| level.name() == name);
    names.try_map(move |name| named(name).ok_or("unknown level"))
}

fn parse_allow(text: &str) -> Result<Allow, String> {
    text.parse().map_err(|error: AllowError| {
        match error.advice().and_then(|all| advice::words(&all)) {
            Some(all) => format!("{error}; {all}"),
            None => error.to_string(),
        }
    })
}
