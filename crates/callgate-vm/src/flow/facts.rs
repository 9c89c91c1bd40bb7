//! The forward pass: constant propagation, over intervals.
//!
//! For each instruction, the pass computes intervals of A, X and the scratch words, the loads whose values
//! they hold, and a lower bound of the packet's length. With these facts it folds constants, removes loads
//! of values that a register holds, turns branches with one possible outcome into jumps, and marks loads
//! that cannot fail.

use callgate_core::cfg::{Facts, Forward, Successors};
use callgate_core::{
    Alu, AncillaryWord, Insn, Op, Relation, SECCOMP_DATA_SIZE, Source, Width, Word,
};

use super::simplified::{Flow, Input, LoadName, NOTHING, Step, end, is_special};

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
    others: Others,
}

/// Facts besides those about A. They are separate because most seccomp filters do not change them.
#[derive(Clone, Copy)]
struct Others {
    x: Value,
    /// The minimum length of the packet.
    packet: u32,
}

impl Others {
    const START: Others = Others { x: Value::exactly(0), packet: 0 };

    fn or(self, other: Others) -> Others {
        Others { x: self.x.or(other.x), packet: self.packet.min(other.packet) }
    }
}

/// Facts about the scratch words, up to the last one that the program writes. They are separate because
/// most programs write none.
#[derive(Clone, Default)]
struct Scratch(Vec<Value>);

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
    let mut flow = Flow { input, steps: insns.iter().copied().map(Step::new).collect() };
    let mut pass = Pass::new(insns, &mut flow.steps, input);
    for at in 0..insns.len() {
        pass.visit(at, input);
    }
    flow
}

/// Whether an instruction writes X or scratch words.
fn changes_others(op: Op) -> bool {
    use Op::{LdxImm, LdxLen, LdxMem, LdxMsh, St, Stx, Tax};
    matches!(op, LdxImm | LdxLen | LdxMem | LdxMsh | St | Stx | Tax)
}

/// The pass, and what it has found so far.
struct Pass<'a> {
    steps: &'a mut [Step],
    /// Facts about A before each instruction, valid where an edge leads to.
    a: Vec<Value>,
    /// Like `a`; empty if they are [`Others::START`] everywhere.
    others: Vec<Others>,
    /// None if the program writes no scratch words.
    scratch: Option<Forward<Scratch>>,
}

