//! x86-64.
//!
//! The code is a function of the System V calling convention that only uses caller-saved registers, so
//! it needs no prologue:
//!
//! | register | seccomp | packets |
//! |---|---|---|
//! | `rdi` | the data | the packet |
//! | `rsi` | scratch word | its length, 64 bits |
//! | `rdx` | temporary | the context of the helper on entry, then temporary |
//! | `eax`, `ecx` | A, X | A, X |
//! | `r8`–`r10` | scratch words | scratch words |
//! | `r11` | temporary | temporary |
//!
//! The first scratch words that a program uses are in registers, the others in the red zone below the
//! stack pointer, like the context and a spilled A. The stub that calls the helper moves the stack
//! pointer below them.
//!
//! Sources: System V Application Binary Interface, AMD64 Architecture Processor Supplement, 3.2;
//! for the encodings see [`encode`].

mod compare;
mod compute;
mod control;
mod encode;
mod load;

use super::buffer::{Buffer, Pos};
use super::node::Reg;
use super::target::{Cond, Needs, Target};
use encode::{Code, Gpr, Mem, R8, R9, R10, RAX, RCX, RDX, RSI, RSP};

const A: Gpr = RAX;
const X: Gpr = RCX;

/// Offsets from the stack pointer; while the stub runs, a return address is at -8.
const CONTEXT: i32 = -16;
const SAVED_A: i32 = -20;
const FIRST_SCRATCH: i32 = -24;
/// The size of the stub's frame: more than the red zone and the registers it saves, and a multiple of 16
/// with both return addresses.
const FRAME: i32 = 0xb0;

/// Where a scratch word is.
#[derive(Clone, Copy, Debug)]
enum Scratch {
    Register(Gpr),
    Stack(i32),
}

/// Code for x86-64.
pub(super) struct X86_64 {
    buffer: Buffer,
    needs: Needs,
    scratch: [Scratch; 16],
}

impl X86_64 {
    /// Prepends a sequence of instructions.
    #[inline]
    fn write(&mut self, write: impl FnOnce(&mut Code)) {
        let mut code = Code::new();
        write(&mut code);
        self.buffer.prepend(code.bytes());
    }

    fn swaps(&self) -> bool {
        self.needs.packet
    }

    /// `jcc`, by the number of the condition.
    fn condition(&mut self, cc: u8, to: Pos) {
        let distance = self.here().distance(to);
        self.write(|code| {
            if distance < 0x80 {
                code.put(&[0x70 | cc, distance as u8]);
            } else {
                code.put(&[0x0f, 0x80 | cc]).imm32(distance);
            }
        });
    }

    /// The register with the index into a table or a mask.
    fn index(base: u32) -> Gpr {
        if base == 0 { A } else { RDX }
    }
}

fn register(reg: Reg) -> Gpr {
    match reg {
        Reg::A => A,
        Reg::X => X,
    }
}

/// The number of a condition.
fn number(when: Cond) -> u8 {
    match when {
        Cond::Eq => 0x4,
        Cond::Ne => 0x5,
        Cond::Above => 0x7,
        Cond::BelowOrEqual => 0x6,
        Cond::AboveOrEqual | Cond::BitClear => 0x3,
        Cond::Below | Cond::BitSet => 0x2,
    }
}

impl Target for X86_64 {
    const REACH: u32 = i32::MAX as u32;

    fn new(needs: Needs, insns: usize) -> X86_64 {
        let registers: &[Gpr] = if needs.packet { &[R8, R9, R10] } else { &[R8, R9, R10, RSI] };
        let mut free = registers.iter();
        let mut scratch = [Scratch::Stack(0); 16];
        for (index, place) in scratch.iter_mut().enumerate() {
            let used = needs.scratch >> index & 1 == 1;
            *place = match used.then(|| free.next()).flatten() {
                Some(&register) => Scratch::Register(register),
                None => Scratch::Stack(FIRST_SCRATCH - 4 * index as i32),
            };
        }
        X86_64 { buffer: Buffer::new(64 + 12 * insns), needs, scratch }
    }

    fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    fn buffer_mut(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    fn entry(&mut self, zero: &[Reg]) {
        let helper = self.needs.helper;
        self.write(|code| {
            for &reg in zero {
                code.set(register(reg), 0);
            }
            if helper {
                code.rm(true, &[0x89], RDX.0, Mem::at(RSP, CONTEXT));
            }
        });
    }
}
