//! Programs of sources, for typed interfaces.

use callgate::{Arch, Endian, Proved};
use callgate_bpf::FilterFlags;
use callgate_core::template::Template;

use crate::operations::{compiled, merged, templated};
use crate::request::Compiling;
use crate::source::{Messages, SourceStack, SourceText, read};

/// A program, or a template, with what its source says about it.
#[derive(Clone, Debug)]
pub struct Made<P> {
    /// The program, proved equal to its source.
    pub program: P,
    /// The architectures of the filter.
    pub arches: Vec<Arch>,
    /// The byte order of its machines.
    pub endian: Endian,
    /// The flags with which it is to be installed.
    pub flags: FilterFlags,
}

impl<P> Made<P> {
    fn of(stack: &SourceStack, program: P) -> Made<P> {
        let (arches, endian, flags) = (stack.arches(), stack.endian(), stack.flags());
        Made { program, arches, endian, flags }
    }

    /// Another program for the same machines.
    pub fn with<Q>(&self, program: Q) -> Made<Q> {
        let Made { arches, endian, flags, .. } = self;
        Made { program, arches: arches.clone(), endian: *endian, flags: *flags }
    }
}

/// The program of a source; adds warnings.
///
/// # Errors
/// All messages about the source, without these warnings.
pub fn compile(
    source: &SourceText,
    compiling: &Compiling,
    warnings: &mut Messages,
) -> Result<Made<Proved>, Messages> {
    let stack = read(source, warnings)?;
    let program = compiled(&stack, source, compiling, warnings)?.program;
    Ok(Made::of(&stack, program))
}

/// The program of a policy, whose variables may have no values; adds warnings.
///
/// # Errors
/// As [`compile`], and for a source that is not a single policy.
pub fn template(
    source: &SourceText,
    compiling: &Compiling,
    warnings: &mut Messages,
) -> Result<Made<Proved<Template>>, Messages> {
    let (stack, compiled) = templated(source, compiling, warnings)?;
    Ok(Made::of(&stack, compiled.template))
}

/// The program of a stack of sources, the oldest filter first; adds warnings.
///
/// # Errors
/// All messages about the sources, without these warnings.
pub fn merge(
    sources: &[SourceText],
    compiling: &Compiling,
    warnings: &mut Messages,
) -> Result<Made<Proved>, Messages> {
    let (stack, merged) = merged(sources, compiling, warnings)?;
    Ok(Made::of(&stack, merged.compiled.program))
}
