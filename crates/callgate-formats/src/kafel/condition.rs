//! Comparisons as conditions.
//!
//! A comparison of one argument with a number is a single test, and so is one of all bits of two arguments (`a == b`, `a & b != 0`).
//! Others are combinations of tests of bits: their MTBDD would have as many nodes as the bits have values, so at most
//! [`MAX_BITS`] bits may depend on several arguments at once.

use super::word::{BitFn, Word, field, masked};
use callgate_core::policy::{Cmp, Condition, FieldTest, Test, VariableRelation, VariableTest};
use callgate_core::template::Symbol;

/// The maximum number of bits that may depend on several arguments.
pub(super) const MAX_BITS: usize = 16;

/// Why there is no condition: this many bits depend on several arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooManyBits(pub(super) usize);

/// The condition of a comparison.
pub(super) fn compare(left: &Word, cmp: Cmp, right: &Word) -> Result<Condition, TooManyBits> {
    let wide = left.is_wide() || right.is_wide();
    let len: usize = if wide { 64 } else { 32 };
    if let (Some(form), Some(value)) = (Form::of(left, len), number(right, len)) {
        return Ok(form.compare(cmp, value, wide));
    }
    if let (Some(value), Some(form)) = (number(left, len), Form::of(right, len)) {
        return Ok(form.compare(swapped(cmp), value, wide));
    }
    if let Some(test) = of_two_arguments(left, cmp, right, len) {
        return Ok(Condition::fields(test));
    }
    let pairs: Vec<(BitFn, BitFn)> = (0..len).map(|bit| (left.bit(bit), right.bit(bit))).collect();
    let reversed = || pairs.iter().map(|(a, b)| (*b, *a)).collect::<Vec<_>>();
    match cmp {
        Cmp::Eq => equal(&pairs),
        Cmp::Ne => equal(&pairs).map(Condition::negated),
        Cmp::Lt => less(&pairs),
        Cmp::Ge => less(&pairs).map(Condition::negated),
        Cmp::Gt => less(&reversed()),
        Cmp::Le => less(&reversed()).map(Condition::negated),
    }
}

/// The comparison of all bits of two arguments, or of the bits that they share with 0.
fn of_two_arguments(left: &Word, cmp: Cmp, right: &Word, len: usize) -> Option<FieldTest> {
    let all = |word: &Word| {
        let first = word.bit(0);
        (0..len).all(|index| word.bit(index) == first).then_some(first)
    };
    let (left, right) = (all(left)?, all(right)?);
    let (relation, one, other) = match (left.variable(), right.variable()) {
        (Some(one), Some(other)) if one != other => (VariableRelation::Cmp(cmp), one, other),
        _ => {
            let relation = match cmp {
                Cmp::Eq => VariableRelation::NoBit,
                Cmp::Ne => VariableRelation::AnyBit,
                _ => return None,
            };
            let shared = match (left, right) {
                (shared, BitFn::ZERO) | (BitFn::ZERO, shared) => shared.conjunction()?,
                _ => return None,
            };
            let (&[one, other], []) = (shared.0.as_slice(), shared.1.as_slice()) else {
                return None;
            };
            (relation, one, other)
        }
    };
    let wide = len == 64;
    Some(FieldTest { left: field(one, wide)?, relation, right: field(other, wide)? })
}

/// The condition of a comparison with a variable, and whether it looks at 64 bits. `None` if the left side is not
/// (bits of) a single argument. A number is equal to a variable or not, whatever the arguments are.
pub(super) fn compare_with_variable(
    left: &Word,
    relation: VariableRelation,
    symbol: Symbol,
) -> Option<(Condition, bool)> {
    let wide = left.is_wide();
    let len = if wide { 64 } else { 32 };
    let form = Form::of(left, len)?;
    let test = match (relation, form) {
        (_, Form { argument, mask, ones: 0 }) => {
            VariableTest::new(field(argument, wide)?, relation, symbol).masked(mask)
        }
        (VariableRelation::Cmp(Cmp::Eq | Cmp::Ne), Form { argument, mask: 0, ones }) => {
            let symbol = symbol.plus(ones.wrapping_neg());
            VariableTest::new(field(argument, wide)?, relation, symbol).masked(0)
        }
        _ => return None,
    };
    Some((test.into(), wide))
}

