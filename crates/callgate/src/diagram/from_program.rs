//! From a program to its diagram: symbolic execution.
//!
//! Jumps go forward only, so one pass over the program from front to back finds every state that an
//! instruction is reached in (the values of A, X and scratch memory, as functions of the call), and
//! one pass from back to front gives each state its function. Registers that nothing reads any more
//! are forgotten, so that paths which differ only in them join again.
//!
//! All of classic BPF that a seccomp filter may contain is covered. What grows without bound
//! (products of two arguments, comparisons between two arguments, paths that never join) ends in
//! [`OutOfBudget`].
//!
//! Semantics: `net/core/filter.c`, `bpf_convert_filter` (division by a zero X returns 0, A and X begin
//! as 0), `kernel/bpf/core.c`, `___bpf_prog_run` (shifts by X take its low five bits), and
//! `kernel/seccomp.c`, `seccomp_check_filter` (`len` is 64).

use rustc_hash::FxHashMap as HashMap;

use super::Split;
use super::outline::{Condition, Meanings};
use super::store::{Func, OutOfBudget, Store};
use super::symbolic::{Alu, Relation, Value, Values};
use crate::bpf::{Insn, LongProgram, Op, SCRATCH_WORDS};
use crate::data::{Endian, SECCOMP_DATA_SIZE, Word};
use crate::verdict::Verdict;

/// What the registers hold.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) a: Value,
    pub(super) x: Value,
    /// Number of the scratch memory in [`Execution::memories`].
    memory: u32,
}

/// How an instruction goes on from a state; states are numbered as they are found.
pub(super) enum Step {
    Goto(usize),
    Branch { relation: Relation, a: Value, b: Value, then: usize, otherwise: usize },
    Return(Value),
}

type Memory = [Value; SCRATCH_WORDS];

pub(super) struct Execution {
    pub(super) values: Values,
    memories: Vec<Memory>,
    memory_index: HashMap<Memory, u32>,
    /// Per instruction, which registers are still read: bit 0 for A, 1 for X, 2… for scratch.
    live: Vec<u32>,
    /// All states, with their instruction.
    pub(super) states: Vec<(usize, State)>,
    /// Per instruction, the numbers of its states.
    pub(super) at: Vec<Vec<usize>>,
    index: HashMap<(usize, State), usize>,
}

impl Store {
    /// The function that a program computes on machines of this byte order.
    ///
    /// # Errors
    /// [`OutOfBudget`] when the diagram or the number of states grows too large.
    pub fn program(&mut self, program: &LongProgram, endian: Endian) -> Result<Func, OutOfBudget> {
        let insns = program.insns();
        let mut execution = Execution::new(insns);
        let steps = execution.explore(self, insns, endian)?;
        execution.functions(self, &steps)
    }
}

const A: u32 = 1;
const X: u32 = 2;

fn scratch(k: u32) -> u32 {
    4 << k.min(SCRATCH_WORDS as u32 - 1)
}

/// What an instruction reads and what it overwrites.
fn uses(insn: &Insn) -> (u32, u32) {
    use Op::*;
    match insn.op {
        LdWordAbs | LdHalfAbs | LdByteAbs | LdLen | LdImm => (0, A),
        LdWordInd | LdHalfInd | LdByteInd => (X, A),
        LdMem => (scratch(insn.k), A),
        LdxLen | LdxImm | LdxMsh => (0, X),
        LdxMem => (scratch(insn.k), X),
        St => (A, scratch(insn.k)),
        Stx => (X, scratch(insn.k)),
        AddK | SubK | MulK | DivK | OrK | AndK | LshK | RshK | Neg | ModK | XorK => (A, A),
        AddX | SubX | MulX | DivX | OrX | AndX | LshX | RshX | ModX | XorX => (A | X, A),
        Ja | RetK => (0, 0),
        JeqK | JgtK | JgeK | JsetK | RetA => (A, 0),
        JeqX | JgtX | JgeX | JsetX => (A | X, 0),
        Tax => (A, X),
        Txa => (X, A),
    }
}

