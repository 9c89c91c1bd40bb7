//! The values that a register may have.

use crate::code::{BinaryOp, Reg};
use crate::limits::MAX_ATOMS;

/// A mask with as many bits leaves few values of an unknown one.
const MAX_UNKNOWN_BITS: u32 = 3;

/// One value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Atom {
    Const(u64),
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

    /// The values; `None`: any.
    pub(crate) fn atoms(&self) -> Option<&[Atom]> {
        match self {
            Value::Unknown => None,
            Value::One(atom) => Some(std::slice::from_ref(atom)),
            Value::Many(atoms) => Some(atoms),
        }
    }

    fn from_atoms(mut atoms: Vec<Atom>) -> Value {
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

    /// Each value changed; `None` of one makes all unknown.
    pub(crate) fn map(&self, change: impl Fn(Atom) -> Option<Atom>) -> Value {
        match self.atoms() {
            Some(atoms) => match atoms.iter().copied().map(change).collect::<Option<Vec<Atom>>>() {
                Some(atoms) => Value::from_atoms(atoms),
                None => Value::Unknown,
            },
            None => Value::Unknown,
        }
    }

    /// The lower 32 bits. Values from the caller stay: only their lower half is used as a number.
    pub(crate) fn narrow(&self) -> Value {
        self.map(|atom| match atom {
            Atom::Const(value) => Some(Atom::Const(value & 0xffff_ffff)),
            Atom::Frame(_) => None,
            other => Some(other),
        })
    }

    /// All values that have only bits of a mask.
    fn subsets(mask: u64) -> Value {
        let mut atoms = vec![Atom::Const(mask)];
        let mut subset = mask;
        while subset != 0 {
            subset = (subset - 1) & mask;
            atoms.push(Atom::Const(subset));
        }
        Value::from_atoms(atoms)
    }

    pub(crate) fn binary(op: BinaryOp, left: &Value, right: &Value) -> Value {
        let (Some(lefts), Some(rights)) = (left.atoms(), right.atoms()) else {
            return match (op, left, right) {
                (BinaryOp::And, any, Value::One(Atom::Const(mask)))
                | (BinaryOp::And, Value::One(Atom::Const(mask)), any)
                    if *any == Value::Unknown && mask.count_ones() <= MAX_UNKNOWN_BITS =>
                {
                    Value::subsets(*mask)
                }
                _ => Value::Unknown,
            };
        };
        if lefts.len().saturating_mul(rights.len()) > MAX_ATOMS {
            return Value::Unknown;
        }
        let mut atoms = Vec::new();
        for left in lefts {
            for right in rights {
                let result = match (*left, *right, op) {
                    (Atom::Const(left), Atom::Const(right), op) => {
                        Some(Atom::Const(op.apply(left, right)))
                    }
                    (Atom::Frame(at), Atom::Const(by), BinaryOp::Add)
                    | (Atom::Const(by), Atom::Frame(at), BinaryOp::Add) => {
                        Some(Atom::Frame(at.wrapping_add(by as i64)))
                    }
                    (Atom::Frame(at), Atom::Const(by), BinaryOp::Sub) => {
                        Some(Atom::Frame(at.wrapping_sub(by as i64)))
                    }
                    (
                        left,
                        Atom::Const(0),
                        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Or | BinaryOp::Xor,
                    ) => Some(left),
                    // Masks that keep all bits of a number.
                    (
                        left @ (Atom::Entry(_) | Atom::EntryStack(_) | Atom::Behind(..)),
                        Atom::Const(mask),
                        BinaryOp::And,
                    ) if mask & 0xffff == 0xffff => Some(left),
                    _ => None,
                };
                match result {
                    Some(atom) => atoms.push(atom),
                    None => return Value::Unknown,
                }
            }
        }
        Value::from_atoms(atoms)
    }
}
