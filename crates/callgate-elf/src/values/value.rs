//! The values that a register may have. Of some, only a few bits are known: after a write to a part of a register, or a mask.
//!
//! As the "tnum" of the kernel's BPF verifier: each operation knows a bit of its result only if that bit is the same for all
//! values of its operands.

use crate::code::{BinaryOp, Reg};
use crate::limits::MAX_ATOMS;

/// With at most as many unknown bits, all values are listed.
const MAX_UNKNOWN_BITS: u32 = 3;

/// One value, or all values with some bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Atom {
    Const(u64),
    /// Any value with these bits.
    Bits(Bits),
    /// The stack pointer at the start of the function, plus this.
    Frame(i64),
    /// What the register held at the start of the function.
    Entry(Reg),
    /// What the stack held at the start of the function, relative to the stack pointer.
    EntryStack(i64),
    /// What the memory holds that the register pointed to at the start of the function, at this offset.
    Behind(Reg, i64),
    /// What the word at this address of the file's data holds.
    Word(u64),
    /// What the memory holds that the word at the first address points to, at this offset.
    BehindWord(u64, i64),
}

/// All values that have these bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Bits {
    known: u64,
    /// Zero where bits are not known.
    value: u64,
}

/// The lowest bits, `size` bytes of them.
pub(crate) fn mask(size: u8) -> u64 {
    match size {
        0 => 0,
        1..=7 => (1 << (8 * u32::from(size))) - 1,
        8.. => u64::MAX,
    }
}

impl Bits {
    pub(crate) const NONE: Bits = Bits { known: 0, value: 0 };

    pub(crate) fn new(known: u64, value: u64) -> Bits {
        Bits { known, value: value & known }
    }

    /// What is known of an atom; `None` is any value.
    pub(crate) fn of(atom: Option<Atom>) -> Bits {
        match atom {
            Some(Atom::Const(value)) => Bits { known: u64::MAX, value },
            Some(Atom::Bits(bits)) => bits,
            _ => Bits::NONE,
        }
    }

    /// The values; `None`: nothing is known of the lower half, which numbers are in.
    pub(crate) fn atoms(self) -> Option<Vec<Atom>> {
        let unknown = !self.known;
        if unknown.count_ones() <= MAX_UNKNOWN_BITS {
            let mut atoms = vec![Atom::Const(self.value)];
            let mut subset = unknown;
            while subset != 0 {
                atoms.push(Atom::Const(self.value | subset));
                subset = (subset - 1) & unknown;
            }
            return Some(atoms);
        }
        (self.known & mask(4) != 0).then(|| vec![Atom::Bits(self)])
    }

    /// The numbers of syscalls, which are the lower half.
    pub(crate) fn numbers(self) -> Option<Vec<u32>> {
        let atoms = Bits::new(self.known | !mask(4), self.value & mask(4)).atoms()?;
        let number = |atom: Atom| match atom {
            Atom::Const(number) => Some(number as u32),
            _ => None,
        };
        atoms.into_iter().map(number).collect()
    }

    /// `size` bytes from the bit `shift` on, with zeros above.
    pub(crate) fn part(self, shift: u8, size: u8) -> Bits {
        let down = |bits: u64| bits.checked_shr(shift.into()).unwrap_or(0);
        let size = mask(size);
        Bits::new(down(self.known) & size | !size, down(self.value) & size)
    }

    /// The lowest `size` bytes with their sign above.
    pub(crate) fn extended(self, size: u8) -> Bits {
        let low = mask(size);
        let sign = low & !(low >> 1);
        let above = if self.known & sign != 0 { !low } else { 0 };
        let ones = if self.value & sign != 0 { !low } else { 0 };
        Bits::new(self.known & low | above, self.value & low | ones)
    }

    /// These bits with `size` bytes from the bit `shift` on replaced.
    pub(crate) fn inserted(self, shift: u8, size: u8, part: Bits) -> Bits {
        let up = |bits: u64| (bits & mask(size)).checked_shl(shift.into()).unwrap_or(0);
        let place = up(u64::MAX);
        Bits::new(self.known & !place | up(part.known), self.value & !place | up(part.value))
    }

    /// Only what is known of the lower half.
    pub(crate) fn lower_half(self) -> Bits {
        Bits::new(self.known & mask(4), self.value)
    }

    /// The values that also have these bits; `None` if there is none.
    pub(crate) fn and_also(self, other: Bits) -> Option<Bits> {
        let both = self.known & other.known;
        ((self.value ^ other.value) & both == 0)
            .then(|| Bits::new(self.known | other.known, self.value | other.value))
    }

