//! From a program to its diagram: symbolic execution.
//!
//! Jumps go forward only. So one forward pass finds every state in which an instruction is reached (the
//! values of A, X and scratch memory as functions of the syscall), and one backward pass computes the
//! function of each state. Registers that are not live are cleared, so that paths which differ only in them
//! merge.
//!
//! All instructions that a filter may contain are covered. What grows exponentially (products of
//! two arguments, comparisons of many bits of two arguments, paths that never merge) exhausts the budget and is a
//! [`DiagramError`]. A comparison of two whole words of a syscall is a [variable](Store::field_test) of the diagram.
//!
//! Semantics: `net/core/filter.c`, `bpf_convert_filter` (division by a zero X and a load outside of a packet return 0, A and X are
//! initially 0), `kernel/bpf/core.c`, `___bpf_prog_run` (shifts by X take its low five bits),
//! `kernel/seccomp.c`, `seccomp_check_filter`, and `io_uring/bpf_filter.c`, `io_uring_check_cbpf_filter` (`len` is the size
//! of the structure).

use rustc_hash::FxHashMap as HashMap;

use super::branch::BranchCondition;
use super::outline::StateFuncs;
use super::packet_load::PacketLoad;
use super::symbolic::{Value, ValueTable};
use super::{DiagramError, Func, Split, Store, UnmodelledLoad};
use crate::cfg::{Registers, Successors, liveness};
use crate::input::LENGTH;
use crate::template::{Patch, Template};
use crate::{
    Alu, AncillaryWord, Endian, FilterInput, Insn, Layout, LongProgram, Op, Operand, Relation,
    SCRATCH_WORDS, SocketProgram, Source, Verdict, Word,
};

/// The contents of the registers.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct State {
    /// The accumulator.
    pub a: Value,
    /// The index register.
    pub x: Value,
    /// Number of the scratch memory in [`Execution::memories`].
    memory: u32,
}

/// A successor of a state. States are numbered in the order of discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The state with this number.
    State(usize),
    /// The program returns 0, because it divides by a zero X, or loads what a packet does not have.
    Zero,
}

/// How a program continues from a state.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// With one successor.
    Goto(usize),
    /// With one of two successors.
    Branch {
        /// The comparison of `a` with `b`.
        relation: Relation,
        /// The left operand.
        a: Value,
        /// The right operand.
        b: Value,
        /// The successor if the relation holds.
        taken: Next,
        /// The successor if it does not.
        otherwise: Next,
    },
    /// It returns this value.
    Return(Value),
}

type Memory = [Value; SCRATCH_WORDS];

/// The states of an instruction, of which most have one or two: the numbers of the first and the last one, and how many
/// there are.
#[derive(Clone, Copy, Default)]
struct StateList {
    first: usize,
    last: usize,
    len: usize,
}

/// All states that a program can be in, with the values of its registers as functions of the syscall.
pub struct Execution {
    /// The values that states refer to.
    pub values: ValueTable,
    memories: Vec<Memory>,
    memory_index: HashMap<Memory, u32>,
    /// Per instruction, the live registers.
    live: Vec<Registers>,
    /// All states, each with the index of its instruction.
    states: Vec<(usize, State)>,
    /// Per state, the number of the next one of the same instruction; the last one has its own.
    after: Vec<usize>,
    /// Per instruction, its states.
    at: Vec<StateList>,
    index: HashMap<(usize, State), usize>,
    /// Per state, how the program continues.
    steps: Vec<Option<Step>>,
    /// The right operands of instructions with patches.
    symbols: HashMap<usize, Value>,
}

const BAD_INSN: DiagramError =
    DiagramError::defect("a program contains only instructions that seccomp accepts");
const BAD_STATE: DiagramError = DiagramError::defect("states of a program are numbered");
const BAD_MEMORY: DiagramError = DiagramError::defect("scratch memories of a program are numbered");

const ZERO: Value = Value::Constant(0);

