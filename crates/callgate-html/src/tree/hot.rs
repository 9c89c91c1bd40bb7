//! The hot path of a program.

use callgate::compile::Execution;
use callgate_core::LongProgram;
use callgate_core::cfg::Successors;

/// The instructions of the path that follows the more frequent side of each branch.
pub(crate) fn hot_path(program: &LongProgram, weighted: &Execution) -> Vec<usize> {
    let mut path = Vec::new();
    let mut next = Some(0);
    while let Some((at, insn)) = next.and_then(|at| Some((at, *program.insns().get(at)?))) {
        path.push(at);
        next = match insn.successors(at) {
            Successors::Return => None,
            Successors::Next(next) | Successors::Jump(next) => Some(next),
            Successors::Branch { taken, otherwise } => {
                let share = weighted.insns.get(at).copied().unwrap_or_default();
                Some(if share.taken * 2.0 > share.executed { taken } else { otherwise })
            }
        };
    }
    path
}