impl Execution {
    pub(super) fn new(insns: &[Insn]) -> Execution {
        let mut live = vec![0; insns.len()];
        for (pc, insn) in insns.iter().enumerate().rev() {
            let at = |pc: usize| live.get(pc).copied().unwrap_or(0);
            let after = match insn.op {
                op if op.is_branch() => {
                    at(pc + 1 + usize::from(insn.jt)) | at(pc + 1 + usize::from(insn.jf))
                }
                op if op.is_return() => 0,
                Op::Ja => at(pc + 1 + insn.k as usize),
                _ => at(pc + 1),
            };
            let (read, written) = uses(insn);
            live[pc] = after & !written | read;
        }
        let empty = [Value::Constant(0); SCRATCH_WORDS];
        Execution {
            values: Values::default(),
            memories: vec![empty],
            memory_index: HashMap::from_iter([(empty, 0)]),
            live,
            states: Vec::new(),
            at: vec![Vec::new(); insns.len()],
            index: HashMap::default(),
        }
    }

    fn memory(&mut self, memory: Memory) -> u32 {
        let next = self.memories.len() as u32;
        let number = *self.memory_index.entry(memory).or_insert(next);
        if number == next {
            self.memories.push(memory);
        }
        number
    }

    /// The number of a state, after forgetting what is not read any more.
    fn enter(&mut self, pc: usize, mut state: State) -> usize {
        const FORGOTTEN: Value = Value::Constant(0);
        let live = self.live.get(pc).copied().unwrap_or(0);
        if live & A == 0 {
            state.a = FORGOTTEN;
        }
        if live & X == 0 {
            state.x = FORGOTTEN;
        }
        if state.memory != 0 {
            let mut memory = self.memories[state.memory as usize];
            for (k, value) in memory.iter_mut().enumerate() {
                if live & scratch(k as u32) == 0 {
                    *value = FORGOTTEN;
                }
            }
            state.memory = self.memory(memory);
        }
        // Most instructions have one or two states; only many are worth an index.
        const FEW: usize = 8;
        let here = &self.at[pc];
        let found = if here.len() <= FEW {
            here.iter().copied().find(|number| self.states[*number].1 == state)
        } else {
            self.index.get(&(pc, state)).copied()
        };
        if let Some(number) = found {
            return number;
        }
        let number = self.states.len();
        self.states.push((pc, state));
        self.at[pc].push(number);
        match self.at[pc].len() {
            n if n == FEW + 1 => {
                for number in &self.at[pc] {
                    self.index.insert(self.states[*number], *number);
                }
            }
            n if n > FEW => {
                self.index.insert((pc, state), number);
            }
            _ => {}
        }
        number
    }

    /// Front to back: every state and how it goes on.
    pub(super) fn explore(
        &mut self,
        store: &mut Store,
        insns: &[Insn],
        endian: Endian,
    ) -> Result<Vec<Step>, OutOfBudget> {
        let zero = Value::Constant(0);
        self.enter(0, State { a: zero, x: zero, memory: 0 });
        let mut steps = Vec::with_capacity(insns.len() * 2);
        for (pc, insn) in insns.iter().enumerate() {
            // States of later instructions are found meanwhile, none of this one or earlier.
            for i in 0..self.at[pc].len() {
                let number = self.at[pc][i];
                store.charge_state(self.states.len())?;
                let step = self.step(store, pc, insn, number, endian)?;
                if steps.len() <= number {
                    steps.resize_with(number + 1, || Step::Return(zero));
                }
                steps[number] = step;
            }
        }
        Ok(steps)
    }