impl Pass<'_> {
    fn new<'a>(insns: &[Insn], steps: &'a mut [Step], input: Input) -> Pass<'a> {
        let len = steps.len();
        let is_usual = input != Input::Packet && !insns.iter().any(|insn| changes_others(insn.op));
        let stored = insns.iter().filter(|insn| matches!(insn.op, Op::St | Op::Stx));
        let words = if is_usual { None } else { stored.map(|insn| insn.k as usize + 1).max() };
        if let Some(first) = steps.first_mut() {
            first.edges = 1;
        }
        Pass {
            steps,
            a: vec![Value::exactly(0); len],
            others: vec![Others::START; if is_usual { 0 } else { len }],
            // They are written before they are read, so their initial values do not matter.
            scratch: words.map(|words| Forward::new(len, Scratch(vec![Value::ANY; words]))),
        }
    }

    /// Simplifies an instruction, and adds its edges.
    #[inline(always)]
    fn visit(&mut self, at: usize, input: Input) {
        let Step { insn, edges, .. } = self.steps[at];
        if edges == 0 || insn.op == Op::RetK {
            return;
        }
        self.steps[at].load = self.a[at].load;
        if self.others.is_empty() && self.visit_usual(at, insn, input) {
            return;
        }
        self.visit_any(at, insn, input);
    }

    /// As [`Pass::visit_any`], for most instructions of most filters, to save time. Returns whether it was one of them.
    #[inline(always)]
    fn visit_usual(&mut self, at: usize, insn: Insn, input: Input) -> bool {
        // Field by field, as they were written: processors wait if they read several writes at once.
        let Value { min, max, load } = self.a[at];
        let a = Value { min, max, load };
        let k = insn.k;
        match insn.op {
            Op::LdWordAbs => {
                let Input::Syscall(endian) = input else { return false };
                if Word::from_offset(k, endian).is_none() {
                    return false;
                }
                let load = LoadName::absolute(k, Width::Word);
                let step = &mut self.steps[at];
                step.succeeds = true;
                if a.load == load {
                    step.insn = NOTHING;
                    self.arrive(at + 1, a);
                } else {
                    self.arrive(at + 1, Value { load, ..Value::ANY });
                }
            }
            Op::Ja => self.arrive(at + 1 + k as usize, a),
            _ => {
                let Some((relation, Source::K(k))) = insn.comparison() else { return false };
                if insn.jt == insn.jf {
                    return false;
                }
                let Some([yes, no]) = a.split(relation, k) else { return false };
                self.arrive(at + 1 + usize::from(insn.jt), yes);
                self.arrive(at + 1 + usize::from(insn.jf), no);
            }
        }
        true
    }

    #[inline(never)]
    fn visit_any(&mut self, at: usize, insn: Insn, input: Input) {
        let a = self.a[at];
        let others = self.others.get(at).copied().unwrap_or(Others::START);
        let mut state = State { a, others };
        let mut scratch =
            self.scratch.as_mut().and_then(|scratch| scratch.take(at)).unwrap_or_default();
        let insn = state.step(insn, input, &mut self.steps[at], &mut scratch);
        self.steps[at].insn = insn;
        let successors = insn.successors(at);
        for to in successors {
            // Before the edge to it is counted.
            if let Some(others) = self.others.get_mut(to) {
                let is_first = self.steps[to].edges == 0;
                *others = if is_first { state.others } else { others.or(state.others) };
            }
            if let Some(scratches) = &mut self.scratch {
                scratches.arrive(to, &scratch);
            }
        }
        match successors {
            Successors::Return => {}
            Successors::Next(next) | Successors::Jump(next) => self.arrive(next, state.a),
            Successors::Branch { taken, otherwise } => {
                let [yes, no] = match insn.comparison() {
                    Some((relation, Source::K(k))) => state.a.split(relation, k),
                    _ => None,
                }
                .unwrap_or([state.a; 2]);
                self.arrive(taken, yes);
                self.arrive(otherwise, no);
            }
        }
    }

    /// Adds an edge to an instruction, and a value of A to those before it.
    #[inline(always)]
    fn arrive(&mut self, to: usize, a: Value) {
        let step = &mut self.steps[to];
        step.edges += 1;
        // A return of a constant depends on no facts.
        if step.insn.op == Op::RetK {
            return;
        }
        let is_first = step.edges == 1;
        let known = &mut self.a[to];
        *known = if is_first { a } else { known.or(a) };
    }
}

#[derive(Clone, Copy)]
enum Register {
    A,
    X,
}

