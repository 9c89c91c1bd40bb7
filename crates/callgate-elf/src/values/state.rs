//! The values of all registers, and of the stack slots of a function, at one place of it.

use std::collections::BTreeMap;

use super::value::{Atom, Value};
use crate::code::{Convention, Effect, Place, Reg, Source};
use crate::limits::MAX_SLOTS;

/// The values at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    registers: Vec<Value>,
    /// Words of the stack, relative to the stack pointer at the start of the function: size and value. Words that the
    /// caller wrote have those of [`Atom::EntryStack`] if they are missing.
    slots: BTreeMap<i64, (u8, Value)>,
    /// The lowest address of the frame that may be known to other functions: they may change what is above it.
    escaped: Option<i64>,
}

impl State {
    /// The values at the start of a function.
    pub(crate) fn entry(convention: &Convention) -> State {
        let mut registers: Vec<Value> =
            (0..convention.registers).map(|register| Value::One(Atom::Entry(register))).collect();
        if let Some(stack) = registers.get_mut(usize::from(convention.stack)) {
            *stack = Value::One(Atom::Frame(0));
        }
        State { registers, slots: BTreeMap::new(), escaped: None }
    }

    /// The values where nothing is known.
    pub(crate) fn unknown(convention: &Convention) -> State {
        State {
            registers: vec![Value::Unknown; usize::from(convention.registers)],
            slots: BTreeMap::new(),
            escaped: Some(i64::MIN),
        }
    }

    pub(crate) fn register(&self, register: Reg) -> Value {
        self.registers.get(usize::from(register)).cloned().unwrap_or(Value::Unknown)
    }

    pub(crate) fn set(&mut self, register: Reg, value: Value) {
        if let Some(known) = self.registers.get_mut(usize::from(register)) {
            *known = value;
        }
    }

    pub(crate) fn source(&self, source: Source) -> Value {
        match source {
            Source::Const(value) => Value::constant(value),
            Source::Reg(register) => self.register(register),
            Source::Either(first, second) => Value::constant(first).join(&Value::constant(second)),
        }
    }

    /// What a word of the stack holds.
    pub(crate) fn slot(&self, at: i64, size: u8) -> Value {
        match self.slots.get(&at) {
            Some((known, value)) if *known >= size => match size {
                8.. => value.clone(),
                4 => value.narrow(),
                _ => Value::Unknown,
            },
            Some(_) => Value::Unknown,
            None if at < 0 || self.overlaps(at, size) => Value::Unknown,
            None if self.escaped.is_some_and(|escaped| escaped <= at) => Value::Unknown,
            None => Value::One(Atom::EntryStack(at)),
        }
    }

    fn overlaps(&self, at: i64, size: u8) -> bool {
        let from = at.saturating_sub(64);
        let until = at.saturating_add(size.into());
        let mut near = self.slots.range(from..until);
        near.any(|(start, (size, _))| start.saturating_add((*size).into()) > at)
    }

    /// What memory holds.
    pub(crate) fn load(&self, place: Place, size: u8) -> Value {
        let base = match place.base {
            _ if !place.is_known => return Value::Unknown,
            Some(base) => self.register(base),
            None => Value::constant(0),
        };
        let Some(atoms) = base.atoms() else { return Value::Unknown };
        let mut all: Option<Value> = None;
        for atom in atoms {
            let value = match *atom {
                Atom::Frame(at) => self.slot(at.wrapping_add(place.offset), size),
                Atom::Entry(register) if size >= 4 => {
                    Value::One(Atom::Behind(register, place.offset))
                }
                Atom::Const(base) if size == 8 => {
                    Value::One(Atom::Word(base.wrapping_add(place.offset as u64)))
                }
                Atom::Word(address) if size >= 4 => {
                    Value::One(Atom::BehindWord(address, place.offset))
                }
                _ => Value::Unknown,
            };
            all = Some(all.map_or(value.clone(), |all| all.join(&value)));
        }
        all.unwrap_or(Value::Unknown)
    }

    /// The addresses that a place may have, if they are constants.
    pub(crate) fn addresses(&self, place: Place) -> Vec<u64> {
        let base = place.base.map_or(Value::constant(0), |base| self.register(base));
        let constant = |atom: &Atom| match atom {
            Atom::Const(base) => Some(base.wrapping_add(place.offset as u64)),
            _ => None,
        };
        base.atoms()
            .filter(|_| place.is_known)
            .unwrap_or_default()
            .iter()
            .filter_map(constant)
            .collect()
    }

