//! The values of all registers, and of the stack slots of a function, at one place of it.

use std::collections::BTreeMap;

use super::known::Flags;
use super::value::{Atom, Value};
use crate::code::{
    Against, Compared, Comparison, Condition, Convention, Effect, Part, Place, Reg, Source,
};
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
    /// Whether memory outside of the frame may have changed since the start of the function.
    memory_changed: bool,
    /// What the flags say, if it is known.
    flags: Option<Flags>,
}

/// Whether something that is not followed, and may be used as a pointer, is made of an address of the frame.
fn is_lost(from: &Value, to: &Value) -> bool {
    let is_number = |to: &[Atom]| to.iter().all(|atom| matches!(atom, Atom::Const(_)));
    from.has_frame() && !to.has_frame() && !to.atoms().is_some_and(is_number)
}

impl State {
    /// The values at the start of a function.
    pub(crate) fn entry(convention: &Convention) -> State {
        let mut registers: Vec<Value> =
            (0..convention.registers).map(|register| Value::One(Atom::Entry(register))).collect();
        if let Some(stack) = registers.get_mut(usize::from(convention.stack)) {
            *stack = Value::One(Atom::Frame(0));
        }
        State {
            registers,
            slots: BTreeMap::new(),
            escaped: None,
            memory_changed: false,
            flags: None,
        }
    }

    /// The values where nothing is known.
    pub(crate) fn unknown(convention: &Convention) -> State {
        State {
            registers: vec![Value::Unknown; usize::from(convention.registers)],
            slots: BTreeMap::new(),
            escaped: Some(i64::MIN),
            memory_changed: true,
            flags: None,
        }
    }

    pub(crate) fn register(&self, register: Reg) -> Value {
        self.registers.get(usize::from(register)).cloned().unwrap_or(Value::Unknown)
    }

    pub(crate) fn set(&mut self, register: Reg, value: Value) {
        if let Some(known) = self.registers.get_mut(usize::from(register)) {
            *known = value;
        }
        if self.flags.is_some_and(|flags| flags.is_of(register)) {
            self.flags = None;
        }
    }

    fn part(&self, part: Part) -> Value {
        self.register(part.register).part(part.shift, part.size)
    }

    /// Replaces a part of a register; the lower half clears the upper one.
    fn write(&mut self, to: Part, value: Value) {
        let whole = match to.size {
            8.. => value,
            4.. => value.narrow(),
            _ => self.register(to.register).inserted(to.shift, to.size, &value),
        };
        self.set(to.register, whole);
    }

    pub(crate) fn source(&self, source: Source) -> Value {
        match source {
            Source::Const(value) => Value::constant(value),
            Source::Reg(register) => self.register(register),
            Source::Part(part) => self.part(part),
            Source::Either(first, second) => Value::constant(first).join(&Value::constant(second)),
        }
    }