pub(super) fn swapped(cmp: Cmp) -> Cmp {
    match cmp {
        Cmp::Lt => Cmp::Gt,
        Cmp::Le => Cmp::Ge,
        Cmp::Gt => Cmp::Lt,
        Cmp::Ge => Cmp::Le,
        other => other,
    }
}

/// The value of a word whose bits are constant.
fn number(word: &Word, len: usize) -> Option<u64> {
    let bits = (0..len).map(|bit| (bit, word.bit(bit)));
    bits.into_iter().try_fold(0, |sum, (index, bit)| match bit {
        BitFn::ZERO => Some(sum),
        BitFn::ONE => Some(sum | 1 << index),
        _ => None,
    })
}

/// `argument & mask | ones`.
struct Form {
    argument: u8,
    mask: u64,
    ones: u64,
}

impl Form {
    fn of(word: &Word, len: usize) -> Option<Form> {
        let mut form = Form { argument: 0, mask: 0, ones: 0 };
        let mut argument = None;
        for index in 0..len {
            match word.bit(index) {
                BitFn::ZERO => {}
                BitFn::ONE => form.ones |= 1 << index,
                bit => {
                    let own = bit.variable()?;
                    if *argument.get_or_insert(own) != own {
                        return None;
                    }
                    form.mask |= 1 << index;
                }
            }
        }
        form.argument = argument.unwrap_or(0);
        Some(form)
    }

    fn compare(&self, cmp: Cmp, value: u64, wide: bool) -> Condition {
        match cmp {
            Cmp::Eq => self.equal(value, wide),
            Cmp::Ne => self.equal(value, wide).negated(),
            Cmp::Lt => self.less(Some(value), wide),
            Cmp::Ge => self.less(Some(value), wide).negated(),
            Cmp::Le => self.less(value.checked_add(1), wide),
            Cmp::Gt => self.less(value.checked_add(1), wide).negated(),
        }
    }

    fn equal(&self, value: u64, wide: bool) -> Condition {
        let Form { argument, mask, ones } = *self;
        if value & !(mask | ones) != 0 || ones & !value != 0 {
            return Condition::never();
        }
        match mask {
            0 => Condition::always(),
            mask => masked(argument, wide, mask, value & mask),
        }
    }

    /// Less than a limit; every value is less than none.
    fn less(&self, limit: Option<u64>, wide: bool) -> Condition {
        let least = limit.and_then(|limit| least(self.mask, self.ones, limit));
        match (least, field(self.argument, wide)) {
            (None, _) => Condition::always(),
            (Some(0), _) | (_, None) => Condition::never(),
            (Some(value), Some(field)) => Condition::test(Test {
                field,
                mask: self.mask & field.full_mask(),
                cmp: Cmp::Lt,
                value,
            }),
        }
    }
}

/// All bits are equal.
fn equal(pairs: &[(BitFn, BitFn)]) -> Result<Condition, TooManyBits> {
    let equal: Vec<BitFn> = pairs.iter().map(|(a, b)| a.equals(*b)).collect();
    if equal.contains(&BitFn::ZERO) {
        return Ok(Condition::never());
    }
    all(&equal)
}

/// The functions are true, each of its bit.
fn all(functions: &[BitFn]) -> Result<Condition, TooManyBits> {
    // Per argument the bits that are tested, and their values.
    let mut tests = [(0_u64, 0_u64); 6];
    let mut others = Vec::new();
    for (bit, function) in (0_u32..).zip(functions) {
        match function.conjunction() {
            Some((set, cleared)) => {
                for argument in set {
                    if let Some((mask, wanted)) = tests.get_mut(usize::from(argument)) {
                        *mask |= 1 << bit;
                        *wanted |= 1 << bit;
                    }
                }
                for argument in cleared {
                    if let Some((mask, _)) = tests.get_mut(usize::from(argument)) {
                        *mask |= 1 << bit;
                    }
                }
            }
            None => others.push(function.condition(bit)),
        }
    }
    if others.len() > MAX_BITS {
        return Err(TooManyBits(others.len()));
    }
    let tests = (0_u8..).zip(tests).filter(|(_, (mask, _))| *mask != 0);
    let tests = tests.map(|(argument, (mask, wanted))| masked(argument, true, mask, wanted));
    Ok(Condition::all(tests.chain(others)))
}

