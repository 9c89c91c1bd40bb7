//! aarch64, little-endian.
//!
//! The code is a function of the procedure call standard that keeps to the registers a caller does
//! not expect back, so it needs neither a prologue nor a stack frame (there is no red zone):
//!
//! | register | what it is |
//! |---|---|
//! | `x0` | the data, or the packet |
//! | `x1` | the length of the packet |
//! | `x2` | the context for questions |
//! | `w3`, `w4` | A, X |
//! | `w5`–`w7` | temporary |
//! | `w8`–`w15` | scratch words 0 to 7 |
//! | `s16`–`s23` | scratch words 8 to 15 |
//!
//! Every write to a register is one of 32 bits, so A and X are indexes of 64 bits as they are.
//!
//! Sources: Procedure Call Standard for the Arm 64-bit Architecture, 6.1; for the encodings see
//! [`encode`].

mod encode;

use callgate::bpf::Width;

use super::buffer::{Buffer, Pos};
use super::node::{self, Alu, Ask, Operand, Test};
use super::outside::kind;
use super::target::{Cond, Needs, Target};
use encode as e;

const INPUT: e::Reg = 0;
const LENGTH: e::Reg = 1;
const CONTEXT: e::Reg = 2;
const A: e::Reg = 3;
const X: e::Reg = 4;
const T0: e::Reg = 5;
const T1: e::Reg = 6;
const T2: e::Reg = 7;
const SCRATCH: e::Reg = 8;
const SCRATCH_VECTOR: u32 = 16;
const IN_REGISTERS: u8 = 8;
const LINK: e::Reg = 30;

/// Signed conditions, for answers from outside and for offsets.
const GE: u32 = 10;
const LT: u32 = 11;

/// Code for aarch64.
pub(super) struct Aarch64 {
    buffer: Buffer,
    packet: bool,
}

/// Machine instructions in their order; there is room for those of one step of a program.
struct Code<const ROOM: usize = 8> {
    words: [u32; ROOM],
    len: usize,
}

impl<const ROOM: usize> Code<ROOM> {
    fn new() -> Code<ROOM> {
        Code { words: [0; ROOM], len: 0 }
    }

    fn put(&mut self, word: u32) -> &mut Code<ROOM> {
        self.words[self.len] = word;
        self.len += 1;
        self
    }

    /// `reg = value`, in one instruction or two.
    fn set(&mut self, reg: e::Reg, value: u32) -> &mut Code<ROOM> {
        let (low, high) = (value & 0xffff, value >> 16);
        match (low, high) {
            (_, 0) => self.put(e::movz(reg, low, 0)),
            (0, _) => self.put(e::movz(reg, high, 16)),
            (_, 0xffff) => self.put(e::movn(reg, !value & 0xffff)),
            _ => self.put(e::movz(reg, low, 0)).put(e::movk(reg, high, 16)),
        }
    }

    fn set64(&mut self, reg: e::Reg, value: u64) -> &mut Code<ROOM> {
        self.put(e::movz64(reg, value as u32 & 0xffff, 0));
        for shift in [16, 32, 48] {
            let half = (value >> shift) as u32 & 0xffff;
            if half != 0 {
                self.put(e::movk64(reg, half, shift));
            }
        }
        self
    }

    /// `to = from + value`.
    fn add(&mut self, to: e::Reg, from: e::Reg, value: u32) -> &mut Code<ROOM> {
        match (e::imm12(value), e::imm12(value.wrapping_neg())) {
            (Some(imm), _) => self.put(e::add_imm(to, from, imm)),
            (_, Some(imm)) => self.put(e::sub_imm(to, from, imm)),
            _ => self.set(T2, value).put(e::add(to, from, T2)),
        }
    }

    fn compare(&mut self, reg: e::Reg, value: u32) -> &mut Code<ROOM> {
        match (e::imm12(value), e::imm12(value.wrapping_neg())) {
            (Some(imm), _) => self.put(e::cmp_imm(reg, imm)),
            (_, Some(imm)) => self.put(e::cmn_imm(reg, imm)),
            _ => self.set(T2, value).put(e::cmp(reg, T2)),
        }
    }

    fn test(&mut self, reg: e::Reg, mask: u32) -> &mut Code<ROOM> {
        match e::bitmask(mask) {
            Some(imm) => self.put(e::tst_imm(reg, imm)),
            None => self.set(T2, mask).put(e::tst(reg, T2)),
        }
    }

