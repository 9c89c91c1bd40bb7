//! `--smt2 FILE`: writes a script with which an SMT solver checks the result of a command.

use std::path::PathBuf;

use callgate_smt::{Filter, Side};
use clap::ValueHint;

use crate::help::CHECKING;
use crate::output;
use crate::report::{Failure, Result};
use crate::source::{FilterContent, SourceFilter, SourceStack};
use crate::text::shell_word;

/// The file for the script, if any.
#[derive(Debug, clap::Args)]
pub(crate) struct Smt2Option {
    /// Also write an SMT-LIB 2 script that z3, cvc5 or another solver finds unsatisfiable exactly when the
    /// two sides are equivalent (see docs/explanation/checking.md)
    #[arg(long = "smt2", value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = CHECKING)]
    file: Option<PathBuf>,
}

impl Smt2Option {
    /// Whether a script is requested.
    pub(crate) fn is_given(&self) -> bool {
        self.file.is_some()
    }

    /// Writes the script that compares `a` with `b`, if requested.
    pub(crate) fn write(&self, endian: callgate::Endian, a: &Side<'_>, b: &Side<'_>) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        if file.as_os_str() == "-" {
            return Err(Failure::new(
                "--smt2 cannot write to standard output, which has the result",
            )
            .help("give a file name; for a file named -, write ./-"));
        }
        let words = std::env::args_os().skip(1);
        let words = words.map(|word| shell_word(&word.to_string_lossy()));
        let command = format!("Written by: callgate {}", words.collect::<Vec<_>>().join(" "));
        let script = callgate_smt::script(endian, a, b, &[command])
            .map_err(|error| Failure::new(error.to_string()))?;
        output::write_file(file, script.as_bytes())
    }
}

/// Filters on top of each other as a side of a comparison.
pub(crate) fn side<'a>(name: &'a str, filters: &'a [SourceFilter]) -> Side<'a> {
    Side { name, filters: filters.iter().map(|filter| translated(&filter.content)).collect() }
}

fn translated(content: &FilterContent) -> Filter<'_> {
    match content {
        FilterContent::Policy(policy) => Filter::Policy(policy),
        FilterContent::Program(program, _) => Filter::Program(program),
    }
}

/// What a source states: its filters before they are merged into one program, of which policy texts are made as well.
pub(crate) struct Stated {
    name: String,
    filters: Vec<FilterContent>,
}

impl Stated {
    pub(crate) fn of(stack: &SourceStack) -> Stated {
        let filters = stack.filters.iter().map(|filter| filter.content.clone());
        Stated { name: stack.name.clone(), filters: filters.collect() }
    }

    /// The side of a comparison.
    pub(crate) fn side(&self) -> Side<'_> {
        Side { name: &self.name, filters: self.filters.iter().map(translated).collect() }
    }
}
