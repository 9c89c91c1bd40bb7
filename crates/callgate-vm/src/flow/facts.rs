//! The forward pass: constant propagation, over intervals.
//!
//! For each instruction, the pass computes intervals of A, X and the scratch words, the loads whose values
//! they hold, and a lower bound of the packet's length. With these facts it folds constants, removes loads
//! of values that a register holds, turns branches with one possible outcome into jumps, and marks loads
//! that cannot fail.

use callgate_bpf::cfg::{Facts, Forward, Registers, Successors};
use callgate_bpf::data::SECCOMP_DATA_SIZE;
use callgate_bpf::{Alu, AncillaryWord, Insn, Op, Relation, Source, Width, Word};

use super::load::{LoadName, end, is_special};
use super::simplified::{Flow, Input, NOTHING, Note};

/// The interval of a value, and the load it comes from.
#[derive(Clone, Copy, PartialEq)]
struct Value {
    min: u32,
    max: u32,
    load: LoadName,
}

/// The longest header, because its length in words has four bits.
const LONGEST_HEADER: u32 = 60;

impl Value {
    const ANY: Value = Value::between(0, u32::MAX);

    const fn between(min: u32, max: u32) -> Value {
        Value { min, max, load: LoadName::NONE }
    }

    const fn exactly(value: u32) -> Value {
        Value::between(value, value)
    }

    /// The value of a load of this width.
    const fn loaded(width: Width) -> Value {
        Value::between(0, u32::MAX >> (32 - 8 * width.bytes()))
    }

    fn constant(self) -> Option<u32> {
        (self.min == self.max).then_some(self.min)
    }

    fn or(self, other: Value) -> Value {
        Value {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            load: if self.load == other.load { self.load } else { LoadName::NONE },
        }
    }

    /// The interval of the result of an operation.
    fn after(self, alu: Alu, operand: Value) -> Value {
        let (low, high) = (alu.apply(self.min, operand.min), alu.apply(self.max, operand.max));
        let is_monotonic = match (alu, operand.constant()) {
            (Alu::Add, _) => self.max.checked_add(operand.max).is_some(),
            (Alu::Mul, _) => self.max.checked_mul(operand.max).is_some(),
            (Alu::Lsh, Some(by)) => by < 32 && self.max.leading_zeros() >= by,
            (Alu::Sub, Some(by)) => self.min >= by,
            (Alu::Rsh | Alu::Div, Some(_)) => true,
            (Alu::And, _) => return Value::between(0, self.max.min(operand.max)),
            (Alu::Mod, _) => return Value::between(0, self.max.min(operand.max.max(1) - 1)),
            _ => false,
        };
        match (is_monotonic, low, high) {
            (true, Some(low), Some(high)) => Value::between(low, high),
            _ => Value::ANY,
        }
    }

    /// The values for which a comparison holds, and the others; `None` if its outcome is the same for all values.
    #[inline(always)]
    fn split(self, relation: Relation, k: u32) -> Option<[Value; 2]> {
        let Value { min, max, load } = self;
        if min == max {
            return None;
        }
        let side = |min, max| Value { min, max, load };
        match relation {
            Relation::Equal if min <= k && k <= max => {
                Some([side(k, k), side(min + u32::from(k == min), max - u32::from(k == max))])
            }
            Relation::Greater if min <= k && k < max => Some([side(k + 1, max), side(min, k)]),
            Relation::AtLeast if min < k && k <= max => Some([side(k, max), side(min, k - 1)]),
            Relation::Shares if k != 0 => Some([self, self]),
            _ => None,
        }
    }

    /// The outcome of a comparison, if it is the same for all values.
    fn decides(self, relation: Relation, k: u32) -> Option<bool> {
        if let Some(value) = self.constant() {
            return Some(relation.holds(value, k));
        }
        match relation {
            Relation::Equal => (k < self.min || k > self.max).then_some(false),
            Relation::Greater if self.min > k => Some(true),
            Relation::Greater => (self.max <= k).then_some(false),
            Relation::AtLeast if self.min >= k => Some(true),
            Relation::AtLeast => (self.max < k).then_some(false),
            Relation::Shares => (k == 0).then_some(false),
        }
    }
}

