//! What branches of aarch64 depend on: comparisons with their conditions, and branches that compare themselves.
//!
//! After a subtraction the carry is the inverse of that of x86-64, and so are the conditions that test it, so that each
//! condition means the same relation.

use super::aarch64_form::{SP, bits, mask};
use super::insn::{Against, Compared, Comparison, Condition, Part, Source, Test};

fn register(word: u32, low: u32) -> u8 {
    bits(word, low, 5) as u8
}

/// A register as an operand that may be the zero register.
fn source(register: u8, size: u8) -> Source {
    if register >= SP { Source::Const(0) } else { Source::Part(Part::low(register, size)) }
}

/// A comparison of a register other than SP and the zero register.
fn comparison(register: u8, size: u8, against: Against) -> Option<Comparison> {
    let left = Compared::Part(Part::low(register, size));
    (register < SP).then_some(Comparison { left, against })
}

/// What the flags say after an instruction that may set them.
pub(super) fn flags(word: u32) -> Option<Comparison> {
    let size = if word >> 31 != 0 { 8 } else { 4 };
    let (to, first, second) = (register(word, 0), register(word, 5), register(word, 16));
    match word {
        // SUBS of a constant; CMP is one without a result.
        _ if word & 0x7f80_0000 == 0x7100_0000 => {
            let shift = if bits(word, 22, 1) == 1 { 12 } else { 0 };
            let value = u64::from(bits(word, 10, 12)) << shift;
            match to == first {
                true => comparison(to, size, Against::Result),
                false => comparison(first, size, Against::Value(Source::Const(value))),
            }
        }
        // SUBS of a register without a shift.
        _ if word & 0x7fe0_fc00 == 0x6b00_0000 => match to {
            SP => comparison(first, size, Against::Value(source(second, size))),
            _ => comparison(to, size, Against::Result),
        },
        // TST of a constant, and of a register with itself.
        _ if word & 0x7f80_001f == 0x7200_001f => {
            comparison(first, size, Against::Mask(mask(word)?))
        }
        _ if word & 0x7fe0_fc1f == 0x6a00_001f && first == second => {
            comparison(first, size, Against::Mask(u64::MAX))
        }
        _ => None,
    }
}

/// What a branch depends on.
pub(super) fn test(word: u32) -> Option<Test> {
    let is_zero = |inverse: u32| match inverse {
        0 => Condition::Equal,
        _ => Condition::NotEqual,
    };
    let of = |condition, comparison| Some(Test { condition, comparison });
    match word {
        // CBZ and CBNZ.
        _ if word & 0x7e00_0000 == 0x3400_0000 => {
            let size = if word >> 31 != 0 { 8 } else { 4 };
            let zero = Against::Value(Source::Const(0));
            of(is_zero(bits(word, 24, 1)), Some(comparison(register(word, 0), size, zero)?))
        }
        // TBZ and TBNZ.
        _ if word & 0x7e00_0000 == 0x3600_0000 => {
            let bit = bits(word, 31, 1) << 5 | bits(word, 19, 5);
            let mask = Against::Mask(1 << bit);
            of(is_zero(bits(word, 24, 1)), Some(comparison(register(word, 0), 8, mask)?))
        }
        // B with a condition.
        _ if word & 0xff00_0010 == 0x5400_0000 => {
            let condition = match bits(word, 0, 4) {
                0 => Condition::Equal,
                1 => Condition::NotEqual,
                2 => Condition::AboveOrEqual,
                3 => Condition::Below,
                4 => Condition::Negative,
                5 => Condition::NotNegative,
                8 => Condition::Above,
                9 => Condition::BelowOrEqual,
                10 => Condition::GreaterOrEqual,
                11 => Condition::Less,
                12 => Condition::Greater,
                13 => Condition::LessOrEqual,
                _ => return None,
            };
            of(condition, None)
        }
        _ => None,
    }
}
