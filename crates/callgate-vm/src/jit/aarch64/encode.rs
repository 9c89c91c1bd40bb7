//! The encodings of A64 that the compiler uses: each function is one instruction.
//!
//! Names and operands are those of the assembler; a name that ends in `64` works on 64 bits, the
//! others on 32, where the upper half of the result becomes 0.
//!
//! Source: Arm Architecture Reference Manual for A-profile, C6.2.

use callgate_core::Width;

/// A general-purpose register; 31 is zero or, where an address or an immediate is added, the stack
/// pointer.
pub(super) type Reg = u32;

pub(super) const ZERO: Reg = 31;
pub(super) const SP: Reg = 31;

/// Operations for [`three`]. Shifts are by the low five bits of `m`.
pub(super) const ADD: u32 = 0x0b00_0000;
pub(super) const SUB: u32 = 0x4b00_0000;
pub(super) const MUL: u32 = 0x1b00_7c00;
pub(super) const AND: u32 = 0x0a00_0000;
pub(super) const ORR: u32 = 0x2a00_0000;
pub(super) const EOR: u32 = 0x4a00_0000;
pub(super) const LSL: u32 = 0x1ac0_2000;
pub(super) const LSR: u32 = 0x1ac0_2400;

/// Operations for [`with_imm`], with an immediate from [`imm12`]. `cmn` compares with the negated immediate, which is not 0.
pub(super) const ADD_IMM: u32 = 0x1100_0000;
pub(super) const SUB_IMM: u32 = 0x5100_0000;
pub(super) const CMP_IMM: u32 = 0x7100_0000;
const CMN_IMM: u32 = 0x3100_0000;

/// The same with an immediate from [`bitmask`].
pub(super) const AND_IMM: u32 = 0x1200_0000;
pub(super) const ORR_IMM: u32 = 0x3200_0000;
pub(super) const EOR_IMM: u32 = 0x5200_0000;
const TST_IMM: u32 = 0x7200_0000;

/// Makes an operation on 32 bits one on 64.
pub(super) const WIDE: u32 = 1 << 31;

/// The register that [`Code`] uses for constants.
pub(super) const TEMPORARY: Reg = 7;

pub(super) fn three(op: u32, d: Reg, n: Reg, m: Reg) -> u32 {
    op | m << 16 | n << 5 | d
}

pub(super) fn with_imm(op: u32, d: Reg, n: Reg, imm: u32) -> u32 {
    op | imm | n << 5 | d
}

/// An immediate of `add`, `sub` and `cmp`: 12 bits, perhaps shifted by 12.
fn imm12(value: u32) -> Option<u32> {
    if value < 1 << 12 {
        Some(value << 10)
    } else if value < 1 << 24 && value.trailing_zeros() >= 12 {
        Some(1 << 22 | value >> 12 << 10)
    } else {
        None
    }
}

/// An immediate of `and`, `orr`, `eor` and `tst`: a rotated sequence of ones in a repeated element of 2
/// to 32 bits.
pub(super) fn bitmask(value: u32) -> Option<u32> {
    if value == 0 || value == u32::MAX {
        return None;
    }
    let mut size = 32;
    while size > 2 && value == value.rotate_right(size / 2) {
        size /= 2;
    }
    let ones = |len: u32| u32::MAX >> (32 - len);
    let element = value & ones(size);
    let len = element.count_ones();
    let start = if element & 1 == 0 {
        let start = element.trailing_zeros();
        (element >> start == ones(len)).then_some(start)?
    } else {
        // The ones may wrap around; then the zeros are contiguous.
        let zeros = !element & ones(size);
        let first = zeros.trailing_zeros();
        (zeros >> first == ones(size - len)).then_some(first + size - len)?
    };
    let rotate = (size - start % size) % size;
    Some(rotate << 16 | (!(2 * size - 1) & 0x3f | (len - 1)) << 10)
}