    /// What is known of the result of an operation.
    pub(crate) fn combined(self, op: BinaryOp, other: Bits) -> Bits {
        let (zeros, ones) = (self.known & !self.value, self.value);
        let (other_zeros, other_ones) = (other.known & !other.value, other.value);
        match op {
            BinaryOp::And => {
                let ones = ones & other_ones;
                Bits::new(zeros | other_zeros | ones, ones)
            }
            BinaryOp::Or => {
                let ones = ones | other_ones;
                Bits::new(zeros & other_zeros | ones, ones)
            }
            BinaryOp::Xor => {
                let known = self.known & other.known;
                Bits::new(known, self.value ^ other.value)
            }
            // The lowest bits of the result depend on the lowest bits only.
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => {
                let count = (self.known & other.known).trailing_ones();
                let low = 1_u64.checked_shl(count).map_or(u64::MAX, |bit| bit - 1);
                Bits::new(low, op.apply(self.value, other.value))
            }
        }
    }

    /// The atom of these bits; `None` if the lower half is not known at all.
    pub(crate) fn atom(self) -> Option<Atom> {
        match self.known {
            u64::MAX => Some(Atom::Const(self.value)),
            known if known & mask(4) != 0 => Some(Atom::Bits(self)),
            _ => None,
        }
    }
}

/// The values that a register may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Unknown,
    One(Atom),
    /// Sorted.
    Many(Box<[Atom]>),
}

impl Value {
    pub(crate) fn constant(value: u64) -> Value {
        Value::One(Atom::Const(value))
    }

    /// All values with these bits.
    pub(crate) fn of_bits(bits: Bits) -> Value {
        bits.atoms().map_or(Value::Unknown, Value::from_atoms)
    }

    /// The values; `None`: any.
    pub(crate) fn atoms(&self) -> Option<&[Atom]> {
        match self {
            Value::Unknown => None,
            Value::One(atom) => Some(std::slice::from_ref(atom)),
            Value::Many(atoms) => Some(atoms),
        }
    }

    /// Whether an address of the frame is among the values.
    pub(crate) fn has_frame(&self) -> bool {
        self.atoms().unwrap_or_default().iter().any(|atom| matches!(atom, Atom::Frame(_)))
    }

    /// Values of which none is left are any value.
    pub(crate) fn from_atoms(mut atoms: Vec<Atom>) -> Value {
        atoms.sort_unstable();
        atoms.dedup();
        match atoms.as_slice() {
            [] => Value::Unknown,
            [one] => Value::One(*one),
            all if all.len() > MAX_ATOMS => Value::Unknown,
            _ => Value::Many(atoms.into_boxed_slice()),
        }
    }

    /// The values of both.
    pub(crate) fn join(&self, other: &Value) -> Value {
        if self == other {
            return self.clone();
        }
        match (self.atoms(), other.atoms()) {
            (Some(own), Some(others)) => {
                Value::from_atoms(own.iter().chain(others).copied().collect())
            }
            _ => Value::Unknown,
        }
    }

    /// The lower 32 bits. Values from the caller stay: only their lower half is used as a number.
    pub(crate) fn narrow(&self) -> Value {
        self.changed(|atom| match atom {
            Some(atom @ (Atom::Const(_) | Atom::Bits(_))) => {
                Bits::of(Some(atom)).part(0, 4).atoms()
            }
            None | Some(Atom::Frame(_)) => None,
            Some(other) => Some(vec![other]),
        })
    }

    /// `size` bytes from the bit `shift` on, with zeros above.
    pub(crate) fn part(&self, shift: u8, size: u8) -> Value {
        match (shift, size) {
            (0, 8..) => self.clone(),
            (0, 4) => self.narrow(),
            _ => self.changed(|atom| Bits::of(atom).part(shift, size).atoms()),
        }
    }

    /// The lowest `size` bytes with their sign above. Values from the caller stay if their lower half does.
    pub(crate) fn extended(&self, size: u8) -> Value {
        self.changed(|atom| match atom {
            Some(Atom::Const(_) | Atom::Bits(_) | Atom::Frame(_)) | None => {
                Bits::of(atom).extended(size).atoms()
            }
            Some(other) if size >= 4 => Some(vec![other]),
            Some(_) => None,
        })
    }

    /// The value after `size` bytes from the bit `shift` on were replaced by the lowest bytes of another one.
    pub(crate) fn inserted(&self, shift: u8, size: u8, part: &Value) -> Value {
        pairs(self, part, |whole, part| {
            Bits::of(whole).inserted(shift, size, Bits::of(part)).atoms()
        })
    }

    pub(crate) fn binary(op: BinaryOp, left: &Value, right: &Value) -> Value {
        pairs(left, right, |left, right| match exact(op, left, right) {
            Some(atom) => Some(vec![atom]),
            None => Bits::of(left).combined(op, Bits::of(right)).atoms(),
        })
    }

