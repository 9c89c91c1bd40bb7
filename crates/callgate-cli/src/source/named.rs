//! A source on the command line, `[FORMAT:]NAME`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use callgate::sets::Operation;
use callgate_bpf::syscalls;
use callgate_formats::languages::LanguageId;
use callgate_formats::systemd::SystemdVersion;
use callgate_requests::source::{
    BUILT_IN, Combination, Expression, Kinds, SourceFilter, SourceFormat, SourceStack,
};

use super::built_in::{self, BuiltInSource};
use super::expression::{combine, detect, of_operands, to_convert, to_filter};
use super::filter::{WORDING, warn_about_options};
use super::format::{PRESET, PROCESS, is_word, unknown_format};
use super::part::PartSource;
use super::place::Place;
use super::preset::PresetSource;
use super::process::ProcessSource;
use super::several::SeveralFiles;
use super::stack::into_filter;
use super::tree::Tree;
use crate::options::SourceOptions;
use crate::report::{Failure, Result};

/// A source as named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(super) kind: SourceKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SourceKind {
    BuiltIn(BuiltInSource),
    Combined(Expression<Source>),
    Preset(PresetSource),
    Process(ProcessSource),
    Files(SeveralFiles),
    Part(PartSource),
    At { place: Place, format: Option<SourceFormat> },
}

impl Source {
    /// Parses `[FORMAT:]NAME`.
    pub(crate) fn parse(text: &OsStr) -> Result<Source> {
        if let Some(source) = BuiltInSource::parse(text) {
            return Ok(Source { kind: SourceKind::BuiltIn(source?) });
        }
        if let Some(expression) = detect(text, Source::parse) {
            let expression = expression?;
            if expression.sources().filter(|source| source.is_stdin()).count() > 1 {
                return Err(Failure::new("standard input can be read only once")
                    .help("write one of the filters to a file"));
            }
            return Ok(Source { kind: SourceKind::Combined(expression) });
        }
        let bytes = text.as_bytes();
        let colon = bytes.iter().position(|byte| *byte == b':');
        let prefix = colon.and_then(|at| std::str::from_utf8(&bytes[..at]).ok());
        let (format, rest) = match (prefix, colon) {
            (Some(PROCESS), Some(at)) => {
                let process = ProcessSource::parse(&String::from_utf8_lossy(&bytes[at + 1..]))?;
                return Ok(Source { kind: SourceKind::Process(process) });
            }
            (Some(PRESET), Some(at)) => {
                let preset = PresetSource::parse(&String::from_utf8_lossy(&bytes[at + 1..]))?;
                return Ok(Source { kind: SourceKind::Preset(preset) });
            }
            (Some(prefix), Some(at)) if is_word(prefix) => {
                let Some(format) = SourceFormat::from_name(prefix) else {
                    return Err(unknown_format(prefix, text));
                };
                let rest = OsStr::from_bytes(&bytes[at + 1..]);
                if let Some(language) = format.language()
                    && let Some(files) = SeveralFiles::parse(language, rest)?
                {
                    return Ok(Source { kind: SourceKind::Files(files) });
                }
                (Some(format), rest)
            }
            _ => (None, text),
        };
        if rest.is_empty() {
            return Err(Failure::new("the name of the source is empty")
                .help(format!("give a file name, - for standard input, or {BUILT_IN}")));
        }
        if let Some(files) = SeveralFiles::detect(Path::new(rest)).filter(|_| format.is_none()) {
            return Ok(Source { kind: SourceKind::Files(files) });
        }
        if let Some(part) = PartSource::parse(format, rest) {
            return Ok(Source { kind: SourceKind::Part(part) });
        }
        let place = Place::of_path(Path::new(rest));
        Ok(Source { kind: SourceKind::At { place, format } })
    }

    /// Whether it is standard input.
    pub(crate) fn is_stdin(&self) -> bool {
        match &self.kind {
            SourceKind::At { place, .. } => *place == Place::Stdin,
            SourceKind::Files(files) => files.place() == Some(&Place::Stdin),
            SourceKind::Combined(expression) => expression.sources().any(Source::is_stdin),
            SourceKind::Part(part) => part.place == Place::Stdin,
            SourceKind::BuiltIn(_) | SourceKind::Preset(_) | SourceKind::Process(_) => false,
        }
    }

