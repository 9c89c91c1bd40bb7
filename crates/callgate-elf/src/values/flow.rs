//! The data-flow analysis of a function.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::state::State;
use super::value::Value;
use crate::code::{Callee, Convention, Effect, Flow, Function, Insn, decode};
use crate::image::Image;
use crate::limits::{MAX_FUNCTION_INSNS, MAX_STEPS};

/// Instructions that may still be executed abstractly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    steps: u64,
}

impl Budget {
    pub(crate) fn new() -> Budget {
        Budget { steps: MAX_STEPS }
    }
}

/// The values at each block of a function.
#[derive(Debug)]
pub(crate) struct FunctionValues {
    convention: Convention,
    insns: Vec<Insn>,
    /// The states at the first instructions of blocks.
    states: FxHashMap<usize, State>,
    starts: BTreeSet<usize>,
    /// Calls that do not return, sorted.
    final_calls: Vec<u64>,
}

impl FunctionValues {
    /// Computes the values; `None` if the function is too large or the budget is used up. `jumps` are the targets of
    /// its indirect jumps, `final_calls` the calls that do not return.
    pub(crate) fn of(
        image: &Image,
        function: &Function,
        jumps: &[u64],
        final_calls: Vec<u64>,
        budget: &mut Budget,
    ) -> Option<FunctionValues> {
        let size = function.end.checked_sub(function.start)?;
        let bytes = image.layout.bytes(function.start, size)?;
        let insns = decode(image.machine, bytes, function.start, MAX_FUNCTION_INSNS);
        if insns.len() >= MAX_FUNCTION_INSNS {
            return None;
        }
        let convention = Convention::of(image.machine);
        let (states, starts) = (FxHashMap::default(), BTreeSet::new());
        let mut values = FunctionValues { convention, insns, states, starts, final_calls };
        values.blocks(jumps);
        values.run(jumps, budget)?;
        Some(values)
    }

    fn number_of(&self, address: u64) -> Option<usize> {
        self.insns.binary_search_by_key(&address, |insn| insn.at).ok()
    }

    /// Finds the starts of blocks.
    fn blocks(&mut self, jumps: &[u64]) {
        let mut starts = BTreeSet::from([0]);
        for (number, insn) in self.insns.iter().enumerate() {
            let target = match insn.flow {
                Flow::Call(_) if self.is_final(insn) => None,
                Flow::Next | Flow::Syscall | Flow::Call(_) => continue,
                Flow::Jump(target) | Flow::Branch(target) => Some(target),
                Flow::JumpAnywhere | Flow::Return | Flow::Stop => None,
            };
            starts.extend(target.and_then(|target| self.number_of(target)));
            starts.insert(number + 1);
        }
        starts.extend(jumps.iter().filter_map(|target| self.number_of(*target)));
        starts.retain(|start| *start < self.insns.len());
        self.starts = starts;
    }

    fn is_final(&self, insn: &Insn) -> bool {
        self.final_calls.binary_search(&insn.at).is_ok()
    }

    /// Whether a block is padding between code.
    fn is_padding(&self, start: usize) -> bool {
        let insns = self.insns.get(start..self.end(start)).unwrap_or_default();
        insns.iter().all(|insn| insn.is_padding)
    }

    /// The instruction after the last one of a block.
    fn end(&self, start: usize) -> usize {
        self.starts.range(start + 1..).next().copied().unwrap_or(self.insns.len())
    }

    fn run(&mut self, jumps: &[u64], budget: &mut Budget) -> Option<()> {
        let tables: Vec<usize> =
            jumps.iter().filter_map(|target| self.number_of(*target)).collect();
        self.states.insert(0, State::entry(&self.convention));
        let mut open: BTreeSet<usize> = BTreeSet::from([0]);
        self.settle(&mut open, &tables, budget)?;
        // Blocks without a known predecessor: targets of other indirect jumps, landing pads of exceptions, and dead code.
        loop {
            let mut missing = self.starts.iter().copied();
            let missing =
                missing.find(|start| !self.states.contains_key(start) && !self.is_padding(*start));
            let Some(start) = missing else { return Some(()) };
            self.states.insert(start, State::unknown(&self.convention));
            open.insert(start);
            self.settle(&mut open, &tables, budget)?;
        }
    }

    /// Executes blocks until no state changes.
    fn settle(
        &mut self,
        open: &mut BTreeSet<usize>,
        tables: &[usize],
        budget: &mut Budget,
    ) -> Option<()> {
        while let Some(start) = open.pop_first() {
            let end = self.end(start);
            let Some(mut state) = self.states.get(&start).cloned() else { continue };
            let mut next: Vec<usize> = Vec::new();
            for number in start..end {
                budget.steps = budget.steps.checked_sub(1)?;
                let Some(insn) = self.insns.get(number) else { break };
                step(&mut state, insn, &self.convention);
                if number + 1 < end {
                    continue;
                }
                let following = number + 1;
                match insn.flow {
                    Flow::Call(_) if self.is_final(insn) => {}
                    Flow::Next | Flow::Syscall | Flow::Call(_) => next.push(following),
                    Flow::Jump(target) => next.extend(self.number_of(target)),
                    Flow::Branch(target) => {
                        next.push(following);
                        next.extend(self.number_of(target));
                    }
                    Flow::JumpAnywhere => next.extend(tables),
                    Flow::Return | Flow::Stop => {}
                }
            }
            for following in next.into_iter().filter(|next| *next < self.insns.len()) {
                let changed = match self.states.get_mut(&following) {
                    Some(known) => known.join(&state),
                    None => {
                        self.states.insert(following, state.clone());
                        true
                    }
                };
                if changed {
                    open.insert(following);
                }
            }
        }
        Some(())
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
                    if let Effect::Store { place, from, .. } = effect
                        && state.addresses(*place).contains(&address)
                    {
                        let value = from.map_or(Value::Unknown, |from| state.source(from));
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

fn step(state: &mut State, insn: &Insn, convention: &Convention) {
    for effect in &insn.effects {
        state.apply(effect);
    }
    match insn.flow {
        // A call of the next instruction only pushes its address, to find where the code is.
        Flow::Call(Callee::Address(target)) if target == insn.next => {
            state.call(convention);
            state.set(convention.stack, Value::Unknown);
        }
        Flow::Call(_) => state.call(convention),
        Flow::Syscall => state.syscall(convention),
        _ => {}
    }
}
