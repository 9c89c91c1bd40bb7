//! What x86-64 code refers to.

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register,
};

use super::insn::{End, Reference, ReferenceKind as Kind};
use crate::image::Image;

/// Decodes code from an address on, and passes on all references. `fresh` gets the addresses to which the previous
/// instruction does not continue.
pub(super) fn scan(
    image: &Image,
    start: u64,
    bytes: &[u8],
    mut fresh: Option<&mut Vec<u64>>,
    mut add: impl FnMut(Reference),
) -> End {
    let mut decoder = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE);
    let mut insn = Instruction::default();
    let mut end = End::Continues;
    while decoder.can_decode() {
        decoder.decode_out(&mut insn);
        let at = insn.ip();
        if let Some(fresh) = fresh.as_mut().filter(|_| end == End::Stops) {
            fresh.push(at);
        }
        let mut refer = |kind, target, size| add(Reference { target, at, kind, size });
        match insn.flow_control() {
            FlowControl::Next => {}
            FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
                if matches!(insn.op0_kind(), OpKind::NearBranch64) {
                    refer(Kind::Jump, insn.near_branch64(), 0);
                }
            }
            FlowControl::Call => match insn.code() {
                Code::Syscall => refer(Kind::Syscall, 0, 0),
                Code::Sysenter => refer(Kind::OtherSyscall, 0, 0),
                _ if insn.op0_kind() == OpKind::NearBranch64 => {
                    refer(Kind::Call, insn.near_branch64(), 0);
                }
                _ => {}
            },
            FlowControl::IndirectBranch => match slot(&insn) {
                Some(slot) => refer(Kind::JumpThrough, slot, 8),
                None => refer(Kind::IndirectJump, 0, 0),
            },
            FlowControl::IndirectCall => {
                if let Some(slot) = slot(&insn) {
                    refer(Kind::CallThrough, slot, 8);
                }
            }
            FlowControl::Interrupt
                if insn.code() == Code::Int_imm8 && insn.immediate8() == 0x80 =>
            {
                refer(Kind::OtherSyscall, 0, 0);
            }
            _ => {}
        }
        data(image, &insn, refer);
        let is_padding = matches!(insn.mnemonic(), Mnemonic::Nop | Mnemonic::Int3)
            || insn.is_invalid()
            // Zeros between functions.
            || (insn.code() == Code::Add_rm8_r8 && insn.len() == 2 && bytes_are_zero(bytes, start, at));
        if !is_padding {
            end = match insn.flow_control() {
                FlowControl::UnconditionalBranch
                | FlowControl::IndirectBranch
                | FlowControl::Return
                | FlowControl::Exception => End::Stops,
                FlowControl::Call if insn.code() == Code::Syscall => End::Continues,
                FlowControl::Call | FlowControl::IndirectCall => End::Calls,
                _ if insn.mnemonic() == Mnemonic::Hlt => End::Stops,
                _ => End::Continues,
            };
        }
    }
    end
}

/// How many bytes at the start are padding.
pub(super) fn padding(bytes: &[u8]) -> usize {
    let mut decoder = Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE);
    let mut insn = Instruction::default();
    while decoder.can_decode() {
        let position = decoder.position();
        decoder.decode_out(&mut insn);
        let is_exchange = insn.code() == Code::Xchg_rm16_r16 || insn.code() == Code::Xchg_r16_AX;
        let is_padding = matches!(insn.mnemonic(), Mnemonic::Nop | Mnemonic::Int3)
            || (is_exchange && insn.op0_register() == insn.op1_register())
            || bytes_are_zero(bytes, 0, insn.ip());
        if !is_padding {
            return position;
        }
    }
    bytes.len()
}

fn bytes_are_zero(bytes: &[u8], start: u64, at: u64) -> bool {
    let at = at.checked_sub(start).and_then(|at| usize::try_from(at).ok());
    at.and_then(|at| bytes.get(at..at.checked_add(2)?)) == Some(&[0, 0])
}

/// The word that an indirect call or jump goes through, if its address is constant.
pub(super) fn slot(insn: &Instruction) -> Option<u64> {
    if insn.op0_kind() != OpKind::Memory || insn.memory_index() != Register::None {
        return None;
    }
    match insn.memory_base() {
        Register::RIP => Some(insn.ip_rel_memory_address()),
        Register::None if insn.segment_prefix() == Register::None => {
            Some(insn.memory_displacement64())
        }
        _ => None,
    }
}

/// The addresses in the operands.
fn data(image: &Image, insn: &Instruction, mut refer: impl FnMut(Kind, u64, u8)) {
    let is_transfer =
        matches!(insn.flow_control(), FlowControl::IndirectBranch | FlowControl::IndirectCall);
    for operand in 0..insn.op_count() {
        match insn.op_kind(operand) {
            OpKind::Memory => {
                let is_relative = insn.memory_base() == Register::RIP;
                let address = match is_relative {
                    true => insn.ip_rel_memory_address(),
                    false => insn.memory_displacement64(),
                };
                let is_thread = matches!(insn.memory_segment(), Register::FS | Register::GS);
                let may_be_address =
                    image.is_fixed && !is_thread && image.layout.is_mapped(address);
                if !is_relative && !may_be_address {
                    continue;
                }
                let has_registers =
                    [insn.memory_base(), insn.memory_index()] != [Register::None; 2];
                if insn.mnemonic() == Mnemonic::Lea || has_registers && !is_relative {
                    refer(Kind::Address, address, 0);
                } else if !is_transfer {
                    let size = insn.memory_size().size().clamp(1, 64) as u8;
                    refer(Kind::Memory, address, size);
                }
            }
            OpKind::Immediate32 | OpKind::Immediate32to64 | OpKind::Immediate64
                if image.is_fixed =>
            {
                let value = insn.immediate(operand);
                if image.layout.is_mapped(value) {
                    refer(Kind::Address, value, 0);
                }
            }
            _ => {}
        }
    }
}
