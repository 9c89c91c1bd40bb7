//! x86-64.
//!
//! The code is a function of the System V calling convention that keeps to the registers a caller
//! does not expect back, so it needs no prologue:
//!
//! | register | seccomp | packets |
//! |---|---|---|
//! | `rdi` | the data | the packet |
//! | `rsi` | scratch word | its length, 64 bits |
//! | `rdx` | temporary | the context for questions, on entry; then temporary |
//! | `eax`, `ecx` | A, X | A, X |
//! | `r8`–`r10` | scratch words | scratch words |
//! | `r11` | temporary | temporary |
//!
//! The first scratch words that a program uses are in registers, the others in the red zone below
//! the stack pointer, which signal handlers leave alone. There are the context and a saved A, too.
//! Whoever calls out moves the stack pointer below all that.
//!
//! Sources: System V Application Binary Interface, AMD64 Architecture Processor Supplement, 3.2;
//! for the encodings see [`encode`].

mod encode;

use callgate::bpf::Width;

use super::buffer::{Buffer, Pos};
use super::node::{Alu, Ask, Operand, Reg, Test};
use super::target::{Cond, Needs, Target};
use encode::{
    ADD, AND, CMP, Code, Gpr, Mem, OR, R8, R9, R10, R11, RAX, RCX, RDI, RDX, RSI, RSP, SUB, XOR,
};

const A: Gpr = RAX;
const X: Gpr = RCX;

/// Below the stack pointer: a return address is at -8 while the routine runs.
const CONTEXT: i32 = -16;
const SAVED_A: i32 = -20;
const FIRST_SCRATCH: i32 = -24;
/// How far the routine moves the stack pointer: more than the red zone and what it saves, and with
/// the two return addresses a multiple of 16.
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
    /// One piece of code.
    #[inline]
    fn write(&mut self, write: impl FnOnce(&mut Code)) {
        let mut code = Code::new();
        write(&mut code);
        self.buffer.prepend(code.bytes());
    }

    fn swaps(&self) -> bool {
        self.needs.packet
    }

    /// Loads into a register, in the order of the input; the upper half becomes 0.
    fn load_from(&mut self, reg: Gpr, width: Width, mem: Mem) {
        let swap = self.swaps();
        self.write(|code| {
            match width {
                Width::Byte => code.rm(false, &[0x0f, 0xb6], reg.0, mem),
                Width::Half => code.rm(false, &[0x0f, 0xb7], reg.0, mem),
                Width::Word => code.rm(false, &[0x8b], reg.0, mem),
            };
            match width {
                Width::Half if swap => {
                    // rol reg16, 8
                    code.put(&[0x66]).rr(false, &[0xc1], 0, reg).imm8(8);
                }
                Width::Word if swap && reg.0 < 8 => {
                    code.put(&[0x0f, 0xc8 | reg.0]);
                }
                _ => {}
            }
        });
    }

    /// `test rax, rax`, and away when the answer says that the program ends.
    fn end_if_told(&mut self, short: Pos) {
        self.condition(0x8, short);
        self.write(|code| {
            code.rr(true, &[0x85], RAX.0, RAX);
        });
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

    fn call(&mut self, routine: Pos) {
        let distance = self.here().distance(routine);
        self.write(|code| {
            code.put(&[0xe8]).imm32(distance);
        });
    }

    /// The register that has the index for a table or a mask.
    fn index(base: u32) -> Gpr {
        if base == 0 { A } else { RDX }
    }

    fn table_address(&mut self, table: Pos) {
        let distance = self.here().distance(table);
        self.write(|code| {
            // lea r11, [rip + distance]
            code.put(&[0x4c, 0x8d, 0x1d]).imm32(distance);
        });
    }

    /// `test` of A, in the shortest form.
    fn test_imm(code: &mut Code, k: u32) {
        match u8::try_from(k) {
            Ok(k) => code.put(&[0xa8, k]),
            Err(_) => code.put(&[0xa9]).imm32(k),
        };
    }
}

