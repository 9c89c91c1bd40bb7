//! Instructions of a function.

use super::insn::Insn;
use super::{aarch64_insn, x86_64_insn};
use crate::image::Machine;

/// Decodes at most `limit` instructions.
pub(crate) fn decode(machine: Machine, bytes: &[u8], start: u64, limit: usize) -> Vec<Insn> {
    match machine {
        Machine::X86_64 => x86_64_insn::decode(bytes, start, limit),
        Machine::Aarch64 => {
            let words = bytes.chunks_exact(4).take(limit).enumerate();
            words
                .map(|(index, word)| {
                    let word = u32::from_le_bytes(word.try_into().unwrap_or_default());
                    aarch64_insn::insn(word, start.wrapping_add(index as u64 * 4))
                })
                .collect()
        }
    }
}
