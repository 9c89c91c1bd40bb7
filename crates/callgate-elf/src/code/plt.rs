//! Stubs of procedure linkage tables: a jump to the address in a word, which the loader sets.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Mnemonic};

use super::aarch64_form::{Access, Form, form};
use super::x86_64;
use crate::image::{Image, Machine};

/// The word through which the stub at an address jumps.
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
            for (index, word) in bytes.chunks_exact(4).enumerate() {
                let word = u32::from_le_bytes(word.try_into().ok()?);
                match form(word, address.wrapping_add(index as u64 * 4)) {
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