/// The name of a result that a single load would yield as well.
fn renamed(load: LoadName, alu: Alu, k: u32) -> LoadName {
    const BYTE: u8 = 1;
    let what = match (load.0 as u8, alu, k) {
        (BYTE, Alu::And, 0xf) => LoadName::LOW_BITS,
        (LoadName::LOW_BITS, Alu::Lsh, 2) => LoadName::OF_HEADER,
        _ => return LoadName::NONE,
    };
    LoadName::new(load.offset(), what)
}

/// Facts before an instruction.
#[derive(Clone, Copy)]
struct State {
    a: Value,
    x: Value,
    /// The minimum length of the packet.
    packet: u32,
}

/// Facts about the scratch words, up to the last one that the program writes. They are separate because
/// most programs write none.
#[derive(Clone, Default)]
struct Scratch(Vec<Value>);

impl State {
    /// Adds an edge to an instruction, and these facts to those before it.
    #[inline(always)]
    fn arrive(&self, to: usize, insns: &[Insn], edges: &mut [u16], states: &mut [State]) {
        edges[to] += 1;
        // A return of a constant depends on no facts.
        if insns[to].op == Op::RetK {
            return;
        }
        let known = &mut states[to];
        if edges[to] == 1 {
            *known = *self;
        } else {
            known.a = known.a.or(self.a);
            known.x = known.x.or(self.x);
            known.packet = known.packet.min(self.packet);
        }
    }
}

impl Facts for Scratch {
    fn join(&mut self, other: &Scratch) {
        for (own, &other) in self.0.iter_mut().zip(&other.0) {
            *own = own.or(other);
        }
    }
}

impl Scratch {
    fn get(&self, k: u32) -> Value {
        self.0.get(k as usize).copied().unwrap_or(Value::ANY)
    }

    fn set(&mut self, k: u32, value: Value) {
        if let Some(word) = self.0.get_mut(k as usize) {
            *word = value;
        }
    }
}

/// Runs the pass. The results of the backward pass are left empty.
pub(super) fn forward(insns: &[Insn], input: Input) -> Flow {
    let len = insns.len();
    let note = Note { load: LoadName::NONE, succeeds: false, near: false };
    let mut flow = Flow {
        insns: insns.to_vec(),
        input,
        notes: vec![note; len],
        edges: vec![0; len],
        dest: vec![0; len],
        live: vec![Registers::NONE; len],
    };
    let zero = Value::exactly(0);
    // Valid where an edge leads to.
    let mut states = vec![State { a: zero, x: zero, packet: 0 }; len];
    let stored = insns.iter().filter(|insn| matches!(insn.op, Op::St | Op::Stx));
    let words = stored.map(|insn| insn.k as usize + 1).max();
    // They are written before they are read, so their initial values do not matter.
    let mut scratches = words.map(|words| Forward::new(len, Scratch(vec![Value::ANY; words])));
    let (edges, notes) = (flow.edges.as_mut_slice(), flow.notes.as_mut_slice());
    let (simplified, states) = (flow.insns.as_mut_slice(), states.as_mut_slice());
    if let Some(edges) = edges.first_mut() {
        *edges = 1;
    }
    let mut scratch = Scratch::default();
    for (at, &insn) in insns.iter().enumerate() {
        if edges[at] == 0 || insn.op == Op::RetK {
            continue;
        }
        let mut state = states[at];
        if let Some(scratches) = &mut scratches {
            scratch = scratches.take(at).unwrap_or_default();
        } else if let Some((relation, Source::K(k))) = insn.comparison()
            && insn.jt != insn.jf
            && let Some([yes, no]) = state.a.split(relation, k)
        {
            // This and the next case only save time, for most instructions of most filters.
            notes[at].load = state.a.load;
            let (taken, otherwise) = (at + 1 + usize::from(insn.jt), at + 1 + usize::from(insn.jf));
            State { a: yes, ..state }.arrive(taken, insns, edges, states);
            State { a: no, ..state }.arrive(otherwise, insns, edges, states);
            continue;
        } else if insn.op == Op::Ja {
            state.arrive(at + 1 + insn.k as usize, insns, edges, states);
            continue;
        }
        let note = &mut notes[at];
        note.load = state.a.load;
        let insn = state.step(insn, input, note, &mut scratch);
        simplified[at] = insn;
        let successors = insn.successors(at);
        if let Some(scratches) = &mut scratches {
            successors.into_iter().for_each(|to| scratches.arrive(to, &scratch));
        }
        match successors {
            Successors::Return => {}
            Successors::Next(next) | Successors::Jump(next) => {
                state.arrive(next, insns, edges, states);
            }
            Successors::Branch { taken, otherwise } => {
                let [mut yes, mut no] = [state; 2];
                if let Some((relation, Source::K(k))) = insn.comparison()
                    && let Some([a, other]) = state.a.split(relation, k)
                {
                    (yes.a, no.a) = (a, other);
                }
                yes.arrive(taken, insns, edges, states);
                no.arrive(otherwise, insns, edges, states);
            }
        }
    }
    flow
}

