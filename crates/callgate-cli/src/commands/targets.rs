//! `callgate compile --target`: a program for each of several targets.

use std::ffi::OsStr;

use callgate::emit::{TargetCode, TargetProgram};
use callgate::{Arch, Program};
use callgate_core::template::Template;

use crate::generating::GeneratingOptions;
use crate::report::{self, Failure, Result};
use crate::source::{Compile, Source};
use crate::stopwatch::Stopwatch;

/// The program for a target.
enum Code {
    Program(Program),
    Template(Template),
}

/// Compiles the source for each target, as with `--arch`, and writes one file.
pub(super) fn run(source: &OsStr, generating: &GeneratingOptions, targets: &[Arch]) -> Result<u8> {
    if source == "-" && targets.len() > 1 {
        return Err(Failure::new("standard input cannot be read for each --target")
            .help("write the policy to a file"));
    }
    let mut compiled = Vec::new();
    let mut flags = None;
    for target in targets {
        let mut reading = generating.reading.for_kernel();
        reading.arch = vec![*target];
        let filter = Source::parse(source)?.read_to_compile(&reading)?;
        if !filter.is_profile() {
            return Err(Failure::about(&filter.name, "--target is for policies")
                .help("give the policy; a program and a combination are for their own architectures (--arch)"));
        }
        if flags.is_some_and(|flags| flags != filter.flags) {
            return Err(Failure::about(
                &filter.name,
                format!("the filter for {target} has other flags than that for {}", targets[0]),
            ));
        }
        flags = Some(filter.flags);
        let mut stopwatch = Stopwatch::start();
        let code = if filter.has_variables() {
            let compiled = filter.compile_template(&generating.compiling(), &mut stopwatch)?;
            report::warn_all(&filter.name, compiled.cache_warning().as_slice());
            Code::Template(compiled.template.into_program())
        } else {
            Code::Program(
                filter
                    .compile_timed(&generating.compiling(), false, &mut stopwatch)?
                    .program
                    .into(),
            )
        };
        let program = match &code {
            Code::Program(program) => program,
            Code::Template(template) => template.program(),
        };
        generating.check_kernel(program, filter.flags)?;
        compiled.push((*target, filter.arches, code));
    }
    let programs: Vec<TargetProgram<'_>> = compiled
        .iter()
        .map(|(target, arches, code)| TargetProgram {
            target: *target,
            arches: arches.clone(),
            code: match code {
                Code::Program(program) => TargetCode::Program(program),
                Code::Template(template) => TargetCode::Template(template),
            },
        })
        .collect();
    generating.emitting.deliver_targets(&programs, flags.unwrap_or_default())
}
