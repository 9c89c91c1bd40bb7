//! The numbers of expressions: 64 bits, each a function of the same bit of the arguments.
//!
//! `&` and `|` work on bits, so bit i of an expression depends only on bit i of the six arguments. It is a table with
//! 64 entries, one for each combination of these bits, and fits in a `u64`.

use std::cmp::Ordering;

use callgate_core::Arch;
use callgate_core::policy::{Cmp, Condition, Field, Test};

/// The number of arguments.
const ARGS: u8 = 6;

/// A function of one bit of each argument: entry `n` of the table is its value if the bits of the arguments are those
/// of `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct BitFn(pub(super) u64);

/// The bits of the arguments themselves.
const VARIABLES: [u64; ARGS as usize] = [
    0xaaaa_aaaa_aaaa_aaaa,
    0xcccc_cccc_cccc_cccc,
    0xf0f0_f0f0_f0f0_f0f0,
    0xff00_ff00_ff00_ff00,
    0xffff_0000_ffff_0000,
    0xffff_ffff_0000_0000,
];

impl BitFn {
    pub(super) const ZERO: BitFn = BitFn(0);
    pub(super) const ONE: BitFn = BitFn(u64::MAX);

    pub(super) fn constant(bit: bool) -> BitFn {
        if bit { BitFn::ONE } else { BitFn::ZERO }
    }

    pub(super) fn equals(self, other: BitFn) -> BitFn {
        BitFn(!(self.0 ^ other.0))
    }

    /// Its value where the bits of all arguments are 0.
    fn without_arguments(self) -> bool {
        self.0 & 1 == 1
    }

    /// The argument whose bit this is.
    pub(super) fn variable(self) -> Option<u8> {
        VARIABLES.iter().position(|table| *table == self.0).map(|index| index as u8)
    }

    /// The function with the bit of an argument set, or cleared.
    fn with(self, argument: u8, bit: bool) -> BitFn {
        let variable = VARIABLES.get(usize::from(argument)).copied().unwrap_or(0);
        let shift = 1 << argument;
        let kept = if bit { self.0 & variable } else { self.0 & !variable };
        BitFn(if bit { kept | kept >> shift } else { kept | kept << shift })
    }

    /// The arguments on which it depends.
    pub(super) fn arguments(self) -> impl Iterator<Item = u8> {
        (0..ARGS).filter(move |argument| self.with(*argument, false) != self.with(*argument, true))
    }

    /// For a conjunction of bits and negated bits of arguments: the bits that must be set, and those that must not.
    pub(super) fn conjunction(self) -> Option<(Vec<u8>, Vec<u8>)> {
        let (mut set, mut cleared, mut rest) = (Vec::new(), Vec::new(), self);
        for argument in 0..ARGS {
            match (rest.with(argument, false), rest.with(argument, true)) {
                (zero, one) if zero == one => {}
                (BitFn::ZERO, one) => (rest, ()) = (one, set.push(argument)),
                (zero, BitFn::ZERO) => (rest, ()) = (zero, cleared.push(argument)),
                _ => return None,
            }
        }
        (rest == BitFn::ONE).then_some((set, cleared))
    }

    /// The condition that the function is true of a bit. It recurses once per argument.
    pub(super) fn condition(self, bit: u32) -> Condition {
        let Some(argument) = self.arguments().next() else {
            return if self == BitFn::ONE { Condition::always() } else { Condition::never() };
        };
        let (zero, one) = (self.with(argument, false), self.with(argument, true));
        let test = |is_set| bit_test(argument, bit, is_set);
        if zero == BitFn::ONE {
            return Condition::any([test(false), one.condition(bit)]);
        }
        if one == BitFn::ONE {
            return Condition::any([test(true), zero.condition(bit)]);
        }
        Condition::any([
            Condition::all([test(false), zero.condition(bit)]),
            Condition::all([test(true), one.condition(bit)]),
        ])
    }
}

/// A test of one bit of an argument.
fn bit_test(argument: u8, bit: u32, is_set: bool) -> Condition {
    masked(argument, true, 1 << bit, u64::from(is_set) << bit)
}

