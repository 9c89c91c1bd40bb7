//! What a function does with the address of another one: whether it only calls it, or passes it on.
//!
//! A forward analysis of the registers and stack slots that may hold the address. Comparisons with it and calls through it are
//! the uses that are followed, and calls that pass it on; with any other use, the address may be called from anywhere.

use std::collections::{BTreeMap, BTreeSet};

use super::flow::{FunctionValues, step};
use super::state::State;
use super::value::{Atom, Value};
use crate::code::{Callee, Effect, Flow, Insn, Place, Reg, Source, Through};

/// The address of a function, as code has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pointer {
    /// The address itself, and words of the file that hold it.
    pub(crate) atoms: Vec<Atom>,
    /// The instructions that refer to it.
    pub(crate) at: Vec<u64>,
}

impl Pointer {
    /// Whether a value may be the address.
    fn is_one_of(&self, value: &Value) -> bool {
        value.atoms().unwrap_or_default().iter().any(|atom| self.atoms.contains(atom))
    }

    /// Whether a value is always the address.
    fn is_all_of(&self, value: &Value) -> bool {
        value.atoms().is_some_and(|atoms| atoms.iter().all(|atom| self.atoms.contains(atom)))
    }
}

/// What a function does with an address.
#[derive(Clone, Debug, Default)]
pub(crate) struct PointerUses {
    /// Calls through it.
    pub(crate) calls: Vec<u64>,
    /// Calls that pass it on, and the register that does.
    pub(crate) passed: Vec<(u64, Reg)>,
}

/// Where the address may be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Holders {
    registers: u32,
    slots: BTreeSet<i64>,
}

impl Holders {
    fn has(&self, register: Reg) -> bool {
        self.registers >> register & 1 != 0
    }

    fn set(&mut self, register: Reg, holds: bool) {
        let bit = 1_u32.checked_shl(register.into()).unwrap_or(0);
        self.registers = if holds { self.registers | bit } else { self.registers & !bit };
    }

    fn join(&mut self, other: &Holders) -> bool {
        let before = (self.registers, self.slots.len());
        self.registers |= other.registers;
        self.slots.extend(&other.slots);
        before != (self.registers, self.slots.len())
    }
}

/// Registers as a set of bits.
fn bits(registers: &[Reg]) -> u32 {
    registers.iter().fold(0, |bits, register| bits | 1 << register)
}

/// The pointer is used in another way than for a call.
struct Leak;

struct Follow<'a> {
    values: &'a FunctionValues,
    pointer: &'a Pointer,
    calls: BTreeSet<u64>,
    passed: BTreeSet<(u64, Reg)>,
    /// What landing pads of exceptions may find in registers: everything at any call.
    at_calls: Holders,
}

impl FunctionValues {
    /// The uses of a pointer; `None` if there may be others.
    pub(crate) fn uses_of(&self, pointer: &Pointer) -> Option<PointerUses> {
        let (calls, passed) = (BTreeSet::new(), BTreeSet::new());
        let mut follow =
            Follow { values: self, pointer, calls, passed, at_calls: Holders::default() };
        follow.run().ok()?;
        let Follow { calls, passed, .. } = follow;
        Some(PointerUses {
            calls: calls.into_iter().collect(),
            passed: passed.into_iter().collect(),
        })
    }
}

