//! The programs of a page: the compiled one, and the given one if the source is a program.

use std::time::Duration;

use callgate::compile::{self, Compiled, Execution};
use callgate_core::diagram::{Func, Store};
use callgate_core::{LongProgram, Program};
use callgate_html::Section;
use callgate_html::sections::{Cost, ProgramCost, cost, decisions, program};

use super::args::ReportArgs;
use super::measured::measured;
use crate::options::PROMPT;
use crate::report::Result;
use crate::source::{SourceFilter, SourceStack};

/// The decision tree, the program and its cost. If there is no program, a warning says why, and there are no sections.
pub(super) fn sections(
    store: &Store,
    (stack, root): (&SourceStack, Func),
    args: &ReportArgs,
) -> Result<Vec<Section>> {
    let (arches, endian) = (stack.arches(), stack.endian());
    let mut read = args.compiling.read(&arches, args.reading.strict)?;
    let mut weights = args.compiling.weights_name();
    if let ([only], None) = (stack.filters.as_slice(), &weights)
        && let Some(own) = &only.weights
    {
        read.weights = own.clone();
        weights = Some(only.name.clone());
    }
    let compiled = match compiled(stack, &read) {
        Ok(compiled) => compiled,
        Err(error) => {
            error.print_as_warning("the page has no decision tree, program and cost");
            return Ok(Vec::new());
        }
    };
    let weighted = read.weights.resolve(store, root, &arches);
    let execution = Execution::new(store, root, &compiled.program, &weighted, endian);
    let given =
        given(stack).map(|given| Execution::of_given(store, root, given, &weighted, endian));
    let mut programs: Vec<ProgramCost<'_>> = Vec::new();
    programs.extend(given.iter().map(|execution| ProgramCost { name: "as given", execution }));
    programs.push(ProgramCost { name: "compiled", execution: &execution });
    let measured = match args.measure {
        Some(seconds) => {
            let mut stacks: Vec<_> = given_programs(stack).map(|own| ("as given", own)).collect();
            stacks.push(("compiled", vec![compiled.program.clone().into()]));
            let time = Duration::from_secs(seconds.into());
            Some(measured(stacks, &arches, time)?)
        }
        None => None,
    };
    let hot = weights.is_some().then_some(&execution);
    let weights = weights.as_deref();
    Ok(vec![
        decisions(&compiled.program, endian, &arches, hot),
        program(&compiled.program, endian, &arches, hot),
        cost(&Cost {
            programs: &programs,
            weights,
            how_to_weigh: "--weights gives frequencies",
            measured: measured.as_ref(),
        }),
    ])
}

/// The proved program of a filter, or to which a stack merges.
fn compiled(stack: &SourceStack, options: &compile::Options) -> Result<Compiled> {
    Ok(match stack.filters.len() {
        1 => stack.compile(options)?,
        _ => stack.compile(&compile::Options { budget: PROMPT, ..options.clone() })?,
    })
}

/// The program of a source that is one.
fn given(stack: &SourceStack) -> Option<&LongProgram> {
    match stack.filters.as_slice() {
        [only] => only.given_program(),
        _ => None,
    }
}

/// The programs of a stack of which all filters are programs that the kernel takes.
fn given_programs(stack: &SourceStack) -> impl Iterator<Item = Vec<Program>> {
    let given = stack.filters.iter().map(SourceFilter::given_program);
    let programs = given.map(|program| Program::try_from(program?.clone()).ok());
    programs.collect::<Option<Vec<Program>>>().into_iter()
}