    fn step(
        &mut self,
        store: &mut Store,
        pc: usize,
        insn: &Insn,
        number: usize,
        endian: Endian,
    ) -> Result<Step, OutOfBudget> {
        use Op::*;
        let (_, state) = self.states[number];
        let State { a, x, memory } = state;
        let k = Value::Constant(insn.k);
        let len = Value::Constant(SECCOMP_DATA_SIZE);
        let next = match insn.op {
            LdWordAbs => match Word::from_offset(insn.k, endian) {
                Some(word) => State { a: Values::word(word), ..state },
                // Refused by `Program`; the interpreter returns 0 for it.
                None => return Ok(Step::Return(Value::Constant(0))),
            },
            LdHalfAbs | LdByteAbs | LdWordInd | LdHalfInd | LdByteInd | LdxMsh => {
                return Ok(Step::Return(Value::Constant(0)));
            }
            LdLen => State { a: len, ..state },
            LdImm => State { a: k, ..state },
            LdMem => State { a: self.load(memory, insn.k), ..state },
            LdxLen => State { x: len, ..state },
            LdxImm => State { x: k, ..state },
            LdxMem => State { x: self.load(memory, insn.k), ..state },
            St => State { memory: self.store(memory, insn.k, a), ..state },
            Stx => State { memory: self.store(memory, insn.k, x), ..state },
            AddK => self.alu(store, state, Alu::Add, k)?,
            SubK => self.alu(store, state, Alu::Sub, k)?,
            MulK => self.alu(store, state, Alu::Mul, k)?,
            DivK => self.alu(store, state, Alu::Div, k)?,
            ModK => self.alu(store, state, Alu::Mod, k)?,
            OrK => self.alu(store, state, Alu::Or, k)?,
            AndK => self.alu(store, state, Alu::And, k)?,
            XorK => self.alu(store, state, Alu::Xor, k)?,
            LshK => self.alu(store, state, Alu::Lsh, k)?,
            RshK => self.alu(store, state, Alu::Rsh, k)?,
            AddX => self.alu(store, state, Alu::Add, x)?,
            SubX => self.alu(store, state, Alu::Sub, x)?,
            MulX => self.alu(store, state, Alu::Mul, x)?,
            OrX => self.alu(store, state, Alu::Or, x)?,
            AndX => self.alu(store, state, Alu::And, x)?,
            XorX => self.alu(store, state, Alu::Xor, x)?,
            LshX => self.alu(store, state, Alu::Lsh, x)?,
            RshX => self.alu(store, state, Alu::Rsh, x)?,
            DivX | ModX => {
                let op = if insn.op == DivX { Alu::Div } else { Alu::Mod };
                return self.divide_by_x(store, pc, state, op);
            }
            Neg => {
                let a = self.values.alu(store, Alu::Sub, Value::Constant(0), a)?;
                State { a, ..state }
            }
            Tax => State { x: a, ..state },
            Txa => State { a: x, ..state },
            RetK => return Ok(Step::Return(k)),
            RetA => return Ok(Step::Return(a)),
            Ja => return Ok(Step::Goto(self.enter(pc + 1 + insn.k as usize, state))),
            JeqK => return Ok(self.branch(pc, insn, state, Relation::Equal, k)),
            JgtK => return Ok(self.branch(pc, insn, state, Relation::Greater, k)),
            JgeK => return Ok(self.branch(pc, insn, state, Relation::AtLeast, k)),
            JsetK => return Ok(self.branch(pc, insn, state, Relation::Shares, k)),
            JeqX => return Ok(self.branch(pc, insn, state, Relation::Equal, x)),
            JgtX => return Ok(self.branch(pc, insn, state, Relation::Greater, x)),
            JgeX => return Ok(self.branch(pc, insn, state, Relation::AtLeast, x)),
            JsetX => return Ok(self.branch(pc, insn, state, Relation::Shares, x)),
        };
        Ok(Step::Goto(self.enter(pc + 1, next)))
    }

    fn load(&self, memory: u32, k: u32) -> Value {
        let memory = &self.memories[memory as usize];
        memory.get(k as usize).copied().unwrap_or(Value::Constant(0))
    }

