//! The options of subcommands that read sources, compile them and write a program.

use std::ffi::{OsStr, OsString};

use callgate::Arch;
use callgate::compile::Options;
use callgate::sets::Operation;

use crate::emit::EmitOptions;
use crate::options::{CompileOptions, PROMPT, SourceOptions};
use crate::report::Result;
use crate::source::{Combination, Filter, Source};

/// How a program is written, how sources are read, and how they are compiled.
#[derive(Debug, clap::Args)]
pub(crate) struct GeneratingOptions {
    #[command(flatten)]
    pub(crate) emitting: EmitOptions,

    #[command(flatten)]
    pub(crate) reading: SourceOptions,

    #[command(flatten)]
    pub(crate) compiling: CompileOptions,
}

impl GeneratingOptions {
    /// Reads a source as one filter. Prints warnings.
    pub(crate) fn read(&self, source: &OsStr) -> Result<Filter> {
        Source::parse(source)?.read_to_compile(&self.reading)
    }

    /// Reads the operands of an operation. Prints warnings.
    pub(crate) fn combine(
        &self,
        operation: Operation,
        operands: &[OsString],
    ) -> Result<Combination> {
        Source::combine(operation, operands, &self.reading)
    }

    /// Reads the filters of all sources, the oldest first. Prints warnings.
    pub(crate) fn read_all(&self, sources: &[OsString]) -> Result<Vec<Filter>> {
        Source::read_all(&parse(sources)?, &self.reading)
    }

    /// The options of the compiler for these architectures.
    pub(crate) fn compiler(&self, arches: &[Arch]) -> Result<Options> {
        Ok(Options { budget: PROMPT, ..self.compiling.read(arches, self.reading.strict)? })
    }
}

fn parse(sources: &[OsString]) -> Result<Vec<Source>> {
    sources.iter().map(|source| Source::parse(source)).collect()
}
