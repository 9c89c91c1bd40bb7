//! A program as definitions, in static single assignment form.
//!
//! For filter `b` and instruction `i`:
//! - `b.at_i`: whether execution reaches `i`;
//! - `b.if_i`: whether the condition of the branch `i` holds;
//! - `b.A_i`: the result of `i`, for arithmetic instructions. Loads and moves are not definitions: a register that
//!   holds a word of the input or a constant is replaced by it;
//! - `b.A_i.n`, `b.X_i.n`, `b.Mk_i.n`: the contents of a register before `i`, after the `n`-th further edge to `i` was
//!   merged (a φ-function); only if the values differ.
//!
//! Jumps go forward only, so one pass from front to back defines everything before it is used.

use callgate_core::cfg::{Registers, liveness};
use callgate_core::template::{Patch, Variable};
use callgate_core::{Insn, LongProgram, Op, Operand, SCRATCH_WORDS, SECCOMP_DATA_SIZE};

use crate::variables::{Untranslatable, half};
use crate::writer::{BOOL, Outcomes, WORD, Writer, join, word};

type Result<T> = std::result::Result<T, Untranslatable>;

/// Where A, X and `M[0]` are in a [`State`].
const A: usize = 0;
const X: usize = 1;
const M: usize = 2;

/// The contents of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Constant(u32),
    /// The word of the input at this offset.
    Word(u32),
    /// A definition: the result of instruction `at`, or the `edge`-th merge before it.
    Defined {
        register: usize,
        at: usize,
        edge: usize,
    },
    /// Different values on different paths, none of which is read according to liveness. Reading it is an error, so a
    /// mistake in liveness cannot lead to a wrong script.
    Dead,
}

/// A, X, and the scratch memory.
type State = [Value; 2 + SCRATCH_WORDS];

/// The merged state of the paths to an instruction so far.
struct Arrival {
    state: State,
    /// For each path, the condition under which it is taken.
    edges: Vec<String>,
}

struct Translation<'a> {
    writer: &'a mut Writer,
    name: &'a str,
    /// Per instruction, the merged state before it.
    arrivals: Vec<Option<Arrival>>,
    live: Vec<Registers>,
    patches: &'a [Patch],
    variables: &'a [Variable],
    outcomes: Outcomes,
}

/// Defines the conditions under which a program, perhaps with patches, returns each value.
pub(crate) fn translate(
    writer: &mut Writer,
    name: &str,
    program: &LongProgram,
    patches: &[Patch],
    variables: &[Variable],
) -> Result<Outcomes> {
    let insns = program.insns();
    let mut translation = Translation {
        writer,
        name,
        arrivals: insns.iter().map(|_| None).collect(),
        live: liveness(insns),
        patches,
        variables,
        outcomes: Outcomes::default(),
    };
    let start = [Value::Constant(0); 2 + SCRATCH_WORDS];
    if let Some(first) = translation.arrivals.first_mut() {
        *first = Some(Arrival { state: start, edges: Vec::new() });
    }
    for (at, insn) in insns.iter().enumerate() {
        match translation.arrivals.get_mut(at).and_then(Option::take) {
            Some(arrival) => translation.instruction(at, *insn, arrival)?,
            None => translation.writer.comment(&format!("{at}: {insn} is unreachable")),
        }
    }
    Ok(translation.outcomes)
}