/// The left number is less than the right one.
fn less(pairs: &[(BitFn, BitFn)]) -> Result<Condition, TooManyBits> {
    // Down from the highest bit, as long as `a < b` needs `a <= b` in a bit that cannot decide: b is 0 or a is 1.
    let decides = |(a, b): &(BitFn, BitFn)| *b != BitFn::ZERO && *a != BitFn::ONE;
    let rest = pairs.iter().rposition(decides).map_or(0, |last| last + 1);
    let (low, high) = pairs.split_at_checked(rest).unwrap_or((pairs, &[]));
    let mut equal = vec![BitFn::ONE; low.len()];
    equal.extend(high.iter().map(|(a, b)| a.equals(*b)));
    if equal.contains(&BitFn::ZERO) {
        return Ok(Condition::never());
    }
    let mixed = low.iter().filter(|(a, b)| !is_one_argument(*a, *b)).count();
    if mixed > MAX_BITS {
        return Err(TooManyBits(mixed));
    }
    let mut less = Condition::never();
    for (bit, (a, b)) in (0_u32..).zip(low) {
        let here = BitFn(!a.0 & b.0);
        let equal = a.equals(*b);
        less = Condition::any([here.condition(bit), Condition::all([equal.condition(bit), less])]);
    }
    Ok(Condition::all([all(&equal)?, less]))
}

fn is_one_argument(a: BitFn, b: BitFn) -> bool {
    a.arguments().chain(b.arguments()).all({
        let mut first = None;
        move |argument| *first.get_or_insert(argument) == argument
    })
}