    /// What a word of the stack holds.
    pub(crate) fn slot(&self, at: i64, size: u8) -> Value {
        match self.slots.get(&at) {
            Some((known, value)) if *known >= size => value.part(0, size),
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
        if !place.is_known {
            return Value::Unknown;
        }
        self.behind(&self.base(place), place.offset, size, |address| match size {
            8 => Value::One(Atom::Word(address)),
            _ => Value::Unknown,
        })
    }

    /// What memory holds behind a pointer. `constant` says what it holds at a constant address.
    pub(crate) fn behind(
        &self,
        pointer: &Value,
        offset: i64,
        size: u8,
        constant: impl Fn(u64) -> Value,
    ) -> Value {
        let atoms = pointer.atoms().unwrap_or_default().iter();
        let values = atoms.map(|atom| match *atom {
            Atom::Frame(at) => self.slot(at.wrapping_add(offset), size),
            // What a pointer leads to is known as it was at the start of the function.
            Atom::Entry(register) if size >= 4 && !self.memory_changed => {
                Value::One(Atom::Behind(register, offset))
            }
            Atom::Const(address) => constant(address.wrapping_add(offset as u64)),
            Atom::Word(address) if size >= 4 => Value::One(Atom::BehindWord(address, offset)),
            _ => Value::Unknown,
        });
        values.reduce(|all, value| all.join(&value)).unwrap_or(Value::Unknown)
    }

    /// The base of an address.
    fn base(&self, place: Place) -> Value {
        place.base.map_or(Value::constant(0), |base| self.register(base))
    }

    /// The word of the stack at a place, if it is one.
    pub(crate) fn frame_slot(&self, place: Place) -> Option<i64> {
        let base = place.base.filter(|_| place.is_known)?;
        match self.register(base) {
            Value::One(Atom::Frame(at)) => Some(at.wrapping_add(place.offset)),
            _ => None,
        }
    }

    /// Whether registers of an address hold one of the frame, or the address is none of known registers.
    pub(super) fn may_be_frame(&self, place: Place) -> bool {
        let registers = [place.base, place.index];
        let mut registers = registers.into_iter().flatten();
        (!place.is_known && place.base.is_none() && place.index.is_none())
            || registers.any(|register| self.register(register).has_frame())
    }

    /// Whether other functions may know the address of a word of the stack.
    pub(crate) fn has_escaped(&self, slot: i64) -> bool {
        self.escaped.is_some_and(|escaped| escaped <= slot)
    }

    /// Whether a place has one of a few constant addresses.
    pub(crate) fn is_constant(&self, place: Place) -> bool {
        let is_constant = |atoms: &[Atom]| atoms.iter().all(|atom| matches!(atom, Atom::Const(_)));
        place.is_known && self.base(place).atoms().is_some_and(is_constant)
    }

    /// The addresses that a place may have, if they are constants.
    pub(crate) fn addresses(&self, place: Place) -> Vec<u64> {
        let constant = |atom: &Atom| match atom {
            Atom::Const(base) if place.is_known => Some(base.wrapping_add(place.offset as u64)),
            _ => None,
        };
        self.base(place).atoms().unwrap_or_default().iter().filter_map(constant).collect()
    }

    fn store(&mut self, place: Place, value: Value, size: u8) {
        // An index leads anywhere in the frame that the base is in.
        let registers = [place.base, place.index].into_iter().flatten();
        if !place.is_known && registers.into_iter().any(|one| self.register(one).has_frame()) {
            self.slots.clear();
            self.escape(0);
        }
        let base = place.base.filter(|_| place.is_known).map(|base| self.register(base));
        match base.as_ref().and_then(Value::atoms) {
            Some([Atom::Frame(at)]) => {
                let at = at.wrapping_add(place.offset);
                // The caller may have passed the address of what it put on the stack.
                self.memory_changed |= at.saturating_add(size.into()) > 0;
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
            None if place.is_known && place.base.is_none() => self.memory_changed = true,
            None => self.disturb(),
        }
        if self.flags.is_some_and(|flags| matches!(flags.left, Compared::Memory(..))) {
            self.flags = None;
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

    /// A frame address went into something that is not followed: it may have moved in any direction.
    fn escape_all(&mut self) {
        self.escape(i64::MIN);
    }

    /// Another function, or something that is not followed, has the value of a register.
    fn escape_register(&mut self, register: Reg) {
        let value = self.register(register);
        self.escape_value(&value);
    }

    /// An instruction whose steps are not known reads a register; it may compute something from it.
    pub(super) fn read(&mut self, register: Reg, computes: bool) {
        if computes && self.register(register).has_frame() {
            self.escape_all();
        } else {
            self.escape_register(register);
        }
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
        self.memory_changed = true;
        if let Some(escaped) = self.escaped {
            self.slots.retain(|at, _| *at < escaped);
        }
    }

    /// One step of an instruction.
    pub(crate) fn apply(&mut self, effect: &Effect) {
        // An address of the frame of which something else is made is still one: an unknown pointer may be it.
        let from = self.operands(effect);
        self.compute(effect);
        if let Some((to, from)) = from
            && from.iter().any(|from| is_lost(from, &self.register(to)))
        {
            self.escape_all();
        }
    }

    /// What an instruction computes a register from, if an address of the frame is among it.
    fn operands(&self, effect: &Effect) -> Option<(Reg, Vec<Value>)> {
        let whole = |source: &Source| match source {
            Source::Reg(register) | Source::Part(Part { register, .. }) => self.register(*register),
            Source::Const(_) | Source::Either(..) => Value::constant(0),
        };
        let (to, mut from) = match effect {
            Effect::Move { to, from } => (to, vec![whole(from)]),
            Effect::Binary { to, left, right, .. } => (to, vec![whole(left), whole(right)]),
            Effect::Either { to, first, second } => (to, vec![whole(first), whole(second)]),
            Effect::Extend { to, .. } => (to, vec![self.register(to.register)]),
            Effect::Load { to, .. } => (to, Vec::new()),
            Effect::Flags(_) | Effect::Store { .. } | Effect::Forget(_) => return None,
        };
        if to.size < 4 {
            from.push(self.register(to.register));
        }
        from.iter().any(Value::has_frame).then_some((to.register, from))
    }

    fn compute(&mut self, effect: &Effect) {
        match effect {
            Effect::Move { to, from } => self.write(*to, self.source(*from)),
            Effect::Binary { op, to, left, right } => {
                let value = Value::binary(*op, &self.source(*left), &self.source(*right));
                self.write(*to, value);
            }
            Effect::Either { to, first, second } => {
                let value = self.source(*first).join(&self.source(*second));
                self.write(*to, value);
            }
            Effect::Load { to, place, size } => self.write(*to, self.load(*place, *size)),
            Effect::Extend { to, size } => {
                let value = self.register(to.register).extended(*size);
                self.write(*to, value);
            }
            Effect::Flags(comparison) => {
                self.flags = comparison.and_then(|comparison| self.compare(&comparison));
            }
            Effect::Store { place, from, size } => {
                let value = from.map_or(Value::Unknown, |from| self.source(from));
                self.escape_value(&value);
                let value = value.part(0, *size);
                self.store(*place, value, *size);
            }
            Effect::Forget(register) => self.set(*register, Value::Unknown),
        }
    }

    /// What a comparison says about a value, if its other operand is one constant.
    fn compare(&self, comparison: &Comparison) -> Option<Flags> {
        let left = match comparison.left {
            Compared::Part(part) => Compared::Part(part),
            Compared::Memory(place, size) => Compared::Memory(self.frame_slot(place)?, size),
        };
        let against = match comparison.against {
            Against::Value(source) => match self.source(source) {
                Value::One(Atom::Const(value)) => Against::Value(value),
                _ => return None,
            },
            Against::Mask(mask) => Against::Mask(mask),
            Against::Result => Against::Result,
        };
        Some(Flags { left, against })
    }

    /// The values after a branch for which a condition holds; whether it can hold. Otherwise nothing changes.
    pub(crate) fn assume(&mut self, condition: Condition, comparison: Option<&Comparison>) -> bool {
        let flags = match comparison {
            Some(comparison) => self.compare(comparison),
            None => self.flags,
        };
        let Some(flags) = flags else { return true };
        let value = match flags.left {
            Compared::Part(part) => self.register(part.register),
            Compared::Memory(at, size) => self.slot(at, size),
        };
        let Some(narrowed) = flags.narrowed(condition, &value) else { return false };
        // What the caller passed is the same wherever it is; memory may have changed.
        if let (Value::One(atom @ (Atom::Entry(_) | Atom::EntryStack(_))), Some(common)) =
            (&value, flags.common(condition))
        {
            self.replace(*atom, &common);
        }
        match flags.left {
            Compared::Part(part) => {
                if let Some(known) = self.registers.get_mut(usize::from(part.register)) {
                    *known = narrowed;
                }
            }
            Compared::Memory(at, size) => {
                if let Some((known, value)) = self.slots.get_mut(&at)
                    && *known == size
                {
                    *value = narrowed;
                }
            }
        }
        true
    }

    /// Other places that hold what the caller passed have the same value.
    fn replace(&mut self, atom: Atom, value: &Value) {
        let values =
            self.registers.iter_mut().chain(self.slots.values_mut().map(|(_, value)| value));
        for known in values.filter(|known| **known == Value::One(atom)) {
            *known = value.clone();
        }
    }

    /// A call: it changes some registers, and the part of the frame whose address it may know.
    pub(crate) fn call(&mut self, convention: &Convention) {
        self.leave(convention.changed_by_call, convention.changed_by_call);
    }

    /// Control comes here twice, as after setjmp(3) or vfork(2): the second time with what was stored in between.
    pub(super) fn returns_twice(&mut self) {
        self.slots.clear();
        self.escape(0);
        self.memory_changed = true;
    }

    /// The stack pointer is not followed any more.
    pub(super) fn forget_stack(&mut self, convention: &Convention) {
        self.escape_all();
        self.set(convention.stack, Value::Unknown);
    }

    /// A syscall: the kernel may write behind its arguments.
    pub(crate) fn syscall(&mut self, convention: &Convention) {
        self.leave(convention.syscall_arguments, convention.changed_by_syscall);
    }

    /// Other code gets the values of registers, and changes some.
    fn leave(&mut self, passed: &[Reg], changed: &[Reg]) {
        passed.iter().for_each(|register| self.escape_register(*register));
        self.disturb();
        self.flags = None;
        changed.iter().for_each(|register| self.set(*register, Value::Unknown));
    }

    /// Joins another state; whether this one changed.
    pub(crate) fn join(&mut self, other: &State) -> bool {
        let mut changed = false;
        let mut lost = false;
        for (own, other) in self.registers.iter_mut().zip(&other.registers) {
            if own != other {
                let joined = own.join(other);
                changed |= joined != *own;
                lost |= is_lost(own, &joined) || is_lost(other, &joined);
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
            _ if lost => Some(i64::MIN),
            (Some(own), Some(other)) => Some(own.min(other)),
            (own, other) => own.or(other),
        };
        changed |= escaped != self.escaped;
        self.escaped = escaped;
        changed |= other.memory_changed && !self.memory_changed;
        self.memory_changed |= other.memory_changed;
        if self.flags != other.flags {
            changed |= self.flags.is_some();
            self.flags = None;
        }
        changed
    }
}