    /// What is assumed about the systemd that reads a unit, in words; `None` for other filters, and if an option says it.
    pub(crate) fn assumed(&self, stack: &SourceStack, options: &SourceOptions) -> Option<String> {
        let is_unit = stack.filters.iter().any(|filter| filter.directive.is_some());
        if !is_unit || options.gives_systemd() {
            return None;
        }
        let installed = match &self.kind {
            SourceKind::Files(SeveralFiles::DropIns(unit)) => unit.installed_systemd(),
            _ => None,
        };
        Some(match installed {
            Some(installed) => format!("read as by {installed} (--systemd)"),
            None => format!("read as by systemd {} (--systemd)", SystemdVersion::LATEST),
        })
    }

    /// Reads the filters to show what they do: a process without filters allows everything. Prints warnings.
    pub(crate) fn read(&self, options: &SourceOptions) -> Result<SourceStack> {
        Ok(checked(self.read_or_unrestricted(options)?, options))
    }

    /// Reads the filters to show what they do. Warns about the sources, but not about options.
    pub(super) fn read_or_unrestricted(&self, options: &SourceOptions) -> Result<SourceStack> {
        match &self.kind {
            SourceKind::Process(process) => process.read_or_unrestricted(options),
            _ => self.read_stack(options),
        }
    }

    /// Reads the filters to write them in another language. Prints warnings, but not about options that affect how
    /// the result is read back.
    pub(crate) fn read_to_convert(
        &self,
        options: &SourceOptions,
        target: LanguageId,
    ) -> Result<SourceStack> {
        // A combination is made of what the profiles mean without the rules that a runtime adds.
        let stack = match &self.kind {
            SourceKind::Combined(expression) => {
                to_convert(expression, options, Source::read_stack, Source::is_stdin)?
            }
            _ => self.read_stack(options)?,
        };
        warn_about_options(&stack.filters, &options.without_those_of(target));
        Ok(stack)
    }

    /// Reads a filter to compile it; merges a stack into one program. A process without filters
    /// is an error. Prints warnings.
    pub(crate) fn read_to_compile(&self, options: &SourceOptions) -> Result<SourceFilter> {
        self.read_to_compile_observed(options, |_| Ok(()))
    }

    /// Like [`Source::read_to_compile`]; `look` gets the filters before they are merged.
    pub(crate) fn read_to_compile_observed(
        &self,
        options: &SourceOptions,
        look: impl FnOnce(&SourceStack) -> Result<()>,
    ) -> Result<SourceFilter> {
        let stack = checked(self.read_stack(options)?, options);
        look(&stack)?;
        into_filter(stack)
    }

