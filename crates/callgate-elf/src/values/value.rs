//! The values that a register may have.

use super::bits::{Atom, Bits};
use crate::code::BinaryOp;
use crate::limits::MAX_ATOMS;

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