    /// What was loaded, from the order of the network.
    fn swap(&mut self, reg: e::Reg, width: Width) {
        match width {
            Width::Byte => {}
            Width::Half => {
                self.put(e::rev16(reg, reg));
            }
            Width::Word => {
                self.put(e::rev(reg, reg));
            }
        }
    }
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
        Cond::Eq | Cond::NoBit => 0,
        Cond::Ne | Cond::Bit => 1,
        Cond::From => 2,
        Cond::Below => 3,
        Cond::Above => 8,
        Cond::NotAbove => 9,
    }
}

fn register(reg: node::Reg) -> e::Reg {
    match reg {
        node::Reg::A => A,
        node::Reg::X => X,
    }
}

impl Aarch64 {
    #[inline]
    fn write(&mut self, write: impl FnOnce(&mut Code)) {
        let mut code = Code::new();
        write(&mut code);
        self.prepend(&code);
    }

    fn prepend<const ROOM: usize>(&mut self, code: &Code<ROOM>) {
        for word in code.words[..code.len].iter().rev() {
            self.buffer.prepend(&word.to_le_bytes());
        }
    }

    /// From the start of an instruction that comes next.
    fn distance(&self, to: Pos) -> u32 {
        self.here().distance(to) + 4
    }

    fn condition(&mut self, cond: u32, to: Pos) {
        let distance = self.distance(to);
        self.write(|code| {
            code.put(e::b_cond(cond, distance));
        });
    }

    fn load_to(&mut self, reg: e::Reg, width: Width, offset: u32) {
        let packet = self.packet;
        self.write(|code| {
            match e::ldr(size(width), reg, INPUT, offset) {
                Some(load) => code.put(load),
                None => code.set(T2, offset).put(e::ldr_index(size(width), reg, INPUT, T2)),
            };
            if packet {
                code.swap(reg, width);
            }
        });
    }

    /// Asks; the offset is in `T0`, and the answer is afterwards.
    fn ask(&mut self, ask: Ask, routine: Pos, short: Pos) {
        self.condition(LT, short);
        self.write(|code| {
            code.put(e::mov64(LINK, T2)).put(e::cmp_imm64(T0, 0));
        });
        let distance = self.distance(routine);
        self.write(|code| {
            code.set(T1, kind(ask)).put(e::mov64(T2, LINK)).put(e::bl(distance));
        });
    }

    fn index(base: u32) -> e::Reg {
        if base == 0 { A } else { T0 }
    }

    fn table_address(&mut self, table: Pos) {
        let distance = self.distance(table);
        self.write(|code| {
            code.put(e::adr(T1, distance));
        });
    }
}

impl Target for Aarch64 {
    const REACH: u32 = (1 << 20) - 4;

