//! The code generated so far, as a target.

use super::encode::{self as e, Code};
use crate::jit::buffer::{Buffer, Few, Pos};
use crate::jit::helper::code_of;
use crate::jit::node::{Reg, Request};
use crate::jit::target::{Cond, Needs, Target};
use callgate_core::{Alu, Relation, Source, Width};

const INPUT: e::Reg = 0;
const LENGTH: e::Reg = 1;
const CONTEXT: e::Reg = 2;
const A: e::Reg = 3;
const X: e::Reg = 4;
const T0: e::Reg = 5;
const T1: e::Reg = 6;
const T2: e::Reg = e::TEMPORARY;
const SCRATCH: e::Reg = 8;
const SCRATCH_VECTOR: u32 = 16;
const IN_REGISTERS: u8 = 8;
const LINK: e::Reg = 30;

/// Signed conditions, for answers from outside and for offsets.
const GE: u32 = 10;
const LT: u32 = 11;

/// Code for aarch64.
pub(in super::super) struct Aarch64 {
    buffer: Buffer,
    packet: bool,
}

fn size(width: Width) -> u32 {
    match width {
        Width::Byte => 0,
        Width::Half => 1,
        Width::Word => 2,
    }
}

fn number(when: Cond) -> u32 {
    match when {
        Cond::Eq | Cond::BitClear => 0,
        Cond::Ne | Cond::BitSet => 1,
        Cond::AboveOrEqual => 2,
        Cond::Below => 3,
        Cond::Above => 8,
        Cond::BelowOrEqual => 9,
    }
}

fn register(reg: Reg) -> e::Reg {
    match reg {
        Reg::A => A,
        Reg::X => X,
    }
}

/// `A = A op by`; a divisor is not 0.
fn by_register(code: &mut Code, alu: Alu, by: e::Reg) -> &mut Code {
    let op = match alu {
        Alu::Mod => return code.put(e::udiv(T1, A, by)).put(e::msub(A, T1, by, A)),
        Alu::Div => return code.put(e::udiv(A, A, by)),
        Alu::Add => e::ADD,
        Alu::Sub => e::SUB,
        Alu::Mul => e::MUL,
        Alu::Or => e::ORR,
        Alu::And => e::AND,
        Alu::Xor => e::EOR,
        Alu::Lsh => e::LSL,
        Alu::Rsh => e::LSR,
    };
    code.put(e::three(op, A, A, by))
}

impl Aarch64 {
    #[inline]
    fn write(&mut self, write: impl FnOnce(&mut Code) -> &mut Code) {
        let mut code = Code::new();
        write(&mut code);
        self.prepend(&code);
    }

    fn prepend<const ROOM: usize>(&mut self, code: &Code<ROOM>) {
        for words in code.words[..code.len].rchunks(Few::MOST / 4) {
            let mut few = Few::default();
            words.iter().for_each(|word| few.append(word.to_le_bytes()));
            self.buffer.prepend_few(few);
        }
    }

    /// The displacement from the instruction that is emitted next.
    fn distance(&self, to: Pos) -> u32 {
        self.here().distance(to) + 4
    }

    fn condition(&mut self, cond: u32, to: Pos) {
        let distance = self.distance(to);
        self.write(|code| code.put(e::b_cond(cond, distance)));
    }

    fn index(base: u32) -> e::Reg {
        if base == 0 { A } else { T0 }
    }

    fn table_address(&mut self, table: Pos) {
        let distance = self.distance(table);
        self.write(|code| code.put(e::adr(T1, distance)));
    }

    fn load_to(&mut self, reg: e::Reg, width: Width, offset: u32) {
        let packet = self.packet;
        self.write(|code| {
            let code = match e::ldr(size(width), reg, INPUT, offset) {
                Some(load) => code.put(load),
                None => code.set(T2, offset).put(e::ldr_index(size(width), reg, INPUT, T2)),
            };
            if packet { code.swap(reg, width) } else { code }
        });
    }

    /// Calls the stub: the offset is in `T0` before, the result afterwards.
    fn request(&mut self, request: Request, stub: Pos, short: Pos) {
        self.condition(LT, short);
        self.write(|code| {
            code.put(e::mov64(LINK, T2)).put(e::with_imm(e::WIDE | e::CMP_IMM, e::ZERO, T0, 0))
        });
        let distance = self.distance(stub);
        self.write(|code| {
            code.set(T1, code_of(request)).put(e::mov64(T2, LINK)).put(e::bl(distance))
        });
    }
}

impl Target for Aarch64 {
    const REACH: u32 = (1 << 20) - 4;

    fn new(needs: Needs, insns: usize) -> Aarch64 {
        Aarch64 { buffer: Buffer::new(64 + 12 * insns), packet: needs.packet }
    }

    fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    fn buffer_mut(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    fn entry(&mut self, zero: &[Reg]) {
        for &reg in zero.iter().rev() {
            self.write(|code| code.set(register(reg), 0));
        }
    }

    fn jump(&mut self, to: Pos) {
        let distance = self.distance(to);
        self.write(|code| code.put(e::b(distance)));
    }

    fn branch(&mut self, when: Cond, to: Pos) {
        self.condition(number(when), to);
    }

    fn ret(&mut self) {
        self.write(|code| code.put(e::mov(0, A)).put(e::RET));
    }

    fn ret_constant(&mut self, value: u32) {
        self.write(|code| code.set(0, value).put(e::RET));
    }

    fn ret_select(&mut self, when: Cond, yes: u32, no: u32) {
        self.write(|code| {
            code.set(T1, yes).set(0, no).put(e::csel(0, T1, 0, number(when))).put(e::RET)
        });
    }

    // The value is in register 0.

    fn choice(&mut self, value: u32) {
        self.write(|code| code.set(0, value));
    }

    fn choose(&mut self, when: Cond, value: u32) {
        self.write(|code| code.set(T1, value).put(e::csel(0, T1, 0, number(when))));
    }

    fn ret_chosen(&mut self) {
        self.write(|code| code.put(e::RET));
    }

    fn ret_table(&mut self, base: u32, table: Pos) {
        self.write(|code| code.put(e::ldr_scaled(0, T1, Aarch64::index(base))).put(e::RET));
        self.table_address(table);
    }

    fn ret_table_unless(&mut self, base: u32, table: Pos, word: u32, to: Pos) {
        self.write(|code| code.put(e::mov(0, T1)).put(e::RET));
        self.branch(Cond::Eq, to);
        self.write(|code| code.put(e::ldr_scaled(T1, T1, Aarch64::index(base))).compare(T1, word));
        self.table_address(table);
    }

    fn jump_table(&mut self, base: u32, table: Pos) {
        let load = e::ldrsw_scaled(T2, T1, Aarch64::index(base));
        self.write(|code| code.put(load).put(e::add64(T1, T1, T2)).put(e::br(T1)));
        self.table_address(table);
    }

    fn compare(&mut self, test: Relation, operand: Source) {
        self.write(|code| match (test, operand) {
            (Relation::Shares, Source::K(k)) => code.test(A, k),
            (Relation::Shares, Source::X) => code.put(e::tst(A, X)),
            (_, Source::K(k)) => code.compare(A, k),
            (_, Source::X) => code.put(e::cmp(A, X)),
        });
    }

    /// The machine has no comparison with a memory operand.
    fn can_compare_load(&self, _test: Relation, _width: Width) -> bool {
        false
    }

    fn compare_load(&mut self, test: Relation, k: u32, width: Width, offset: u32) {
        self.compare(test, Source::K(k));
        self.load(width, offset);
    }

    fn check_index(&mut self, base: u32, last: u32) {
        self.write(|code| code.compare(Aarch64::index(base), last));
        if base != 0 {
            self.write(|code| code.add(T0, A, base.wrapping_neg()));
        }
    }

    fn bit(&mut self, base: u32, mask: u64) {
        let shift = e::lsr64(T1, T1, Aarch64::index(base));
        self.write(|code| code.set64(T1, mask).put(shift).put(e::tst_bit0_64(T1)));
    }

    fn bit_within(&mut self, base: u32, mask: u64, last: u32) {
        let shift = e::lsr64(T1, T1, Aarch64::index(base));
        let select = e::csel(T1, T1, e::ZERO, number(Cond::BelowOrEqual));
        self.write(|code| code.set64(T1, mask).put(shift).put(select).put(e::tst_bit0_64(T1)));
        self.check_index(base, last);
    }

    /// Takes the offset in `T0`, the code of the request in `T1`, A and X; returns the result in `T0`, and
    /// clobbers only `T1`. `T2` holds the caller's own return address.
    fn helper_stub(&mut self) -> Pos {
        const SAVED: [(e::Reg, e::Reg); 8] =
            [(0, 1), (2, 3), (4, 7), (8, 9), (10, 11), (12, 13), (14, 15), (29, LINK)];
        const VECTORS: [u32; 4] = [16, 18, 20, 22];
        const FRAME: u32 = 16 * (SAVED.len() + VECTORS.len()) as u32;
        let places = || (0..).step_by(16);
        let vectors = || places().skip(SAVED.len()).zip(VECTORS);
        let mut stub = Code::<40>::new();
        let code = &mut stub;
        code.put(e::with_imm(e::WIDE | e::SUB_IMM, e::SP, e::SP, FRAME << 10));
        for (at, (t, u)) in places().zip(SAVED) {
            code.put(e::pair(e::STP64, t, u, at));
        }
        for (at, t) in vectors() {
            code.put(e::pair(e::STP_D, t, t + 1, at));
        }
        // A and X already are the fourth and fifth argument.
        code.put(e::mov64(0, CONTEXT)).put(e::mov(1, T0)).put(e::mov(2, T1));
        // The first field of the context is the address of the helper.
        code.put(e::ldr64(9, 0)).put(e::blr(9)).put(e::mov64(T0, 0));
        for (at, (t, u)) in places().zip(SAVED) {
            code.put(e::pair(e::LDP64, t, u, at));
        }
        for (at, t) in vectors() {
            code.put(e::pair(e::LDP_D, t, t + 1, at));
        }
        code.put(e::with_imm(e::WIDE | e::ADD_IMM, e::SP, e::SP, FRAME << 10)).put(e::RET);
        self.prepend(&stub);
        self.here()
    }

    fn length(&mut self, reg: Reg) {
        self.write(|code| code.put(e::mov(register(reg), LENGTH)));
    }

    fn load(&mut self, width: Width, offset: u32) {
        self.load_to(A, width, offset);
    }

    fn check(&mut self, bytes: u32, short: Pos) {
        self.branch(Cond::Below, short);
        self.write(|code| code.compare(LENGTH, bytes));
    }

    fn header_length(&mut self, offset: u32) {
        self.write(|code| code.put(e::ubfiz(X, X, 2, 4)));
        self.load_to(X, Width::Byte, offset);
    }

    fn indexed(&mut self, width: Width, offset: u32, as_is: bool, stub: Option<Pos>, short: Pos) {
        let (bytes, swap) = (width.bytes() as u32, self.packet && !as_is);
        let done = self.here();
        self.write(|code| {
            let code = code.put(e::ldr_index(size(width), A, INPUT, T0));
            if swap { code.swap(A, width) } else { code }
        });
        match stub {
            None => self.branch(Cond::Above, short),
            Some(stub) => {
                let inside = self.here();
                self.jump(done);
                self.write(|code| code.put(e::mov(A, T0)));
                self.request(Request::Load(width), stub, short);
                // Not relative to a header, and outside the packet: the end.
                self.condition(GE, short);
                self.write(|code| code.compare(T0, 0));
                self.branch(Cond::BelowOrEqual, inside);
            }
        }
        let end = e::with_imm(e::WIDE | e::ADD_IMM, T1, T0, bytes << 10);
        self.write(|code| code.add(T0, X, offset).put(end).put(e::cmp64(T1, LENGTH)));
    }

    fn call_helper(&mut self, request: Request, offset: u32, stub: Pos, short: Pos) {
        let result = match request {
            Request::HeaderLength => e::ubfiz(X, T0, 2, 4),
            _ => e::mov(A, T0),
        };
        self.write(|code| code.put(result));
        self.request(request, stub, short);
        self.write(|code| code.set(T0, offset));
    }

    fn constant(&mut self, reg: Reg, k: u32) {
        self.write(|code| code.set(register(reg), k));
    }

    fn fetch(&mut self, reg: Reg, index: u8) {
        let (reg, at) = (register(reg), u32::from(index));
        self.write(|code| match index {
            ..IN_REGISTERS => code.put(e::mov(reg, SCRATCH + at)),
            _ => code.put(e::fmov_from(reg, SCRATCH_VECTOR + at - u32::from(IN_REGISTERS))),
        });
    }

    fn store(&mut self, reg: Reg, index: u8) {
        let (reg, at) = (register(reg), u32::from(index));
        self.write(|code| match index {
            ..IN_REGISTERS => code.put(e::mov(SCRATCH + at, reg)),
            _ => code.put(e::fmov_to(SCRATCH_VECTOR + at - u32::from(IN_REGISTERS), reg)),
        });
    }

    fn alu(&mut self, alu: Alu, operand: Source, zero: Pos) {
        self.write(|code| {
            let Source::K(k) = operand else { return by_register(code, alu, X) };
            let logical = match alu {
                Alu::Or => Some(e::ORR_IMM),
                Alu::And => Some(e::AND_IMM),
                Alu::Xor => Some(e::EOR_IMM),
                _ => None,
            };
            match (alu, logical.zip(e::bitmask(k))) {
                (_, Some((op, imm))) => code.put(e::with_imm(op, A, A, imm)),
                (Alu::Add, _) => code.add(A, A, k),
                (Alu::Sub, _) => code.add(A, A, k.wrapping_neg()),
                (Alu::Lsh, _) => code.put(e::lsl_imm(A, A, k & 31)),
                (Alu::Rsh, _) => code.put(e::lsr_imm(A, A, k & 31)),
                (Alu::Div, _) if k.is_power_of_two() => {
                    code.put(e::lsr_imm(A, A, k.trailing_zeros()))
                }
                _ => by_register(code.set(T0, k), alu, T0),
            }
        });
        if matches!(alu, Alu::Div | Alu::Mod) && operand == Source::X {
            let distance = self.distance(zero);
            self.write(|code| code.put(e::cbz(X, distance)));
        }
    }

    fn negate(&mut self) {
        self.write(|code| code.put(e::sub(A, e::ZERO, A)));
    }

    fn tax(&mut self) {
        self.write(|code| code.put(e::mov(X, A)));
    }

    fn txa(&mut self) {
        self.write(|code| code.put(e::mov(A, X)));
    }
}