impl Translation<'_> {
    /// Executes one instruction, and merges its state into those of its successors.
    fn instruction(&mut self, at: usize, insn: Insn, arrival: Arrival) -> Result<()> {
        let Arrival { mut state, edges } = arrival;
        let here = format!("{}.at{at}", self.name);
        self.writer.define(&here, BOOL, &join("or", &edges, "true"), &insn.to_string());

        let Insn { op, k, .. } = insn;
        let next = at + 1;
        let constant = Value::Constant(k);
        let (a, x) = (state[A], state[X]);
        let right = match op.operand() {
            Operand::X | Operand::BranchX => x,
            _ => constant,
        };
        let m = M.saturating_add(k as usize);
        let len = Value::Constant(SECCOMP_DATA_SIZE);
        match op {
            Op::LdWordAbs if k < SECCOMP_DATA_SIZE && k % 4 == 0 => state[A] = Value::Word(k),
            Op::LdLen => state[A] = len,
            Op::LdImm => state[A] = constant,
            Op::LdMem if m < state.len() => state[A] = state[m],
            Op::LdxLen => state[X] = len,
            Op::LdxImm => state[X] = constant,
            Op::LdxMem if m < state.len() => state[X] = state[m],
            Op::St if m < state.len() => state[m] = a,
            Op::Stx if m < state.len() => state[m] = x,
            Op::Tax => state[X] = a,
            Op::Txa => state[A] = x,

            Op::AddK | Op::AddX => state[A] = self.compute(at, "bvadd", a, right)?,
            Op::SubK | Op::SubX => state[A] = self.compute(at, "bvsub", a, right)?,
            Op::MulK | Op::MulX => state[A] = self.compute(at, "bvmul", a, right)?,
            Op::DivK if k != 0 => state[A] = self.compute(at, "bvudiv", a, right)?,
            Op::ModK if k != 0 => state[A] = self.compute(at, "bvurem", a, right)?,
            Op::OrK | Op::OrX => state[A] = self.compute(at, "bvor", a, right)?,
            Op::AndK | Op::AndX => state[A] = self.compute(at, "bvand", a, right)?,
            Op::XorK | Op::XorX => state[A] = self.compute(at, "bvxor", a, right)?,
            Op::LshK if k < 32 => state[A] = self.compute(at, "bvshl", a, right)?,
            Op::RshK if k < 32 => state[A] = self.compute(at, "bvlshr", a, right)?,
            Op::LshX => state[A] = self.shift(at, "bvshl", a, x)?,
            Op::RshX => state[A] = self.shift(at, "bvlshr", a, x)?,
            Op::Neg => {
                let term = format!("(bvneg {})", self.term(at, a)?);
                state[A] = self.computed(at, term);
            }

            Op::DivX | Op::ModX => {
                let operator = if op == Op::DivX { "bvudiv" } else { "bvurem" };
                state[A] = self.compute(at, operator, a, x)?;
                // A division by zero returns 0.
                let condition = format!("(= {} {})", self.term(at, x)?, word(0));
                let [is_zero, is_not] = self.edges(at, &condition);
                self.outcomes.add(word(0), is_zero);
                return self.arrive(at, next, is_not, &state);
            }

            Op::RetK => {
                self.outcomes.add(word(k), here);
                return Ok(());
            }
            Op::RetA => {
                let value = self.term(at, a)?;
                self.outcomes.add(value, here);
                return Ok(());
            }

            Op::Ja => {
                let target = next.saturating_add(k as usize);
                return self.arrive(at, target, here, &state);
            }

            op if op.is_branch() => return self.branch(at, insn, right, &state),

            // seccomp does not accept the others.
            _ => return Err(Untranslatable::instruction(at)),
        }
        self.arrive(at, next, here, &state)
    }

    fn branch(&mut self, at: usize, insn: Insn, right: Value, state: &State) -> Result<()> {
        let a = self.term(at, state[A])?;
        let right = match self.patches.iter().find(|patch| patch.insn == at) {
            Some(patch) => half(patch.symbol, patch.half, self.variables),
            None => self.term(at, right)?,
        };
        let condition = match insn.op {
            Op::JeqK | Op::JeqX => format!("(= {a} {right})"),
            Op::JgtK | Op::JgtX => format!("(bvugt {a} {right})"),
            Op::JgeK | Op::JgeX => format!("(bvuge {a} {right})"),
            Op::JsetK | Op::JsetX => format!("(not (= (bvand {a} {right}) {}))", word(0)),
            _ => return Err(Untranslatable::instruction(at)),
        };
        let [taken, otherwise] = self.edges(at, &condition);
        self.arrive(at, at + 1 + usize::from(insn.jt), taken, state)?;
        self.arrive(at, at + 1 + usize::from(insn.jf), otherwise, state)
    }

    /// Defines the condition of an instruction with two successors. Returns the conditions of its edges.
    fn edges(&mut self, at: usize, condition: &str) -> [String; 2] {
        let name = self.name;
        self.writer.define(&format!("{name}.if{at}"), BOOL, condition, "");
        [
            format!("(and {name}.at{at} {name}.if{at})"),
            format!("(and {name}.at{at} (not {name}.if{at}))"),
        ]
    }

    /// Merges the state of one more edge into that before `target`. At most one of the edges is taken, so their order does
    /// not matter.
    fn arrive(&mut self, from: usize, target: usize, edge: String, state: &State) -> Result<()> {
        let live = self.live.get(target).copied().unwrap_or(Registers::NONE);
        let place = self.arrivals.get_mut(target).filter(|_| target > from);
        let place = place.ok_or(Untranslatable::instruction(from))?;
        let Some(mut arrival) = place.take() else {
            *place = Some(Arrival { state: *state, edges: vec![edge] });
            return Ok(());
        };
        let number = arrival.edges.len();
        for (register, (old, new)) in arrival.state.iter_mut().zip(state).enumerate() {
            if old == new {
                continue;
            }
            if !live.intersects(as_set(register)) {
                *old = Value::Dead;
                continue;
            }
            let merged = Value::Defined { register, at: target, edge: number };
            let (new, before) = (self.term(from, *new)?, self.term(from, *old)?);
            let name = self.term(from, merged)?;
            self.writer.define(&name, WORD, &format!("(ite {edge} {new} {before})"), "");
            *old = merged;
        }
        arrival.edges.push(edge);
        if let Some(place) = self.arrivals.get_mut(target) {
            *place = Some(arrival);
        }
        Ok(())
    }

    fn compute(&mut self, at: usize, operator: &str, left: Value, right: Value) -> Result<Value> {
        let term = format!("({operator} {} {})", self.term(at, left)?, self.term(at, right)?);
        Ok(self.computed(at, term))
    }

    /// A shift by the low five bits of X.
    fn shift(&mut self, at: usize, operator: &str, a: Value, x: Value) -> Result<Value> {
        let (a, x) = (self.term(at, a)?, self.term(at, x)?);
        Ok(self.computed(at, format!("({operator} {a} (bvand {x} {}))", word(31))))
    }

    /// Defines the result of an instruction.
    fn computed(&mut self, at: usize, term: String) -> Value {
        self.writer.define(&format!("{}.A{at}", self.name), WORD, &term, "");
        Value::Defined { register: A, at, edge: 0 }
    }

    /// The term of a value that instruction `at` reads or merges.
    fn term(&self, at: usize, value: Value) -> Result<String> {
        let name = self.name;
        Ok(match value {
            Value::Constant(value) => word(value),
            Value::Word(offset) => format!("word{offset}"),
            Value::Dead => return Err(Untranslatable::instruction(at)),
            Value::Defined { register: A, at, edge: 0 } => format!("{name}.A{at}"),
            Value::Defined { register: A, at, edge } => format!("{name}.A{at}.{edge}"),
            Value::Defined { register: X, at, edge } => format!("{name}.X{at}.{edge}"),
            Value::Defined { register, at, edge } => {
                format!("{name}.M{}_{at}.{edge}", register - M)
            }
        })
    }
}

fn as_set(register: usize) -> Registers {
    match register {
        A => Registers::A,
        X => Registers::X,
        scratch => Registers::scratch((scratch - M) as u32),
    }
}
