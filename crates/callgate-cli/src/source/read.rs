//! Reads the bytes of a profile or a program into a filter.

use callgate::{Arch, Endian};
use callgate_bpf::diagnostic::Diagnostic;
use callgate_bpf::text::Definition;
use callgate_core::{LongProgram, ProgramError, RawInsn, SocketProgram};
use callgate_formats::oci;
use callgate_requests::source::{
    Listing, ListingReading, ProgramForm, SOCKET_FILTER, SourceFormat, from_linux3,
};

use super::filter::Filter;
use super::named_text::{NamedText, RAW_HELP, checked_text};
use super::place::Place;
use super::policy::{PolicySource, read_policy};
use super::recognize::check_encoding;
use super::stack::Stack;
use super::violations::{SOCKET_HELP, not_a_program};
use crate::options::SourceOptions;
use crate::report::{self, Failure, Result};

/// The built-in profile.
pub(crate) const BUILT_IN: &str = "container-default";

/// Reads the built-in profile. Prints warnings.
pub(super) fn built_in(options: &SourceOptions) -> Result<Filter> {
    let name = BUILT_IN.to_owned();
    let texts = [NamedText::of(name.clone(), callgate_formats::CONTAINER_DEFAULT.to_owned())];
    let source = PolicySource { language: oci::DOCKER, place: None, name, part: None };
    source.read(&texts, options)?.into_filter()
}

/// Reads filters. Prints warnings.
pub(super) fn read_stack(
    place: &Place,
    format: SourceFormat,
    bytes: Vec<u8>,
    options: &SourceOptions,
) -> Result<Stack> {
    match format {
        SourceFormat::Policy(language) => read_policy((place, language), bytes, None, options),
        SourceFormat::Program(form) => {
            check_encoding(place, &bytes)?;
            let (program, endian, warnings) =
                read_program::<LongProgram>(place, form, bytes, options)?;
            let filter = Filter::of_program(place.name(), program, endian, options)?;
            Ok(Stack::of(filter.with_warnings(warnings, options)))
        }
        SourceFormat::Socket => {
            check_encoding(place, &bytes)?;
            Err(Failure::about(place.name(), SOCKET_FILTER).help(SOCKET_HELP))
        }
    }
}

/// Reads a program that the kernel accepts, in either encoding; returns it with its byte order and warnings.
pub(super) fn read_program<P: Accepted>(
    place: &Place,
    form: ProgramForm,
    bytes: Vec<u8>,
    options: &SourceOptions,
) -> Result<(P, Endian, Vec<Diagnostic>)> {
    let given = options.of_program()?;
    match form {
        ProgramForm::Raw => {
            let translated = |error| {
                let read = from_linux3(&bytes, given)
                    .and_then(|(insns, warning)| Some((P::from_raw(&insns).ok()?, vec![warning])));
                read.ok_or_else(|| not_a_program(place, &error))
            };
            let read = P::from_bytes(&bytes, given).map(|program| (program, Vec::new()));
            let (program, warnings) = read.or_else(translated)?;
            Ok((program, given, warnings))
        }
        ProgramForm::Text => {
            let listing = ListingReading {
                endian: given,
                is_fixed: options.fixes_endian(),
                arches: options.arch.clone(),
                advice: "omit --endian and --arch, or give the byte order of the text",
                one_arch: "give --arch once",
                machine: Arch::native(),
                definitions: options.macros(),
                strict: options.strict,
            };
            let text = checked_text(place, bytes, RAW_HELP, options)?;
            let read = listing.read(&text);
            let Listing { insns, endian, warnings } =
                read.map_err(|errors| Failure::of(place.name(), errors))?;
            let program = P::from_raw(&insns).map_err(|error| not_a_program(place, &error))?;
            Ok((program, endian, warnings))
        }
    }
}

/// Parses a program as text in any form; returns it with its byte order, which is the given one unless the text
/// specifies another. Prints warnings.
pub(crate) fn read_text(
    place: &Place,
    text: &str,
    endian: Endian,
    definitions: Vec<Definition>,
    strict: bool,
) -> Result<(Vec<RawInsn>, Endian)> {
    let machine = Arch::native();
    let options = ListingReading {
        endian,
        is_fixed: false,
        arches: Vec::new(),
        advice: "",
        one_arch: "",
        machine,
        definitions,
        strict,
    };
    let listing = options.parse(text, endian, None);
    let listing = listing.map_err(|errors| Failure::of(place.name(), errors))?;
    report::warn_all(&place.name(), &listing.warnings);
    Ok((listing.insns, listing.endian))
}

/// A program that the kernel accepts: a seccomp or a socket filter.
pub(super) trait Accepted: Sized {
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
