//! The code generated so far, as a target.

use super::encode::{
    ADD, AND, CMP, Code, Gpr, Mem, OR, R8, R9, R10, R11, RAX, RCX, RDI, RDX, RSI, RSP, SUB, XOR,
};
use crate::jit::buffer::{Buffer, Pos};
use crate::jit::helper::code_of;
use crate::jit::node::{Reg, Request};
use crate::jit::target::{Cond, Needs, Target};
use callgate_core::{Alu, Relation, Source, Width};

const A: Gpr = RAX;
const X: Gpr = RCX;

/// Offsets from the stack pointer; while the stub runs, a return address is at -8.
const CONTEXT: i32 = -16;
const SAVED_A: i32 = -20;
const FIRST_SCRATCH: i32 = -24;

/// The size of the stub's frame: more than the red zone and the registers it saves, and a multiple of 16
/// with both return addresses.
const FRAME: i32 = 0xb0;

/// Code for x86-64.
pub(in super::super) struct X86_64 {
    buffer: Buffer,
    needs: Needs,
    scratch: [Scratch; 16],
}

/// Where a scratch word is.
#[derive(Clone, Copy, Debug)]
enum Scratch {
    Register(Gpr),
    Stack(i32),
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

/// `test` of A, in the shortest form.
fn test_imm(code: &mut Code, k: u32) -> &mut Code {
    match u8::try_from(k) {
        Ok(k) => code.put([0xa8, k]),
        Err(_) => code.put([0xa9]).imm32(k),
    }
}

/// X = four times its low four bits.
fn times_four(code: &mut Code) -> &mut Code {
    code.alu_imm(AND, X, 15).rr(false, [0xc1], 4, X).imm8(2)
}

impl X86_64 {
    /// Prepends a sequence of instructions.
    #[inline]
    fn write(&mut self, write: impl FnOnce(&mut Code) -> &mut Code) {
        let mut code = Code::default();
        write(&mut code);
        self.buffer.prepend_few(code.bytes);
    }

    fn swaps(&self) -> bool {
        self.needs.packet
    }

    /// `jcc`, by the number of the condition.
    fn condition(&mut self, cc: u8, to: Pos) {
        let distance = self.here().distance(to);
        self.write(|code| match distance {
            ..0x80 => code.put([0x70 | cc, distance as u8]),
            _ => code.put([0x0f, 0x80 | cc]).imm32(distance),
        });
    }

    /// The register with the index into a table or a mask.
    fn index(base: u32) -> Gpr {
        if base == 0 { A } else { RDX }
    }

    /// Puts A - `base` into its register, if that is not A.
    fn index_from(&mut self, base: u32) {
        if base != 0 {
            // lea edx, [rax - base]
            let place = Mem::at(A, base.wrapping_neg() as i32);
            self.write(|code| code.rm(false, [0x8d], RDX.0, place));
        }
    }

    fn table_address(&mut self, table: Pos) {
        let distance = self.here().distance(table);
        // lea r11, [rip + distance]
        self.write(|code| code.put([0x4c, 0x8d, 0x1d]).imm32(distance));
    }

    /// Loads into a register, with a byte swap for packets; the upper half becomes 0.
    fn load_from(&mut self, reg: Gpr, width: Width, mem: Mem, swap: bool) {
        self.write(|code| {
            let code = match width {
                Width::Byte => code.rm(false, [0x0f, 0xb6], reg.0, mem),
                Width::Half => code.rm(false, [0x0f, 0xb7], reg.0, mem),
                Width::Word => code.rm(false, [0x8b], reg.0, mem),
            };
            match width {
                // rol reg16, 8
                Width::Half if swap => code.put([0x66]).rr(false, [0xc1], 0, reg).imm8(8),
                Width::Word if swap && reg.0 < 8 => code.put([0x0f, 0xc8 | reg.0]),
                _ => code,
            }
        });
    }

    /// `test rax, rax`, and a jump if the result says that the program ends.
    fn end_if_told(&mut self, short: Pos) {
        self.condition(0x8, short);
        self.write(|code| code.rr(true, [0x85], RAX.0, RAX));
    }

