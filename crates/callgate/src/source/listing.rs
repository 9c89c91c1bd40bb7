//! Programs as text, in any notation, and as bytes.

use crate::{Arch, Endian};
use callgate_bpf::diagnostic::Diagnostic;
use callgate_bpf::text::{self, Definition, TextOptions, TextProgram};
use callgate_core::{LongProgram, RawInsn};

use super::arches::arches_in;

/// How a program as text is read.
#[derive(Clone, Debug)]
pub struct ListingReading {
    /// The byte order, unless the text tells another.
    pub endian: Endian,
    /// Whether that is given, and the text must not contradict it.
    pub is_fixed: bool,
    /// The given architectures, whose names of syscalls and macros of C are read. The text must be one program for all.
    pub arches: Vec<Arch>,
    /// What to do if the text contradicts the given byte order.
    pub advice: &'static str,
    /// What to do if the text is another program for each given architecture.
    pub one_arch: &'static str,
    /// The machine, whose names are read if the text is for no architecture.
    pub machine: Option<Arch>,
    /// Macros of C that are defined, or not, before the text is read.
    pub definitions: Vec<Definition>,
    /// Whether what is assumed about the text is an error.
    pub strict: bool,
    /// Which array of instructions in source code is read: its name, that of the function it is in, or its line.
    pub part: Option<String>,
}

/// A program as text after it was read.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The instructions.
    pub insns: Vec<RawInsn>,
    /// The byte order of its machines.
    pub endian: Endian,
    /// Warnings about what reading changed.
    pub warnings: Vec<Diagnostic>,
}

impl ListingReading {
    /// Reads a text. Source code and most listings have no byte order; the architectures that they compare tell it.
    ///
    /// # Errors
    /// All messages about the text.
    pub fn read(&self, text: &str) -> Result<Listing, Vec<Diagnostic>> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut listing = self.parse(text, self.endian, self.arches.first().copied())?;
        self.check_others(text, &listing)?;
        if let Some(other) = other_endian(&listing).filter(|_| !self.is_fixed) {
            // Bytes in hexadecimal have an order of their own, and are something else in the other one.
            let again = self.parse(text, other, None).ok().filter(|again| is_of(again, other));
            listing = again.unwrap_or(listing);
        }
        if listing.endian != self.endian && self.is_fixed {
            let message = "`.endian` contradicts the options";
            return Err(vec![Diagnostic::error(None, message).help(self.advice)]);
        }
        Ok(listing)
    }

    /// Fails if a text is another program for one of the given architectures than for the first one: conditionals and names
    /// of syscalls depend on it, so one of the programs would stand for machines that run the other.
    fn check_others(&self, text: &str, listing: &Listing) -> Result<(), Vec<Diagnostic>> {
        let Some((first, others)) = self.arches.split_first() else { return Ok(()) };
        for arch in others.iter().filter(|arch| *arch != first) {
            let message = match self.parse(text, self.endian, Some(*arch)) {
                Ok(other) if other.insns == listing.insns => continue,
                Ok(_) => format!("this text is another program for {arch} than for {first}"),
                Err(errors) => {
                    let reason = errors.first().map(|error| format!(": {error}"));
                    format!(
                        "this text is a program for {first}, but not for {arch}{}",
                        reason.unwrap_or_default()
                    )
                }
            };
            return Err(vec![Diagnostic::error(None, message).help(self.one_arch)]);
        }
        Ok(())
    }

    /// Reads a text as for a byte order and an architecture, unless it is for others.
    ///
    /// # Errors
    /// All messages about the text.
    pub fn parse(
        &self,
        text: &str,
        endian: Endian,
        arch: Option<Arch>,
    ) -> Result<Listing, Vec<Diagnostic>> {
        let mut options = TextOptions::new(endian)
            .with_definitions(self.definitions.clone())
            .with_strict(self.strict);
        if let Some(arch) = arch {
            options = options.with_arch(arch);
        }
        if let Some(machine) = self.machine {
            options = options.with_usual_arch(machine);
        }
        if let Some(part) = &self.part {
            options = options.with_part(part.clone());
        }
        let program =
            text::parse_program(text, &options).map_err(|error| error.into_diagnostics())?;
        let warnings = listing_warnings(&program);
        Ok(Listing { insns: program.insns, endian: program.endian, warnings })
    }
}

/// The byte order of the architectures that a program compares, if it compares none of its own byte order.
fn other_endian(listing: &Listing) -> Option<Endian> {
    let other = match listing.endian {
        Endian::Little => Endian::Big,
        Endian::Big => Endian::Little,
    };
    (!is_of(listing, listing.endian) && is_of(listing, other)).then_some(other)
}

/// Whether a program compares architectures of a byte order.
fn is_of(listing: &Listing, endian: Endian) -> bool {
    LongProgram::from_raw(&listing.insns)
        .is_ok_and(|program| !arches_in(&program, endian).is_empty())
}

/// A program that was copied from the memory of Linux 3, which has opcodes of its own, with a warning.
pub(super) fn from_linux3(bytes: &[u8], endian: Endian) -> Option<(Vec<RawInsn>, Diagnostic)> {
    let translated = text::from_linux3(&raw_insns(bytes, endian)?)?;
    Some((translated, linux3_warning()))
}

/// Instructions of 8 bytes each; `None` if bytes are left.
fn raw_insns(bytes: &[u8], endian: Endian) -> Option<Vec<RawInsn>> {
    let insns = bytes.chunks(8).map(|insn| {
        let insn = <[u8; 8]>::try_from(insn).ok()?;
        Some(RawInsn::from_bytes(insn, endian))
    });
    insns.collect()
}

/// Warnings about what reading changed in a program.
fn listing_warnings(program: &TextProgram) -> Vec<Diagnostic> {
    let mut warnings = program.warnings.clone();
    if program.is_of_linux3 {
        warnings.push(linux3_warning());
    }
    if program.has_reject {
        let message = "REJECT is read as KILL_PROCESS, gVisor's default action";
        warnings.push(Diagnostic::warning(None, message).help("write the action that is meant"));
    }
    warnings
}

fn linux3_warning() -> Diagnostic {
    let message = "this program has the internal opcodes of Linux 3.5 to 3.14, and was translated";
    Diagnostic::warning(None, message)
}
