//! What a branch says about the value that it depends on.

use super::value::{Atom, Bits, Value, mask};
use crate::code::{Against, Compared, Comparison, Condition, Reg};
use crate::limits::MAX_ATOMS;

/// Whether a constant is a number, or minus one. Others may be addresses, which the loader moves, so that a comparison says
/// nothing about them.
fn is_number(value: u64) -> bool {
    const MAX: u64 = 4096;
    value < MAX
        || value >= MAX.wrapping_neg()
        || (u64::from(u32::MAX) - MAX..=u32::MAX.into()).contains(&value)
}

/// What the flags say: a comparison of a register or a word of the stack with a constant.
pub(super) type Flags = Comparison<i64, u64>;

impl Flags {
    /// The first bit of the compared value, and its size in bytes.
    fn place(&self) -> (u8, u8) {
        match self.left {
            Compared::Part(part) => (part.shift, part.size),
            Compared::Memory(_, size) => (0, size),
        }
    }

    pub(super) fn is_of(&self, register: Reg) -> bool {
        matches!(self.left, Compared::Part(part) if part.register == register)
    }

    /// Whether the condition may hold for a compared value.
    fn may_hold(&self, condition: Condition, value: u64) -> bool {
        let (_, size) = self.place();
        let (low, sign) = (mask(size), mask(size) & !(mask(size) >> 1));
        let value = value & low;
        let signed = |value: u64| if value & sign != 0 { value | !low } else { value } as i64;
        let (left, right) = match self.against {
            Against::Value(right) => (value, right & low),
            // Carry and overflow are those of the arithmetic, and depend on the architecture.
            Against::Mask(_) | Against::Result if !condition.is_of_result() => return true,
            Against::Mask(mask) => (value & mask & low, 0),
            Against::Result => (value, 0),
        };
        let difference = left.wrapping_sub(right);
        match condition {
            Condition::Equal => left == right,
            Condition::NotEqual => left != right,
            Condition::Below => left < right,
            Condition::AboveOrEqual => left >= right,
            Condition::BelowOrEqual => left <= right,
            Condition::Above => left > right,
            Condition::Less => signed(left) < signed(right),
            Condition::GreaterOrEqual => signed(left) >= signed(right),
            Condition::LessOrEqual => signed(left) <= signed(right),
            Condition::Greater => signed(left) > signed(right),
            Condition::Negative => difference & sign != 0,
            Condition::NotNegative => difference & sign == 0,
        }
    }

    /// The bits of any value for which a condition holds: a few values, or one pattern. `None` if there are many.
    fn patterns(&self, condition: Condition) -> Option<Vec<Bits>> {
        let (shift, size) = self.place();
        let whole =
            |value: u64| Bits::NONE.inserted(shift, size, Bits::of(Some(Atom::Const(value))));
        let up_to = |end: u64| {
            let is_few = end < MAX_ATOMS as u64;
            is_few.then(|| (0..=end).map(whole).collect())
        };
        match (self.against, condition) {
            (Against::Value(right), Condition::Equal) => Some(vec![whole(right)]),
            (Against::Value(right), Condition::Below) => {
                up_to((right & mask(size)).checked_sub(1)?)
            }
            (Against::Value(right), Condition::BelowOrEqual) => up_to(right & mask(size)),
            (Against::Result, Condition::Equal) => Some(vec![whole(0)]),
            (Against::Mask(bits), Condition::Equal) => {
                let known = (bits & mask(size)).checked_shl(shift.into()).unwrap_or(0);
                Some(vec![Bits::new(known, 0)])
            }
            (Against::Mask(bits), Condition::NotEqual) if (bits & mask(size)).count_ones() == 1 => {
                let bit = (bits & mask(size)).checked_shl(shift.into()).unwrap_or(0);
                Some(vec![Bits::new(bit, bit)])
            }
            _ => None,
        }
    }

    /// The values for which a condition holds; `None` if there is none.
    pub(super) fn narrowed(&self, condition: Condition, value: &Value) -> Option<Value> {
        let (shift, size) = self.place();
        let patterns = self.patterns(condition);
        let Some(atoms) = value.atoms() else {
            let patterns = patterns.unwrap_or_default();
            return Some(values(patterns.into_iter()));
        };
        let mut kept: Vec<Atom> = Vec::new();
        for atom in atoms {
            match (*atom, &patterns) {
                (Atom::Const(whole), _) => {
                    let part = whole.checked_shr(shift.into()).unwrap_or(0) & mask(size);
                    if !is_number(whole) || self.may_hold(condition, part) {
                        kept.push(*atom);
                    }
                }
                (Atom::Bits(bits), Some(patterns)) => {
                    let both = patterns.iter().filter_map(|pattern| bits.and_also(*pattern));
                    kept.extend(both.filter_map(Bits::atom));
                }
                // What the caller passes is known better than a range.
                (_, Some(patterns))
                    if matches!(self.against, Against::Value(_)) && patterns.len() == 1 =>
                {
                    match values(patterns.iter().copied()).atoms() {
                        Some(atoms) => kept.extend(atoms),
                        None => kept.push(*atom),
                    }
                }
                _ => kept.push(*atom),
            }
        }
        (!kept.is_empty()).then(|| Value::from_atoms(kept))
    }

    /// The bits that every value has for which a condition holds, for other places with the same value.
    pub(super) fn common(&self, condition: Condition) -> Option<Value> {
        let patterns = self.patterns(condition)?;
        match (patterns.as_slice(), self.place()) {
            ([one], (0, 4..)) if matches!(self.against, Against::Value(_)) => {
                // Only the lower half of a value from the caller may be the same.
                Some(Value::of_bits(one.lower_half()))
            }
            _ => None,
        }
    }
}

fn values(patterns: impl Iterator<Item = Bits>) -> Value {
    let atoms: Option<Vec<Atom>> = patterns.map(Bits::atom).collect();
    atoms.map_or(Value::Unknown, Value::from_atoms)
}