impl Follow<'_> {
    fn run(&mut self) -> Result<(), Leak> {
        let mut holders: BTreeMap<usize, Holders> =
            self.values.states.keys().map(|start| (*start, Holders::default())).collect();
        let mut open: BTreeSet<usize> = holders.keys().copied().collect();
        while let Some(start) = open.pop_first() {
            let mut own = holders.get(&start).cloned().unwrap_or_default();
            self.block(start, &mut own)?;
            let last = self.values.end(start).saturating_sub(1);
            for (next, _) in self.values.successors(last) {
                if holders.entry(next).or_default().join(&own) {
                    open.insert(next);
                }
            }
            for loose in &self.values.loose {
                if holders.entry(*loose).or_default().join(&self.at_calls) {
                    open.insert(*loose);
                }
            }
        }
        Ok(())
    }

    fn block(&mut self, start: usize, own: &mut Holders) -> Result<(), Leak> {
        let Some(mut state) = self.values.states.get(&start).cloned() else { return Ok(()) };
        let insns = self.values.insns.get(start..self.values.end(start)).unwrap_or_default();
        for insn in insns {
            self.flow(insn, &state, own)?;
            // A copy with vectors, for example.
            if let Some((place, size)) = insn.copies
                && self.may_read(&state, own, place, size)
            {
                return Err(Leak);
            }
            if own.registers & insn.reads != 0 {
                return Err(Leak);
            }
            let mut is_created = insn.effects.iter().all(|one| matches!(one, Effect::Flags(_)));
            let mut after = state.clone();
            for effect in &insn.effects {
                is_created |= self.effect(effect, &after, own)?;
                after.apply(effect);
            }
            // The instruction does something else with the address, such as to copy it with vectors.
            let refers = self.pointer.at.binary_search(&insn.at).is_ok();
            let transfers = !matches!(insn.flow, Flow::Next | Flow::Halt);
            if refers && !is_created && !transfers {
                return Err(Leak);
            }
            step(&mut state, insn, &self.values.convention);
            if matches!(insn.flow, Flow::Call(_) | Flow::Syscall) {
                let convention = &self.values.convention;
                let changed = match insn.flow {
                    Flow::Syscall => convention.changed_by_syscall,
                    _ => convention.changed_by_call,
                };
                changed.iter().for_each(|register| own.set(*register, false));
                if own.slots.iter().any(|slot| state.has_escaped(*slot)) {
                    return Err(Leak);
                }
            }
        }
        Ok(())
    }

    /// Whether memory that is read may be a slot that holds the address.
    fn may_read(&self, state: &State, own: &Holders, place: Place, size: u8) -> bool {
        let overlaps = |slot: &i64| match state.frame_slot(place) {
            Some(at) => *slot < at.saturating_add(size.into()) && at < slot.saturating_add(8),
            None => state.may_be_frame(place) || state.has_escaped(*slot),
        };
        own.slots.iter().any(overlaps)
    }

    /// Calls, jumps to other functions, syscalls and returns.
    fn flow(&mut self, insn: &Insn, state: &State, own: &Holders) -> Result<(), Leak> {
        let convention = &self.values.convention;
        let passed = match insn.flow {
            Flow::Call(_) | Flow::JumpAnywhere => {
                let is_called = match insn.through {
                    Some(Through::Register(register)) => own.has(register),
                    Some(Through::Memory(place)) => {
                        state.frame_slot(place).is_some_and(|slot| own.slots.contains(&slot))
                    }
                    None => false,
                };
                if is_called {
                    self.calls.insert(insn.at);
                }
                if matches!(insn.flow, Flow::Call(_)) {
                    self.at_calls.join(own);
                }
                let on_stack = |slot: &i64| match state.register(convention.stack) {
                    Value::One(Atom::Frame(stack)) => {
                        (stack..stack.saturating_add(64)).contains(slot)
                    }
                    _ => true,
                };
                if own.slots.iter().any(on_stack) {
                    return Err(Leak);
                }
                if matches!(insn.flow, Flow::Call(Callee::Address(_))) {
                    let passed = convention.arguments.iter().filter(|one| own.has(**one));
                    self.passed.extend(passed.map(|register| (insn.at, *register)));
                    return Ok(());
                }
                bits(convention.arguments)
            }
            Flow::Jump(target) | Flow::Branch(target)
                if self.values.number_of(target).is_none() =>
            {
                bits(convention.arguments)
            }
            Flow::Syscall => bits(convention.syscall_arguments),
            Flow::Return => bits(convention.results),
            _ => 0,
        };
        match own.registers & passed {
            0 => Ok(()),
            _ => Err(Leak),
        }
    }

    /// One step; whether its result is the address.
    fn effect(&self, effect: &Effect, state: &State, own: &mut Holders) -> Result<bool, Leak> {
        let is_pointer = |value: &Value| self.pointer.is_one_of(value);
        let holds = |source: &Source, own: &Holders| match source {
            Source::Reg(register) => own.has(*register),
            Source::Part(part) => own.has(part.register),
            Source::Const(value) => self.pointer.atoms.contains(&Atom::Const(*value)),
            Source::Either(..) => false,
        };
        match effect {
            // The rest of the register may still be that of the address.
            Effect::Move { to, from } | Effect::Binary { to, right: from, .. } if to.size < 4 => {
                if holds(from, own) {
                    Err(Leak)
                } else {
                    Ok(false)
                }
            }
            Effect::Load { to, .. } if to.size < 4 => Ok(false),
            Effect::Move { to, from } => {
                let holds = holds(from, own);
                own.set(to.register, holds);
                Ok(holds)
            }
            Effect::Either { to, first, second } => {
                let holds = holds(first, own) || holds(second, own);
                own.set(to.register, holds);
                Ok(holds)
            }
            Effect::Binary { op, to, left, right } => {
                let result = Value::binary(*op, &state.source(*left), &state.source(*right));
                // The offset in the first page of a file is also the address.
                let is_offset = |source: &Source| {
                    matches!(source, Source::Const(_)) && self.pointer.is_all_of(&result)
                };
                let leaks = |source| holds(source, own) && !is_offset(source);
                if leaks(left) || leaks(right) {
                    return Err(Leak);
                }
                let holds = is_pointer(&result);
                own.set(to.register, holds);
                Ok(holds)
            }
            Effect::Load { to, place, size } => {
                let slot = state.frame_slot(*place);
                if slot.is_none() && self.may_read(state, own, *place, *size) {
                    return Err(Leak);
                }
                let holds = is_pointer(&state.load(*place, *size))
                    || slot.is_some_and(|slot| own.slots.contains(&slot));
                own.set(to.register, holds);
                Ok(holds)
            }
            Effect::Store { place, from, .. } => {
                // What is stored behind the address is found by [`FunctionValues::stores_to`] if the values say where.
                let bases = [place.base, place.index];
                if bases.into_iter().flatten().any(|base| own.has(base))
                    && !state.is_constant(*place)
                {
                    return Err(Leak);
                }
                let holds = from.as_ref().is_some_and(|from| holds(from, own));
                match (state.frame_slot(*place), holds) {
                    (Some(slot), true) if !state.has_escaped(slot) => {
                        own.slots.insert(slot);
                    }
                    (_, true) => return Err(Leak),
                    (Some(slot), false) => {
                        own.slots.remove(&slot);
                    }
                    (None, false) => {}
                }
                Ok(holds)
            }
            Effect::Extend { .. } | Effect::Flags(_) => Ok(false),
            Effect::Forget(register) => {
                own.set(*register, false);
                Ok(false)
            }
        }
    }
}
