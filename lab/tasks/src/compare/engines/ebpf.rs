//! Translation of programs to eBPF, instruction by instruction, like in the kernel (`net/core/filter.c`,
//! `bpf_convert_filter`).
//!
//! | register | holds |
//! |---|---|
//! | r0, r7 | A, X; the upper halves are always 0 |
//! | r6 | the address of the input |
//! | r8 | the length of a packet |
//! | r1, r2 | temporary values |
//! | r10 | the stack, with the scratch words at its top |
//!
//! The input of the program is r1. It points to `struct seccomp_data` in the layout of this machine, or to the
//! address and the length of a packet, two 64-bit words. A load outside of the packet ends the program with 0,
//! and so does a division by a zero X. `LD_ABS` and `LD_IND` are not used, because their meaning differs between
//! implementations outside of the kernel.
//!
//! Limits: no ancillary words, no offsets relative to headers; little-endian machines only, like the rest of the
//! comparison.
//!
//! Source: RFC 9669, the instruction set.

use callgate_core::cfg::Successors;
use callgate_core::{AncillaryWord, Insn, Op, SCRATCH_WORDS};

use callgate_tasks::Result;

// Classes of instructions, operations and their operands (RFC 9669, sections 3 to 5).
const LDX: u8 = 0x01;
const STX: u8 = 0x03;
const ALU: u8 = 0x04;
const JMP: u8 = 0x05;
const JMP32: u8 = 0x06;
const ALU64: u8 = 0x07;

const BY_X: u8 = 0x08;

const ADD: u8 = 0x00;
const SUB: u8 = 0x10;
const MUL: u8 = 0x20;
const DIV: u8 = 0x30;
const OR: u8 = 0x40;
const AND: u8 = 0x50;
const LSH: u8 = 0x60;
const RSH: u8 = 0x70;
const NEG: u8 = 0x80;
const MOD: u8 = 0x90;
const XOR: u8 = 0xa0;
const MOV: u8 = 0xb0;
const SWAP_TO_BIG: u8 = 0xd0 | BY_X;

const JA: u8 = 0x00;
const JEQ: u8 = 0x10;
const JGT: u8 = 0x20;
const JGE: u8 = 0x30;
const JSET: u8 = 0x40;
const JNE: u8 = 0x50;
const EXIT: u8 = 0x90;
const JLT: u8 = 0xa0;
const JLE: u8 = 0xb0;

const A: u8 = 0;
const TMP: u8 = 1;
const TMP2: u8 = 2;
const INPUT: u8 = 6;
const X: u8 = 7;
const LEN: u8 = 8;
const STACK: u8 = 10;

/// `LDX` and `STX` of this many bytes at the address in a register.
const fn memory(bytes: usize) -> u8 {
    const MEM: u8 = 0x60;
    let size = match bytes {
        1 => 0x10,
        2 => 0x08,
        4 => 0x00,
        _ => 0x18,
    };
    MEM | size
}

/// The target of a forward jump.
#[derive(Clone, Copy)]
enum Target {
    /// An instruction of the program.
    Insn(usize),
    /// The instructions that return 0.
    Zero,
}

struct Converter {
    packets: bool,
    code: Vec<[u8; 8]>,
    /// The index of the first eBPF instruction of each instruction.
    starts: Vec<usize>,
    jumps: Vec<(usize, Target)>,
}

/// Translates a program for packets or for syscalls to little-endian eBPF.
pub(super) fn to_ebpf(insns: &[Insn], packets: bool) -> Result<Vec<u8>> {
    let mut converter = Converter { packets, code: vec![], starts: vec![], jumps: vec![] };
    converter.prologue();
    for (index, insn) in insns.iter().enumerate() {
        converter.starts.push(converter.code.len());
        converter.insn(index, *insn)?;
    }
    converter.finish()
}

impl Converter {
    fn put(&mut self, code: u8, to: u8, from: u8, offset: i16, k: u32) {
        let ([o0, o1], [k0, k1, k2, k3]) = (offset.to_le_bytes(), k.to_le_bytes());
        self.code.push([code, from << 4 | to, o0, o1, k0, k1, k2, k3]);
    }

    /// Arithmetic with a constant.
    fn alu(&mut self, class: u8, op: u8, to: u8, k: u32) {
        self.put(class | op, to, 0, 0, k);
    }