/// `argument & mask == wanted`, on all bits or the low 32.
pub(super) fn masked(argument: u8, wide: bool, mask: u64, wanted: u64) -> Condition {
    field(argument, wide).map_or_else(Condition::never, |field| {
        Condition::test(Test::masked_eq(field, mask, wanted))
    })
}

pub(super) fn field(argument: u8, wide: bool) -> Option<Field> {
    if wide { Field::arg(argument) } else { Field::arg_low(argument) }
}

/// A number of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Number(u64),
    /// It depends on arguments.
    Bits(Box<Bits>),
}

/// A number that depends on arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bits {
    bits: [BitFn; 64],
    /// Whether one of the arguments has 64 bits.
    has_wide_argument: bool,
    /// A number in it with more than 32 bits, which it is combined with.
    wide_number: Option<u64>,
}

impl Word {
    /// An argument with 32 or 64 bits.
    pub(super) fn argument(index: u8, wide: bool) -> Word {
        let table = VARIABLES.get(usize::from(index)).copied().unwrap_or(0);
        let bits = [BitFn(table); 64];
        Word::Bits(Box::new(Bits { bits, has_wide_argument: wide, wide_number: None }))
    }

    pub(super) fn bit(&self, index: usize) -> BitFn {
        match self {
            Word::Number(number) => BitFn::constant(number >> index & 1 == 1),
            Word::Bits(word) => word.bits.get(index).copied().unwrap_or(BitFn::ZERO),
        }
    }

    /// Whether a comparison looks at all 64 bits: because of an argument with 64 bits, or a larger number.
    pub(super) fn is_wide(&self) -> bool {
        self.has_wide_argument() || self.wide_number().is_some()
    }

    fn has_wide_argument(&self) -> bool {
        matches!(self, Word::Bits(word) if word.has_wide_argument)
    }

    /// The number with more than 32 bits that it is, or that it is combined with.
    fn wide_number(&self) -> Option<u64> {
        match self {
            Word::Number(number) => Some(*number).filter(|number| *number > u64::from(u32::MAX)),
            Word::Bits(word) => word.wide_number,
        }
    }

    /// The upper 32 bits where those of all arguments are 0, as in registers with 32 bits.
    fn high_half(&self) -> u32 {
        let high = (32..64).map(|index| self.bit(index).without_arguments());
        (0..).zip(high).fold(0, |half, (index, bit)| half | u32::from(bit) << index)
    }

    /// `self & other` or `self | other`.
    ///
    /// Numbers are combined first, and a number without effect does not count for the width: Kafel simplifies an
    /// expression before it looks at its width.
    pub(super) fn join(self, other: Word, is_and: bool) -> Word {
        let (neutral, absorbing) = if is_and { (u64::MAX, 0) } else { (0, u64::MAX) };
        match (self, other) {
            (Word::Number(a), Word::Number(b)) => Word::Number(if is_and { a & b } else { a | b }),
            (Word::Number(number), word) | (word, Word::Number(number)) if number == neutral => {
                word
            }
            (Word::Number(number), _) | (_, Word::Number(number)) if number == absorbing => {
                Word::Number(absorbing)
            }
            (a, b) => {
                let bits = std::array::from_fn(|index| {
                    let (BitFn(a), BitFn(b)) = (a.bit(index), b.bit(index));
                    BitFn(if is_and { a & b } else { a | b })
                });
                Word::Bits(Box::new(Bits {
                    bits,
                    has_wide_argument: a.has_wide_argument() || b.has_wide_argument(),
                    wide_number: a.wide_number().or(b.wide_number()),
                }))
            }
        }
    }
}

// Warnings about comparisons with numbers of more than 32 bits.
//
// Kafel compares 64 bits if a number has more than 32, also if the arguments have 32. A negative number has 64. Then:
//
// - on architectures with 32-bit registers, the high half of an argument is 0, so the numbers alone may decide;
// - elsewhere, the kernel ignores the high half of such an argument, but the filter does not.

