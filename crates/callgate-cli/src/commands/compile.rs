//! `callgate compile`: compiles a source into a proved program.

use std::ffi::OsString;

use callgate::{Arch, Endian};
use callgate_smt::{self as smt, Side};
use clap::ValueHint;

use super::targets;
use crate::emit::{Figures, Generated};
use crate::generating::GeneratingOptions;
use crate::options::ArchParser;
use crate::policy_text::{self, PolicyOption};
use crate::report::{self, Failure, Result};
use crate::smt2::{Smt2Option, Stated};
use crate::source::{BUILT_IN, Compile, SourceFilter};
use crate::stopwatch::Stopwatch;
use crate::verified::VerifiedOptions;

/// Compile a filter into a BPF program and prove that both are equivalent
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A SOURCE that is already a program is compiled again from its semantics.
`callgate optimize` does the same, but keeps the given program if the result is
not better.

A policy in Kafel's language may have variables ($controller_fd), values that
are known when the filter is installed. The emitted source code takes them as
parameters (--emit c, rust or go). The program is proved for all values.

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
  callgate compile profile.json -o filter.bpf --verify --policy filter.txt
  callgate compile sandbox.kafel --emit c --installer > filter.h
  callgate compile x.kafel --emit c --target x86_64 --target aarch64 > filter.h
  callgate compile sandbox.kafel --set controller_fd=7 -o filter.bpf

Exit status: 0 success, 2 error.")]
pub(crate) struct CompileArgs {
    /// The filter, a SOURCE (see `callgate --help`)
    #[arg(default_value = BUILT_IN, value_hint = ValueHint::FilePath)]
    source: OsString,

    #[command(flatten)]
    generating: GeneratingOptions,

    /// Write source code with a program for each of these architectures, of which the compiler of the
    /// language takes that of its target; may be repeated
    #[arg(long, value_name = "ARCH", value_parser = ArchParser, hide_possible_values = true, conflicts_with = "arch")]
    target: Vec<Arch>,

    #[command(flatten)]
    verified: VerifiedOptions,

    #[command(flatten)]
    policy: PolicyOption,

    #[command(flatten)]
    smt2: Smt2Option,
}

impl CompileArgs {
    /// Writes the script that compares what the source states with the program, if it is requested.
    fn write_script(
        &self,
        endian: Endian,
        stated: Option<&Stated>,
        program: smt::Filter<'_>,
    ) -> Result<()> {
        let Some(stated) = stated else { return Ok(()) };
        let program = Side { name: "the compiled program", filters: vec![program] };
        self.smt2.write(endian, &stated.side(), &program)
    }
}

pub(crate) fn run(args: &CompileArgs) -> Result<u8> {
    if !args.target.is_empty() {
        if args.policy.is_given() || args.verified.is_given() {
            return Err(Failure::new("--policy, --verify and --coq are for one program")
                .help("omit --target, and give --arch"));
        }
        if args.smt2.is_given() {
            return Err(
                Failure::new("--smt2 is for one program").help("omit --target, and give --arch")
            );
        }
        return targets::run(&args.source, &args.generating, &args.target);
    }
    let (mut policy, mut stated) = (None, None);
    let filter = args.generating.read_observed(&args.source, |stack| {
        if args.smt2.is_given() {
            stated = Some(Stated::of(stack));
        }
        if args.policy.is_given() || args.verified.is_given() {
            policy = Some(policy_text::text_of(stack, &args.generating.reading.conditions())?);
        }
        Ok(())
    })?;
    if filter.has_variables() {
        return run_with_variables(&filter, policy.as_deref(), stated.as_ref(), args);
    }
    let mut stopwatch = Stopwatch::start();
    let has_figures = args.generating.emitting.has_figures();
    let compiled =
        filter.compile_timed(&args.generating.compiling(), has_figures, &mut stopwatch)?;
    args.write_script(filter.endian(), stated.as_ref(), smt::Filter::Program(&compiled.program))?;
    if let Some(text) = &policy {
        args.verified.check(text, &compiled.program, filter.endian())?;
        args.policy.write(text)?;
    }
    let arches = &filter.arches;
    let proof = "the program is equivalent to the source";
    args.generating.deliver(Generated {
        program: &compiled.program,
        template: None,
        source: ("source", filter.name.as_str().into()),
        arches,
        endian: filter.endian(),
        flags: filter.flags,
        figures: Figures::of(&compiled.stats, &stopwatch, &[&filter.name], arches, proof),
    })
}

/// Compiles a policy with variables.
fn run_with_variables(
    filter: &SourceFilter,
    policy: Option<&str>,
    stated: Option<&Stated>,
    args: &CompileArgs,
) -> Result<u8> {
    if args.verified.is_given() {
        return Err(Failure::new("--verify and --coq are for programs without variables")
            .help("give their values with --set NAME=VALUE"));
    }
    let mut stopwatch = Stopwatch::start();
    let compiled = filter.compile_template(&args.generating.compiling(), &mut stopwatch)?;
    let template = &compiled.template;
    report::warn_all(&filter.name, compiled.cache_warning().as_slice());
    args.write_script(filter.endian(), stated, smt::Filter::Template(template))?;
    if let Some(text) = policy {
        args.policy.write(text)?;
    }
    let arches = &filter.arches;
    args.generating.deliver(Generated {
        program: template.program(),
        template: Some(template),
        source: ("source", filter.name.as_str().into()),
        arches,
        endian: filter.endian(),
        flags: filter.flags,
        figures: Figures::of_template(&compiled.stats, &stopwatch, &[&filter.name], arches),
    })
}
