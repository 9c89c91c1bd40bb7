//! The data-flow analysis of a unit: a function with all of its parts.

use std::collections::BTreeSet;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::state::State;
use super::value::{Atom, Value};
use crate::code::{Callee, Condition, Convention, Effect, Flow, Insn, decode};
use crate::image::Image;
use crate::limits::{MAX_FUNCTION_INSNS, MAX_STEPS};
use crate::reach::Unit;

/// Instructions that may still be executed abstractly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    steps: u64,
}

impl Budget {
    pub(crate) fn new() -> Budget {
        Budget { steps: MAX_STEPS }
    }

    /// Counts steps; `None` if there are not so many left.
    pub(crate) fn spend(&mut self, steps: u64) -> Option<()> {
        self.steps = self.steps.checked_sub(steps)?;
        Some(())
    }
}

/// The values at each block of a function.
#[derive(Debug)]
pub(crate) struct FunctionValues {
    pub(super) convention: Convention,
    pub(super) insns: Vec<Insn>,
    /// The states at the first instructions of blocks.
    pub(super) states: FxHashMap<usize, State>,
    starts: BTreeSet<usize>,
    /// Blocks that indirect jumps lead to.
    tables: Vec<usize>,
    /// Blocks that nothing known leads to.
    pub(super) loose: Vec<usize>,
    /// The values at blocks that only branches whose conditions do not hold, or syscalls that do not return, lead to.
    excluded: FxHashMap<usize, State>,
    /// Calls that do not return, sorted.
    final_calls: Vec<u64>,
}

impl FunctionValues {
    /// Computes the values; `None` if the unit is too large or the budget is used up. `final_calls` are the calls that do
    /// not return, `repeated_calls` those that may return twice; both are sorted.
    pub(crate) fn of(
        image: &Image,
        unit: &Unit,
        final_calls: Vec<u64>,
        repeated_calls: &[u64],
        budget: &mut Budget,
    ) -> Option<FunctionValues> {
        let mut insns: Vec<Insn> = Vec::new();
        let mut starts = BTreeSet::new();
        for function in &unit.functions {
            let size = function.end.checked_sub(function.start)?;
            let bytes = image.layout.bytes(function.start, size)?;
            starts.insert(insns.len());
            insns.extend(decode(image.machine, bytes, function.start, MAX_FUNCTION_INSNS));
            if insns.len() >= MAX_FUNCTION_INSNS {
                return None;
            }
        }
        for insn in &mut insns {
            insn.returns_twice = repeated_calls.binary_search(&insn.at).is_ok();
        }
        let convention = Convention::of(image.machine);
        let mut values = FunctionValues {
            convention,
            insns,
            states: FxHashMap::default(),
            starts,
            tables: Vec::new(),
            loose: Vec::new(),
            excluded: FxHashMap::default(),
            final_calls,
        };
        values.blocks(unit);
        values.run(unit, budget)?;
        Some(values)
    }

    pub(super) fn number_of(&self, address: u64) -> Option<usize> {
        self.insns.binary_search_by_key(&address, |insn| insn.at).ok()
    }

    /// Finds the starts of blocks.
    fn blocks(&mut self, unit: &Unit) {
        let mut starts = std::mem::take(&mut self.starts);
        for (number, insn) in self.insns.iter().enumerate() {
            let target = match insn.flow {
                Flow::Call(_) if self.is_final(insn) => None,
                // It may not return, so what follows is a block of its own.
                Flow::Syscall => None,
                Flow::Next | Flow::Halt | Flow::Call(_) => continue,
                Flow::Jump(target) | Flow::Branch(target) => Some(target),
                Flow::JumpAnywhere | Flow::Return | Flow::Stop => None,
            };
            starts.extend(target.and_then(|target| self.number_of(target)));
            starts.insert(number + 1);
        }
        let entered = unit.jumps.iter().chain(&unit.entries).chain(&unit.labels);
        starts.extend(entered.filter_map(|target| self.number_of(*target)));
        starts.retain(|start| *start < self.insns.len());
        self.starts = starts;
    }

    fn is_final(&self, insn: &Insn) -> bool {
        self.final_calls.binary_search(&insn.at).is_ok()
    }

    /// Whether a syscall ends the thread or the process.
    fn is_final_syscall(&self, state: &State) -> bool {
        match state.register(self.convention.number) {
            Value::One(Atom::Const(number)) => self.convention.final_syscalls.contains(&number),
            _ => false,
        }
    }

