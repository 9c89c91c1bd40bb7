//! What can be known of a program before it runs: constants are folded, branches that always go the
//! same way become jumps, and registers that nobody reads again are found.
//!
//! One pass forward for values and one backward for uses; jumps go forward only, so that is enough.

use callgate::bpf::cfg::{Facts, Forward, Registers, live_after};
use callgate::bpf::{Insn, Op};

use callgate::bpf::{Alu, Relation, Source};

/// What is known of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Nothing,
    Constant(u32),
    /// What this load yields; it has succeeded before.
    Load(Op, u32),
    /// The low half of the byte here: on the way to the length of a header.
    LowHalf(u32),
}

#[derive(Clone, Debug, PartialEq)]
struct State {
    a: Known,
    x: Known,
    /// Up to the last word that the program writes.
    memory: Vec<Known>,
    /// The packet has at least so many bytes: loads of them have succeeded.
    length: u32,
}

impl Facts for State {
    fn join(&mut self, other: &State) {
        let meet = |own: &mut Known, other: Known| {
            if *own != other {
                *own = Known::Nothing;
            }
        };
        meet(&mut self.a, other.a);
        meet(&mut self.x, other.x);
        for (own, &other) in self.memory.iter_mut().zip(&other.memory) {
            meet(own, other);
        }
        self.length = self.length.min(other.length);
    }
}

/// A program with folded constants.
pub(super) struct Flow {
    pub(super) insns: Vec<Insn>,
    /// Whether it is a seccomp filter, whose loads never fail.
    pub(super) of_calls: bool,
    /// Per instruction: what is read from it on, and after it.
    live_before: Vec<Registers>,
    live_after: Vec<Registers>,
    /// Per branch: the load that A comes from, when it is known.
    loaded: Vec<Option<Insn>>,
    /// Per instruction: whether it is a load that surely succeeds.
    succeeds: Vec<bool>,
}

const NOTHING: Insn = Insn::new(Op::Ja, 0);

impl Flow {
    /// Follows a program; `length` is the length of the input when it is always the same.
    pub(super) fn of(insns: &[Insn], length: Option<u32>) -> Flow {
        let mut flow = Flow {
            insns: insns.to_vec(),
            of_calls: length.is_some(),
            live_before: vec![Registers::NONE; insns.len()],
            live_after: vec![Registers::NONE; insns.len()],
            loaded: vec![None; insns.len()],
            succeeds: vec![false; insns.len()],
        };
        flow.fold(length);
        flow.find_uses();
        flow
    }

    /// The first instruction from `at` on that is no jump. It exists: programs end with a return.
    pub(super) fn resolve(&self, mut at: usize) -> usize {
        while let Some(insn) = self.insns.get(at)
            && insn.op == Op::Ja
        {
            at = (at + 1).saturating_add(insn.k as usize);
        }
        at
    }

    /// The load whose value A has before a branch, when it is known.
    pub(super) fn loaded(&self, at: usize) -> Option<Insn> {
        self.loaded.get(at).copied().flatten()
    }

    /// Whether some of these registers are read after an instruction.
    pub(super) fn is_read_after(&self, at: usize, registers: Registers) -> bool {
        self.live_after.get(at).is_none_or(|live| live.intersects(registers))
    }

    /// Whether some of these registers are read by an instruction, or after it before they are written.
    pub(super) fn is_read_before(&self, at: usize, registers: Registers) -> bool {
        self.live_before.get(at).is_none_or(|live| live.intersects(registers))
    }

    /// Whether an instruction does nothing but write a register that nobody reads again.
    pub(super) fn is_dead(&self, at: usize) -> bool {
        let Some(insn) = self.insns.get(at) else { return false };
        let written = insn.writes();
        !written.is_empty() && !self.may_end(at) && !self.is_read_after(at, written)
    }

    /// Whether an instruction may end the program, which is more than writing a register.
    fn may_end(&self, at: usize) -> bool {
        match self.insns.get(at).map(|insn| insn.op) {
            Some(Op::DivX | Op::ModX) => true,
            Some(
                Op::LdWordAbs
                | Op::LdHalfAbs
                | Op::LdByteAbs
                | Op::LdWordInd
                | Op::LdHalfInd
                | Op::LdByteInd
                | Op::LdxMsh,
            ) => !self.succeeds.get(at).copied().unwrap_or(false),
            _ => false,
        }
    }