    fn store(&mut self, place: Place, value: Value, size: u8) {
        let base = place.base.filter(|_| place.is_known).map(|base| self.register(base));
        match base.as_ref().and_then(Value::atoms) {
            Some([Atom::Frame(at)]) => {
                let at = at.wrapping_add(place.offset);
                self.clear(at, size);
                if self.slots.len() < MAX_SLOTS {
                    self.slots.insert(at, (size, value.clone()));
                } else {
                    // A missing slot below the frame is unknown; one of the caller would be its own.
                    self.escape(at.min(0));
                }
            }
            Some(atoms) => {
                let frames = atoms.iter().any(|atom| matches!(atom, Atom::Frame(_)));
                if frames {
                    self.slots.clear();
                    self.escape(0);
                }
                self.disturb();
            }
            // Constant addresses are not on the stack.
            None if place.is_known && place.base.is_none() => {}
            None => self.disturb(),
        }
        // A frame address in memory may be found by others.
        self.escape_value(&value);
    }

    fn clear(&mut self, at: i64, size: u8) {
        let until = at.saturating_add(size.into());
        let near: Vec<i64> = self
            .slots
            .range(at.saturating_sub(64)..until)
            .filter(|(start, (size, _))| start.saturating_add((*size).into()) > at)
            .map(|(start, _)| *start)
            .collect();
        near.iter().for_each(|start| {
            self.slots.remove(start);
        });
    }

    fn escape(&mut self, at: i64) {
        self.escaped = Some(self.escaped.map_or(at, |escaped| escaped.min(at)));
    }

    fn escape_value(&mut self, value: &Value) {
        let lowest = value.atoms().unwrap_or_default().iter().filter_map(|atom| match atom {
            Atom::Frame(at) => Some(*at),
            _ => None,
        });
        if let Some(at) = lowest.min() {
            self.escape(at);
        }
    }

    /// Other code, or a store to an unknown place, may change what has escaped.
    fn disturb(&mut self) {
        if let Some(escaped) = self.escaped {
            self.slots.retain(|at, _| *at < escaped);
        }
    }

    /// One step of an instruction.
    pub(crate) fn apply(&mut self, effect: &Effect) {
        match effect {
            Effect::Move { to, from, wide } => {
                let value = self.source(*from);
                self.set(*to, if *wide { value } else { value.narrow() });
            }
            Effect::Binary { op, to, left, right, wide } => {
                let value = Value::binary(*op, &self.source(*left), &self.source(*right));
                self.set(*to, if *wide { value } else { value.narrow() });
            }
            Effect::Either { to, first, second, wide } => {
                let value = self.source(*first).join(&self.source(*second));
                self.set(*to, if *wide { value } else { value.narrow() });
            }
            Effect::Load { to, place, size, signed } => {
                let value = self.load(*place, *size);
                // Numbers are positive, so the sign does not matter; smaller values are not tracked.
                let _ = signed;
                self.set(*to, value);
            }
            Effect::Store { place, from, size } => {
                let value = from.map_or(Value::Unknown, |from| self.source(from));
                let value = if *size < 8 { value.narrow() } else { value };
                self.store(*place, value, *size);
            }
            Effect::Forget(register) => self.set(*register, Value::Unknown),
        }
    }

    /// A call: it changes some registers, and the part of the frame whose address it may know.
    pub(crate) fn call(&mut self, convention: &Convention) {
        for register in 0..convention.registers {
            if register != convention.stack && convention.changed_by_call.contains(&register) {
                let value = self.register(register);
                self.escape_value(&value);
            }
        }
        self.disturb();
        for register in convention.changed_by_call {
            self.set(*register, Value::Unknown);
        }
    }

    pub(crate) fn syscall(&mut self, convention: &Convention) {
        for register in convention.changed_by_syscall {
            self.set(*register, Value::Unknown);
        }
    }

    /// Joins another state; whether this one changed.
    pub(crate) fn join(&mut self, other: &State) -> bool {
        let mut changed = false;
        for (own, other) in self.registers.iter_mut().zip(&other.registers) {
            if own != other {
                let joined = own.join(other);
                changed |= joined != *own;
                *own = joined;
            }
        }
        let both: Vec<i64> = self.slots.keys().chain(other.slots.keys()).copied().collect();
        for at in both {
            let size = self.slots.get(&at).or(other.slots.get(&at)).map_or(8, |(size, _)| *size);
            let joined = self.slot(at, size).join(&other.slot(at, size));
            let known = self.slots.get(&at);
            if known.is_none_or(|known| *known != (size, joined.clone())) {
                // A slot that is missing below the frame is unknown already.
                let is_new = known.is_some() || at >= 0;
                changed |= is_new;
                if is_new {
                    self.slots.insert(at, (size, joined));
                }
            }
        }
        let escaped = match (self.escaped, other.escaped) {
            (Some(own), Some(other)) => Some(own.min(other)),
            (own, other) => own.or(other),
        };
        changed |= escaped != self.escaped;
        self.escaped = escaped;
        changed
    }
}