fn movz(d: Reg, half: u32, shift: u32) -> u32 {
    0x5280_0000 | (shift / 16) << 21 | half << 5 | d
}

fn movk(d: Reg, half: u32, shift: u32) -> u32 {
    0x7280_0000 | (shift / 16) << 21 | half << 5 | d
}

/// `d = !half`.
fn movn(d: Reg, half: u32) -> u32 {
    0x1280_0000 | half << 5 | d
}

fn movz64(d: Reg, half: u32, shift: u32) -> u32 {
    WIDE | movz(d, half, shift)
}

fn movk64(d: Reg, half: u32, shift: u32) -> u32 {
    WIDE | movk(d, half, shift)
}

pub(super) fn mov(d: Reg, m: Reg) -> u32 {
    orr(d, ZERO, m)
}

pub(super) fn mov64(d: Reg, m: Reg) -> u32 {
    WIDE | mov(d, m)
}

pub(super) fn add(d: Reg, n: Reg, m: Reg) -> u32 {
    three(ADD, d, n, m)
}

pub(super) fn add64(d: Reg, n: Reg, m: Reg) -> u32 {
    WIDE | add(d, n, m)
}

pub(super) fn sub(d: Reg, n: Reg, m: Reg) -> u32 {
    three(SUB, d, n, m)
}

pub(super) fn cmp(n: Reg, m: Reg) -> u32 {
    three(0x6b00_0000, ZERO, n, m)
}

pub(super) fn cmp64(n: Reg, m: Reg) -> u32 {
    WIDE | cmp(n, m)
}

fn orr(d: Reg, n: Reg, m: Reg) -> u32 {
    three(ORR, d, n, m)
}

pub(super) fn tst(n: Reg, m: Reg) -> u32 {
    three(0x6a00_0000, ZERO, n, m)
}

/// Whether bit 0 of 64 is set.
pub(super) fn tst_bit0_64(n: Reg) -> u32 {
    0xf240_0000 | n << 5 | ZERO
}

/// `d = a - n * m`.
pub(super) fn msub(d: Reg, n: Reg, m: Reg, a: Reg) -> u32 {
    three(0x1b00_8000, d, n, m) | a << 10
}

pub(super) fn udiv(d: Reg, n: Reg, m: Reg) -> u32 {
    three(0x1ac0_0800, d, n, m)
}

/// By the low six bits of `m`.
pub(super) fn lsr64(d: Reg, n: Reg, m: Reg) -> u32 {
    WIDE | three(LSR, d, n, m)
}

fn ubfm(d: Reg, n: Reg, rotate: u32, last: u32) -> u32 {
    0x5300_0000 | rotate << 16 | last << 10 | n << 5 | d
}

/// By 0 to 31.
pub(super) fn lsl_imm(d: Reg, n: Reg, by: u32) -> u32 {
    ubfm(d, n, (32 - by) % 32, 31 - by)
}

/// By 0 to 31.
pub(super) fn lsr_imm(d: Reg, n: Reg, by: u32) -> u32 {
    ubfm(d, n, by, 31)
}

/// The lowest `len` bits, shifted to the left.
pub(super) fn ubfiz(d: Reg, n: Reg, by: u32, len: u32) -> u32 {
    ubfm(d, n, 32 - by, len - 1)
}

/// Reverses four bytes.
pub(super) fn rev(d: Reg, n: Reg) -> u32 {
    0x5ac0_0800 | n << 5 | d
}

/// Reverses the bytes of each half word.
fn rev16(d: Reg, n: Reg) -> u32 {
    0x5ac0_0400 | n << 5 | d
}

/// A load of `1 << size` bytes at `[n + offset]`; `None` if the offset cannot be encoded.
pub(super) fn ldr(size: u32, t: Reg, n: Reg, offset: u32) -> Option<u32> {
    let scaled = offset >> size;
    if offset == scaled << size && scaled < 1 << 12 {
        Some(0x3940_0000 | size << 30 | scaled << 10 | n << 5 | t)
    } else if offset < 1 << 8 {
        Some(0x3840_0000 | size << 30 | offset << 12 | n << 5 | t)
    } else {
        None
    }
}

