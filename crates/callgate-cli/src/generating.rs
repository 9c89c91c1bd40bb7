//! The options of subcommands that read sources, compile them and write a program.

use std::ffi::{OsStr, OsString};

use callgate::compile::Options;
use callgate::sets::Operation;
use callgate::{Arch, Program, Unsupported};
use callgate_bpf::FilterFlags;

use crate::advice;
use crate::emit::{EmitOptions, Generated};
use crate::options::{CompileOptions, PROMPT, SourceOptions};
use crate::report::{self, Failure, Result};
use crate::source::{AnyFilter, Combination, Source, SourceFilter, SourceStack};

/// How a program is written, how sources are read, and how they are compiled.
#[derive(Debug, clap::Args)]
pub(crate) struct GeneratingOptions {
    #[command(flatten)]
    pub(crate) emitting: EmitOptions,

    #[command(flatten)]
    pub(crate) reading: SourceOptions,

    #[command(flatten)]
    compiling: CompileOptions,
}

impl GeneratingOptions {
    /// Reads a source as one filter; `look` gets the filters before they are merged. Prints warnings.
    pub(crate) fn read_observed(
        &self,
        source: &OsStr,
        look: impl FnOnce(&SourceStack) -> Result<()>,
    ) -> Result<SourceFilter> {
        Source::parse(source)?.read_to_compile_observed(&self.reading.for_kernel(), look)
    }

    /// Reads a source as one filter, or a socket filter. Prints warnings.
    pub(crate) fn read_any(&self, source: &OsStr) -> Result<AnyFilter> {
        Source::parse(source)?.read_any_to_compile(&self.reading.for_kernel())
    }

    /// Reads the operands of an operation. Prints warnings.
    pub(crate) fn combine(
        &self,
        operation: Operation,
        operands: &[OsString],
    ) -> Result<Combination> {
        Source::combine(operation, operands, &self.reading.for_kernel())
    }

    /// Reads the filters of all sources, the oldest first. Prints warnings.
    pub(crate) fn read_all(&self, sources: &[OsString]) -> Result<Vec<SourceFilter>> {
        Source::read_all(&parse(sources)?, &self.reading.for_kernel())
    }

    /// Writes a program and its figures, if the kernel of --kernel can execute it.
    pub(crate) fn deliver(&self, generated: Generated<'_>) -> Result<u8> {
        self.check_kernel(generated.program, generated.flags)?;
        self.emitting.deliver(generated)
    }

    /// Warns about what the kernel of --kernel does otherwise than a program says; an error if it then kills what the program
    /// does not.
    pub(crate) fn check_kernel(&self, program: &Program, flags: FilterFlags) -> Result<()> {
        let Some(kernel) = self.reading.given_kernel() else { return Ok(()) };
        for one in Unsupported::of_program(program.insns(), flags, kernel) {
            let help = advice::of(&one.help());
            if one.breaks() {
                return Err(Failure::new(one.to_string()).help(help));
            }
            report::warn(one.to_string(), help);
        }
        Ok(())
    }

    /// How filters are compiled for the kernel of --kernel.
    pub(crate) fn compiling(&self) -> CompileOptions {
        self.compiling.for_kernel(self.reading.given_kernel())
    }

    /// The options of the compiler for these architectures.
    pub(crate) fn compiler(&self, arches: &[Arch]) -> Result<Options> {
        Ok(Options { budget: PROMPT, ..self.compiling().read(arches, self.reading.strict)? })
    }
}

fn parse(sources: &[OsString]) -> Result<Vec<Source>> {
    sources.iter().map(|source| Source::parse(source)).collect()
}