#[derive(Clone, Copy)]
enum Register {
    A,
    X,
}

impl State {
    /// Returns the simplest instruction with the same effect, and applies the effect to the state.
    #[inline]
    fn step(&mut self, insn: Insn, input: Input, note: &mut Note, scratch: &mut Scratch) -> Insn {
        let k = insn.k;
        match insn.op {
            Op::LdWordAbs => return self.absolute(insn, Width::Word, input, note),
            Op::LdHalfAbs => return self.absolute(insn, Width::Half, input, note),
            Op::LdByteAbs => return self.absolute(insn, Width::Byte, input, note),
            Op::LdWordInd => return self.indexed(insn, Op::LdWordAbs, Width::Word, input, note),
            Op::LdHalfInd => return self.indexed(insn, Op::LdHalfAbs, Width::Half, input, note),
            Op::LdByteInd => return self.indexed(insn, Op::LdByteAbs, Width::Byte, input, note),
            Op::LdxMsh if is_special(k) => self.x = Value::between(0, LONGEST_HEADER),
            Op::LdxMsh => {
                note.succeeds = self.reach_end(end(k, Width::Byte));
                let load = LoadName::header_length(k);
                let value = Value { load, ..Value::between(0, LONGEST_HEADER) };
                return self.assign(Register::X, value, insn);
            }
            Op::LdLen => return self.assign(Register::A, self.length(input), insn),
            Op::LdxLen => return self.assign(Register::X, self.length(input), insn),
            Op::LdImm => return self.assign(Register::A, Value::exactly(k), insn),
            Op::LdxImm => return self.assign(Register::X, Value::exactly(k), insn),
            // The value is loaded again if it came from a load, so that the store may be dead.
            Op::LdMem => {
                let value = scratch.get(k);
                let load = value.load.into_a().filter(|load| load.op != Op::LdLen);
                note.succeeds = load.is_some();
                return self.assign(Register::A, value, load.unwrap_or(insn));
            }
            Op::LdxMem => {
                let value = scratch.get(k);
                let load = value.load.into_x().filter(|load| load.op != Op::LdxLen);
                note.succeeds = load.is_some();
                return self.assign(Register::X, value, load.unwrap_or(insn));
            }
            Op::St => scratch.set(k, self.a),
            Op::Stx => scratch.set(k, self.x),
            Op::Tax => return self.assign(Register::X, self.a, insn),
            Op::Txa => return self.assign(Register::A, self.x, insn),
            Op::Neg => match self.a.constant() {
                Some(a) => {
                    return self.assign(Register::A, Value::exactly(a.wrapping_neg()), insn);
                }
                None => self.a = Value::ANY,
            },
            Op::RetA => {
                if let Some(a) = self.a.constant() {
                    return Insn::new(Op::RetK, a);
                }
            }
            _ => {
                if let Some((relation, operand)) = insn.comparison() {
                    return self.branch(insn, relation, operand);
                }
                if let Some((alu, operand)) = insn.arithmetic() {
                    return self.compute(insn, alu, operand);
                }
            }
        }
        insn
    }

    /// Assigns a value to a register. Returns `insn`, or a simpler instruction with this effect.
    fn assign(&mut self, register: Register, value: Value, insn: Insn) -> Insn {
        let (own, other) = match register {
            Register::A => (&mut self.a, self.x),
            Register::X => (&mut self.x, self.a),
        };
        let (constant, copy) = match register {
            Register::A => (Op::LdImm, Op::Txa),
            Register::X => (Op::LdxImm, Op::Tax),
        };
        if let Some(k) = value.constant() {
            if own.constant() == Some(k) {
                return NOTHING;
            }
            *own = value;
            return Insn::new(constant, k);
        }
        if value.load.is_some() {
            if own.load == value.load {
                return NOTHING;
            }
            if other.load == value.load {
                *own = other;
                return Insn::new(copy, 0);
            }
        }
        *own = value;
        insn
    }