impl Store {
    /// The function that a program computes on machines of this byte order.
    ///
    /// # Errors
    /// If the diagram exceeds its budget; if the program reads another structure than the filters of the store.
    pub fn program<D: FilterInput>(
        &mut self,
        program: &LongProgram<D>,
        endian: Endian,
    ) -> Result<Func, DiagramError> {
        Execution::explore(self, program, endian)?.function(self)
    }

    /// The function that a socket filter computes.
    ///
    /// # Errors
    /// If the diagram exceeds its budget; if the program loads what the proof [does not
    /// model](DiagramError::unmodelled_load); if the store is not for packets.
    pub fn socket_program(&mut self, program: &SocketProgram) -> Result<Func, DiagramError> {
        self.check_layout(Layout::Packet)?;
        // The byte order decides about structures only.
        Execution::of(self, program.insns(), &[], Endian::NATIVE)?.function(self)
    }

    /// The function that a program with variables computes on machines of this byte order.
    ///
    /// # Errors
    /// As [`Store::comparison`]; if the variables are not those of the store; or if the program compares a variable with
    /// a computed value.
    pub fn template(&mut self, template: &Template, endian: Endian) -> Result<Func, DiagramError> {
        // Otherwise a value that is impossible here might be possible there.
        if template.variables() != self.variables() {
            return Err(DiagramError::VARIABLES);
        }
        self.check_layout(Layout::Seccomp)?;
        Execution::of(self, template.program().insns(), template.patches(), endian)?.function(self)
    }
}

impl Execution {
    /// Finds every state of a program, front to back, and how it continues.
    ///
    /// # Errors
    /// If the diagram exceeds its budget; if the program reads another structure than the filters of the store.
    pub fn explore<D: FilterInput>(
        store: &mut Store,
        program: &LongProgram<D>,
        endian: Endian,
    ) -> Result<Execution, DiagramError> {
        store.check_layout(D::layout(endian))?;
        Execution::of(store, program.insns(), &[], endian)
    }

    /// As [`Execution::explore`], for the instructions of a program for the layout of the store, with patches.
    fn of(
        store: &mut Store,
        insns: &[Insn],
        patches: &[Patch],
        endian: Endian,
    ) -> Result<Execution, DiagramError> {
        let empty = [ZERO; SCRATCH_WORDS];
        let mut execution = Execution {
            values: ValueTable::default(),
            memories: vec![empty],
            memory_index: HashMap::from_iter([(empty, 0)]),
            live: liveness(insns),
            states: Vec::with_capacity(insns.len() * 2),
            after: Vec::with_capacity(insns.len() * 2),
            at: vec![StateList::default(); insns.len()],
            index: HashMap::default(),
            steps: Vec::with_capacity(insns.len() * 2),
            symbols: HashMap::default(),
        };
        for Patch { insn, symbol, half } in patches {
            let symbol = execution.values.symbol(*symbol, *half);
            execution.symbols.insert(*insn, symbol);
        }
        execution.enter(0, State { a: ZERO, x: ZERO, memory: 0 })?;
        for (pc, insn) in insns.iter().enumerate() {
            // Executing an instruction adds states only to later instructions.
            let StateList { first, len, .. } = execution.list_at(pc);
            let mut next = first;
            for _ in 0..len {
                let number = next;
                next = *execution.after.get(number).ok_or(BAD_STATE)?;
                store.charge_state(execution.states.len())?;
                let step = execution.step(store, pc, *insn, number, endian)?;
                if execution.steps.len() <= number {
                    execution.steps.resize(number + 1, None);
                }
                *execution.steps.get_mut(number).ok_or(BAD_STATE)? = Some(step);
            }
        }
        Ok(execution)
    }

    /// The numbers of the states of an instruction, in the order of discovery.
    pub fn states_at(&self, pc: usize) -> impl Iterator<Item = usize> {
        let StateList { first, len, .. } = self.list_at(pc);
        let after = |number: &usize| self.after.get(*number).copied();
        std::iter::successors(Some(first), after).take(len)
    }