    fn new(needs: Needs, insns: usize) -> Aarch64 {
        Aarch64 { buffer: Buffer::new(64 + 12 * insns), packet: needs.packet }
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

    /// Takes the offset in `T0`, what is asked in `T1`, A and X; the answer is in `T0`. Everything else
    /// but `T1` is as it was, also `T2`, in which the caller keeps its own return address.
    fn outside_routine(&mut self) -> Pos {
        const SAVED: [(e::Reg, e::Reg); 8] =
            [(0, 1), (2, 3), (4, 7), (8, 9), (10, 11), (12, 13), (14, 15), (29, LINK)];
        const VECTORS: [u32; 4] = [16, 18, 20, 22];
        const FRAME: u32 = 16 * (SAVED.len() + VECTORS.len()) as u32;
        let places = || (0..).step_by(16);
        let vectors = || places().skip(SAVED.len()).zip(VECTORS);
        let mut routine = Code::<40>::new();
        let code = &mut routine;
        code.put(e::sub_imm64(e::SP, e::SP, FRAME << 10));
        for (at, (t, u)) in places().zip(SAVED) {
            code.put(e::stp64(t, u, at));
        }
        for (at, t) in vectors() {
            code.put(e::stp_d(t, t + 1, at));
        }
        // A and X are the fourth and fifth argument already.
        code.put(e::mov64(0, CONTEXT)).put(e::mov(1, T0)).put(e::mov(2, T1));
        // The first field of the context is the function.
        code.put(e::ldr64(9, 0)).put(e::blr(9)).put(e::mov64(T0, 0));
        for (at, (t, u)) in places().zip(SAVED) {
            code.put(e::ldp64(t, u, at));
        }
        for (at, t) in vectors() {
            code.put(e::ldp_d(t, t + 1, at));
        }
        code.put(e::add_imm64(e::SP, e::SP, FRAME << 10)).put(e::RET);
        self.prepend(&routine);
        self.here()
    }

    fn entry(&mut self, zero: &[node::Reg]) {
        self.write(|code| {
            for &reg in zero {
                code.set(register(reg), 0);
            }
        });
    }

    fn jump(&mut self, to: Pos) {
        let distance = self.distance(to);
        self.write(|code| {
            code.put(e::b(distance));
        });
    }

    fn branch(&mut self, when: Cond, to: Pos) {
        self.condition(number(when), to);
    }

    fn ret(&mut self) {
        self.write(|code| {
            code.put(e::mov(0, A)).put(e::RET);
        });
    }

    fn ret_constant(&mut self, value: u32) {
        self.write(|code| {
            code.set(0, value).put(e::RET);
        });
    }

    fn ret_select(&mut self, when: Cond, yes: u32, no: u32) {
        self.write(|code| {
            code.set(T1, yes).set(0, no).put(e::csel(0, T1, 0, number(when))).put(e::RET);
        });
    }

    fn compare(&mut self, test: Test, operand: Operand) {
        self.write(|code| {
            match (test, operand) {
                (Test::Set, Operand::K(k)) => code.test(A, k),
                (Test::Set, Operand::X) => code.put(e::tst(A, X)),
                (_, Operand::K(k)) => code.compare(A, k),
                (_, Operand::X) => code.put(e::cmp(A, X)),
            };
        });
    }

    /// There are no comparisons with memory.
    fn can_compare_load(&self, _test: Test, _width: Width) -> bool {
        false
    }

    fn compare_load(&mut self, test: Test, k: u32, width: Width, offset: u32) {
        self.compare(test, Operand::K(k));
        self.load(width, offset);
    }

    fn check_index(&mut self, base: u32, last: u32) {
        self.write(|code| {
            if base != 0 {
                code.add(T0, A, base.wrapping_neg());
            }
            code.compare(Aarch64::index(base), last);
        });
    }

    fn bit(&mut self, base: u32, mask: u64) {
        self.write(|code| {
            code.set64(T1, mask).put(e::lsr64(T1, T1, Aarch64::index(base)));
            code.put(e::tst_bit0_64(T1));
        });
    }

    fn ret_table(&mut self, base: u32, table: Pos) {
        self.write(|code| {
            code.put(e::ldr_scaled(0, T1, Aarch64::index(base))).put(e::RET);
        });
        self.table_address(table);
    }

    fn jump_table(&mut self, base: u32, table: Pos) {
        self.write(|code| {
            code.put(e::ldrsw_scaled(T2, T1, Aarch64::index(base)));
            code.put(e::add64(T1, T1, T2)).put(e::br(T1));
        });
        self.table_address(table);
    }

    fn constant(&mut self, reg: node::Reg, k: u32) {
        self.write(|code| {
            code.set(register(reg), k);
        });
    }

    fn length(&mut self, reg: node::Reg) {
        self.write(|code| {
            code.put(e::mov(register(reg), LENGTH));
        });
    }

    fn load(&mut self, width: Width, offset: u32) {
        self.load_to(A, width, offset);
    }

    fn check(&mut self, bytes: u32, short: Pos) {
        self.branch(Cond::Below, short);
        self.write(|code| {
            code.compare(LENGTH, bytes);
        });
    }

    fn header_length(&mut self, offset: u32) {
        self.write(|code| {
            code.put(e::ubfiz(X, X, 2, 4));
        });
        self.load_to(X, Width::Byte, offset);
    }

    fn indexed(&mut self, width: Width, offset: u32, routine: Option<Pos>, short: Pos) {
        let (bytes, packet) = (width.bytes() as u32, self.packet);
        let done = self.here();
        self.write(|code| {
            code.put(e::ldr_index(size(width), A, INPUT, T0));
            if packet {
                code.swap(A, width);
            }
        });
        match routine {
            None => self.branch(Cond::Above, short),
            Some(routine) => {
                let inside = self.here();
                self.jump(done);
                self.write(|code| {
                    code.put(e::mov(A, T0));
                });
                self.ask(Ask::Load(width), routine, short);
                // Not negative, and not inside: the end.
                self.condition(GE, short);
                self.write(|code| {
                    code.compare(T0, 0);
                });
                self.branch(Cond::NotAbove, inside);
            }
        }
        self.write(|code| {
            code.add(T0, X, offset).put(e::add_imm64(T1, T0, bytes << 10));
            code.put(e::cmp64(T1, LENGTH));
        });
    }

    fn outside(&mut self, ask: Ask, offset: u32, routine: Pos, short: Pos) {
        self.write(|code| {
            code.put(match ask {
                Ask::HeaderLength => e::ubfiz(X, T0, 2, 4),
                _ => e::mov(A, T0),
            });
        });
        self.ask(ask, routine, short);
        self.write(|code| {
            code.set(T0, offset);
        });
    }

    fn fetch(&mut self, reg: node::Reg, index: u8) {
        let (reg, at) = (register(reg), u32::from(index));
        self.write(|code| {
            code.put(match index < IN_REGISTERS {
                true => e::mov(reg, SCRATCH + at),
                false => e::fmov_from(reg, SCRATCH_VECTOR + at - u32::from(IN_REGISTERS)),
            });
        });
    }

    fn store(&mut self, reg: node::Reg, index: u8) {
        let (reg, at) = (register(reg), u32::from(index));
        self.write(|code| {
            code.put(match index < IN_REGISTERS {
                true => e::mov(SCRATCH + at, reg),
                false => e::fmov_to(SCRATCH_VECTOR + at - u32::from(IN_REGISTERS), reg),
            });
        });
    }

    fn alu(&mut self, alu: Alu, operand: Operand, zero: Pos) {
        self.write(|code| {
            let k = match operand {
                Operand::K(k) => k,
                Operand::X => {
                    by_register(code, alu, X);
                    return;
                }
            };
            let logical = e::bitmask(k);
            match (alu, logical) {
                (Alu::Add, _) => code.add(A, A, k),
                (Alu::Sub, _) => code.add(A, A, k.wrapping_neg()),
                (Alu::Or, Some(imm)) => code.put(e::orr_imm(A, A, imm)),
                (Alu::And, Some(imm)) => code.put(e::and_imm(A, A, imm)),
                (Alu::Xor, Some(imm)) => code.put(e::eor_imm(A, A, imm)),
                (Alu::Lsh, _) => code.put(e::lsl_imm(A, A, k & 31)),
                (Alu::Rsh, _) => code.put(e::lsr_imm(A, A, k & 31)),
                (Alu::Div, _) if k.is_power_of_two() => {
                    code.put(e::lsr_imm(A, A, k.trailing_zeros()))
                }
                _ => by_register(code.set(T0, k), alu, T0),
            };
        });
        if matches!(alu, Alu::Div | Alu::Mod) && operand == Operand::X {
            let distance = self.distance(zero);
            self.write(|code| {
                code.put(e::cbz(X, distance));
            });
        }
    }

    fn negate(&mut self) {
        self.write(|code| {
            code.put(e::sub(A, e::ZERO, A));
        });
    }

    fn tax(&mut self) {
        self.write(|code| {
            code.put(e::mov(X, A));
        });
    }

    fn txa(&mut self) {
        self.write(|code| {
            code.put(e::mov(A, X));
        });
    }
}

/// `A = A op by`; a divisor is not 0.
fn by_register(code: &mut Code, alu: Alu, by: e::Reg) -> &mut Code {
    let quotient = T1;
    if alu == Alu::Mod {
        code.put(e::udiv(quotient, A, by));
    }
    code.put(match alu {
        Alu::Add => e::add(A, A, by),
        Alu::Sub => e::sub(A, A, by),
        Alu::Mul => e::mul(A, A, by),
        Alu::Div => e::udiv(A, A, by),
        Alu::Mod => e::msub(A, quotient, by, A),
        Alu::Or => e::orr(A, A, by),
        Alu::And => e::and(A, A, by),
        Alu::Xor => e::eor(A, A, by),
        Alu::Lsh => e::lsl(A, A, by),
        Alu::Rsh => e::lsr(A, A, by),
    })
}