/// The message about a comparison and what to do; `None` if there is nothing to report.
pub(super) fn width_warning(
    arch: Arch,
    left: &Word,
    cmp: Cmp,
    right: &Word,
) -> Option<(String, String)> {
    if matches!((left, right), (Word::Number(_), Word::Number(_))) {
        return None;
    }
    let number = left.wide_number().or(right.wide_number())?;
    let message = if !arch.has_wide_registers() {
        let order = left.high_half().cmp(&right.high_half());
        let always = if decided(cmp, order)? { "true" } else { "false" };
        format!(
            "{number:#x} has more than the 32 bits of registers on {arch}, so that this comparison is always {always}"
        )
    } else if left.has_wide_argument() || right.has_wide_argument() {
        return None;
    } else {
        format!(
            "{number:#x} has more than the 32 bits of the argument, so that Kafel compares all 64 bits of the register"
        )
    };
    Some((message, help(arch, left, cmp, right, number)))
}

/// The result of a comparison if the high halves decide it.
fn decided(cmp: Cmp, high: Ordering) -> Option<bool> {
    if high == Ordering::Equal {
        return None;
    }
    Some(match cmp {
        Cmp::Eq => false,
        Cmp::Ne => true,
        Cmp::Lt | Cmp::Le => high == Ordering::Less,
        Cmp::Gt | Cmp::Ge => high == Ordering::Greater,
    })
}

fn help(arch: Arch, left: &Word, cmp: Cmp, right: &Word, number: u64) -> String {
    let why = if arch.has_wide_registers() {
        "the kernel ignores the high half"
    } else {
        "registers have no high half"
    };
    let is_equality = matches!(cmp, Cmp::Eq | Cmp::Ne);
    let is_only_one = left.wide_number().is_none() || right.wide_number().is_none();
    match i32::try_from(number as i64) {
        // Without the copies of its sign, the number is the one that the kernel sees.
        Ok(low) if is_equality && is_only_one => format!("write {low:#x}: {why}"),
        Ok(low) if is_only_one => {
            format!("comparisons are unsigned; write {low:#x} if that is meant: {why}")
        }
        _ => format!("use numbers with at most 32 bits: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_core::SeccompData;

    /// Every function of three arguments is true exactly where its condition holds.
    #[test]
    fn conditions_of_bits_mean_the_function() {
        for table in 0..256_u64 {
            let full = (0..8).fold(0_u64, |full, part| full | table << (8 * part));
            let function = BitFn(full);
            let condition = function.condition(3);
            for bits in 0..8_u64 {
                let args =
                    std::array::from_fn(|arg| if arg < 3 { (bits >> arg & 1) << 3 | 5 } else { 0 });
                let data = SeccompData { args, ..SeccompData::default() };
                assert_eq!(condition.holds(&data), full >> bits & 1 == 1, "{table:#x} {bits}");
            }
            if let Some((set, cleared)) = function.conjunction() {
                let holds = |bits: u64| {
                    set.iter().all(|arg| bits >> arg & 1 == 1)
                        && cleared.iter().all(|arg| bits >> arg & 1 == 0)
                };
                assert!((0..8).all(|bits| holds(bits) == (full >> bits & 1 == 1)), "{table:#x}");
            }
        }
    }

    #[test]
    fn numbers_without_effect_do_not_count_for_the_width() {
        let narrow = || Word::argument(0, false);
        assert_eq!(narrow().join(Word::Number(u64::MAX), true), narrow());
        assert_eq!(Word::Number(0).join(narrow(), false), narrow());
        assert_eq!(narrow().join(Word::Number(0), true), Word::Number(0));
        assert!(narrow().join(Word::Number(1 << 40), true).is_wide());
        assert!(!narrow().join(Word::Number(1 << 20), true).is_wide());
    }

    #[test]
    fn the_high_half_without_arguments_is_that_of_numbers() {
        let wide = || Word::argument(0, true);
        assert_eq!(Word::Number(0x5_0000_0007).high_half(), 5);
        assert_eq!(wide().high_half(), 0);
        assert_eq!(wide().join(Word::Number(0x5_0000_0007), true).high_half(), 0);
        assert_eq!(wide().join(Word::Number(0x5_0000_0007), false).high_half(), 5);
    }
}