    fn list_at(&self, pc: usize) -> StateList {
        self.at.get(pc).copied().unwrap_or_default()
    }

    /// The number of states.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Whether there is no state; a program has at least one.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// A state.
    ///
    /// # Errors
    /// When there is no state with this number.
    pub fn state(&self, number: usize) -> Result<State, DiagramError> {
        self.states.get(number).map(|(_, state)| *state).ok_or(BAD_STATE)
    }

    /// How the program continues from a state.
    ///
    /// # Errors
    /// When there is no state with this number.
    pub fn step_of(&self, number: usize) -> Result<Step, DiagramError> {
        self.steps.get(number).copied().flatten().ok_or(BAD_STATE)
    }

    fn memory(&mut self, memory: Memory) -> u32 {
        let next = self.memories.len() as u32;
        let number = *self.memory_index.entry(memory).or_insert(next);
        if number == next {
            self.memories.push(memory);
        }
        number
    }

    /// The number of a state, after clearing the registers that are not live.
    fn enter(&mut self, pc: usize, mut state: State) -> Result<usize, DiagramError> {
        let live = *self.live.get(pc).ok_or(BAD_INSN)?;
        if !live.intersects(Registers::A) {
            state.a = ZERO;
        }
        if !live.intersects(Registers::X) {
            state.x = ZERO;
        }
        if state.memory != 0 {
            let mut memory = *self.memories.get(state.memory as usize).ok_or(BAD_MEMORY)?;
            for (k, value) in (0..).zip(memory.iter_mut()) {
                if !live.intersects(Registers::scratch(k)) {
                    *value = ZERO;
                }
            }
            state.memory = self.memory(memory);
        }
        // Most instructions have one or two states; a list is searched up to this length, then an index.
        const MAX_LIST: usize = 8;
        let here = *self.at.get(pc).ok_or(BAD_INSN)?;
        let is_same = |number: &usize| self.states.get(*number).is_some_and(|(_, s)| *s == state);
        let found = if here.len <= MAX_LIST {
            self.states_at(pc).find(is_same)
        } else {
            self.index.get(&(pc, state)).copied()
        };
        if let Some(number) = found {
            return Ok(number);
        }
        let number = self.states.len();
        self.states.push((pc, state));
        self.after.push(number);
        let first = match here.len {
            0 => number,
            _ => {
                *self.after.get_mut(here.last).ok_or(BAD_STATE)? = number;
                here.first
            }
        };
        let now = StateList { first, last: number, len: here.len + 1 };
        *self.at.get_mut(pc).ok_or(BAD_INSN)? = now;
        if now.len == MAX_LIST + 1 {
            let mut number = first;
            for _ in 0..now.len {
                let state = *self.states.get(number).ok_or(BAD_STATE)?;
                self.index.insert(state, number);
                number = *self.after.get(number).ok_or(BAD_STATE)?;
            }
        } else if now.len > MAX_LIST {
            self.index.insert((pc, state), number);
        }
        Ok(number)
    }