    /// Whether a block is padding between code.
    fn is_padding(&self, start: usize) -> bool {
        let insns = self.insns.get(start..self.end(start)).unwrap_or_default();
        insns.iter().all(|insn| insn.is_padding)
    }

    /// The instruction after the last one of a block.
    pub(super) fn end(&self, start: usize) -> usize {
        self.starts.range(start + 1..).next().copied().unwrap_or(self.insns.len())
    }

    fn run(&mut self, unit: &Unit, budget: &mut Budget) -> Option<()> {
        self.tables = match unit.jumps_anywhere {
            true => self.starts.iter().copied().collect(),
            false => unit.jumps.iter().filter_map(|target| self.number_of(*target)).collect(),
        };
        let mut open: BTreeSet<usize> = BTreeSet::new();
        let entries = unit.entries.iter().map(|entry| (entry, State::entry(&self.convention)));
        let labels = unit.labels.iter().map(|label| (label, State::unknown(&self.convention)));
        let all: Vec<(usize, State)> = entries
            .chain(labels)
            .filter_map(|(at, state)| Some((self.number_of(*at)?, state)))
            .collect();
        self.loose = unit.labels.iter().filter_map(|label| self.number_of(*label)).collect();
        for (at, state) in all {
            self.states.insert(at, state);
            open.insert(at);
        }
        self.settle(&mut open, budget)?;
        // Blocks without a known predecessor: targets of other indirect jumps, landing pads of exceptions, and dead code.
        loop {
            let missing =
                |start: &usize| !self.states.contains_key(start) && !self.is_padding(*start);
            let excluded = self.excluded.keys().copied().filter(missing).min();
            let missing = excluded.or_else(|| self.starts.iter().copied().find(missing));
            let Some(start) = missing else { return Some(()) };
            let state = match self.excluded.remove(&start) {
                Some(state) => state,
                None => {
                    self.loose.push(start);
                    State::unknown(&self.convention)
                }
            };
            self.states.insert(start, state);
            open.insert(start);
            self.settle(&mut open, budget)?;
        }
    }

    /// Executes blocks until no state changes.
    fn settle(&mut self, open: &mut BTreeSet<usize>, budget: &mut Budget) -> Option<()> {
        while let Some(start) = open.pop_first() {
            let end = self.end(start);
            let Some(mut state) = self.states.get(&start).cloned() else { continue };
            let mut is_final = false;
            for number in start..end {
                budget.steps = budget.steps.checked_sub(1)?;
                let Some(insn) = self.insns.get(number) else { break };
                // The last instruction of a block may be a syscall that does not return.
                is_final = insn.flow == Flow::Syscall && self.is_final_syscall(&state);
                step(&mut state, insn, &self.convention);
            }
            let test = end.checked_sub(1).and_then(|last| self.insns.get(last)?.test);
            for (following, condition) in self.successors(end.saturating_sub(1)) {
                let mut state = state.clone();
                let holds = match (condition, &test) {
                    _ if is_final => false,
                    (Some(condition), Some(test)) => {
                        state.assume(condition, test.comparison.as_ref())
                    }
                    _ => true,
                };
                let states = if holds { &mut self.states } else { &mut self.excluded };
                let changed = match states.entry(following) {
                    Entry::Occupied(mut known) => known.get_mut().join(&state),
                    Entry::Vacant(free) => {
                        free.insert(state);
                        true
                    }
                };
                if changed && holds {
                    open.insert(following);
                }
            }
        }
        Some(())
    }

    /// Where execution continues after the last instruction of a block, and under which condition.
    pub(super) fn successors(&self, last: usize) -> Vec<(usize, Option<Condition>)> {
        let Some(insn) = self.insns.get(last) else { return Vec::new() };
        // What follows may be code of another function.
        let following = last.checked_add(1).filter(|next| {
            self.insns.get(*next).is_some_and(|following| following.at == insn.next)
        });
        let test = insn.test.map(|test| test.condition);
        match insn.flow {
            Flow::Call(_) if self.is_final(insn) => Vec::new(),
            Flow::Next | Flow::Halt | Flow::Syscall | Flow::Call(_) => {
                following.map(|following| (following, None)).into_iter().collect()
            }
            Flow::Jump(target) => {
                self.number_of(target).map(|target| (target, None)).into_iter().collect()
            }
            Flow::Branch(target) => {
                let other = following.map(|next| (next, test.map(Condition::inverse)));
                let taken = self.number_of(target).map(|target| (target, test));
                other.into_iter().chain(taken).collect()
            }
            Flow::JumpAnywhere => self.tables.iter().map(|table| (*table, None)).collect(),
            Flow::Return | Flow::Stop => Vec::new(),
        }
    }

