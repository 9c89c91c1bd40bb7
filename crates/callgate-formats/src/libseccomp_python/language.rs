//! Programs in Python with libseccomp in the [registry](crate::languages): how they are recognized and read.

use super::binding::MODULES;
use super::lines::lines;
use super::run::{Run, Stop};
use crate::diagnostics::quote::shorten;
use crate::languages::{
    Files, Input, Language, Likeness, Name, Parts, ReadFilter, ReadResult, ReadSource, Reading,
    is_text, of_first,
};
use crate::libseccomp_c::{Calls, profiles_of};
use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics};

/// The language.
pub const LANGUAGE: Language = Language {
    names: &[Name::read("pyseccomp")],
    forms: &[(
        "sandbox.py",
        "a Python program that makes a filter with seccomp or pyseccomp; for one of several functions, write sandbox.py#FUNCTION",
    )],
    utf8_help: Some("write comments and strings in UTF-8"),
    likeness,
    parts: Parts::Some,
    editor: None,
    for_builds: false,
    ..Language::of("a Python program with libseccomp", "libseccomp-c", read)
};

fn likeness(extension: Option<&str>, text: &[u8]) -> Likeness {
    match extension {
        _ if !is_text(text) || !std::str::from_utf8(text).is_ok_and(is_program) => Likeness::None,
        Some("py" | "pyw") => Likeness::Extension,
        None => Likeness::Text,
        Some(_) => Likeness::None,
    }
}

/// Whether a text imports the module, and makes a filter.
fn is_program(text: &str) -> bool {
    let is_import = |line: &str| {
        let mut words = line.split([' ', '\t', ',']).filter(|word| !word.is_empty());
        matches!(words.next(), Some("import" | "from")) && words.any(|word| MODULES.contains(&word))
    };
    text.contains("SyscallFilter") && text.lines().any(is_import)
}

fn read(input: &Input<'_>, reading: &Reading, _: &mut dyn Files) -> ReadResult {
    let arch = reading.only_arch(LANGUAGE.what)?;
    let lines = lines(input.text())?;
    let installs = input.text().contains(".load(");
    let mut run = Run::new(&lines, arch, Calls::new(arch, installs));
    let end = lines.len();
    let result = match input.part {
        None => run.block((0, end)).map(|_| ()),
        // The constants before it, but not what makes filters.
        Some(name) => {
            run.constants();
            match run.functions.get(name).cloned() {
                Some(function) => run.run_alone(&function).map(|_| ()),
                None => Err(Stop::Refused(no_function(&run, name))),
            }
        }
    };
    refuse(result)?;
    if input.part.is_none() && !run.calls.has_filters() {
        let makers = run.makers();
        match makers.as_slice() {
            [] => {}
            [(_, function)] => {
                let function = (*function).clone();
                refuse(run.run_alone(&function).map(|_| ()))?;
            }
            [(first, function), ..] => {
                let names: Vec<String> = makers.iter().map(|(name, _)| shorten(name)).collect();
                let message = format!("several functions make filters: {}", names.join(", "));
                let error = Diagnostic::error(Some(function.position), message);
                return Err(error.help((reading.choosing)(&shorten(first))).into());
            }
        }
    }
    let assumed = std::mem::take(&mut run.assumed);
    if let Some(first) = assumed.first().filter(|_| reading.strict) {
        let error = Diagnostic::error(first.position, first.message.clone());
        return Err(error.help(first.help.clone()).into());
    }
    let mut profiles = profiles_of(&run.calls, assumed, reading.statements)?;
    let warnings = profiles.iter_mut().flat_map(|profile| std::mem::take(&mut profile.warnings));
    let warnings = of_first(warnings);
    let is_one = profiles.len() == 1;
    let filters = profiles.into_iter().enumerate().map(|(at, profile)| {
        let suffix = if is_one { String::new() } else { format!(" (filter {})", at + 1) };
        ReadFilter { suffix, ..ReadFilter::of(profile) }
    });
    Ok(ReadSource { filters: filters.collect(), warnings, missing: None })
}

fn refuse(result: Result<(), Stop>) -> Result<(), Diagnostics> {
    match result {
        Ok(()) => Ok(()),
        Err(Stop::Refused(error)) => Err(error.into()),
        Err(Stop::Raised(error)) if error.help.is_empty() => Err(error
            .help(Advice::ReadProcessOr("give only the functions that make the filter"))
            .into()),
        Err(Stop::Raised(error)) => Err(error.into()),
    }
}

fn no_function(run: &Run<'_>, name: &str) -> Diagnostic {
    let names: Vec<String> = run.makers().iter().map(|(name, _)| shorten(name)).collect();
    let message = format!("the program has no function `{}`", shorten(name));
    let help = match names.as_slice() {
        [] => "no function of it makes a filter".to_owned(),
        names => format!("these make filters: {}", names.join(", ")),
    };
    Diagnostic::error(None, message).help(help)
}