    fn step(
        &mut self,
        store: &mut Store,
        pc: usize,
        insn: Insn,
        number: usize,
        endian: Endian,
    ) -> Result<Step, DiagramError> {
        let state = self.state(number)?;
        match insn.successors(pc) {
            Successors::Return => {
                let value = if insn.op == Op::RetK { Value::Constant(insn.k) } else { state.a };
                Ok(Step::Return(value))
            }
            Successors::Jump(target) => Ok(Step::Goto(self.enter(target, state)?)),
            Successors::Branch { taken, otherwise } => {
                let (relation, source) = insn.comparison().ok_or(BAD_INSN)?;
                let right = self.symbols.get(&pc).copied().unwrap_or(right(source, state));
                self.branch(state, relation, right, taken, otherwise)
            }
            Successors::Next(next) => match insn.arithmetic() {
                // Division by X ends the program with 0 where X is 0.
                Some((alu @ (Alu::Div | Alu::Mod), Source::X)) => {
                    if state.x == ZERO {
                        return Ok(Step::Return(ZERO));
                    }
                    let a = self.values.alu(store, alu, state.a, state.x)?;
                    let taken = Next::State(self.enter(next, State { a, ..state })?);
                    let relation = Relation::Greater;
                    Ok(Step::Branch { relation, a: state.x, b: ZERO, taken, otherwise: Next::Zero })
                }
                Some((alu, source)) => {
                    let a = self.values.alu(store, alu, state.a, right(source, state))?;
                    Ok(Step::Goto(self.enter(next, State { a, ..state })?))
                }
                None if insn.op.width().is_some() && store.layout() == Layout::Packet => {
                    self.load_from_packet(store, pc, insn, state)
                }
                None => {
                    let state = self.assign(store, insn, state, endian)?;
                    Ok(Step::Goto(self.enter(next, state)?))
                }
            },
        }
    }

    /// A load from a packet, which ends the program with 0 unless the packet is long enough.
    fn load_from_packet(
        &mut self,
        store: &mut Store,
        pc: usize,
        insn: Insn,
        state: State,
    ) -> Result<Step, DiagramError> {
        let State { a, x, .. } = state;
        if insn.op.operand() == Operand::Absolute {
            match AncillaryWord::from_offset(insn.k) {
                None => {}
                Some(AncillaryWord::AluXorX) => {
                    let a = self.values.alu(store, Alu::Xor, a, x)?;
                    return Ok(Step::Goto(self.enter(pc + 1, State { a, ..state })?));
                }
                Some(word) => {
                    return Err(DiagramError::unmodelled(pc, UnmodelledLoad::Ancillary(word)));
                }
            }
        }
        let base = if insn.op.operand() == Operand::Indexed { x } else { ZERO };
        let width = insn.op.width().ok_or(BAD_INSN)?;
        let load = PacketLoad { insn: pc, base, k: insn.k, width };
        let (loaded, end) = self.values.load_from_packet(store, load)?;
        let state = if insn.op == Op::LdxMsh {
            let low = self.values.alu(store, Alu::And, loaded, Value::Constant(0xf))?;
            State { x: self.values.alu(store, Alu::Lsh, low, Value::Constant(2))?, ..state }
        } else {
            State { a: loaded, ..state }
        };
        let taken = Next::State(self.enter(pc + 1, state)?);
        let (relation, a) = (Relation::AtLeast, ValueTable::word(LENGTH));
        Ok(Step::Branch { relation, a, b: end, taken, otherwise: Next::Zero })
    }

    /// The state after a load, a store or a move.
    fn assign(
        &mut self,
        store: &mut Store,
        insn: Insn,
        state: State,
        endian: Endian,
    ) -> Result<State, DiagramError> {
        let State { a, x, memory } = state;
        let k = Value::Constant(insn.k);
        let len = match store.layout() {
            Layout::Packet => ValueTable::word(LENGTH),
            structure => Value::Constant(structure.size()),
        };
        Ok(match insn.op {
            Op::LdWordAbs => {
                let loaded = self.values.loaded(store, insn.k, endian)?;
                State { a: loaded.ok_or(BAD_INSN)?, ..state }
            }
            Op::LdLen => State { a: len, ..state },
            Op::LdImm => State { a: k, ..state },
            Op::LdMem => State { a: self.load(memory, insn.k)?, ..state },
            Op::LdxLen => State { x: len, ..state },
            Op::LdxImm => State { x: k, ..state },
            Op::LdxMem => State { x: self.load(memory, insn.k)?, ..state },
            Op::St => State { memory: self.store(memory, insn.k, a)?, ..state },
            Op::Stx => State { memory: self.store(memory, insn.k, x)?, ..state },
            Op::Neg => State { a: self.values.alu(store, Alu::Sub, ZERO, a)?, ..state },
            Op::Tax => State { x: a, ..state },
            Op::Txa => State { a: x, ..state },
            _ => return Err(BAD_INSN),
        })
    }

