//! `callgate compile`: compiles a source into a proved program.

use std::ffi::OsString;

use callgate_smt::{Filter, Side};
use clap::ValueHint;

use crate::emit::{Figures, Generated};
use crate::generating::GeneratingOptions;
use crate::report::Result;
use crate::smt2::Smt2Option;
use crate::source::BUILT_IN;
use crate::stopwatch::Stopwatch;

/// Compile a filter into a BPF program and prove that both are equivalent
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A SOURCE that is already a program is compiled again from its semantics.
`callgate optimize` does the same, but keeps the given program if the result is
not better.

Without -o, the program is written to standard output, but raw instructions are
never written to a terminal. --stats prints to standard output if the program is
written to a file, otherwise to standard error.

Examples:
  callgate compile profile.json -o filter.bpf
  callgate compile --arch aarch64 --caps none --emit asm
  callgate compile profile.json -o filter.bpf --stats --format json
  callgate compile docker:seccomp.json --emit c > filter.h
  callgate compile old.bpf --optimize size -o new.bpf
  callgate compile profile.json -o filter.bpf --smt2 check.smt2; z3 check.smt2

Exit status: 0 success, 2 error.")]
pub(crate) struct CompileArgs {
    /// The filter, a SOURCE (see `callgate --help`)
    #[arg(default_value = BUILT_IN, value_hint = ValueHint::FilePath)]
    source: OsString,

    #[command(flatten)]
    smt2: Smt2Option,

    #[command(flatten)]
    generating: GeneratingOptions,
}

pub(crate) fn run(args: &CompileArgs) -> Result<u8> {
    let filter = args.generating.read(&args.source)?;
    let mut stopwatch = Stopwatch::start();
    let compiled = filter.compile_timed(&args.generating.compiling, &mut stopwatch)?;
    let source = Side { name: &filter.name, filters: vec![filter.for_smt2()] };
    let program =
        Side { name: "the compiled program", filters: vec![Filter::Program(&compiled.program)] };
    args.smt2.write(filter.endian(), &source, &program)?;
    let arches = filter.arches();
    let proof = "the program is equivalent to the source";
    args.generating.emitting.deliver(Generated {
        program: &compiled.program,
        source: ("source", filter.name.as_str().into()),
        arches: &arches,
        endian: filter.endian(),
        flags: filter.flags(),
        figures: Figures::of(&compiled.stats, &stopwatch, &[&filter.name], &arches, proof),
    })
}
