//! Sources: everything that means a filter, `[FORMAT:]WHAT`.
//!
//! Without a format, the built-in name, the extensions `.bpf`, `.json`, `.yaml` and `.yml`, and then the
//! content decide: `{` and a quote, `---`, and a key of a profile or a Kubernetes resource begin a
//! profile, other text is a program as text, anything else is raw instructions. A name with a colon that
//! is not a format is a mistake, not a file; `./` in front of it makes it a file.
//!
//! `pid:N` is the stack of filters of a process or thread, `pid:N/I` one of them ([`process`]). What looks at
//! meanings takes the stack as it is; what makes programs takes the one program that it merges to.
//!
//! Most commands want a filter of calls; those that also know packets read a [`Subject`].

mod detect;
mod filter;
mod place;
mod process;
mod socket;
mod stack;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use callgate::Endian;
use callgate::bpf::{self, LongProgram, ProgramError, RawInsn, SocketProgram};
use callgate::diagnostic::Diagnostic;
use callgate::frontend::{self, oci};

pub(crate) use filter::{Filter, Meaning, arches_in, failed};
pub(crate) use place::Place;
pub(crate) use process::{dump, stack_of};
pub(crate) use socket::{SocketFilter, Subject, SubjectOptions};
pub(crate) use stack::{Stack, arches, merge};

use crate::options::{CompileOptions, SourceOptions};
use crate::report::{Failure, Result};
use detect::detect;
use process::Process;

/// The built-in profile.
pub(crate) const BUILT_IN: &str = "container-default";

/// What to do about a source that should be text and is not.
const RAW_HELP: &str = "a program in raw bytes is read as bpf:FILE";

/// Who takes programs for packets.
const SOCKET_HELP: &str = "`callgate simulate` and `callgate bench engines` take socket filters";

/// The format of filters that are installed.
const PROCESS: &str = "pid";

/// The formats of files that can be named.
const FORMATS: &[(&str, Format)] = &[
    ("oci", Format::Profile(Some(oci::Dialect::Oci))),
    ("docker", Format::Profile(Some(oci::Dialect::Docker))),
    ("podman", Format::Profile(Some(oci::Dialect::Podman))),
    ("runc", Format::Profile(Some(oci::Dialect::Runc))),
    ("crun", Format::Profile(Some(oci::Dialect::Crun))),
    ("bpf", Format::Program(Form::Raw)),
    ("bpftext", Format::Program(Form::Text)),
    ("socket", Format::Socket),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Profile(Option<oci::Dialect>),
    Program(Form),
    /// A program for packets, in either form.
    Socket,
}

/// How a program is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Raw,
    Text,
}

/// A source as named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    BuiltIn,
    Process(Process),
    At { place: Place, format: Option<Format> },
}

impl Source {
    /// Understands `[FORMAT:]WHAT`.
    pub(crate) fn parse(text: &OsStr) -> Result<Source> {
        if text == BUILT_IN {
            return Ok(Source { what: What::BuiltIn });
        }
        let bytes = text.as_bytes();
        let colon = bytes.iter().position(|byte| *byte == b':');
        let prefix = colon.and_then(|at| std::str::from_utf8(&bytes[..at]).ok());
        let (format, rest) = match (prefix, colon) {
            (Some(PROCESS), Some(at)) => {
                let process = Process::parse(&String::from_utf8_lossy(&bytes[at + 1..]))?;
                return Ok(Source { what: What::Process(process) });
            }
            (Some(prefix), Some(at)) if is_word(prefix) => {
                let known = FORMATS.iter().find(|(name, _)| *name == prefix);
                let Some((_, format)) = known else {
                    return Err(unknown_format(prefix, text));
                };
                (Some(*format), OsStr::from_bytes(&bytes[at + 1..]))
            }
            _ => (None, text),
        };
        if rest.is_empty() {
            return Err(Failure::new("the name of a source is empty")
                .help(format!("give a file, - for standard input, or {BUILT_IN}")));
        }
        let place = Place::of_path(Path::new(rest));
        Ok(Source { what: What::At { place, format } })
    }

    /// Whether it is read from standard input.
    pub(crate) fn is_stdin(&self) -> bool {
        matches!(&self.what, What::At { place: Place::Stdin, .. })
    }

    /// Reads what it means. Warnings are printed.
    pub(crate) fn read(&self, options: &SourceOptions) -> Result<Stack> {
        self.read_with_counts(options, false)
    }

    /// Reads what may be compiled with these options; a stack is merged into one program. Warnings are
    /// printed.
    pub(crate) fn read_to_compile(
        &self,
        options: &SourceOptions,
        compiling: &CompileOptions,
    ) -> Result<Filter> {
        self.read_with_counts(options, compiling.has_weights())?.into_filter()
    }