    /// Reads two sources with the same options and with `own` ones, which take precedence, after the end of their names.
    /// They must be for machines of one byte order. Prints warnings.
    pub(crate) fn read_both(
        [a, b]: [&Source; 2],
        options: &SourceOptions,
        own: [(&'static str, &SourceOptions); 2],
    ) -> Result<(SourceStack, SourceStack)> {
        Source::check_inputs(a, b)?;
        let read = |source: &Source, (suffix, own): (&'static str, &SourceOptions)| {
            source.read_or_unrestricted(&own.or(suffix, options))
        };
        Source::check_both((read(a, own[0])?, read(b, own[1])?), options, own)
    }

    /// Refuses two sources that are both standard input.
    pub(crate) fn check_inputs(a: &Source, b: &Source) -> Result<()> {
        if a.is_stdin() && b.is_stdin() {
            return Err(Failure::new(
                "both filters are standard input, which can be read only once",
            )
            .help("write one of them to a file"));
        }
        Ok(())
    }

    /// Checks two sources as [`Source::read_both`] after it read them.
    pub(crate) fn check_both(
        (a, b): (SourceStack, SourceStack),
        options: &SourceOptions,
        own: [(&'static str, &SourceOptions); 2],
    ) -> Result<(SourceStack, SourceStack)> {
        warn_about_options(a.filters.iter().chain(&b.filters), options);
        for (stack, (suffix, own)) in [&a, &b].into_iter().zip(own) {
            own.warn_about_unused(suffix, Kinds::of(&stack.filters));
        }
        if a.endian() != b.endian() {
            return Err(Failure::new(format!(
                "{} and {} are for machines with different byte orders, so no syscall reaches both",
                a.name, b.name
            ))
            .help(WORDING.one_byte_order));
        }
        Ok((a, b))
    }

    /// Reads the operands of an operation. Prints warnings.
    pub(crate) fn combine(
        operation: Operation,
        operands: &[OsString],
        options: &SourceOptions,
    ) -> Result<Combination> {
        let expression = of_operands(operation, operands, Source::parse)?;
        let combination = combine(&expression, |source| into_filter(source.read_stack(options)?))?;
        warn_about_options(combination.filters(), options);
        Ok(combination)
    }

    /// Reads the operands of an operation, and combines them to write the result in another language. Prints warnings.
    pub(crate) fn combine_to_convert(
        operation: Operation,
        operands: &[OsString],
        options: &SourceOptions,
        target: LanguageId,
    ) -> Result<SourceStack> {
        let kind = SourceKind::Combined(of_operands(operation, operands, Source::parse)?);
        Source { kind }.read_to_convert(options, target)
    }

    /// Reads sources, each as a stack. Prints warnings.
    pub(crate) fn read_each(
        sources: &[Source],
        options: &SourceOptions,
    ) -> Result<Vec<SourceStack>> {
        let stacks: Vec<SourceStack> =
            sources.iter().map(|source| source.read_stack(options)).collect::<Result<_>>()?;
        Source::check_each(&stacks, options);
        Ok(stacks)
    }

    /// Warns about options as [`Source::read_each`] after it read these sources.
    pub(crate) fn check_each(stacks: &[SourceStack], options: &SourceOptions) {
        let filters = stacks.iter().flat_map(|stack| &stack.filters);
        warn_about_options(filters, options);
    }

    /// Like [`Source::read_each`], with all stacks concatenated.
    pub(crate) fn read_all(
        sources: &[Source],
        options: &SourceOptions,
    ) -> Result<Vec<SourceFilter>> {
        let stacks = Source::read_each(sources, options)?;
        Ok(stacks.into_iter().flat_map(|stack| stack.filters).collect())
    }

    /// With --strict, fails for a source that is not where its name says.
    pub(super) fn check_place(&self, options: &SourceOptions) -> Result<()> {
        match &self.kind {
            SourceKind::At { place, .. } => Tree::check_source(place, options),
            SourceKind::Part(part) => Tree::check_source(&part.place, options),
            SourceKind::Files(files) => match files.place() {
                Some(place) => Tree::check_source(place, options),
                None => Ok(()),
            },
            SourceKind::BuiltIn(_)
            | SourceKind::Combined(_)
            | SourceKind::Preset(_)
            | SourceKind::Process(_) => Ok(()),
        }
    }

    /// Reads the filters; a process without filters is an error. Warns about the sources, but not about options.
    pub(super) fn read_stack(&self, options: &SourceOptions) -> Result<SourceStack> {
        self.check_place(options)?;
        match &self.kind {
            SourceKind::Process(process) => process.read(options),
            SourceKind::Combined(expression) => {
                let filter = |source: &Source| into_filter(source.read_stack(options)?);
                to_filter(combine(expression, filter)?).map(SourceStack::of)
            }
            _ => match self.content()? {
                Some(loaded) => loaded.read(options),
                None => Err(Failure::new("a source was not read")),
            },
        }
    }
}

/// A stack that was read with these options. Prints warnings about them.
pub(super) fn checked(stack: SourceStack, options: &SourceOptions) -> SourceStack {
    warn_about_options(&stack.filters, options);
    stack
}

/// Reads an input whose format will be detected.
pub(super) fn read_detectable(place: &Place) -> Result<Vec<u8>> {
    if let Place::File(path) = place
        && let Some(name) = path.to_str()
        && syscalls::is_known_name(name)
        && !path.exists()
    {
        return Err(Failure::about(name, "no such file")
            .help(format!("{name} is a syscall; give a SOURCE before it, such as {BUILT_IN}")));
    }
    place.read().map_err(|failure| explain_missing(failure, place))
}

/// The most files of a directory with which a missing one is compared.
const MAX_BESIDE: usize = 1000;

/// Adds to the message about a missing file what its name means as a source, and that operators stand between blanks.
fn explain_missing(failure: Failure, place: &Place) -> Failure {
    match place {
        Place::File(path) if !path.exists() && path.as_os_str().as_bytes().contains(&b'+') => {
            failure.more_help("to combine sources, put blanks around the operators: 'A + B'")
        }
        Place::File(path) if !path.exists() => {
            let name = path.to_str().unwrap_or_default();
            if name.parse::<u32>().is_ok() {
                return failure.help(format!("a process is a source as pid:{name}"));
            }
            let beside = beside(path);
            // A link that leads nowhere is in the directory, too.
            let others = beside.iter().map(String::as_str).filter(|other| *other != name);
            match built_in::advice(name, others) {
                Some(advice) => failure.help(advice),
                None if may_be_service(name) => failure.help(format!(
                    "a unit is {name}.service, a process is pid:N, and `callgate sources` lists the built-in profiles; \
                     for a file, give the name of one that exists"
                )),
                None => failure,
            }
        }
        _ => failure,
    }
}

/// Whether a name could be that of a program or service, rather than of a file.
fn may_be_service(name: &str) -> bool {
    let is_of_words = |letter: u8| letter.is_ascii_alphanumeric() || b"-_".contains(&letter);
    name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.bytes().all(is_of_words)
}

/// The files in the directory of a path, as paths in the same form.
fn beside(path: &Path) -> Vec<String> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let entries = std::fs::read_dir(directory.unwrap_or(Path::new("."))).into_iter().flatten();
    let names = entries.flatten().take(MAX_BESIDE).map(|entry| entry.file_name());
    names
        .filter_map(|name| {
            Some(directory.map_or(PathBuf::new(), PathBuf::from).join(name).to_str()?.to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_requests::source::ProgramForm;

    fn parse(text: &str) -> SourceKind {
        Source::parse(OsStr::new(text)).unwrap().kind
    }

    fn file(path: &str, format: Option<SourceFormat>) -> SourceKind {
        SourceKind::At { place: Place::File(path.into()), format }
    }

    #[test]
    fn a_source_is_a_format_and_a_name() {
        for name in ["container-default", "docker-default", "docker-default@24.0.2"] {
            assert_eq!(parse(name), SourceKind::BuiltIn(BuiltInSource(name.to_owned())));
        }
        assert_eq!(parse("-"), SourceKind::At { place: Place::Stdin, format: None });
        assert_eq!(parse("a.json"), file("a.json", None));
        assert_eq!(
            parse("bpf:-"),
            SourceKind::At {
                place: Place::Stdin,
                format: Some(SourceFormat::Program(ProgramForm::Raw))
            }
        );
        let of = |name: &str| SourceFormat::from_name(name);
        assert_eq!(parse("crun:x:y"), file("x:y", of("crun")));
        assert_eq!(parse("kafel:x.txt"), file("x.txt", of("kafel")));
        assert_eq!(parse("./odd:name"), file("./odd:name", None));
        assert_eq!(parse("C:name"), file("C:name", None));
        assert_eq!(parse("pid:1"), SourceKind::Process(ProcessSource { pid: 1, filter: None }));
        assert_eq!(
            parse("pid:1/20"),
            SourceKind::Process(ProcessSource { pid: 1, filter: Some(20) })
        );
        assert_eq!(parse("./pid:1"), file("./pid:1", None));
        for wrong in [
            "kafle:x",
            "",
            "oci:",
            "pid:",
            "pid:x",
            "pid:1/",
            "pid:-1",
            "pid:0",
            "pid:+1",
            "docker-default@1",
            "container-default@1",
        ] {
            assert!(Source::parse(OsStr::new(wrong)).is_err(), "{wrong}");
        }
    }
}