/// A load of `1 << size` bytes at `[n + m]`, where `m` has 32 bits.
pub(super) fn ldr_index(size: u32, t: Reg, n: Reg, m: Reg) -> u32 {
    three(0x3860_4800 | size << 30, t, n, m)
}

/// A load of word `m` of a table.
pub(super) fn ldr_scaled(t: Reg, n: Reg, m: Reg) -> u32 {
    three(0xb860_5800, t, n, m)
}

/// The same, sign-extended.
pub(super) fn ldrsw_scaled(t: Reg, n: Reg, m: Reg) -> u32 {
    three(0xb8a0_5800, t, n, m)
}

/// `ldr x, [n]`.
pub(super) fn ldr64(t: Reg, n: Reg) -> u32 {
    0xf940_0000 | n << 5 | t
}

/// Operations for [`pair`]; those on `D` are for the low halves of vector registers.
pub(super) const STP64: u32 = 0xa900_0000;
pub(super) const LDP64: u32 = 0xa940_0000;
pub(super) const STP_D: u32 = 0x6d00_0000;
pub(super) const LDP_D: u32 = 0x6d40_0000;

/// Stores or loads two registers, at a multiple of eight above the stack pointer.
pub(super) fn pair(op: u32, t: Reg, u: Reg, at: u32) -> u32 {
    op | (at / 8) << 15 | u << 10 | SP << 5 | t
}

/// Into a vector register.
pub(super) fn fmov_to(s: u32, n: Reg) -> u32 {
    0x1e27_0000 | n << 5 | s
}

/// From a vector register.
pub(super) fn fmov_from(d: Reg, s: u32) -> u32 {
    0x1e26_0000 | s << 5 | d
}

pub(super) fn csel(d: Reg, n: Reg, m: Reg, cond: u32) -> u32 {
    three(0x1a80_0000, d, n, m) | cond << 12
}

/// Displacements are in bytes, and forward. They are at most
/// [`super::Aarch64::REACH`](super::Target::REACH).
pub(super) fn b(distance: u32) -> u32 {
    0x1400_0000 | (distance / 4) & 0x3ff_ffff
}

pub(super) fn bl(distance: u32) -> u32 {
    0x9400_0000 | (distance / 4) & 0x3ff_ffff
}

pub(super) fn b_cond(cond: u32, distance: u32) -> u32 {
    0x5400_0000 | ((distance / 4) & 0x7_ffff) << 5 | cond
}

pub(super) fn cbz(t: Reg, distance: u32) -> u32 {
    0x3400_0000 | ((distance / 4) & 0x7_ffff) << 5 | t
}

/// The address of a place at a multiple of four.
pub(super) fn adr(d: Reg, distance: u32) -> u32 {
    0x1000_0000 | ((distance / 4) & 0x7_ffff) << 5 | d
}

pub(super) fn br(n: Reg) -> u32 {
    0xd61f_0000 | n << 5
}

pub(super) fn blr(n: Reg) -> u32 {
    0xd63f_0000 | n << 5
}

pub(super) const RET: u32 = 0xd65f_03c0;

/// A sequence of machine instructions, with room for those of one operation.
pub(super) struct Code<const ROOM: usize = 8> {
    pub(super) words: [u32; ROOM],
    pub(super) len: usize,
}

impl<const ROOM: usize> Code<ROOM> {
    pub(super) fn new() -> Code<ROOM> {
        Code { words: [0; ROOM], len: 0 }
    }

    pub(super) fn put(&mut self, word: u32) -> &mut Code<ROOM> {
        self.words[self.len] = word;
        self.len += 1;
        self
    }