    /// A load up to this end: whether it cannot fail. After it, the packet is at least so long.
    fn reach_end(&mut self, end: u32) -> bool {
        let succeeds = end <= self.packet;
        self.packet = self.packet.max(end);
        succeeds
    }

    fn length(&self, input: Input) -> Value {
        match input {
            Input::Syscall(_) => Value::exactly(SECCOMP_DATA_SIZE),
            Input::Packet => {
                Value { load: LoadName::LENGTH, ..Value::between(self.packet, u32::MAX) }
            }
        }
    }

    #[inline]
    fn absolute(&mut self, insn: Insn, width: Width, input: Input, note: &mut Note) -> Insn {
        let k = insn.k;
        match input {
            Input::Syscall(endian) => {
                // Accepted programs have no other loads.
                if Word::from_offset(k, endian).is_none() {
                    return Insn::new(Op::RetK, 0);
                }
                note.succeeds = true;
            }
            Input::Packet => match AncillaryWord::from_offset(k) {
                Some(AncillaryWord::AluXorX) => {
                    return self.compute(Insn::new(Op::XorX, 0), Alu::Xor, Source::X);
                }
                Some(_) => {
                    self.a = Value::ANY;
                    return insn;
                }
                None if is_special(k) => {
                    self.a = Value::loaded(width);
                    return insn;
                }
                None => note.succeeds = self.reach_end(end(k, width)),
            },
        }
        let load = LoadName::absolute(k, width);
        self.assign(Register::A, Value { load, ..Value::loaded(width) }, insn)
    }

    /// A load relative to X. If X is constant, it becomes an `absolute` one.
    fn indexed(
        &mut self,
        insn: Insn,
        absolute: Op,
        width: Width,
        input: Input,
        note: &mut Note,
    ) -> Insn {
        if let Some(x) = self.x.constant() {
            let offset = x.wrapping_add(insn.k);
            // Relative to X there are no ancillary words.
            if !is_special(offset) {
                return self.absolute(Insn::new(absolute, offset), width, input, note);
            }
        }
        self.a = Value::loaded(width);
        let last = self.x.max.checked_add(insn.k);
        note.near = last.is_some_and(|last| !is_special(last.saturating_add(8)));
        insn
    }

    fn compute(&mut self, insn: Insn, alu: Alu, operand: Source) -> Insn {
        let value = match operand {
            Source::K(k) => Value::exactly(k),
            Source::X => self.x,
        };
        let Some(k) = value.constant() else {
            self.a = self.a.after(alu, value);
            return insn;
        };
        let k = if matches!(alu, Alu::Lsh | Alu::Rsh) { k & 31 } else { k };
        if let Some(a) = self.a.constant() {
            return match alu.apply(a, k) {
                Some(value) => self.assign(Register::A, Value::exactly(value), insn),
                None => Insn::new(Op::RetK, 0),
            };
        }
        match alu {
            Alu::Div | Alu::Mod if k == 0 => return Insn::new(Op::RetK, 0),
            Alu::Mod if k == 1 => return self.assign(Register::A, Value::exactly(0), insn),
            Alu::Mul | Alu::And if k == 0 => {
                return self.assign(Register::A, Value::exactly(0), insn);
            }
            _ if is_identity(alu, k) => return NOTHING,
            _ => {}
        }
        let load = renamed(self.a.load, alu, k);
        self.a = Value { load, ..self.a.after(alu, Value::exactly(k)) };
        Insn::new(alu.by_constant(), k)
    }

    fn branch(&self, insn: Insn, relation: Relation, operand: Source) -> Insn {
        let jump = |distance: u8| Insn::new(Op::Ja, distance.into());
        if insn.jt == insn.jf {
            return jump(insn.jt);
        }
        let k = match operand {
            Source::K(k) => Some(k),
            Source::X => self.x.constant(),
        };
        let Some(k) = k else { return insn };
        match self.a.decides(relation, k) {
            Some(true) => jump(insn.jt),
            Some(false) => jump(insn.jf),
            None => Insn::branch(relation.by_constant(), k, insn.jt, insn.jf),
        }
    }
}

/// Whether `a OP k` is `a`, whatever `a` is.
fn is_identity(alu: Alu, k: u32) -> bool {
    match alu {
        Alu::Add | Alu::Sub | Alu::Or | Alu::Xor | Alu::Lsh | Alu::Rsh => k == 0,
        Alu::Mul | Alu::Div => k == 1,
        Alu::And => k == u32::MAX,
        Alu::Mod => false,
    }
}