    fn call(&mut self, stub: Pos) {
        let distance = self.here().distance(stub);
        self.write(|code| code.put([0xe8]).imm32(distance));
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
        if self.needs.helper {
            self.write(|code| code.rm(true, [0x89], RDX.0, Mem::at(RSP, CONTEXT)));
        }
        for &reg in zero.iter().rev() {
            self.write(|code| code.set(register(reg), 0));
        }
    }

    fn jump(&mut self, to: Pos) {
        let distance = self.here().distance(to);
        self.write(|code| match distance {
            ..0x80 => code.put([0xeb, distance as u8]),
            _ => code.put([0xe9]).imm32(distance),
        });
    }

    fn branch(&mut self, when: Cond, to: Pos) {
        self.condition(number(when), to);
    }

    fn ret(&mut self) {
        self.write(|code| code.put([0xc3]));
    }

    fn ret_constant(&mut self, value: u32) {
        self.write(|code| code.set(RAX, value).put([0xc3]));
    }

    fn ret_select(&mut self, when: Cond, yes: u32, no: u32) {
        let cmov = [0x0f, 0x40 | number(when)];
        self.write(|code| {
            code.mov_imm(RAX, no).mov_imm(RDX, yes).rr(false, cmov, RAX.0, RDX).put([0xc3])
        });
    }

    // The value is in ecx.

    fn choice(&mut self, value: u32) {
        self.write(|code| code.mov_imm(RCX, value));
    }

    fn choose(&mut self, when: Cond, value: u32) {
        let cmov = [0x0f, 0x40 | number(when)];
        self.write(|code| code.mov_imm(R8, value).rr(false, cmov, RCX.0, R8));
    }

    fn ret_chosen(&mut self) {
        self.write(|code| code.mov(RAX, RCX).put([0xc3]));
    }

    fn ret_table(&mut self, base: u32, table: Pos) {
        let word = Mem::indexed(R11, X86_64::index(base), 2, 0);
        self.write(|code| code.rm(false, [0x8b], RAX.0, word).put([0xc3]));
        self.table_address(table);
    }

    fn ret_table_unless(&mut self, base: u32, table: Pos, word: u32, to: Pos) {
        self.write(|code| code.mov(RAX, R11).put([0xc3]));
        self.branch(Cond::Eq, to);
        let entry = Mem::indexed(R11, X86_64::index(base), 2, 0);
        self.write(|code| code.rm(false, [0x8b], R11.0, entry).alu_imm(CMP, R11, word));
        self.table_address(table);
    }

    fn jump_table(&mut self, base: u32, table: Pos) {
        // movsxd rdx, [r11 + index * 4]; add rdx, r11; jmp rdx
        let entry = Mem::indexed(R11, X86_64::index(base), 2, 0);
        self.write(|code| {
            let code = code.rm(true, [0x63], RDX.0, entry);
            code.rr(true, [0x01], R11.0, RDX).rr(false, [0xff], 4, RDX)
        });
        self.table_address(table);
    }

    fn compare(&mut self, test: Relation, operand: Source) {
        self.write(|code| match (test, operand) {
            (Relation::Shares, Source::K(k)) => test_imm(code, k),
            (Relation::Shares, Source::X) => code.rr(false, [0x85], X.0, A),
            (_, Source::K(0)) => code.rr(false, [0x85], A.0, A),
            (_, Source::K(k)) => code.alu_imm(CMP, A, k),
            (_, Source::X) => code.rr(false, [8 * CMP + 1], X.0, A),
        });
    }

    fn can_compare_load(&self, test: Relation, width: Width) -> bool {
        width == Width::Byte || !self.swaps() || matches!(test, Relation::Equal | Relation::Shares)
    }

    fn compare_load(&mut self, test: Relation, k: u32, width: Width, offset: u32) {
        let mem = Mem::at(RDI, offset as i32);
        let swap = self.swaps();
        self.write(|code| match (width, test) {
            (Width::Byte, Relation::Shares) => code.rm(false, [0xf6], 0, mem).imm8(k as u8),
            // Comparisons with constants above 255 were folded by the data flow analysis.
            (Width::Byte, _) => code.rm(false, [0x80], CMP, mem).imm8(k as u8),
            // A 16-bit constant would slow decoding down on many processors.
            (Width::Half, _) => {
                let k = if swap { u32::from((k as u16).swap_bytes()) } else { k };
                let code = code.rm(false, [0x0f, 0xb7], A.0, mem);
                match test {
                    Relation::Shares => test_imm(code, k),
                    _ => code.alu_imm(CMP, A, k),
                }
            }
            (Width::Word, _) => {
                let k = if swap { k.swap_bytes() } else { k };
                match (test, i8::try_from(k as i32)) {
                    (Relation::Shares, _) => code.rm(false, [0xf7], 0, mem).imm32(k),
                    (_, Ok(k)) => code.rm(false, [0x83], CMP, mem).imm8(k as u8),
                    (_, Err(_)) => code.rm(false, [0x81], CMP, mem).imm32(k),
                }
            }
        });
    }