    fn fold(&mut self, length: Option<u32>) {
        let zero = Known::Constant(0);
        let stored = self.insns.iter().filter(|insn| matches!(insn.op, Op::St | Op::Stx));
        let words = stored.map(|insn| insn.k as usize + 1).max().unwrap_or(0);
        // Scratch words are written before they are read, so nothing depends on this.
        let start = State { a: zero, x: zero, memory: vec![Known::Nothing; words], length: 0 };
        let mut analysis = Forward::new(self.insns.len(), start);
        for at in 0..self.insns.len() {
            let Some(mut state) = analysis.take(at) else { continue };
            let before = state.length;
            let insn = state.step(self.insns[at], length);
            self.insns[at] = insn;
            self.succeeds[at] = self.of_calls || end_of_load(insn).is_some_and(|end| end <= before);
            if let Known::Load(op @ (Op::LdWordAbs | Op::LdHalfAbs | Op::LdByteAbs), k) = state.a {
                self.loaded[at] = Some(Insn::new(op, k));
            }
            for next in insn.successors(at) {
                analysis.arrive(next, &state);
            }
        }
    }

    /// Liveness, in which a dead instruction reads nothing.
    fn find_uses(&mut self) {
        for (at, insn) in self.insns.iter().enumerate().rev() {
            let after = live_after(&self.live_before, at, *insn);
            let written = insn.writes();
            let dead = !written.is_empty() && !after.intersects(written) && !self.may_end(at);
            self.live_after[at] = after;
            self.live_before[at] =
                if dead { after } else { after.without(written).union(insn.reads()) };
        }
    }
}

impl State {
    /// The instruction with what is known put in, after which the state is this one.
    fn step(&mut self, insn: Insn, length: Option<u32>) -> Insn {
        use Known::{Constant, Load, Nothing};
        let k = insn.k;
        match insn.op {
            Op::LdLen | Op::LdImm | Op::LdMem => {
                let value = match (insn.op, length) {
                    (Op::LdImm, _) => Constant(k),
                    (Op::LdLen, Some(length)) => Constant(length),
                    (Op::LdLen, None) => Load(Op::LdLen, 0),
                    _ => self.scratch(k),
                };
                return assign(&mut self.a, value, insn, Op::LdImm);
            }
            Op::LdxLen | Op::LdxImm | Op::LdxMem => {
                let value = match (insn.op, length) {
                    (Op::LdxImm, _) => Constant(k),
                    (Op::LdxLen, Some(length)) => Constant(length),
                    (Op::LdxLen, None) => Load(Op::LdLen, 0),
                    _ => self.scratch(k),
                };
                return assign(&mut self.x, value, insn, Op::LdxImm);
            }
            // What lies beside the packet may change, or depend on A and X.
            Op::LdWordAbs | Op::LdHalfAbs | Op::LdByteAbs if (k as i32) < 0 => self.a = Nothing,
            Op::LdWordAbs | Op::LdHalfAbs | Op::LdByteAbs => {
                self.length = self.length.max(end_of_load(insn).unwrap_or(0));
                return assign(&mut self.a, Load(insn.op, k), insn, Op::LdImm);
            }
            Op::LdWordInd | Op::LdHalfInd | Op::LdByteInd => {
                if let Constant(x) = self.x
                    && (x.wrapping_add(k) as i32) >= 0
                {
                    let absolute = match insn.op {
                        Op::LdWordInd => Op::LdWordAbs,
                        Op::LdHalfInd => Op::LdHalfAbs,
                        _ => Op::LdByteAbs,
                    };
                    return self.step(Insn::new(absolute, x.wrapping_add(k)), length);
                }
                self.a = Nothing;
            }
            Op::LdxMsh if (k as i32) < 0 => self.x = Nothing,
            Op::LdxMsh => {
                self.length = self.length.max(k + 1);
                return assign(&mut self.x, Load(Op::LdxMsh, k), insn, Op::LdxImm);
            }
            // `ldxb 4*([k]&0xf)`, spelled out.
            Op::AndK if k == 0xf && matches!(self.a, Load(Op::LdByteAbs, _)) => {
                if let Load(_, k) = self.a {
                    self.a = Known::LowHalf(k);
                }
            }
            Op::LshK if k == 2 && matches!(self.a, Known::LowHalf(_)) => {
                if let Known::LowHalf(k) = self.a {
                    self.a = Load(Op::LdxMsh, k);
                }
            }
            Op::St | Op::Stx => {
                let value = if insn.op == Op::St { self.a } else { self.x };
                if let Some(word) = self.memory.get_mut(k as usize) {
                    *word = value;
                }
            }
            Op::Tax => return assign(&mut self.x, self.a, insn, Op::LdxImm),
            Op::Txa => return assign(&mut self.a, self.x, insn, Op::LdImm),
            Op::Neg => match self.a {
                Constant(a) => return self.set_a(a.wrapping_neg()),
                _ => self.a = Nothing,
            },
            op if op.is_branch() => return self.branch(insn),
            Op::RetA => {
                if let Constant(a) = self.a {
                    return Insn::new(Op::RetK, a);
                }
            }
            Op::RetK | Op::Ja => {}
            _ => return self.compute(insn),
        }
        insn
    }

