//! Architectures of programs.

use crate::{Arch, Endian};
use callgate_bpf::compared_arches;
use callgate_core::LongProgram;

/// The architectures of this byte order that a program compares; without x32, which shares the arch token of
/// x86_64.
pub fn arches_in(program: &LongProgram, endian: Endian) -> Vec<Arch> {
    let mut arches = compared_arches(program, endian);
    arches.retain(|arch| *arch != Arch::X32 && arch.endian() == endian);
    arches
}

/// The order of the architectures of a unit: systemd installs the filters for the main architecture last.
pub fn sort_arches_of_unit(arches: &mut [Arch]) {
    arches.sort_by_key(|arch| (!arch.is_64bit(), *arch));
}
