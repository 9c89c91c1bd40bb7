//! Reads the bytes of a profile or a program into a filter.

use callgate::bpf::text::TextOptions;
use callgate::bpf::{self, LongProgram, ProgramError, RawInsn, SocketProgram};
use callgate::formats::{self, oci};
use callgate::{Arch, Endian};
use callgate_requests::source::{ProgramForm, SourceFormat, linux3_warning, listing_warnings};

use super::android::read_list;
use super::base::bases_of;
use super::choosing::choose_part;
use super::filter::Filter;
use super::firecracker::read_thread;
use super::lxc::read_lxc_profile;
use super::place::Place;
use super::recognize::check_encoding;
use super::snap::read_snap_profile;
use super::violations::{SOCKET_HELP, not_a_program};
use super::{kafel, minijail};
use crate::options::SourceOptions;
use crate::report::{self, Failure, Result};
use callgate_requests::source::arches_in;

/// The built-in profile.
pub(crate) const BUILT_IN: &str = "container-default";

/// Help for a source that is not text.
pub(super) const RAW_HELP: &str = "for a program as raw instructions, write bpf:FILE";

pub(super) fn built_in(options: &SourceOptions) -> Result<Filter> {
    let profile = formats::container_default(&options.of_profile(None)?)
        .map_err(|errors| Failure::of(BUILT_IN, errors))?;
    Ok(Filter::of_profile(BUILT_IN.to_owned(), profile, options))
}

/// Reads a seccomp filter.
pub(super) fn read_filter(
    place: &Place,
    format: SourceFormat,
    bytes: Vec<u8>,
    options: &SourceOptions,
) -> Result<Filter> {
    check_encoding(place, &bytes)?;
    match format {
        SourceFormat::Profile(dialect) => read_profile(place, dialect, bytes, None, options),
        SourceFormat::Kafel => kafel::read_policy(place, &place.text(bytes, RAW_HELP)?, options),
        SourceFormat::Minijail => {
            minijail::read_policy(place, &place.text(bytes, RAW_HELP)?, options)
        }
        SourceFormat::Firecracker => read_thread(place, bytes, None, options),
        SourceFormat::Lxc => read_lxc_profile(place, &place.text(bytes, RAW_HELP)?, options),
        SourceFormat::Snap => {
            read_snap_profile(place, &place.text(bytes, RAW_HELP)?, options)?.into_filter()
        }
        SourceFormat::Android => read_list(place, bytes, options),
        SourceFormat::Program(form) => {
            let (program, endian) = read_program::<LongProgram>(place, form, bytes, options)?;
            Filter::of_program(place.name(), program, endian, options)
        }
        SourceFormat::Socket => Err(Failure::about(
            place.name(),
            "this is a socket filter, which takes packets, not syscalls",
        )
        .help(SOCKET_HELP)),
    }
}

/// Reads the profile of a container, or of the Kubernetes resource with a name.
pub(super) fn read_profile(
    place: &Place,
    dialect: Option<oci::Dialect>,
    bytes: Vec<u8>,
    name: Option<&str>,
    options: &SourceOptions,
) -> Result<Filter> {
    check_encoding(place, &bytes)?;
    let text = place.text(bytes, RAW_HELP)?;
    let mut reading = options.of_profile(dialect)?;
    reading.resource = name.map(str::to_owned);
    reading.choosing = choose_part;
    reading.identity = place.identity();
    let profile = oci::read_with_bases(&text, &reading, &mut bases_of(place, options))
        .map_err(|errors| Failure::of(place.name(), errors))?;
    let mut filter = Filter::of_profile(place.name(), profile, options);
    if let Some(name) = name {
        filter.name = format!("{}#{name}", place.name());
    }
    Ok(filter)
}

/// Reads a program that the kernel accepts, in either encoding; returns it with its byte order.
pub(super) fn read_program<P: Accepted>(
    place: &Place,
    form: ProgramForm,
    bytes: Vec<u8>,
    options: &SourceOptions,
) -> Result<(P, Endian)> {
    let given = options.of_program()?;
    match form {
        ProgramForm::Raw => {
            let program = P::from_bytes(&bytes, given).or_else(|error| {
                from_linux3(place, &bytes, given).ok_or_else(|| not_a_program(place, &error))
            })?;
            Ok((program, given))
        }
        ProgramForm::Text => {
            let text = place.text(bytes, RAW_HELP)?;
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
            let arch = options.arch.first().copied();
            let (mut raw, mut endian) = read_text(place, text, given, arch)?;
            // Source code and most listings have no byte order; the architectures that they compare tell it.
            // Bytes in hexadecimal have one, and fail.
            if let Some(other) = other_endian(&raw, endian).filter(|_| !options.fixes_endian())
                && let Ok(again) = read_text(place, text, other, None)
            {
                (raw, endian) = again;
            }
            if endian != given && options.fixes_endian() {
                return Err(Failure::about(place.name(), "`.endian` contradicts the options")
                    .help("omit --endian and --arch, or give the byte order of the text"));
            }
            let program = P::from_raw(&raw).map_err(|error| not_a_program(place, &error))?;
            Ok((program, endian))
        }
    }
}

/// A program that was copied from the memory of Linux 3, which has opcodes of its own. Prints a warning.
fn from_linux3<P: Accepted>(place: &Place, bytes: &[u8], endian: Endian) -> Option<P> {
    let (insns, rest) = bytes.as_chunks();
    let insns: Vec<RawInsn> = insns.iter().map(|insn| RawInsn::from_bytes(*insn, endian)).collect();
    let translated = bpf::text::from_linux3(&insns).filter(|_| rest.is_empty())?;
    let program = P::from_raw(&translated).ok()?;
    report::warn_all(&place.name(), &[linux3_warning()]);
    Some(program)
}

/// Parses a program as text in any form; returns it with its byte order, which is the given one unless the text
/// specifies another. Names of syscalls are those of the given architecture, else of the one that the text is for, else of
/// this machine.
pub(crate) fn read_text(
    place: &Place,
    text: &str,
    endian: Endian,
    arch: Option<Arch>,
) -> Result<(Vec<RawInsn>, Endian)> {
    let mut options = TextOptions::new(endian);
    if let Some(arch) = arch {
        options = options.with_arch(arch);
    }
    if let Some(native) = Arch::native() {
        options = options.with_usual_arch(native);
    }
    let program = bpf::text::parse_program(text, &options)
        .map_err(|error| Failure::of(place.name(), error.into_diagnostics()))?;
    report::warn_all(&place.name(), &listing_warnings(&program));
    Ok((program.insns, program.endian))
}

/// The byte order of the architectures that a program compares, if it compares none of this byte order.
fn other_endian(raw: &[RawInsn], endian: Endian) -> Option<Endian> {
    let other = match endian {
        Endian::Little => Endian::Big,
        Endian::Big => Endian::Little,
    };
    let program = LongProgram::from_raw(raw).ok()?;
    let has = |endian| !arches_in(&program, endian).is_empty();
    (!has(endian) && has(other)).then_some(other)
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