    fn scratch(&self, k: u32) -> Known {
        self.memory.get(k as usize).copied().unwrap_or(Known::Nothing)
    }

    fn set_a(&mut self, value: u32) -> Insn {
        assign(&mut self.a, Known::Constant(value), Insn::new(Op::LdImm, value), Op::LdImm)
    }

    /// What is known of the right side of an operation.
    fn right(&self, right: Source) -> Known {
        match right {
            Source::K(k) => Known::Constant(k),
            Source::X => self.x,
        }
    }

    /// `a op k` and `a op x`.
    fn compute(&mut self, insn: Insn) -> Insn {
        let Some((operation, right)) = insn.arithmetic() else { return insn };
        let operand = self.right(right);
        let a = self.a;
        self.a = Known::Nothing;
        match (a, operand) {
            (_, Known::Constant(0)) if matches!(operation, Alu::Div | Alu::Mod) => {
                return Insn::new(Op::RetK, 0);
            }
            (Known::Constant(a), Known::Constant(operand)) => {
                if let Some(value) = operation.apply(a, operand) {
                    return self.set_a(value);
                }
            }
            (_, Known::Constant(operand)) => return Insn::new(operation.by_constant(), operand),
            _ => {}
        }
        insn
    }

    /// A branch that always goes the same way is a jump.
    fn branch(&self, insn: Insn) -> Insn {
        let jump = |distance: u8| Insn::new(Op::Ja, distance.into());
        if insn.jt == insn.jf {
            return jump(insn.jt);
        }
        let Some((cmp, right)) = insn.comparison() else { return insn };
        let Known::Constant(operand) = self.right(right) else { return insn };
        if let Known::Constant(a) = self.a {
            return jump(if cmp.holds(a, operand) { insn.jt } else { insn.jf });
        }
        let always = match cmp {
            Relation::AtLeast if operand == 0 => Some(true),
            Relation::Greater if operand == u32::MAX => Some(false),
            Relation::Shares if operand == 0 => Some(false),
            _ => None,
        };
        if let Some(holds) = always {
            return jump(if holds { insn.jt } else { insn.jf });
        }
        Insn::branch(cmp.by_constant(), operand, insn.jt, insn.jf)
    }
}

/// Puts a value into a register: nothing is to be done when it holds it, and a constant is a constant
/// wherever it comes from.
fn assign(register: &mut Known, value: Known, insn: Insn, constant: Op) -> Insn {
    if *register == value && value != Known::Nothing {
        return NOTHING;
    }
    *register = value;
    match value {
        Known::Constant(value) => Insn::new(constant, value),
        // What was stored may be loaded again, and need not be stored.
        Known::Load(op @ (Op::LdWordAbs | Op::LdHalfAbs | Op::LdByteAbs), k)
            if insn.op == Op::LdMem =>
        {
            Insn::new(op, k)
        }
        Known::Load(Op::LdxMsh, k) if insn.op == Op::LdxMem => Insn::new(Op::LdxMsh, k),
        _ => insn,
    }
}

/// How long a packet is in which this load succeeds; `None` for what is no load of a constant place.
fn end_of_load(insn: Insn) -> Option<u32> {
    let width = match insn.op {
        Op::LdWordAbs => 4,
        Op::LdHalfAbs => 2,
        Op::LdByteAbs | Op::LdxMsh => 1,
        _ => return None,
    };
    ((insn.k as i32) >= 0).then(|| insn.k + width)
}