    fn load(&self, memory: u32, k: u32) -> Result<Value, DiagramError> {
        let memory = self.memories.get(memory as usize).ok_or(BAD_MEMORY)?;
        memory.get(k as usize).copied().ok_or(BAD_INSN)
    }

    fn store(&mut self, memory: u32, k: u32, value: Value) -> Result<u32, DiagramError> {
        let mut memory = *self.memories.get(memory as usize).ok_or(BAD_MEMORY)?;
        *memory.get_mut(k as usize).ok_or(BAD_INSN)? = value;
        Ok(self.memory(memory))
    }

    fn branch(
        &mut self,
        state: State,
        relation: Relation,
        b: Value,
        taken: usize,
        otherwise: usize,
    ) -> Result<Step, DiagramError> {
        if let (Value::Constant(a), Value::Constant(b)) = (state.a, b) {
            let target = if relation.holds(a, b) { taken } else { otherwise };
            return Ok(Step::Goto(self.enter(target, state)?));
        }
        let taken = Next::State(self.enter(taken, state)?);
        let otherwise = Next::State(self.enter(otherwise, state)?);
        Ok(Step::Branch { relation, a: state.a, b, taken, otherwise })
    }

    /// The function of the first state. Computes those of all states, from the last to the first.
    fn function(&self, store: &mut Store) -> Result<Func, DiagramError> {
        // One more index, for the return of 0.
        let zero = self.len();
        let mut funcs = StateFuncs::new(zero + 1);
        funcs.set_whole(zero, store.verdict(Verdict(0))?)?;
        let index = |next: Next| match next {
            Next::State(number) => number,
            Next::Zero => zero,
        };
        for number in (0..self.at.len()).rev().flat_map(|pc| self.states_at(pc)) {
            match self.step_of(number)? {
                Step::Goto(state) => funcs.continues_at(number, state)?,
                Step::Return(Value::Constant(value)) => {
                    funcs.set_whole(number, store.verdict(Verdict(value))?)?;
                }
                Step::Return(value) => {
                    funcs.set_whole(number, self.values.returned(store, value)?)?;
                }
                Step::Branch { relation, a, b, taken, otherwise } => {
                    let successors = [index(taken), index(otherwise)];
                    if funcs.are_same(successors)? {
                        funcs.continues_at(number, index(taken))?;
                        continue;
                    }
                    let condition = match split_of(relation, a, b) {
                        Some((word, u32::MAX, split)) => BranchCondition::Split(word, split),
                        Some((word, mask, split)) => BranchCondition::Masked(word, mask, split),
                        None => {
                            let condition = self.values.relation(store, relation, a, b)?;
                            let word = match (a, b) {
                                // It tests no other word.
                                (Value::Masked(..) | Value::Shifted(_), Value::Constant(_)) => {
                                    store.first_word(condition)
                                }
                                _ => store.single_word(condition),
                            };
                            BranchCondition::Other(word, condition)
                        }
                    };
                    funcs.set_branch(store, number, condition, successors)?;
                }
            }
        }
        funcs.whole(store, 0)
    }
}

/// The right operand in a state.
fn right(source: Source, state: State) -> Value {
    match source {
        Source::K(k) => Value::Constant(k),
        Source::X => state.x,
    }
}

/// A comparison of bits of a word with a constant, and which bits.
fn split_of(relation: Relation, a: Value, b: Value) -> Option<(Word, u32, Split)> {
    let (Value::Masked(word, mask), Value::Constant(k)) = (a, b) else { return None };
    let split = match relation {
        Relation::Equal => Split::Equal(k),
        Relation::AtLeast => Split::AtLeast(k),
        Relation::Greater => Split::AtLeast(k.checked_add(1)?),
        Relation::Shares => return None,
    };
    Some((word, mask, split))
}