    /// Each atom changed; `None` is any value.
    pub(crate) fn changed(&self, change: impl Fn(Option<Atom>) -> Option<Vec<Atom>>) -> Value {
        let Some(atoms) = self.atoms() else {
            return change(None).map_or(Value::Unknown, Value::from_atoms);
        };
        let mut all = Vec::new();
        for atom in atoms {
            match change(Some(*atom)) {
                Some(changed) => all.extend(changed),
                None => return Value::Unknown,
            }
        }
        Value::from_atoms(all)
    }
}

/// The values that all pairs have.
fn pairs(
    left: &Value,
    right: &Value,
    of: impl Fn(Option<Atom>, Option<Atom>) -> Option<Vec<Atom>>,
) -> Value {
    let count = |value: &Value| value.atoms().map_or(1, <[Atom]>::len);
    if count(left).saturating_mul(count(right)) > MAX_ATOMS {
        return Value::Unknown;
    }
    left.changed(|left| {
        let mut all = Vec::new();
        match right.atoms() {
            None => all.extend(of(left, None)?),
            Some(rights) => {
                for right in rights {
                    all.extend(of(left, Some(*right))?);
                }
            }
        }
        Some(all)
    })
}

/// The result of an operation whose operands are not only known by their bits.
fn exact(op: BinaryOp, left: Option<Atom>, right: Option<Atom>) -> Option<Atom> {
    match (left?, right?, op) {
        (Atom::Const(left), Atom::Const(right), op) => Some(Atom::Const(op.apply(left, right))),
        (Atom::Frame(at), Atom::Const(by), BinaryOp::Add)
        | (Atom::Const(by), Atom::Frame(at), BinaryOp::Add) => {
            Some(Atom::Frame(at.wrapping_add(by as i64)))
        }
        (Atom::Frame(at), Atom::Const(by), BinaryOp::Sub) => {
            Some(Atom::Frame(at.wrapping_sub(by as i64)))
        }
        (Atom::Frame(left), Atom::Frame(right), BinaryOp::Sub) => {
            Some(Atom::Const(left.wrapping_sub(right) as u64))
        }
        (left, Atom::Const(0), BinaryOp::Add | BinaryOp::Sub | BinaryOp::Or | BinaryOp::Xor) => {
            Some(left)
        }
        // Masks that keep all bits of a number.
        (
            left @ (Atom::Entry(_) | Atom::EntryStack(_) | Atom::Behind(..)),
            Atom::Const(mask),
            BinaryOp::And,
        ) if mask & 0xffff_ffff == 0xffff_ffff => Some(left),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All values of four bits that match, for small patterns.
    fn values(bits: Bits) -> impl Iterator<Item = u64> {
        (0..16).filter(move |value| (value ^ bits.value) & bits.known & 15 == 0)
    }

    #[test]
    fn results_contain_the_results_of_all_values() {
        let patterns: Vec<Bits> = (0..16_u64)
            .flat_map(|known| {
                (0..16).filter(move |value| value & !known == 0).map(move |value| (known, value))
            })
            .map(|(known, value)| Bits::new(known | !15, value))
            .collect();
        let ops = [
            BinaryOp::Add,
            BinaryOp::Sub,
            BinaryOp::And,
            BinaryOp::Or,
            BinaryOp::Xor,
            BinaryOp::Mul,
        ];
        for op in ops {
            for left in &patterns {
                for right in &patterns {
                    let result = left.combined(op, *right);
                    for (a, b) in values(*left).flat_map(|a| values(*right).map(move |b| (a, b))) {
                        let exact = op.apply(a, b);
                        assert_eq!(
                            (exact ^ result.value) & result.known,
                            0,
                            "{op:?} {left:?} {right:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn parts_are_replaced_and_extended() {
        let eax = Bits::NONE.inserted(0, 1, Bits::of(Some(Atom::Const(0x1f0))));
        assert_eq!(eax, Bits::new(0xff, 0xf0));
        assert_eq!(eax.part(0, 1), Bits::new(u64::MAX, 0xf0));
        assert_eq!(eax.part(0, 2).numbers(), None);
        assert_eq!(eax.extended(1), Bits::new(u64::MAX, 0xffff_ffff_ffff_fff0));
        let ah = eax.inserted(8, 1, Bits::of(Some(Atom::Const(2))));
        assert_eq!(ah.part(0, 2).numbers(), Some(vec![0x2f0]));
        assert_eq!(ah.part(8, 1).numbers(), Some(vec![2]));
        assert_eq!(ah.numbers(), None);
        // The sign is not known.
        assert_eq!(Bits::new(0x7f, 1).extended(1), Bits::new(0x7f, 1));
    }
}