    /// Arithmetic with a register.
    fn alu_by(&mut self, class: u8, op: u8, to: u8, from: u8) {
        self.put(class | op | BY_X, to, from, 0, 0);
    }

    fn jump(&mut self, code: u8, left: u8, right: u8, k: u32, target: Target) {
        self.jumps.push((self.code.len(), target));
        self.put(code, left, right, 0, k);
    }

    fn exit(&mut self) {
        self.put(JMP | EXIT, 0, 0, 0, 0);
    }

    fn prologue(&mut self) {
        if self.packets {
            self.put(LDX | memory(8), INPUT, TMP, 0, 0);
            self.put(LDX | memory(8), LEN, TMP, 8, 0);
        } else {
            self.alu_by(ALU64, MOV, INPUT, TMP);
        }
        self.alu(ALU, MOV, A, 0);
        self.alu(ALU, MOV, X, 0);
    }

    /// Loads from a constant offset of a packet.
    fn load(&mut self, to: u8, k: u32, bytes: usize) -> Result<()> {
        let end = k.checked_add(bytes as u32).filter(|end| i32::try_from(*end).is_ok());
        let Some(end) = end.filter(|_| k < 0x8000_0000) else {
            return Err(format!(
                "it loads an ancillary or header-relative value at {:#x}",
                k as i32
            ));
        };
        self.jump(JMP | JLT, LEN, 0, end, Target::Zero);
        match i16::try_from(k) {
            Ok(offset) => self.put(LDX | memory(bytes), to, INPUT, offset, 0),
            Err(_) => {
                self.alu_by(ALU64, MOV, TMP, INPUT);
                self.alu(ALU64, ADD, TMP, k);
                self.put(LDX | memory(bytes), to, TMP, 0, 0);
            }
        }
        self.order(to, bytes);
        Ok(())
    }

    /// Loads from X and an offset.
    fn load_indexed(&mut self, k: u32, bytes: usize) {
        self.alu_by(ALU, MOV, TMP, X);
        self.alu(ALU, ADD, TMP, k);
        self.alu_by(ALU64, MOV, TMP2, TMP);
        self.alu(ALU64, ADD, TMP2, bytes as u32);
        self.jump(JMP | JGT | BY_X, TMP2, LEN, 0, Target::Zero);
        self.alu_by(ALU64, ADD, TMP, INPUT);
        self.put(LDX | memory(bytes), A, TMP, 0, 0);
        self.order(A, bytes);
    }

    /// Converts from network byte order.
    fn order(&mut self, register: u8, bytes: usize) {
        if bytes > 1 {
            self.alu(ALU, SWAP_TO_BIG, register, 8 * bytes as u32);
        }
    }

    /// A branch: one jump if a successor is the next instruction, with the opposite condition if necessary.
    fn branch(&mut self, index: usize, insn: Insn, op: u8, by_x: bool) {
        let Successors::Branch { taken: yes, otherwise: no } = insn.successors(index) else {
            return;
        };
        let (operand, right, k) = if by_x { (BY_X, X, 0) } else { (0, 0, insn.k) };
        let opposite = match op {
            JEQ => Some(JNE),
            JGT => Some(JLE),
            JGE => Some(JLT),
            _ => None,
        };
        match opposite {
            Some(op) if insn.jt == 0 => {
                self.jump(JMP32 | op | operand, A, right, k, Target::Insn(no));
            }
            _ => {
                self.jump(JMP32 | op | operand, A, right, k, Target::Insn(yes));
                if insn.jf != 0 {
                    self.jump(JMP | JA, 0, 0, 0, Target::Insn(no));
                }
            }
        }
    }

    fn length(&mut self, to: u8) {
        if self.packets {
            self.alu_by(ALU, MOV, to, LEN);
        } else {
            self.alu(ALU, MOV, to, 64);
        }
    }

    /// Ends the program when X is 0.
    fn divide(&mut self, op: u8) {
        self.jump(JMP32 | JEQ, X, 0, 0, Target::Zero);
        self.alu_by(ALU, op, A, X);
    }

