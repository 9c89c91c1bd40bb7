//! The options of subcommands that read sources, compile them and write a program.

use std::ffi::{OsStr, OsString};

use callgate::Arch;
use callgate::compile::Options;

use crate::emit::EmitOptions;
use crate::options::{CompileOptions, PROMPT, SourceOptions};
use crate::report::Result;
use crate::source::{Filter, Source};

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
        Source::parse(source)?.read_to_compile(&self.reading, &self.compiling)
    }

    /// Reads each source as one filter. Prints warnings.
    pub(crate) fn read_each(&self, sources: &[OsString]) -> Result<Vec<Filter>> {
        let stacks = Source::read_each(&parse(sources)?, &self.reading, &self.compiling)?;
        stacks.into_iter().map(|stack| stack.into_filter()).collect()
    }

    /// Reads the filters of all sources, the oldest first. Prints warnings.
    pub(crate) fn read_all(&self, sources: &[OsString]) -> Result<Vec<Filter>> {
        Source::read_all(&parse(sources)?, &self.reading, &self.compiling)
    }

    /// The options of the compiler for these architectures.
    pub(crate) fn compiler(&self, arches: &[Arch]) -> Result<Options> {
        Ok(Options { budget: PROMPT, ..self.compiling.read(arches, self.reading.strict)? })
    }
}

fn parse(sources: &[OsString]) -> Result<Vec<Source>> {
    sources.iter().map(|source| Source::parse(source)).collect()
}