    /// The values before the instruction at an address; `None` if there is none.
    pub(crate) fn before(&self, address: u64) -> Option<State> {
        let wanted = self.number_of(address)?;
        let start = *self.starts.range(..=wanted).next_back()?;
        let mut state = self.states.get(&start)?.clone();
        for insn in self.insns.get(start..wanted)? {
            step(&mut state, insn, &self.convention);
        }
        Some(state)
    }

    /// Whether control can flow from an address to another one.
    pub(crate) fn reaches(&self, from: u64, to: u64) -> bool {
        let block = |address| self.starts.range(..=self.number_of(address)?).next_back().copied();
        let (Some(from), Some(to)) = (block(from), block(to)) else { return true };
        let mut seen = BTreeSet::from([from]);
        let mut open = vec![from];
        while let Some(start) = open.pop() {
            if start == to {
                return true;
            }
            let next = self.successors(self.end(start).saturating_sub(1));
            open.extend(next.into_iter().map(|(next, _)| next).filter(|next| seen.insert(*next)));
        }
        false
    }

    /// The values when the jump or the call at an address reaches another function.
    pub(crate) fn at_target(&self, address: u64) -> Option<State> {
        let mut state = self.before(address)?;
        let insn = self.insns.get(self.number_of(address)?)?;
        if let (Flow::Branch(_), Some(test)) = (insn.flow, &insn.test) {
            state.assume(test.condition, test.comparison.as_ref());
        }
        Some(state)
    }

    /// The values when control leaves the function for the next one: after the instruction that contains an address.
    pub(crate) fn after_last(&self, address: u64) -> Option<State> {
        let number = self.insns.partition_point(|insn| insn.at <= address).checked_sub(1)?;
        let insn = self.insns.get(number)?;
        let mut state = self.before(insn.at)?;
        step(&mut state, insn, &self.convention);
        Some(state)
    }

    /// What the function stores into the word at an address, each with the state at that place.
    pub(crate) fn stores_to(&self, address: u64) -> Vec<(Value, State)> {
        let mut found = Vec::new();
        for (start, state) in &self.states {
            let mut state = state.clone();
            for insn in self.insns.get(*start..self.end(*start)).unwrap_or_default() {
                for effect in &insn.effects {
                    let Effect::Store { place, from, size } = effect else { continue };
                    let overlaps = |at: &u64| {
                        *at < address.saturating_add(8)
                            && address < at.saturating_add((*size).into())
                    };
                    let stored = state.addresses(*place);
                    if stored.iter().any(overlaps) {
                        let is_whole = *size == 8 && stored.contains(&address);
                        let value = from.filter(|_| is_whole);
                        let value = value.map_or(Value::Unknown, |from| state.source(from));
                        found.push((value, state.clone()));
                    }
                }
                step(&mut state, insn, &self.convention);
            }
        }
        found
    }

    /// Whether the instruction at an address is a call, which pushes a return address on x86-64.
    pub(crate) fn is_call(&self, address: u64) -> bool {
        let insn = self.number_of(address).and_then(|number| self.insns.get(number));
        insn.is_some_and(|insn| matches!(insn.flow, Flow::Call(_)))
    }
}

pub(super) fn step(state: &mut State, insn: &Insn, convention: &Convention) {
    for register in (0..convention.registers).filter(|register| insn.reads >> register & 1 != 0) {
        // Copies into vectors and to memory are exact.
        let computes = insn.effects.iter().any(|one| matches!(one, Effect::Forget(_)))
            && !insn.effects.iter().any(|one| matches!(one, Effect::Store { .. }));
        state.read(register, computes);
    }
    for effect in &insn.effects {
        state.apply(effect);
    }
    match insn.flow {
        // A call of the next instruction only pushes its address, to find where the code is.
        Flow::Call(Callee::Address(target)) if target == insn.next => {
            state.call(convention);
            state.forget_stack(convention);
        }
        Flow::Call(_) => state.call(convention),
        Flow::Syscall => {
            let number = state.register(convention.number);
            let forks = |atom: &Atom| match atom {
                Atom::Const(number) => convention.forking_syscalls.contains(number),
                _ => false,
            };
            state.syscall(convention);
            if number.atoms().unwrap_or_default().iter().any(forks) {
                state.returns_twice();
            }
        }
        _ => {}
    }
    if insn.returns_twice {
        state.returns_twice();
    }
}