/// The number of a condition.
fn number(when: Cond) -> u8 {
    match when {
        Cond::Eq => 0x4,
        Cond::Ne => 0x5,
        Cond::Above => 0x7,
        Cond::NotAbove => 0x6,
        Cond::From | Cond::NoBit => 0x3,
        Cond::Below | Cond::Bit => 0x2,
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

    fn here(&self) -> Pos {
        self.buffer.here()
    }

    fn code(&self) -> &[u8] {
        self.buffer.code()
    }

    fn data(&mut self, words: usize) -> Pos {
        self.buffer.prepend(&vec![0; 4 * words]);
        self.here()
    }

    fn set_data(&mut self, at: Pos, index: usize, word: u32) {
        self.buffer.overwrite(Pos(at.0 - 4 * index as u32), &word.to_le_bytes());
    }

    /// Takes the offset in `edx`, what is asked in `r11d`, A and X; the answer is in `rax`, and only
    /// `rdx` and `r11` are lost.
    fn outside_routine(&mut self) -> Pos {
        const SAVED: [Gpr; 6] = [RDI, RSI, RCX, R8, R9, R10];
        let mut routine = Code::<160>::new();
        let code = &mut routine;
        code.rr(true, &[0x81], SUB, RSP).imm32(FRAME as u32);
        for (slot, reg) in (0..).zip(SAVED) {
            code.rm(true, &[0x89], reg.0, Mem::at(RSP, 8 * slot));
        }
        code.rm(true, &[0x8b], RDI.0, Mem::at(RSP, FRAME + 8 + CONTEXT));
        code.mov(R8, X).mov(RCX, A).mov(RSI, RDX).mov(RDX, R11);
        // call [rdi]: the first field of the context is the function.
        code.rm(false, &[0xff], 2, Mem::at(RDI, 0));
        for (slot, reg) in (0..).zip(SAVED) {
            code.rm(true, &[0x8b], reg.0, Mem::at(RSP, 8 * slot));
        }
        code.rr(true, &[0x81], ADD, RSP).imm32(FRAME as u32).put(&[0xc3]);
        self.buffer.prepend(code.bytes());
        self.here()
    }

    fn entry(&mut self, zero: &[Reg]) {
        let outside = self.needs.outside;
        self.write(|code| {
            for &reg in zero {
                code.set(if reg == Reg::A { A } else { X }, 0);
            }
            if outside {
                code.rm(true, &[0x89], RDX.0, Mem::at(RSP, CONTEXT));
            }
        });
    }

    fn jump(&mut self, to: Pos) {
        let distance = self.here().distance(to);
        self.write(|code| {
            if distance < 0x80 {
                code.put(&[0xeb, distance as u8]);
            } else {
                code.put(&[0xe9]).imm32(distance);
            }
        });
    }

    fn branch(&mut self, when: Cond, to: Pos) {
        self.condition(number(when), to);
    }

    fn ret(&mut self) {
        self.buffer.prepend(&[0xc3]);
    }

    fn ret_constant(&mut self, value: u32) {
        self.write(|code| {
            code.set(RAX, value).put(&[0xc3]);
        });
    }

    fn ret_select(&mut self, when: Cond, yes: u32, no: u32) {
        self.write(|code| {
            code.mov_imm(RAX, no).mov_imm(RDX, yes);
            code.rr(false, &[0x0f, 0x40 | number(when)], RAX.0, RDX).put(&[0xc3]);
        });
    }

    fn compare(&mut self, test: Test, operand: Operand) {
        self.write(|code| {
            match (test, operand) {
                (Test::Set, Operand::K(k)) => X86_64::test_imm(code, k),
                (Test::Set, Operand::X) => {
                    code.rr(false, &[0x85], X.0, A);
                }
                (_, Operand::K(0)) => {
                    code.rr(false, &[0x85], A.0, A);
                }
                (_, Operand::K(k)) => {
                    code.alu_imm(CMP, A, k);
                }
                (_, Operand::X) => {
                    code.rr(false, &[8 * CMP + 1], X.0, A);
                }
            };
        });
    }

    fn can_compare_load(&self, test: Test, width: Width) -> bool {
        width == Width::Byte || !self.swaps() || matches!(test, Test::Eq | Test::Set)
    }

    fn compare_load(&mut self, test: Test, k: u32, width: Width, offset: u32) {
        let mem = Mem::at(RDI, offset as i32);
        let swap = self.swaps();
        self.write(|code| match (width, test) {
            (Width::Byte, Test::Set) => {
                code.rm(false, &[0xf6], 0, mem).imm8(k as u8);
            }
            // A constant above a byte is never compared: the forward pass knows how it ends.
            (Width::Byte, _) => {
                code.rm(false, &[0x80], CMP, mem).imm8(k as u8);
            }
            // A 16-bit constant would slow decoding down on many processors.
            (Width::Half, _) => {
                let k = if swap { u32::from((k as u16).swap_bytes()) } else { k };
                code.rm(false, &[0x0f, 0xb7], A.0, mem);
                match test {
                    Test::Set => X86_64::test_imm(code, k),
                    _ => {
                        code.alu_imm(CMP, A, k);
                    }
                }
            }
            (Width::Word, _) => {
                let k = if swap { k.swap_bytes() } else { k };
                match (test, i8::try_from(k as i32)) {
                    (Test::Set, _) => code.rm(false, &[0xf7], 0, mem).imm32(k),
                    (_, Ok(k)) => code.rm(false, &[0x83], CMP, mem).imm8(k as u8),
                    (_, Err(_)) => code.rm(false, &[0x81], CMP, mem).imm32(k),
                };
            }
        });
    }

    fn check_index(&mut self, base: u32, last: u32) {
        self.write(|code| {
            if base != 0 {
                // lea edx, [rax - base]
                code.rm(false, &[0x8d], RDX.0, Mem::at(A, base.wrapping_neg() as i32));
            }
            code.alu_imm(CMP, X86_64::index(base), last);
        });
    }

    fn bit(&mut self, base: u32, mask: u64) {
        self.write(|code| {
            match u32::try_from(mask) {
                Ok(mask) => code.mov_imm(R11, mask),
                Err(_) => code.put(&[0x49, 0xbb]).put(&mask.to_le_bytes()),
            };
            // bt r11, index
            code.rr(true, &[0x0f, 0xa3], X86_64::index(base).0, R11);
        });
    }

    fn ret_table(&mut self, base: u32, table: Pos) {
        self.write(|code| {
            let word = Mem::indexed(R11, X86_64::index(base), 2, 0);
            code.rm(false, &[0x8b], RAX.0, word).put(&[0xc3]);
        });
        self.table_address(table);
    }

    fn jump_table(&mut self, base: u32, table: Pos) {
        self.write(|code| {
            // movsxd rdx, [r11 + index * 4]; add rdx, r11; jmp rdx
            code.rm(true, &[0x63], RDX.0, Mem::indexed(R11, X86_64::index(base), 2, 0));
            code.rr(true, &[0x01], R11.0, RDX).rr(false, &[0xff], 4, RDX);
        });
        self.table_address(table);
    }

    fn constant(&mut self, reg: Reg, k: u32) {
        self.write(|code| {
            code.set(if reg == Reg::A { A } else { X }, k);
        });
    }

    fn length(&mut self, reg: Reg) {
        self.write(|code| {
            code.mov(if reg == Reg::A { A } else { X }, RSI);
        });
    }

    fn load(&mut self, width: Width, offset: u32) {
        self.load_from(A, width, Mem::at(RDI, offset as i32));
    }

    fn check(&mut self, bytes: u32, short: Pos) {
        self.branch(Cond::Below, short);
        self.write(|code| {
            code.alu_imm(CMP, RSI, bytes);
        });
    }

    fn header_length(&mut self, offset: u32) {
        self.write(|code| {
            code.rm(false, &[0x0f, 0xb6], X.0, Mem::at(RDI, offset as i32));
            code.alu_imm(AND, X, 15).rr(false, &[0xc1], 4, X).imm8(2);
        });
    }

    fn indexed(&mut self, width: Width, offset: u32, routine: Option<Pos>, short: Pos) {
        let bytes = width.bytes() as u32;
        let Some(routine) = routine else {
            self.load_from(A, width, Mem::indexed(RDI, X, 0, offset as i32));
            self.branch(Cond::Above, short);
            self.write(|code| {
                code.rm(false, &[0x8d], RDX.0, Mem::at(X, (offset + bytes) as i32));
                code.rr(false, &[8 * CMP + 1], RSI.0, RDX);
            });
            return;
        };
        let done = self.here();
        self.load_from(A, width, Mem::indexed(RDI, RDX, 0, 0));
        let inside = self.here();
        self.jump(done);
        self.end_if_told(short);
        self.call(routine);
        self.write(|code| {
            code.mov_imm(R11, super::outside::kind(Ask::Load(width)));
        });
        // Not negative, and not inside: the end.
        self.condition(0x9, short);
        self.write(|code| {
            code.rr(false, &[0x85], RDX.0, RDX);
        });
        self.branch(Cond::NotAbove, inside);
        self.write(|code| {
            code.rm(false, &[0x8d], RDX.0, Mem::at(X, offset as i32));
            code.rm(true, &[0x8d], R11.0, Mem::at(RDX, bytes as i32));
            code.rr(true, &[8 * CMP + 1], RSI.0, R11);
        });
    }

    fn outside(&mut self, ask: Ask, offset: u32, routine: Pos, short: Pos) {
        let saved = Mem::at(RSP, SAVED_A);
        if ask == Ask::HeaderLength {
            self.write(|code| {
                code.mov(X, RAX).alu_imm(AND, X, 15).rr(false, &[0xc1], 4, X).imm8(2);
                code.rm(false, &[0x8b], A.0, saved);
            });
        }
        self.end_if_told(short);
        self.call(routine);
        self.write(|code| {
            if ask == Ask::HeaderLength {
                code.rm(false, &[0x89], A.0, saved);
            }
            code.mov_imm(RDX, offset).mov_imm(R11, super::outside::kind(ask));
        });
    }

    fn fetch(&mut self, reg: Reg, index: u8) {
        let reg = if reg == Reg::A { A } else { X };
        let from = self.scratch[usize::from(index)];
        self.write(|code| {
            match from {
                Scratch::Register(from) => code.mov(reg, from),
                Scratch::Stack(at) => code.rm(false, &[0x8b], reg.0, Mem::at(RSP, at)),
            };
        });
    }

    fn store(&mut self, reg: Reg, index: u8) {
        let reg = if reg == Reg::A { A } else { X };
        let to = self.scratch[usize::from(index)];
        self.write(|code| {
            match to {
                Scratch::Register(to) => code.mov(to, reg),
                Scratch::Stack(at) => code.rm(false, &[0x89], reg.0, Mem::at(RSP, at)),
            };
        });
    }

    fn alu(&mut self, alu: Alu, operand: Operand, zero: Pos) {
        let simple = match alu {
            Alu::Add => Some(ADD),
            Alu::Sub => Some(SUB),
            Alu::Or => Some(OR),
            Alu::And => Some(AND),
            Alu::Xor => Some(XOR),
            _ => None,
        };
        let divides = matches!(alu, Alu::Div | Alu::Mod);
        self.write(|code| match (simple, alu, operand) {
            (Some(op), _, Operand::K(k)) => {
                code.alu_imm(op, A, k);
            }
            (Some(op), _, Operand::X) => {
                code.rr(false, &[8 * op + 1], X.0, A);
            }
            (_, Alu::Mul, Operand::K(k)) => match i8::try_from(k as i32) {
                Ok(small) => {
                    code.rr(false, &[0x6b], A.0, A).imm8(small as u8);
                }
                Err(_) => {
                    code.rr(false, &[0x69], A.0, A).imm32(k);
                }
            },
            (_, Alu::Mul, Operand::X) => {
                code.rr(false, &[0x0f, 0xaf], A.0, X);
            }
            (_, Alu::Lsh | Alu::Rsh, Operand::K(k)) => {
                let op = if alu == Alu::Lsh { 4 } else { 5 };
                code.rr(false, &[0xc1], op, A).imm8(k as u8 & 31);
            }
            (_, Alu::Lsh | Alu::Rsh, Operand::X) => {
                code.rr(false, &[0xd3], if alu == Alu::Lsh { 4 } else { 5 }, A);
            }
            (_, Alu::Div, Operand::K(k)) if k.is_power_of_two() => {
                code.rr(false, &[0xc1], 5, A).imm8(k.trailing_zeros() as u8);
            }
            (_, Alu::Mod, Operand::K(k)) if k.is_power_of_two() => {
                code.alu_imm(AND, A, k - 1);
            }
            (_, _, operand) => {
                let by = match operand {
                    Operand::K(k) => {
                        code.mov_imm(R11, k);
                        R11
                    }
                    Operand::X => X,
                };
                code.set(RDX, 0).rr(false, &[0xf7], 6, by);
                if alu == Alu::Mod {
                    code.mov(A, RDX);
                }
            }
        });
        if divides && operand == Operand::X {
            self.branch(Cond::Eq, zero);
            self.write(|code| {
                code.rr(false, &[0x85], X.0, X);
            });
        }
    }

    fn negate(&mut self) {
        self.write(|code| {
            code.rr(false, &[0xf7], 3, A);
        });
    }

    fn tax(&mut self) {
        self.write(|code| {
            code.mov(X, A);
        });
    }

    fn txa(&mut self) {
        self.write(|code| {
            code.mov(A, X);
        });
    }
}
