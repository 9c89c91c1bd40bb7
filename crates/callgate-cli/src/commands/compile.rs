//! `callgate compile`: from a source to a proved program.

use std::ffi::OsString;

use callgate_smt::{Filter, Side};
use clap::ValueHint;

use crate::emit::{EmitOptions, Figures, Made};
use crate::options::{CompileOptions, SourceOptions};
use crate::report::Result;
use crate::smt2::Smt2Option;
use crate::source::{BUILT_IN, Source};
use crate::stopwatch::Stopwatch;

/// Compile a source into a program and prove that it does what the source says
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A source that is a program already is compiled anew from what it does.

The program goes to standard output, but never as raw bytes to a terminal. The
figures of --stats go to standard output when the program goes to a file, else
to standard error.

Examples:
  callgate compile profile.json -o filter.bpf
  callgate compile --arch aarch64 --caps none --emit asm
  callgate compile profile.json -o filter.bpf --stats --format json
  callgate compile docker:seccomp.json --emit c > filter.h
  callgate compile old.bpf --optimize size -o new.bpf
  callgate compile profile.json -o filter.bpf --smt2 check.smt2; z3 check.smt2")]
pub(crate) struct CompileArgs {
    /// The filter, a SOURCE (see `callgate --help`)
    #[arg(default_value = BUILT_IN, value_hint = ValueHint::FilePath)]
    source: OsString,

    #[command(flatten)]
    emitting: EmitOptions,

    #[command(flatten)]
    smt2: Smt2Option,

    #[command(flatten)]
    reading: SourceOptions,

    #[command(flatten)]
    compiling: CompileOptions,
}

pub(crate) fn run(args: &CompileArgs) -> Result<u8> {
    let filter = Source::parse(&args.source)?.read_to_compile(&args.reading, &args.compiling)?;
    let mut stopwatch = Stopwatch::start();
    let compiled = filter.compile_timed(&args.compiling, &mut stopwatch)?;
    let source = Side { name: &filter.name, filters: vec![filter.for_smt2()] };
    let program =
        Side { name: "the compiled program", filters: vec![Filter::Program(&compiled.program)] };
    args.smt2.write(filter.endian(), &source, &program)?;
    let arches = filter.arches();
    let proof = "the program means what the source says";
    args.emitting.deliver(Made {
        program: &compiled.program,
        source: ("source", filter.name.as_str().into()),
        arches: &arches,
        endian: filter.endian(),
        figures: Figures::of(&compiled.stats, &stopwatch, &[&filter.name], &arches, proof),
    })
}
