//! Compares two filters with each other, syscall by syscall.

use std::ffi::OsStr;
use std::time::Instant;

use callgate::Arch;
use callgate::fuzz::{Member, Pair, Side, fuzz_pair};
use callgate_core::Program;

use super::args::FuzzArgs;
use super::limits::{options, teller};
use super::outcome::{FilterForm, FuzzOutcome, Reproduction};
use crate::commands::simulate::EvaluatedForm;
use crate::options::SourceOptions;
use crate::progress::Progress;
use crate::report::Result;
use crate::source::{Compile, FilterContent, Source, SourceFilter, SourceStack};

pub(super) fn search(args: &FuzzArgs, a: &OsStr, b: &OsStr, start: Instant) -> Result<FuzzOutcome> {
    let reading = &args.reading.0;
    let sources = [a, b];
    let none = SourceOptions::default();
    let (left, right) = Source::read_both(
        [&Source::parse(a)?, &Source::parse(b)?],
        reading,
        [("", &none), ("", &none)],
    )?;
    for stack in [&left, &right] {
        stack.check_values()?;
    }
    let why = "two filters are compared as they are";
    args.compiling.0.warn_about_given(&left.name, why, "omit it, or give one filter");
    let names = match left.name == right.name {
        true => [("A", &left), ("B", &right)].map(|(side, of)| format!("{} ({side})", of.name)),
        false => [&left, &right].map(|of| of.name.clone()),
    };
    let programs = [programs(&left)?, programs(&right)?];
    let [of_left, of_right] = [(&left, &programs[0]), (&right, &programs[1])].map(members);
    let arches = arches(&left, &right);
    let pair = Pair {
        sides: [
            Side { name: &names[0], members: &of_left },
            Side { name: &names[1], members: &of_right },
        ],
        arches: &arches,
        endian: left.endian(),
    };
    let mut progress = Progress::new(start);
    let report = fuzz_pair(&pair, &options(args), &mut teller(args, start, &mut progress));
    progress.clear();
    let forms = [&left, &right].into_iter().zip(&names).zip(sources);
    let forms = forms.map(|((stack, name), source)| FilterForm {
        name: name.clone(),
        by: Reproduction::SimulateOther(words(stack, source, reading)),
    });
    Ok(FuzzOutcome {
        source: left.name.clone(),
        other: Some(right.name.clone()),
        forms: forms.collect(),
        omissions: Vec::new(),
        report,
        elapsed: start.elapsed(),
        source_arguments: Vec::new(),
        own_arguments: args.own_arguments(),
    })
}

/// The programs among the filters of a source, in their order.
fn programs(stack: &SourceStack) -> Result<Vec<Program>> {
    let filters = stack.filters.iter();
    let given = filters.filter_map(|filter| Some(filter.for_the_kernel(filter.given_program()?)));
    given.collect()
}

/// The filters of a source, with these programs.
fn members<'a>((stack, programs): (&'a SourceStack, &'a Vec<Program>)) -> Vec<Member<'a>> {
    let mut programs = programs.iter();
    let member = |filter: &'a SourceFilter| match &filter.content {
        FilterContent::Policy(policy) => Some(Member::Rules(policy)),
        FilterContent::Program(..) => programs.next().map(Member::Program),
    };
    stack.filters.iter().filter_map(member).collect()
}

/// The architectures of both.
fn arches(left: &SourceStack, right: &SourceStack) -> Vec<Arch> {
    let mut arches = left.arches();
    let more = right.arches().into_iter();
    let more: Vec<Arch> = more.filter(|arch| !arches.contains(arch)).collect();
    arches.extend(more);
    arches
}

/// The words after `callgate simulate` that evaluate this source in the form that was compared.
fn words(stack: &SourceStack, source: &OsStr, reading: &SourceOptions) -> Vec<String> {
    let mut words = vec![source.to_string_lossy().into_owned()];
    words.extend(reading.arguments());
    if let [only] = stack.filters.as_slice() {
        let form = match only.content {
            FilterContent::Policy(_) => EvaluatedForm::Rules,
            FilterContent::Program(..) => EvaluatedForm::Program,
        };
        words.extend(["--by".to_owned(), form.name().to_owned()]);
    }
    words
}
