//! Instructions of aarch64 (A64): the forms that compute addresses and numbers, transfer control or use the stack.
//!
//! Encodings: "Arm Architecture Reference Manual for A-profile", C4 (top-level encodings) and C6.

use super::insn::BinaryOp;

/// The stack pointer; the number 31 is also the zero register, depending on the instruction.
pub(super) const SP: u8 = 31;

/// What is known of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Nop,
    Page {
        to: u8,
        page: u64,
    },
    Address {
        to: u8,
        address: u64,
    },
    /// ADD or SUB of a constant, whose registers may be SP.
    AddImmediate {
        to: u8,
        from: u8,
        value: u64,
        wide: bool,
    },
    /// MOVZ or MOVN.
    Set {
        to: u8,
        value: u64,
    },
    /// MOVK.
    Insert {
        to: u8,
        value: u16,
        shift: u8,
    },
    /// MOV between registers other than SP.
    Move {
        to: u8,
        from: u8,
        wide: bool,
    },
    /// ORR, AND or EOR of a constant with a register other than SP; the result may be SP.
    Logic {
        to: u8,
        from: u8,
        value: u64,
        op: BinaryOp,
        wide: bool,
    },
    /// CSEL: one of both; the second one may be altered.
    Select {
        to: u8,
        first: u8,
        second: u8,
        altered: Altered,
        wide: bool,
    },
    Load {
        to: u8,
        signed: bool,
        access: Access,
    },
    LoadPair {
        first: u8,
        second: u8,
        access: Access,
    },
    Store {
        from: u8,
        second: Option<u8>,
        access: Access,
    },
    LoadLiteral {
        to: u8,
        address: u64,
    },
    Branch(u64),
    BranchIf(u64),
    Call(u64),
    BranchRegister(u8),
    CallRegister(u8),
    Return,
    Trap,
    Syscall,
    Other,
}

/// The memory of a load or a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) base: u8,
    pub(super) offset: i64,
    /// Of each register, in bytes.
    pub(super) size: u8,
    /// Whether the offset is added to the base.
    pub(super) writeback: bool,
    /// Whether it is added only afterwards.
    pub(super) post: bool,
}

/// How CSEL (Same), CSINC, CSINV and CSNEG alter the second register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Altered {
    Same,
    PlusOne,
    Inverted,
    Negated,
}

/// The instructions of code from an address on, each with its address.
pub(super) fn words(bytes: &[u8], start: u64) -> impl Iterator<Item = (u64, u32)> {
    bytes.chunks_exact(4).enumerate().map(move |(index, word)| {
        let word = u32::from_le_bytes(word.try_into().unwrap_or_default());
        (start.wrapping_add(index as u64 * 4), word)
    })
}

/// Bits `low..low + count` of a word.
pub(super) fn bits(word: u32, low: u32, count: u32) -> u32 {
    word >> low & ((1 << count) - 1)
}

/// A signed field of `count` bits.
fn signed(value: u32, count: u32) -> i64 {
    let shift = 64 - count;
    ((u64::from(value) << shift) as i64) >> shift
}

pub(super) fn reg(word: u32, low: u32) -> u8 {
    bits(word, low, 5) as u8
}

/// Decodes an instruction.
pub(super) fn form(word: u32, at: u64) -> Form {
    let relative = |low, count| at.wrapping_add((signed(bits(word, low, count), count) * 4) as u64);
    match bits(word, 25, 4) {
        0b1000 | 0b1001 => immediate(word, at),
        0b1010 | 0b1011 => match word {
            _ if word & 0xfc00_0000 == 0x1400_0000 => Form::Branch(relative(0, 26)),
            _ if word & 0xfc00_0000 == 0x9400_0000 => Form::Call(relative(0, 26)),
            _ if word & 0xff00_0000 == 0x5400_0000 => Form::BranchIf(relative(5, 19)),
            _ if word & 0x7e00_0000 == 0x3400_0000 => Form::BranchIf(relative(5, 19)),
            _ if word & 0x7e00_0000 == 0x3600_0000 => Form::BranchIf(relative(5, 14)),
            _ if word & 0xffe0_001f == 0xd400_0001 => Form::Syscall,
            // BRK and UDF.
            _ if word & 0xffe0_001f == 0xd420_0000 => Form::Trap,
            // BR, BRAA and so on; RET, ERET; BLR.
            _ if word & 0xfe9f_f000 == 0xd61f_0000 && bits(word, 21, 2) == 0 => {
                Form::BranchRegister(reg(word, 5))
            }
            _ if word & 0xfe9f_f000 == 0xd61f_0000 && bits(word, 21, 2) == 1 => {
                Form::CallRegister(reg(word, 5))
            }
            _ if word & 0xfe9f_f000 == 0xd61f_0000 && bits(word, 21, 2) == 2 => Form::Return,
            // Hints, such as NOP and BTI.
            _ if word & 0xffff_f01f == 0xd503_201f => Form::Nop,
            _ => Form::Other,
        },
        0b0100 | 0b0110 | 0b1100 | 0b1110 => memory(word, at),
        0b0101 | 0b1101 => register(word),
        0 if word >> 16 == 0 => Form::Trap,
        _ => Form::Other,
    }
}