impl State {
    /// Returns the simplest instruction with the same effect, and applies the effect to the state.
    #[inline]
    fn step(&mut self, insn: Insn, input: Input, step: &mut Step, scratch: &mut Scratch) -> Insn {
        let k = insn.k;
        match insn.op {
            Op::LdWordAbs => return self.absolute(insn, Width::Word, input, step),
            Op::LdHalfAbs => return self.absolute(insn, Width::Half, input, step),
            Op::LdByteAbs => return self.absolute(insn, Width::Byte, input, step),
            Op::LdWordInd => return self.indexed(insn, Op::LdWordAbs, Width::Word, input, step),
            Op::LdHalfInd => return self.indexed(insn, Op::LdHalfAbs, Width::Half, input, step),
            Op::LdByteInd => return self.indexed(insn, Op::LdByteAbs, Width::Byte, input, step),
            Op::LdxMsh if is_special(k) => self.others.x = Value::between(0, LONGEST_HEADER),
            Op::LdxMsh => {
                step.succeeds = self.reach_end(end(k, Width::Byte));
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
                step.succeeds = load.is_some();
                return self.assign(Register::A, value, load.unwrap_or(insn));
            }
            Op::LdxMem => {
                let value = scratch.get(k);
                let load = value.load.into_x().filter(|load| load.op != Op::LdxLen);
                step.succeeds = load.is_some();
                return self.assign(Register::X, value, load.unwrap_or(insn));
            }
            Op::St => scratch.set(k, self.a),
            Op::Stx => scratch.set(k, self.others.x),
            Op::Tax => return self.assign(Register::X, self.a, insn),
            Op::Txa => return self.assign(Register::A, self.others.x, insn),
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
            Register::A => (&mut self.a, self.others.x),
            Register::X => (&mut self.others.x, self.a),
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
        let succeeds = end <= self.others.packet;
        self.others.packet = self.others.packet.max(end);
        succeeds
    }

    fn length(&self, input: Input) -> Value {
        match input {
            Input::Syscall(_) => Value::exactly(SECCOMP_DATA_SIZE),
            Input::Packet => {
                Value { load: LoadName::LENGTH, ..Value::between(self.others.packet, u32::MAX) }
            }
        }
    }

    #[inline]
    fn absolute(&mut self, insn: Insn, width: Width, input: Input, step: &mut Step) -> Insn {
        let k = insn.k;
        match input {
            Input::Syscall(endian) => {
                // Accepted programs have no other loads.
                if Word::from_offset(k, endian).is_none() {
                    return Insn::new(Op::RetK, 0);
                }
                step.succeeds = true;
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
                None => step.succeeds = self.reach_end(end(k, width)),
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
        step: &mut Step,
    ) -> Insn {
        if let Some(x) = self.others.x.constant() {
            let offset = x.wrapping_add(insn.k);
            // Relative to X there are no ancillary words.
            if !is_special(offset) {
                return self.absolute(Insn::new(absolute, offset), width, input, step);
            }
        }
        self.a = Value::loaded(width);
        let last = self.others.x.max.checked_add(insn.k);
        step.near = last.is_some_and(|last| !is_special(last.saturating_add(8)));
        insn
    }

    fn compute(&mut self, insn: Insn, alu: Alu, operand: Source) -> Insn {
        let value = match operand {
            Source::K(k) => Value::exactly(k),
            Source::X => self.others.x,
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
            Source::X => self.others.x.constant(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::random::Rng;
    use callgate_core::{Endian, Program};

    /// Loads, comparisons with few constants, some arithmetic, and returns.
    fn program(rng: &mut Rng) -> Program {
        let len = 4 + rng.below(24);
        let mut insns = Vec::new();
        for left in (1..=len).rev() {
            let mut skip = || rng.below((left + 1).min(5)) as u8;
            let (jt, jf) = (skip(), skip());
            let k = rng.pick(&[0, 1, 2, 5, 0x4000_0000, u32::MAX]).unwrap();
            insns.push(match rng.below(8) {
                0..3 => Insn::new(Op::LdWordAbs, rng.pick(&[0, 4, 16, 20]).unwrap()),
                3 => Insn::new(Op::Ja, u32::from(jt)),
                4 => Insn::new(rng.pick(&[Op::AndK, Op::AddK, Op::RetK, Op::Txa]).unwrap(), k),
                _ => {
                    let op = rng.pick(&[Op::JeqK, Op::JgtK, Op::JgeK, Op::JsetK]).unwrap();
                    Insn::branch(op, k, jt, jf)
                }
            });
        }
        insns.extend([Insn::new(Op::RetK, 1), Insn::new(Op::RetA, 0)]);
        Program::new(insns).unwrap()
    }

    #[test]
    fn usual_instructions_are_treated_like_any() {
        let mut rng = Rng::new(20);
        let mut usual = 0;
        for _ in 0..if cfg!(miri) { 20 } else { 20_000 } {
            let program = program(&mut rng);
            let insns = program.insns();
            let input = Input::Syscall(Endian::Little);
            let quick = forward(insns, input).steps;
            let mut steps: Vec<Step> = insns.iter().copied().map(Step::new).collect();
            let mut pass = Pass::new(insns, &mut steps, input);
            assert!(pass.others.is_empty(), "no program changes X");
            for (at, insn) in insns.iter().enumerate() {
                if pass.steps[at].edges > 0 && insn.op != Op::RetK {
                    pass.steps[at].load = pass.a[at].load;
                    pass.visit_any(at, *insn, input);
                }
            }
            assert_eq!(quick, steps, "{insns:#?}");
            usual += steps.iter().filter(|step| step.insn == NOTHING).count();
        }
        assert!(usual > 20, "loads of a value that A holds: {usual}");
    }
}