    fn check_index(&mut self, base: u32, last: u32) {
        self.write(|code| code.alu_imm(CMP, X86_64::index(base), last));
        self.index_from(base);
    }

    fn bit(&mut self, base: u32, mask: u64) {
        // bt r11, index
        self.write(|code| {
            code.mov_mask(R11, mask).rr(true, [0x0f, 0xa3], X86_64::index(base).0, R11)
        });
    }

    fn bit_within(&mut self, base: u32, mask: u64, last: u32) {
        let index = X86_64::index(base);
        // cmova r11, r8; bt r11, index
        self.write(|code| {
            let code = code.alu_imm(CMP, index, last).rr(true, [0x0f, 0x47], R11.0, R8);
            code.rr(true, [0x0f, 0xa3], index.0, R11)
        });
        self.write(|code| code.set(R8, 0).mov_mask(R11, mask));
        self.index_from(base);
    }

    /// Takes the offset in `edx`, the code of the request in `r11d`, A and X; returns the result in
    /// `rax`, and clobbers only `rdx` and `r11`.
    fn helper_stub(&mut self) -> Pos {
        const SAVED: [(Gpr, i32); 6] =
            [(RDI, 0), (RSI, 8), (RCX, 16), (R8, 24), (R9, 32), (R10, 40)];
        self.write(|code| code.rr(true, [0x81], ADD, RSP).imm32(FRAME as u32).put([0xc3]));
        for (reg, at) in SAVED {
            self.write(|code| code.rm(true, [0x8b], reg.0, Mem::at(RSP, at)));
        }
        // call [rdi]: the first field of the context is the function.
        self.write(|code| {
            let code = code.mov(R8, X).mov(RCX, A).mov(RSI, RDX).mov(RDX, R11);
            code.rm(false, [0xff], 2, Mem::at(RDI, 0))
        });
        self.write(|code| code.rm(true, [0x8b], RDI.0, Mem::at(RSP, FRAME + 8 + CONTEXT)));
        for (reg, at) in SAVED {
            self.write(|code| code.rm(true, [0x89], reg.0, Mem::at(RSP, at)));
        }
        self.write(|code| code.rr(true, [0x81], SUB, RSP).imm32(FRAME as u32));
        self.here()
    }

    fn length(&mut self, reg: Reg) {
        self.write(|code| code.mov(register(reg), RSI));
    }

    fn load(&mut self, width: Width, offset: u32) {
        self.load_from(A, width, Mem::at(RDI, offset as i32), self.swaps());
    }

    fn check(&mut self, bytes: u32, short: Pos) {
        self.branch(Cond::Below, short);
        self.write(|code| code.alu_imm(CMP, RSI, bytes));
    }

    fn header_length(&mut self, offset: u32) {
        let byte = Mem::at(RDI, offset as i32);
        self.write(|code| times_four(code.rm(false, [0x0f, 0xb6], X.0, byte)));
    }

