//! Programs as text for commands that take nothing else.

use callgate::{Arch, Endian};
use callgate_bpf::text::Definition;
use callgate_core::{ProgramError, RawInsn};
use callgate_requests::source::{ListingReading, violations};

use super::filter::WORDING;
use super::place::Place;
use crate::report::{self, Failure, Result};

/// Parses a program as text in any form; returns it with its byte order, which is the given one unless the text
/// specifies another. Prints warnings.
pub(crate) fn read_text(
    place: &Place,
    text: &str,
    endian: Endian,
    definitions: Vec<Definition>,
    strict: bool,
) -> Result<(Vec<RawInsn>, Endian)> {
    let options = ListingReading {
        endian,
        is_fixed: false,
        arches: Vec::new(),
        advice: "",
        one_arch: "",
        machine: Arch::native(),
        definitions,
        strict,
        part: None,
    };
    let listing = options.parse(text, endian, None);
    let listing = listing.map_err(|errors| Failure::of(place.name(), errors))?;
    report::warn_all(&place.name(), &listing.warnings);
    Ok((listing.insns, listing.endian))
}

/// The message for a program that the kernel would refuse.
pub(crate) fn not_a_program(place: &Place, error: &ProgramError) -> Failure {
    Failure::of(place.name(), violations(error, WORDING.socket_filters))
}