    fn read_with_counts(&self, options: &SourceOptions, counts: bool) -> Result<Stack> {
        let mut stack = self.read_stack(options)?;
        for filter in &mut stack.filters {
            filter.strict = options.strict;
        }
        warn_about_options(&stack.filters, options, counts);
        Ok(stack)
    }

    /// Reads two with the same options. Warnings are printed.
    pub(crate) fn read_both(
        a: &Source,
        b: &Source,
        options: &SourceOptions,
    ) -> Result<(Stack, Stack)> {
        let (a, b) = (a.read_stack(options)?, b.read_stack(options)?);
        warn_about_options(a.filters.iter().chain(&b.filters), options, false);
        Ok((a, b))
    }

    /// Reads any number that may be compiled with these options, each for itself. Warnings are printed.
    pub(crate) fn read_each(
        sources: &[Source],
        options: &SourceOptions,
        compiling: &CompileOptions,
    ) -> Result<Vec<Stack>> {
        let stacks: Vec<Stack> =
            sources.iter().map(|source| source.read_stack(options)).collect::<Result<_>>()?;
        let filters = stacks.iter().flat_map(|stack| &stack.filters);
        warn_about_options(filters, options, compiling.has_weights());
        Ok(stacks)
    }

    /// The same for filters that belong together: those of a stack one by one.
    pub(crate) fn read_all(
        sources: &[Source],
        options: &SourceOptions,
        compiling: &CompileOptions,
    ) -> Result<Vec<Filter>> {
        let stacks = Source::read_each(sources, options, compiling)?;
        Ok(stacks.into_iter().flat_map(|stack| stack.filters).collect())
    }

    fn read_stack(&self, options: &SourceOptions) -> Result<Stack> {
        match &self.what {
            What::Process(process) => process.read(options),
            _ => self.read_one(options).map(Stack::of),
        }
    }

    fn read_one(&self, options: &SourceOptions) -> Result<Filter> {
        match &self.what {
            What::BuiltIn => built_in(options),
            What::Process(process) => process.read(options)?.into_filter(),
            What::At { place, format } => {
                let bytes = place.read()?;
                read_filter(place, format.unwrap_or_else(|| detect(place, &bytes)), bytes, options)
            }
        }
    }
}

fn built_in(options: &SourceOptions) -> Result<Filter> {
    let profile = frontend::container_default(&options.of_profile(None)?)
        .map_err(|errors| Failure::of(BUILT_IN, errors.into_vec()))?;
    Ok(Filter::of_profile(BUILT_IN.to_owned(), profile))
}

/// A filter of calls.
fn read_filter(
    place: &Place,
    format: Format,
    bytes: Vec<u8>,
    options: &SourceOptions,
) -> Result<Filter> {
    match format {
        Format::Profile(dialect) => {
            let options = options.of_profile(dialect)?;
            let profile = oci::read(&place.text(bytes, RAW_HELP)?, &options)
                .map_err(|errors| Failure::of(place.name(), errors.into_vec()))?;
            Ok(Filter::of_profile(place.name(), profile))
        }
        Format::Program(form) => {
            let (program, endian) = read_program::<LongProgram>(place, form, bytes, options)?;
            Filter::of_program(place.name(), program, endian, options)
        }
        Format::Socket => {
            Err(Failure::about(place.name(), "a socket filter is not asked about calls")
                .help("`callgate simulate` and `callgate bench engines` take socket filters"))
        }
    }
}

/// A program that the kernel accepts, in any form, and its byte order.
fn read_program<P: Accepted>(
    place: &Place,
    form: Form,
    bytes: Vec<u8>,
    options: &SourceOptions,
) -> Result<(P, Endian)> {
    let given = options.of_program()?;
    match form {
        Form::Raw => {
            let program =
                P::from_bytes(&bytes, given).map_err(|error| not_a_program(place, &error))?;
            Ok((program, given))
        }
        Form::Text => {
            let text = place.text(bytes, RAW_HELP)?;
            let (raw, endian) = read_text(place, &text, given)?;
            if endian != given && options.fixes_endian() {
                return Err(Failure::about(place.name(), "`.endian` contradicts the options")
                    .help("leave --endian and --arch out, or give what the text says"));
            }
            let program = P::from_raw(&raw).map_err(|error| not_a_program(place, &error))?;
            Ok((program, endian))
        }
    }
}

