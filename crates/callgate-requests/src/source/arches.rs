//! Architectures of programs.

use callgate::bpf::{self, LongProgram};
use callgate::{Arch, Endian};

/// The architectures of this byte order that a program compares; without x32, which shares the arch token of
/// x86_64.
pub fn arches_in(program: &LongProgram, endian: Endian) -> Vec<Arch> {
    let mut arches = bpf::compared_arches(program, endian);
    arches.retain(|arch| *arch != Arch::X32 && arch.endian() == endian);
    arches
}