    /// `reg = value`, in one instruction or two.
    pub(super) fn set(&mut self, reg: Reg, value: u32) -> &mut Code<ROOM> {
        let (low, high) = (value & 0xffff, value >> 16);
        match (low, high) {
            (_, 0) => self.put(movz(reg, low, 0)),
            (0, _) => self.put(movz(reg, high, 16)),
            (_, 0xffff) => self.put(movn(reg, !value & 0xffff)),
            _ => self.put(movz(reg, low, 0)).put(movk(reg, high, 16)),
        }
    }

    pub(super) fn set64(&mut self, reg: Reg, value: u64) -> &mut Code<ROOM> {
        self.put(movz64(reg, value as u32 & 0xffff, 0));
        for shift in [16, 32, 48] {
            let half = (value >> shift) as u32 & 0xffff;
            if half != 0 {
                self.put(movk64(reg, half, shift));
            }
        }
        self
    }

    /// `to = from + value`.
    pub(super) fn add(&mut self, to: Reg, from: Reg, value: u32) -> &mut Code<ROOM> {
        match (imm12(value), imm12(value.wrapping_neg())) {
            (Some(imm), _) => self.put(with_imm(ADD_IMM, to, from, imm)),
            (_, Some(imm)) => self.put(with_imm(SUB_IMM, to, from, imm)),
            _ => self.set(TEMPORARY, value).put(add(to, from, TEMPORARY)),
        }
    }

    pub(super) fn compare(&mut self, reg: Reg, value: u32) -> &mut Code<ROOM> {
        match (imm12(value), imm12(value.wrapping_neg())) {
            (Some(imm), _) => self.put(with_imm(CMP_IMM, ZERO, reg, imm)),
            (_, Some(imm)) => self.put(with_imm(CMN_IMM, ZERO, reg, imm)),
            _ => self.set(TEMPORARY, value).put(cmp(reg, TEMPORARY)),
        }
    }

    pub(super) fn test(&mut self, reg: Reg, mask: u32) -> &mut Code<ROOM> {
        match bitmask(mask) {
            Some(imm) => self.put(with_imm(TST_IMM, ZERO, reg, imm)),
            None => self.set(TEMPORARY, mask).put(tst(reg, TEMPORARY)),
        }
    }

    /// Converts a loaded value from network byte order.
    pub(super) fn swap(&mut self, reg: Reg, width: Width) -> &mut Code<ROOM> {
        match width {
            Width::Byte => self,
            Width::Half => self.put(rev16(reg, reg)),
            Width::Word => self.put(rev(reg, reg)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `DecodeBitMasks` of the manual, for 32 bits.
    fn decoded(imm: u32) -> u32 {
        let (rotate, len) = (imm >> 16 & 0x3f, imm >> 10 & 0x3f);
        let size = 1u32 << (31 - (!len & 0x3f).leading_zeros());
        let (rotate, ones) = (rotate & (size - 1), (len & (size - 1)) + 1);
        let element = (1u64 << ones) - 1;
        let element = element >> rotate | element << (size - rotate) & ((1 << size) - 1);
        (0..32).step_by(size as usize).fold(0, |value, at| value | (element as u32) << at)
    }

    #[test]
    fn every_bitmask_is_found_and_means_its_value() {
        let mut all = std::collections::BTreeSet::new();
        for size in [2u32, 4, 8, 16, 32] {
            for len in 1..size {
                for rotate in 0..size {
                    let imm = rotate << 16 | (!(2 * size - 1) & 0x3f | (len - 1)) << 10;
                    let value = decoded(imm);
                    assert_eq!(bitmask(value), Some(imm), "{value:#x}");
                    all.insert(value);
                }
            }
        }
        assert_eq!(all.len(), 2 + 12 + 56 + 240 + 992);
        let mut rng = callgate_bpf::random::Rng::new(7);
        for _ in 0..100_000 {
            let value = (rng.next() & rng.next()) as u32;
            assert_eq!(bitmask(value).is_some(), all.contains(&value), "{value:#x}");
        }
        assert_eq!((bitmask(0), bitmask(u32::MAX)), (None, None));
    }
}
