//! Instructions with patches, and the removal of unreachable ones.

use callgate_core::template::Patch;
use callgate_core::{Insn, Op};

/// Instructions, and the patches of those that compare with variables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// The instructions; there may be more than the kernel accepts.
    pub insns: Vec<Insn>,
    /// The patches, in no particular order.
    pub patches: Vec<Patch>,
}

/// Removes unreachable instructions: returns of which only trampolines are used. Displacements only decrease.
pub(super) fn remove_unreachable(program: Program) -> Program {
    let Program { mut insns, mut patches } = program;
    let mut live = vec![false; insns.len()];
    // The number of live instructions before each.
    let mut before = Vec::with_capacity(insns.len() + 1);
    before.push(0);
    if let Some(first) = live.first_mut() {
        *first = true;
    }
    for (at, insn) in insns.iter().enumerate() {
        before.push(before[at] + usize::from(live[at]));
        if !live[at] {
            continue;
        }
        let targets = match insn.op {
            op if op.is_branch() => [Some(usize::from(insn.jt)), Some(usize::from(insn.jf))],
            Op::Ja => [Some(insn.k as usize), None],
            op if op.is_return() => [None, None],
            _ => [Some(0), None],
        };
        for target in targets.into_iter().flatten() {
            if let Some(live) = live.get_mut(at + 1 + target) {
                *live = true;
            }
        }
    }
    if live.iter().all(|live| *live) {
        return Program { insns, patches };
    }
    for (at, insn) in insns.iter_mut().enumerate().filter(|(at, _)| live[*at]) {
        let distance = |old: usize| before[at + 1 + old] - before[at + 1];
        if insn.op.is_branch() {
            insn.jt = distance(usize::from(insn.jt)) as u8;
            insn.jf = distance(usize::from(insn.jf)) as u8;
        } else if insn.op == Op::Ja {
            insn.k = distance(insn.k as usize) as u32;
        }
    }
    patches.retain(|patch| live[patch.insn]);
    for patch in &mut patches {
        patch.insn = before[patch.insn];
    }
    let mut live = live.into_iter();
    insns.retain(|_| live.next().unwrap_or(true));
    Program { insns, patches }
}