    fn indexed(&mut self, width: Width, offset: u32, as_is: bool, stub: Option<Pos>, short: Pos) {
        let bytes = width.bytes() as u32;
        let Some(stub) = stub else {
            self.load_from(A, width, Mem::indexed(RDI, X, 0, offset as i32), !as_is);
            self.branch(Cond::Above, short);
            self.write(|code| {
                let code = code.rm(false, [0x8d], RDX.0, Mem::at(X, (offset + bytes) as i32));
                code.rr(false, [8 * CMP + 1], RSI.0, RDX)
            });
            return;
        };
        let done = self.here();
        self.load_from(A, width, Mem::indexed(RDI, RDX, 0, 0), self.swaps());
        let inside = self.here();
        self.jump(done);
        self.end_if_told(short);
        self.call(stub);
        self.write(|code| code.mov_imm(R11, code_of(Request::Load(width))));
        // Not relative to a header, and outside the packet: the end.
        self.condition(0x9, short);
        self.write(|code| code.rr(false, [0x85], RDX.0, RDX));
        self.branch(Cond::BelowOrEqual, inside);
        self.write(|code| {
            let code = code.rm(true, [0x8d], R11.0, Mem::at(RDX, bytes as i32));
            code.rr(true, [8 * CMP + 1], RSI.0, R11)
        });
        self.write(|code| code.rm(false, [0x8d], RDX.0, Mem::at(X, offset as i32)));
    }

    fn call_helper(&mut self, request: Request, offset: u32, stub: Pos, short: Pos) {
        let saved = Mem::at(RSP, SAVED_A);
        if request == Request::HeaderLength {
            self.write(|code| times_four(code.mov(X, RAX)).rm(false, [0x8b], A.0, saved));
        }
        self.end_if_told(short);
        self.call(stub);
        self.write(|code| code.mov_imm(RDX, offset).mov_imm(R11, code_of(request)));
        if request == Request::HeaderLength {
            self.write(|code| code.rm(false, [0x89], A.0, saved));
        }
    }

    fn constant(&mut self, reg: Reg, k: u32) {
        self.write(|code| code.set(register(reg), k));
    }

    fn fetch(&mut self, reg: Reg, index: u8) {
        let reg = register(reg);
        let from = self.scratch[usize::from(index)];
        self.write(|code| match from {
            Scratch::Register(from) => code.mov(reg, from),
            Scratch::Stack(at) => code.rm(false, [0x8b], reg.0, Mem::at(RSP, at)),
        });
    }

    fn store(&mut self, reg: Reg, index: u8) {
        let reg = register(reg);
        let to = self.scratch[usize::from(index)];
        self.write(|code| match to {
            Scratch::Register(to) => code.mov(to, reg),
            Scratch::Stack(at) => code.rm(false, [0x89], reg.0, Mem::at(RSP, at)),
        });
    }

    fn alu(&mut self, alu: Alu, operand: Source, zero: Pos) {
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
            (Some(op), _, Source::K(k)) => code.alu_imm(op, A, k),
            (Some(op), _, Source::X) => code.rr(false, [8 * op + 1], X.0, A),
            (_, Alu::Mul, Source::K(k)) => match i8::try_from(k as i32) {
                Ok(small) => code.rr(false, [0x6b], A.0, A).imm8(small as u8),
                Err(_) => code.rr(false, [0x69], A.0, A).imm32(k),
            },
            (_, Alu::Mul, Source::X) => code.rr(false, [0x0f, 0xaf], A.0, X),
            (_, Alu::Lsh | Alu::Rsh, by) => {
                let op = if alu == Alu::Lsh { 4 } else { 5 };
                match by {
                    Source::K(k) => code.rr(false, [0xc1], op, A).imm8(k as u8 & 31),
                    Source::X => code.rr(false, [0xd3], op, A),
                }
            }
            (_, Alu::Div, Source::K(k)) if k.is_power_of_two() => {
                code.rr(false, [0xc1], 5, A).imm8(k.trailing_zeros() as u8)
            }
            (_, Alu::Mod, Source::K(k)) if k.is_power_of_two() => code.alu_imm(AND, A, k - 1),
            (_, _, operand) => {
                let (code, by) = match operand {
                    Source::K(k) => (code.mov_imm(R11, k), R11),
                    Source::X => (code, X),
                };
                let code = code.set(RDX, 0).rr(false, [0xf7], 6, by);
                if alu == Alu::Mod { code.mov(A, RDX) } else { code }
            }
        });
        if divides && operand == Source::X {
            self.branch(Cond::Eq, zero);
            self.write(|code| code.rr(false, [0x85], X.0, X));
        }
    }

    fn negate(&mut self) {
        self.write(|code| code.rr(false, [0xf7], 3, A));
    }

    fn tax(&mut self) {
        self.write(|code| code.mov(X, A));
    }

    fn txa(&mut self) {
        self.write(|code| code.mov(A, X));
    }
}
