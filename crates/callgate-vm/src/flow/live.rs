//! The backward pass: liveness, dead code, and branches that decide nothing.

use callgate_bpf::cfg::{Registers, Successors};
use callgate_bpf::{Alu, Insn, Op, Source};

use super::simplified::{Flow, NOTHING};

/// Runs the pass.
pub(super) fn backward(flow: &mut Flow) {
    for at in (0..flow.insns.len()).rev() {
        // Unreachable code has no effect on liveness elsewhere.
        if flow.edges[at] == 0 {
            flow.dest[at] = at as u16;
            continue;
        }
        let insn = flow.insns[at];
        let (after, next) = match insn.successors(at) {
            Successors::Jump(to) => {
                (flow.live[at], flow.dest[at]) = (flow.live[to], flow.dest[to]);
                continue;
            }
            Successors::Branch { taken, otherwise } => {
                let after = flow.live[taken].union(flow.live[otherwise]);
                (flow.live[at], flow.dest[at]) =
                    match simplify_branch(flow, at, insn, [taken, otherwise], after) {
                        true => (flow.live[otherwise], flow.dest[otherwise]),
                        // It may read less now.
                        false => (after.union(flow.insns[at].reads()), at as u16),
                    };
                continue;
            }
            Successors::Return => (Registers::NONE, at),
            Successors::Next(next) => (flow.live[next], next),
        };
        let written = insn.writes();
        let is_dead = !written.is_empty() && !after.intersects(written) && !may_end(flow, at);
        (flow.live[at], flow.dest[at]) = if is_dead {
            flow.insns[at] = NOTHING;
            (after, flow.dest[next])
        } else {
            (after.without(written).union(insn.reads()), at as u16)
        };
    }
}

/// Whether an instruction may end the program, which is an effect besides the register it writes.
fn may_end(flow: &Flow, at: usize) -> bool {
    match flow.insns[at].op {
        Op::DivX | Op::ModX => true,
        op => op.width().is_some() && !flow.succeeds(at),
    }
}

/// Turns a branch with one destination into a jump, and `and #m; jeq #0` into `jset #m` if A is dead
/// afterwards. Returns whether it became a jump.
fn simplify_branch(
    flow: &mut Flow,
    at: usize,
    insn: Insn,
    [taken, otherwise]: [usize; 2],
    after: Registers,
) -> bool {
    if flow.dest[taken] == flow.dest[otherwise] || is_decided_by_next(flow, insn, taken, otherwise)
    {
        flow.insns[at] = Insn::new(Op::Ja, insn.jf.into());
        return true;
    }
    let is_zero_test = insn.op == Op::JeqK && insn.k == 0;
    if !is_zero_test || flow.edges[at] != 1 || after.intersects(Registers::A) {
        return false;
    }
    let Some(before) = at.checked_sub(1).filter(|&before| flow.edges[before] > 0) else {
        return false;
    };
    let test = match flow.insns[before].arithmetic() {
        Some((Alu::And, Source::K(mask))) => Insn::branch(Op::JsetK, mask, insn.jf, insn.jt),
        Some((Alu::And, Source::X)) => Insn::branch(Op::JsetX, 0, insn.jf, insn.jt),
        _ => return false,
    };
    flow.insns[before] = NOTHING;
    flow.insns[at] = test;
    flow.notes[at] = flow.notes[before];
    false
}

/// Whether the comparison after this one sends equal values to the same destination, because they are not
/// equal to its constant.
fn is_decided_by_next(flow: &Flow, insn: Insn, taken: usize, otherwise: usize) -> bool {
    let next = flow.dest(otherwise);
    let test = flow.insns[next];
    (insn.op, test.op) == (Op::JeqK, Op::JeqK)
        && insn.k != test.k
        && flow.dest[taken] == flow.dest[next + 1 + usize::from(test.jf)]
}