/// The least `t`, of bits in `mask`, for which `t | ones` is at least `limit`; `None` if there is none. `mask` and
/// `ones` have no common bits, so `(x & mask | ones) < limit` is `x & mask < t`.
pub(super) fn least(mask: u64, ones: u64, limit: u64) -> Option<u64> {
    let all = mask | ones;
    // A value of the form `t | ones` whose bits from `bit` on are those of `value`.
    let fits = |value: u64, bit: u32| {
        let upper = u64::MAX.checked_shl(bit).unwrap_or(0);
        value & upper & !all == 0 && ones & upper & !value == 0
    };
    if fits(limit, 0) {
        return Some(limit & mask);
    }
    // The least larger value equals the limit down to some bit, has a 1 there instead of a 0, and no further bits
    // than `ones` below.
    (0..64).find_map(|bit| {
        let above = limit & u64::MAX.checked_shl(bit + 1).unwrap_or(0);
        let value = above | 1 << bit;
        let is_larger = limit >> bit & 1 == 0 && fits(value, bit);
        is_larger.then_some((value | ones) & mask)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_core::SeccompData;

    const ALL: [Cmp; 6] = [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge];

    fn holds(cmp: Cmp, a: u64, b: u64) -> bool {
        match cmp {
            Cmp::Eq => a == b,
            Cmp::Ne => a != b,
            Cmp::Lt => a < b,
            Cmp::Le => a <= b,
            Cmp::Gt => a > b,
            Cmp::Ge => a >= b,
        }
    }

    /// `x & mask | ones` against numbers, and numbers against it.
    #[test]
    fn one_argument_is_compared_as_in_the_definition() {
        let values = [0, 1, 2, 5, 7, 8, 0xff, 0xffff_ffff, 0x1_0000_0000, 0x1_0000_0005, u64::MAX];
        for wide in [false, true] {
            for (mask, ones) in
                [(u64::MAX, 0), (6, 1), (0xff, 0x100), (1 << 32 | 3, 4), (5, 0), (0, 9)]
            {
                for number in values {
                    for cmp in ALL {
                        let word = Word::argument(1, wide)
                            .join(Word::Number(mask), true)
                            .join(Word::Number(ones), false);
                        let right = Word::Number(number);
                        let bits =
                            if word.is_wide() || right.is_wide() { u64::MAX } else { 0xffff_ffff };
                        let plain = compare(&word, cmp, &right).unwrap();
                        let turned = compare(&right, cmp, &word).unwrap();
                        for x in values {
                            let mut data = SeccompData::default();
                            data.args[1] = x;
                            let value = (x & mask | ones) & bits;
                            let text =
                                format!("{mask:#x} {ones:#x} {number:#x} {cmp:?} {x:#x} {wide}");
                            assert_eq!(
                                plain.holds(&data),
                                holds(cmp, value, number & bits),
                                "{text}"
                            );
                            assert_eq!(
                                turned.holds(&data),
                                holds(cmp, number & bits, value),
                                "{text}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn several_arguments_are_compared_bit_by_bit() {
        let low = |arg, mask| Word::argument(arg, true).join(Word::Number(mask), true);
        let values = [0, 1, 2, 3, 4, 5, 6, 7, 8, 0x10, 1 << 40];
        type Meaning = fn(u64, u64) -> u64;
        let words: [(Word, Meaning); 4] = [
            (low(0, 7), |a, _| a & 7),
            (low(1, 5), |_, b| b & 5),
            (low(0, 7).join(low(1, 6), false), |a, b| a & 7 | b & 6),
            (low(0, 7).join(low(1, 7), true).join(Word::Number(8), false), |a, b| a & b & 7 | 8),
        ];
        for (left, of_left) in &words {
            for (right, of_right) in &words {
                for cmp in ALL {
                    let condition = compare(left, cmp, right).unwrap();
                    for (a, b) in values.iter().flat_map(|a| values.iter().map(move |b| (*a, *b))) {
                        let mut data = SeccompData::default();
                        data.args[..2].copy_from_slice(&[a, b]);
                        let expected = holds(cmp, of_left(a, b), of_right(a, b));
                        assert_eq!(
                            condition.holds(&data),
                            expected,
                            "{left:?} {cmp:?} {right:?} {a} {b}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn many_bits_of_several_arguments_are_refused() {
        let [a, b, c] = [0, 1, 2].map(|arg| Word::argument(arg, false));
        let masked = b.clone().join(Word::Number(0xff_ffff), true);
        assert_eq!(compare(&a, Cmp::Eq, &masked), Err(TooManyBits(24)));
        assert_eq!(compare(&a, Cmp::Lt, &masked), Err(TooManyBits(24)));
        let shared = a.clone().join(b.clone(), true);
        assert_eq!(compare(&shared, Cmp::Eq, &c), Err(TooManyBits(32)));
        let either = a.clone().join(b.clone(), false);
        assert!(compare(&either, Cmp::Eq, &Word::Number(0)).is_ok(), "a conjunction of two tests");
        assert!(compare(&either, Cmp::Lt, &Word::Number(8)).is_ok(), "only three bits decide");
        assert_eq!(compare(&a, Cmp::Eq, &a), Ok(Condition::always()));
        assert_eq!(compare(&a, Cmp::Lt, &a), Ok(Condition::never()));
    }

    #[test]
    fn the_least_value_is_found() {
        for mask in 0..32_u64 {
            for ones in (0..32).filter(|ones| mask & ones == 0) {
                for limit in 0..40 {
                    let expected = (0..32).find(|t| t & !mask == 0 && t | ones >= limit);
                    assert_eq!(least(mask, ones, limit), expected, "{mask} {ones} {limit}");
                }
            }
        }
        assert_eq!(least(u64::MAX, 0, u64::MAX), Some(u64::MAX));
        assert_eq!(least(1 << 63, 1, 1 << 63), Some(1 << 63));
        assert_eq!(least(0, 0, 1), None);
    }

    /// All bits of two arguments, of 64 bits if one has 64.
    #[test]
    fn two_arguments_are_compared_as_in_the_definition() {
        let values = [0, 1, 2, 0xffff_ffff, 0x1_0000_0000, 0x1_0000_0001, 0x2_0000_0001, u64::MAX];
        for (wide_a, wide_b) in [(false, false), (false, true), (true, true)] {
            let (a, b) = (Word::argument(0, wide_a), Word::argument(3, wide_b));
            let bits = if wide_a || wide_b { u64::MAX } else { 0xffff_ffff };
            let shared = a.clone().join(b.clone(), true);
            for cmp in ALL {
                let plain = compare(&a, cmp, &b).unwrap();
                let turned = compare(&b, cmp, &a).unwrap();
                let of_shared = compare(&shared, cmp, &Word::Number(0));
                for (x, y) in values.iter().flat_map(|x| values.iter().map(move |y| (*x, *y))) {
                    let data = SeccompData { args: [x, 0, 0, y, 0, 0], ..SeccompData::default() };
                    let (x, y) = (x & bits, y & bits);
                    assert_eq!(plain.holds(&data), holds(cmp, x, y), "{cmp:?} {x:#x} {y:#x}");
                    assert_eq!(turned.holds(&data), holds(cmp, y, x), "{cmp:?} {y:#x} {x:#x}");
                    if let (Cmp::Eq | Cmp::Ne, Ok(of_shared)) = (cmp, &of_shared) {
                        assert_eq!(of_shared.holds(&data), holds(cmp, x & y, 0), "{x:#x} {y:#x}");
                    }
                }
            }
        }
    }
}