    fn store(&mut self, memory: u32, k: u32, value: Value) -> u32 {
        let mut memory = self.memories[memory as usize];
        if let Some(slot) = memory.get_mut(k as usize) {
            *slot = value;
        }
        self.memory(memory)
    }

    fn alu(
        &mut self,
        store: &mut Store,
        state: State,
        op: Alu,
        by: Value,
    ) -> Result<State, OutOfBudget> {
        Ok(State { a: self.values.alu(store, op, state.a, by)?, ..state })
    }

    /// A division by X, which ends the program with 0 where X is 0.
    fn divide_by_x(
        &mut self,
        store: &mut Store,
        pc: usize,
        state: State,
        op: Alu,
    ) -> Result<Step, OutOfBudget> {
        let zero = Value::Constant(0);
        if state.x == zero {
            return Ok(Step::Return(zero));
        }
        let next = self.alu(store, state, op, state.x)?;
        let then = self.enter(pc + 1, next);
        let relation = Relation::Greater;
        Ok(Step::Branch { relation, a: state.x, b: zero, then, otherwise: KILLED })
    }

    fn branch(
        &mut self,
        pc: usize,
        insn: &Insn,
        state: State,
        relation: Relation,
        by: Value,
    ) -> Step {
        if let (Value::Constant(a), Value::Constant(b)) = (state.a, by) {
            let holds = match relation {
                Relation::Equal => a == b,
                Relation::Greater => a > b,
                Relation::AtLeast => a >= b,
                Relation::Shares => a & b != 0,
            };
            let skip = if holds { insn.jt } else { insn.jf };
            return Step::Goto(self.enter(pc + 1 + usize::from(skip), state));
        }
        let then = self.enter(pc + 1 + usize::from(insn.jt), state);
        let otherwise = self.enter(pc + 1 + usize::from(insn.jf), state);
        Step::Branch { relation, a: state.a, b: by, then, otherwise }
    }

    /// Back to front: the function of every state, and that of the first in the end.
    fn functions(&self, store: &mut Store, steps: &[Step]) -> Result<Func, OutOfBudget> {
        let killed = store.verdict(Verdict::KILL_THREAD)?;
        let mut meanings = Meanings::new(steps.len(), killed);
        for number in self.at.iter().rev().flatten().copied() {
            match &steps[number] {
                Step::Goto(state) => meanings.goes_on(number, *state),
                Step::Return(Value::Constant(value)) => {
                    meanings.is(number, store.verdict(Verdict(*value))?);
                }
                Step::Return(value) => {
                    meanings.is(number, self.values.returned(store, *value)?);
                }
                Step::Branch { relation, a, b, then, otherwise } => {
                    let sides = [*then, *otherwise];
                    if meanings.are_same(sides) {
                        meanings.goes_on(number, *then);
                        continue;
                    }
                    let condition = match plain_split(*relation, *a, *b) {
                        Some((word, split)) => Condition::Split(word, split),
                        None => {
                            let condition = self.values.relation(store, *relation, *a, *b)?;
                            Condition::Other(store.only_word(condition), condition)
                        }
                    };
                    meanings.branches(store, number, condition, sides)?;
                }
            }
        }
        meanings.whole(store, 0)
    }
}

/// In place of a state: the program returns 0.
pub(super) const KILLED: usize = usize::MAX;

/// A comparison of a whole word with a constant.
fn plain_split(relation: Relation, a: Value, b: Value) -> Option<(Word, Split)> {
    let (Value::Masked(word, u32::MAX), Value::Constant(k)) = (a, b) else { return None };
    match relation {
        Relation::Equal => Some((word, Split::Equal(k))),
        Relation::AtLeast => Some((word, Split::AtLeast(k))),
        Relation::Greater => k.checked_add(1).map(|k| (word, Split::AtLeast(k))),
        Relation::Shares => None,
    }
}
