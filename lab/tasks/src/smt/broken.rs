//! Programs with one wrong instruction.

use callgate_bpf::random::Rng;
use callgate_core::{Insn, LongProgram, Op};

/// A program with one different instruction that the kernel accepts; `None` if none was found.
pub(crate) fn program(program: &LongProgram, rng: &mut Rng) -> Option<LongProgram> {
    const ATTEMPTS: usize = 64;
    for _ in 0..ATTEMPTS {
        let mut insns = program.insns().to_vec();
        let at = rng.below(insns.len());
        let insn = insns.get_mut(at)?;
        let before = *insn;
        change(insn, rng);
        if *insn == before {
            continue;
        }
        if let Ok(broken) = LongProgram::new(insns) {
            return Some(broken);
        }
    }
    None
}

fn change(insn: &mut Insn, rng: &mut Rng) {
    match (insn.op, rng.below(6)) {
        (Op::LdWordAbs, _) => insn.k = rng.below(16) as u32 * 4,
        (op, 0) if op.is_branch() => std::mem::swap(&mut insn.jt, &mut insn.jf),
        (op, 1) if op.is_branch() => insn.jt = insn.jt.wrapping_add(1),
        (op, 2) if op.is_branch() => insn.jf = insn.jf.wrapping_sub(1),
        (Op::JeqK, 3) => insn.op = Op::JgeK,
        (Op::JgeK, 3) => insn.op = Op::JgtK,
        (op, _) if op.uses_k() => {
            insn.k = match rng.below(3) {
                0 => insn.k.wrapping_add(1),
                1 => insn.k.wrapping_sub(1),
                _ => insn.k ^ 1 << rng.below(32),
            }
        }
        _ => *insn = Insn::new(Op::Txa, 0),
    }
}
