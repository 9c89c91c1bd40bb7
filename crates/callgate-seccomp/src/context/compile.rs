//! The program of a context.

use callgate::{Options, compile};
use callgate_bpf::SyscallTable;
use callgate_codegen::{Count, Instructions, Weights};
use callgate_core::policy::Policy;
use callgate_formats::ruleset::sections;

use super::arch_filter::ArchFilter;
use super::attributes::Attributes;
use crate::error::{Error, Result};

/// A program as `struct sock_filter`s in the byte order of its architectures.
#[derive(Debug)]
pub(crate) struct Exported {
    bytes: Box<[u8]>,
    insns: u16,
}

impl Exported {
    /// Compiles the rules, and proves the program.
    pub(super) fn compile(
        attributes: &Attributes,
        instructions: Instructions,
        filters: &[ArchFilter],
    ) -> Result<Exported> {
        let sets = filters.iter().map(|filter| filter.rules.set());
        let sections = sections(sets, attributes.default, attributes.bad_arch);
        let policy = Policy::new(sections, attributes.bad_arch).map_err(|_| Error::Internal)?;
        let weights = weights(filters)?;
        let aim = attributes.aim();
        let options =
            Options { aim, instructions, weights, expected_insns: false, ..Options::default() };
        let compiled = compile(&policy, &options).map_err(|error| match error.insns_needed() {
            Some(_) => Error::TooLong,
            None => Error::Internal,
        })?;
        let insns = u16::try_from(compiled.program.len()).map_err(|_| Error::Internal)?;
        Ok(Exported { bytes: compiled.program.to_bytes(policy.endian()).into(), insns })
    }

    /// The instructions, 8 bytes each.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of instructions.
    pub(crate) fn insns(&self) -> u16 {
        self.insns
    }
}

/// Priorities as weights: a syscall with priority 255 counts as 256 of those without. Without any priority, the default
/// of the compiler.
fn weights(filters: &[ArchFilter]) -> Result<Weights> {
    if filters.iter().all(|filter| filter.priorities.values().all(|priority| *priority == 0)) {
        return Ok(Weights::default());
    }
    let counts = filters.iter().flat_map(|filter| {
        let arch = filter.arch();
        let allowed = arch.syscalls().filter(|(nr, _)| filter.rules.contains(*nr as i32));
        allowed.map(move |(nr, name)| {
            let priority = filter.priorities.get(&(nr as i32)).copied().unwrap_or(0);
            let count = 1.0 + f64::from(priority);
            Count { arch: Some(arch), name: name.to_owned(), count }
        })
    });
    Weights::of(counts).map_err(|_| Error::Internal)
}
