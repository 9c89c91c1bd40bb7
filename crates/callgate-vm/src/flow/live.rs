//! The backward pass: liveness, dead code, and branches that decide nothing.

use callgate_core::cfg::{Registers, Successors};
use callgate_core::{Alu, Insn, Op, Source};

use super::facts;
use super::simplified::{Flow, Input, NOTHING, Step};
use super::threading;

impl Flow {
    /// Analyses and simplifies an accepted program.
    pub(crate) fn of(insns: &[Insn], input: Input) -> Flow {
        let threaded = match input {
            Input::Syscall(endian) => threading::threaded(insns, endian),
            Input::Packet => None,
        };
        let mut flow = facts::forward(threaded.as_deref().unwrap_or(insns), input);
        let steps = flow.steps.as_mut_slice();
        for at in (0..steps.len()).rev() {
            let step = steps[at];
            // Unreachable code has no effect on liveness elsewhere.
            let (live, dest) = match step.edges {
                0 => (Registers::NONE, at as u16),
                _ => before(steps, at, step.insn),
            };
            let step = &mut steps[at];
            (step.live, step.dest) = (live, dest);
        }
        flow
    }
}

/// The registers that are live before an instruction, and its destination. May simplify it.
#[inline(always)]
fn before(steps: &mut [Step], at: usize, insn: Insn) -> (Registers, u16) {
    match insn.successors(at) {
        Successors::Return => (insn.reads(), at as u16),
        Successors::Jump(to) => (steps[to].live, steps[to].dest),
        Successors::Branch { taken, otherwise } => {
            let after = steps[taken].live.union(steps[otherwise].live);
            if simplify_branch(steps, at, insn, [taken, otherwise], after) {
                (steps[otherwise].live, steps[otherwise].dest)
            } else {
                // It may read less now.
                (after.union(steps[at].insn.reads()), at as u16)
            }
        }
        Successors::Next(next) => {
            let (after, written) = (steps[next].live, insn.writes());
            if !written.is_empty() && !after.intersects(written) && !may_end(&steps[at]) {
                steps[at].insn = NOTHING;
                (after, steps[next].dest)
            } else {
                (after.without(written).union(insn.reads()), at as u16)
            }
        }
    }
}

/// Whether an instruction may end the program, which is an effect besides the register it writes.
fn may_end(step: &Step) -> bool {
    match step.insn.op {
        Op::DivX | Op::ModX => true,
        op => op.width().is_some() && !step.succeeds,
    }
}

/// Turns a branch with one destination into a jump, and `and #m; jeq #0` into `jset #m` if A is dead
/// afterwards. Returns whether it became a jump.
#[inline(always)]
fn simplify_branch(
    steps: &mut [Step],
    at: usize,
    insn: Insn,
    [taken, otherwise]: [usize; 2],
    after: Registers,
) -> bool {
    let yes = steps[taken].dest;
    if yes == steps[otherwise].dest || is_decided_by_next(steps, insn, yes, otherwise) {
        steps[at].insn = Insn::new(Op::Ja, insn.jf.into());
        return true;
    }
    if insn.op == Op::JeqK && insn.k == 0 && steps[at].edges == 1 && !after.intersects(Registers::A)
    {
        test_mask(steps, at, insn);
    }
    false
}

/// Turns `and #m; jeq #0` into `jset #m`.
fn test_mask(steps: &mut [Step], at: usize, insn: Insn) {
    let Some(before) = at.checked_sub(1).filter(|&before| steps[before].edges > 0) else { return };
    let test = match steps[before].insn.arithmetic() {
        Some((Alu::And, Source::K(mask))) => Insn::branch(Op::JsetK, mask, insn.jf, insn.jt),
        Some((Alu::And, Source::X)) => Insn::branch(Op::JsetX, 0, insn.jf, insn.jt),
        _ => return,
    };
    steps[before].insn = NOTHING;
    steps[at].insn = test;
    steps[at].load = steps[before].load;
}

/// Whether the comparison after this one sends equal values to the same destination, because they are not
/// equal to its constant.
fn is_decided_by_next(steps: &[Step], insn: Insn, yes: u16, otherwise: usize) -> bool {
    let next = usize::from(steps[otherwise].dest);
    let test = steps[next].insn;
    (insn.op, test.op) == (Op::JeqK, Op::JeqK)
        && insn.k != test.k
        && yes == steps[next + 1 + usize::from(test.jf)].dest
}