/// The instructions of a text in any form, for a machine of this byte order, unless the text says another,
/// and the byte order.
pub(crate) fn read_text(
    place: &Place,
    text: &str,
    endian: Endian,
) -> Result<(Vec<RawInsn>, Endian)> {
    bpf::text::parse_for(text, endian)
        .map_err(|error| Failure::of(place.name(), error.into_diagnostics()))
}

/// A program of either kind.
trait Accepted: Sized {
    fn from_bytes(bytes: &[u8], endian: Endian) -> std::result::Result<Self, ProgramError>;
    fn from_raw(raw: &[RawInsn]) -> std::result::Result<Self, ProgramError>;
}

macro_rules! accepted {
    ($($program:ty)*) => {
        $(impl Accepted for $program {
            fn from_bytes(bytes: &[u8], endian: Endian) -> std::result::Result<Self, ProgramError> {
                <$program>::from_bytes(bytes, endian)
            }
            fn from_raw(raw: &[RawInsn]) -> std::result::Result<Self, ProgramError> {
                <$program>::from_raw(raw)
            }
        })*
    };
}

accepted!(LongProgram SocketProgram);

/// Says which options none of these filters needs, and which of them are for other architectures.
fn warn_about_options<'a>(
    filters: impl IntoIterator<Item = &'a Filter>,
    options: &SourceOptions,
    counts: bool,
) {
    let (mut profile, mut program) = (false, false);
    for filter in filters {
        filter.warn_about_arches();
        profile |= filter.is_profile();
        program |= !filter.is_profile();
    }
    options.warn_about_unused(profile, program, counts);
}

/// Names of formats are words of small letters and digits; anything else before a colon belongs to the
/// name of a file.
fn is_word(prefix: &str) -> bool {
    !prefix.is_empty() && prefix.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

fn unknown_format(prefix: &str, text: &OsStr) -> Failure {
    let mut names: Vec<&str> = FORMATS.iter().map(|(name, _)| *name).collect();
    names.push(PROCESS);
    Failure::new(format!("unknown format \"{prefix}\" in the source \"{}\"", text.display())).help(
        format!(
            "the formats are {}; for a file of this name write ./{}",
            names.join(", "),
            text.display()
        ),
    )
}

/// Why the kernel would refuse these instructions.
pub(crate) fn not_a_program(place: &Place, error: &ProgramError) -> Failure {
    Failure::of(place.name(), violations(error))
}

fn violations(error: &ProgramError) -> Vec<Diagnostic> {
    /// Where one thing is wrong with a program, everything may be.
    const SHOWN: usize = 5;
    let violations = error.violations();
    let mut messages: Vec<Diagnostic> = violations
        .iter()
        .take(SHOWN)
        .map(|violation| Diagnostic::error(None, violation.to_string()))
        .collect();
    if let Some(more @ 1..) = violations.len().checked_sub(SHOWN) {
        let plural = if more == 1 { "" } else { "s" };
        messages.push(Diagnostic::error(None, format!("and {more} more violation{plural}")));
    }
    let of_packets = violations.iter().any(|violation| violation.rule() == "not-in-seccomp");
    let hint = error.hint().or(of_packets.then_some(SOCKET_HELP));
    if let (Some(hint), Some(last)) = (hint, messages.last_mut()) {
        last.help = hint.to_owned();
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> What {
        Source::parse(OsStr::new(text)).unwrap().what
    }

    fn file(path: &str, format: Option<Format>) -> What {
        What::At { place: Place::File(path.into()), format }
    }

    #[test]
    fn a_source_is_a_format_and_a_place() {
        assert_eq!(parse("container-default"), What::BuiltIn);
        assert_eq!(parse("-"), What::At { place: Place::Stdin, format: None });
        assert_eq!(parse("a.json"), file("a.json", None));
        assert_eq!(
            parse("bpf:-"),
            What::At { place: Place::Stdin, format: Some(Format::Program(Form::Raw)) }
        );
        assert_eq!(parse("crun:x:y"), file("x:y", Some(Format::Profile(Some(oci::Dialect::Crun)))));
        assert_eq!(parse("./odd:name"), file("./odd:name", None));
        assert_eq!(parse("C:name"), file("C:name", None));
        assert_eq!(parse("pid:1"), What::Process(Process { pid: 1, filter: None }));
        assert_eq!(parse("pid:1/20"), What::Process(Process { pid: 1, filter: Some(20) }));
        assert_eq!(parse("./pid:1"), file("./pid:1", None));
        for wrong in ["kafel:x", "", "oci:", "pid:", "pid:x", "pid:1/", "pid:-1", "pid:0", "pid:+1"]
        {
            assert!(Source::parse(OsStr::new(wrong)).is_err(), "{wrong}");
        }
    }
}
