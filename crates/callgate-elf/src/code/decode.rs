//! Instructions by architecture: what code refers to, its steps, and the stubs of procedure linkage tables.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Mnemonic};

use super::aarch64_form::{Access, Form, form, words};
use super::functions::Function;
use super::insn::{End, Insn, Reference};
use super::{aarch64, aarch64_insn, x86_64, x86_64_insn};
use crate::image::{Image, Machine};

/// Passes on all references of a function, and returns how it ends. `fresh` gets the addresses to which the previous
/// instruction does not continue.
pub(super) fn references(
    image: &Image,
    function: &Function,
    fresh: Option<&mut Vec<u64>>,
    add: impl FnMut(Reference),
) -> Option<End> {
    let size = function.end.saturating_sub(function.start);
    let bytes = image.layout.bytes(function.start, size)?;
    Some(match image.machine {
        Machine::X86_64 => x86_64::scan(image, function.start, bytes, fresh, add),
        Machine::Aarch64 => aarch64::scan(image, function.start, bytes, fresh, add),
    })
}

/// Decodes at most `limit` instructions.
pub(crate) fn decode(machine: Machine, bytes: &[u8], start: u64, limit: usize) -> Vec<Insn> {
    match machine {
        Machine::X86_64 => x86_64_insn::decode(bytes, start, limit),
        Machine::Aarch64 => {
            words(bytes, start).take(limit).map(|(at, word)| aarch64_insn::insn(word, at)).collect()
        }
    }
}

/// The word through which the stub of a procedure linkage table at an address jumps; the loader sets it.
pub(crate) fn slot_of(image: &Image, address: u64) -> Option<u64> {
    let bytes = image.layout.from(address)?;
    let bytes = bytes.get(..bytes.len().min(32))?;
    let slot = match image.machine {
        Machine::X86_64 => {
            let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
            let mut insn = decoder.decode();
            if matches!(insn.mnemonic(), Mnemonic::Endbr64 | Mnemonic::Nop) {
                insn = decoder.decode();
            }
            match insn.flow_control() {
                FlowControl::IndirectBranch => x86_64::slot(&insn)?,
                _ => return None,
            }
        }
        Machine::Aarch64 => {
            let mut base = None;
            let mut slot = None;
            for (at, word) in words(bytes, address) {
                match form(word, at) {
                    Form::Nop => {}
                    Form::Page { to: 16, page } => base = Some(page),
                    Form::Load {
                        to: 17, access: Access { base: 16, offset, size: 8, .. }, ..
                    } => {
                        slot = base.map(|base: u64| base.wrapping_add(offset as u64));
                    }
                    Form::AddImmediate { to: 16, from: 16, .. } => {}
                    Form::BranchRegister(17) => break,
                    _ => return None,
                }
            }
            slot?
        }
    };
    image.relocation(slot).map(|_| slot)
}