    fn insn(&mut self, index: usize, insn: Insn) -> Result<()> {
        let k = insn.k;
        // Its 16 words are at the top of the stack.
        let scratch = || 4 * (k as i16 - SCRATCH_WORDS as i16);
        match insn.op {
            Op::LdWordAbs if !self.packets => self.put(LDX | memory(4), A, INPUT, k as i16, 0),
            Op::LdWordAbs | Op::LdHalfAbs | Op::LdByteAbs
                if AncillaryWord::from_offset(k) == Some(AncillaryWord::AluXorX) =>
            {
                self.alu_by(ALU, XOR, A, X);
            }
            Op::LdWordAbs => self.load(A, k, 4)?,
            Op::LdHalfAbs => self.load(A, k, 2)?,
            Op::LdByteAbs => self.load(A, k, 1)?,
            Op::LdWordInd => self.load_indexed(k, 4),
            Op::LdHalfInd => self.load_indexed(k, 2),
            Op::LdByteInd => self.load_indexed(k, 1),
            Op::LdxMsh => {
                self.load(X, k, 1)?;
                self.alu(ALU, AND, X, 15);
                self.alu(ALU, LSH, X, 2);
            }
            Op::LdLen => self.length(A),
            Op::LdxLen => self.length(X),
            Op::LdImm => self.alu(ALU, MOV, A, k),
            Op::LdxImm => self.alu(ALU, MOV, X, k),
            Op::LdMem => self.put(LDX | memory(4), A, STACK, scratch(), 0),
            Op::LdxMem => self.put(LDX | memory(4), X, STACK, scratch(), 0),
            Op::St => self.put(STX | memory(4), STACK, A, scratch(), 0),
            Op::Stx => self.put(STX | memory(4), STACK, X, scratch(), 0),
            Op::AddK => self.alu(ALU, ADD, A, k),
            Op::AddX => self.alu_by(ALU, ADD, A, X),
            Op::SubK => self.alu(ALU, SUB, A, k),
            Op::SubX => self.alu_by(ALU, SUB, A, X),
            Op::MulK => self.alu(ALU, MUL, A, k),
            Op::MulX => self.alu_by(ALU, MUL, A, X),
            Op::DivK => self.alu(ALU, DIV, A, k),
            Op::DivX => self.divide(DIV),
            Op::ModK => self.alu(ALU, MOD, A, k),
            Op::ModX => self.divide(MOD),
            Op::OrK => self.alu(ALU, OR, A, k),
            Op::OrX => self.alu_by(ALU, OR, A, X),
            Op::AndK => self.alu(ALU, AND, A, k),
            Op::AndX => self.alu_by(ALU, AND, A, X),
            Op::XorK => self.alu(ALU, XOR, A, k),
            Op::XorX => self.alu_by(ALU, XOR, A, X),
            Op::LshK => self.alu(ALU, LSH, A, k),
            Op::LshX => self.alu_by(ALU, LSH, A, X),
            Op::RshK => self.alu(ALU, RSH, A, k),
            Op::RshX => self.alu_by(ALU, RSH, A, X),
            Op::Neg => self.alu(ALU, NEG, A, 0),
            Op::Ja => self.jump(JMP | JA, 0, 0, 0, Target::Insn(index + 1 + k as usize)),
            Op::JeqK => self.branch(index, insn, JEQ, false),
            Op::JeqX => self.branch(index, insn, JEQ, true),
            Op::JgtK => self.branch(index, insn, JGT, false),
            Op::JgtX => self.branch(index, insn, JGT, true),
            Op::JgeK => self.branch(index, insn, JGE, false),
            Op::JgeX => self.branch(index, insn, JGE, true),
            Op::JsetK => self.branch(index, insn, JSET, false),
            Op::JsetX => self.branch(index, insn, JSET, true),
            Op::RetK => {
                self.alu(ALU, MOV, A, k);
                self.exit();
            }
            Op::RetA => self.exit(),
            Op::Tax => self.alu_by(ALU, MOV, X, A),
            Op::Txa => self.alu_by(ALU, MOV, A, X),
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<u8>> {
        let zero = self.code.len();
        if self.jumps.iter().any(|(_, target)| matches!(target, Target::Zero)) {
            self.alu(ALU, MOV, A, 0);
            self.exit();
        }
        for (at, target) in &self.jumps {
            let to = match target {
                Target::Zero => zero,
                Target::Insn(index) => self.starts[*index],
            };
            let offset = i16::try_from(to - at - 1)
                .map_err(|_| format!("a jump over {} instructions of eBPF", to - at - 1))?;
            self.code[*at][2..4].copy_from_slice(&offset.to_le_bytes());
        }
        Ok(self.code.concat())
    }
}

#[cfg(test)]
mod tests;