fn immediate(word: u32, at: u64) -> Form {
    let wide = word >> 31 != 0;
    let to = reg(word, 0);
    match bits(word, 23, 3) {
        0 | 1 => {
            let value = signed(bits(word, 5, 19) << 2 | bits(word, 29, 2), 21);
            if wide {
                let page = (at & !0xfff).wrapping_add((value as u64) << 12);
                Form::Page { to, page }
            } else {
                Form::Address { to, address: at.wrapping_add(value as u64) }
            }
        }
        // Without flags only: CMP and CMN write no register.
        2 if bits(word, 29, 1) == 0 => {
            let value =
                u64::from(bits(word, 10, 12)) << if bits(word, 22, 1) == 1 { 12 } else { 0 };
            let value = if bits(word, 30, 1) == 1 { value.wrapping_neg() } else { value };
            Form::AddImmediate { to, from: reg(word, 5), value, wide }
        }
        4 if bits(word, 29, 2) != 3 => match mask(word) {
            Some(value) => {
                let op = match bits(word, 29, 2) {
                    0 => BinaryOp::And,
                    1 => BinaryOp::Or,
                    _ => BinaryOp::Xor,
                };
                Form::Logic { to, from: reg(word, 5), value, op, wide }
            }
            None => Form::Other,
        },
        5 => {
            let value = u64::from(bits(word, 5, 16));
            let shift = bits(word, 21, 2) * 16;
            let narrow = |value: u64| if wide { value } else { value & 0xffff_ffff };
            match bits(word, 29, 2) {
                0 => Form::Set { to, value: narrow(!(value << shift)) },
                2 => Form::Set { to, value: narrow(value << shift) },
                3 => Form::Insert { to, value: value as u16, shift: shift as u8 },
                _ => Form::Other,
            }
        }
        _ => Form::Other,
    }
}

/// The constant of a logical instruction: a rotated run of ones, repeated.
pub(super) fn mask(word: u32) -> Option<u64> {
    let (n, rotate, ones) = (bits(word, 22, 1), bits(word, 16, 6), bits(word, 10, 6));
    let pattern = n << 6 | (!ones & 0x3f);
    let length = 31_u32.checked_sub(pattern.leading_zeros())?;
    if length == 0 {
        return None;
    }
    let size = 1_u32 << length;
    let (rotate, ones) = (rotate & (size - 1), ones & (size - 1));
    let run = u64::MAX.checked_shr(63 - ones)?;
    let element = u64::MAX.checked_shr(64 - size)?;
    let rotated = if rotate == 0 { run } else { run >> rotate | run << (size - rotate) } & element;
    Some((0..64 / size).fold(0, |sum, index| sum | rotated << (index * size)))
}

fn register(word: u32) -> Form {
    let wide = word >> 31 != 0;
    let (to, first, second) = (reg(word, 0), reg(word, 5), reg(word, 16));
    match word {
        // ORR of the zero register without a shift.
        _ if word & 0x7fe0_ffe0 == 0x2a00_03e0 => Form::Move { to, from: second, wide },
        // CSEL, CSINC, CSINV, CSNEG.
        _ if word & 0x3fe0_0800 == 0x1a80_0000 => {
            let altered = match (bits(word, 30, 1), bits(word, 10, 1)) {
                (0, 0) => Altered::Same,
                (0, _) => Altered::PlusOne,
                (_, 0) => Altered::Inverted,
                (..) => Altered::Negated,
            };
            Form::Select { to, first, second, altered, wide }
        }
        _ => Form::Other,
    }
}

fn memory(word: u32, at: u64) -> Form {
    let (to, base) = (reg(word, 0), reg(word, 5));
    let is_vector = bits(word, 26, 1) == 1;
    // Literal.
    if word & 0x3b00_0000 == 0x1800_0000 {
        let address = at.wrapping_add((signed(bits(word, 5, 19), 19) * 4) as u64);
        return match bits(word, 30, 2) {
            1 if !is_vector => Form::LoadLiteral { to, address },
            _ => Form::Other,
        };
    }
    // Pairs.
    if word & 0x3a00_0000 == 0x2800_0000 {
        let size = match (is_vector, bits(word, 30, 2)) {
            (false, 2) | (true, 1) => 8_u8,
            (false, 0) | (true, 0) => 4,
            (true, 2) => 16,
            _ => return Form::Other,
        };
        let offset = signed(bits(word, 15, 7), 7) * i64::from(size);
        let (writeback, post) = (bits(word, 23, 2) & 1 == 1, bits(word, 23, 2) == 1);
        let access = Access { base, offset, size, writeback, post };
        let second = reg(word, 10);
        return match (bits(word, 22, 1), is_vector) {
            (1, false) => Form::LoadPair { first: to, second, access },
            (0, false) => Form::Store { from: to, second: Some(second), access },
            // Vectors: only the memory matters.
            (_, _) => Form::Store { from: 32, second: Some(32), access },
        };
    }
    let (size, opc) = (bits(word, 30, 2), bits(word, 22, 2));
    let bytes = if is_vector && opc & 2 != 0 { 16 } else { 1_u8 << size };
    let (offset, writeback, post) = match word {
        _ if word & 0x3b00_0000 == 0x3900_0000 => {
            (i64::from(bits(word, 10, 12)) * i64::from(bytes), false, false)
        }
        _ if word & 0x3b20_0000 == 0x3800_0000 => match bits(word, 10, 2) {
            0 => (signed(bits(word, 12, 9), 9), false, false),
            1 => (signed(bits(word, 12, 9), 9), true, true),
            3 => (signed(bits(word, 12, 9), 9), true, false),
            _ => return Form::Other,
        },
        _ => return Form::Other,
    };
    let access = Access { base, offset, size: bytes, writeback, post };
    match (is_vector, opc) {
        (true, _) => Form::Store { from: 32, second: None, access },
        (false, 0) => Form::Store { from: to, second: None, access },
        // PRFM.
        (false, 2) if size == 3 => Form::Nop,
        (false, opc) => Form::Load { to, signed: opc >= 2, access },
    }
}
