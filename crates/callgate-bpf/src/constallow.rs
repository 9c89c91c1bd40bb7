//! Constant allow: the syscalls for which the kernel skips all filters.
//!
//! Since Linux 5.11 the kernel emulates every new filter for each native and compat syscall number, with
//! only the arch and the number known. Syscalls that every installed filter allows in this emulation
//! never run a filter again.
//!
//! Source: `kernel/seccomp.c`, `seccomp_is_const_allow`, re-implemented exactly: it supports `ld [nr]`,
//! `ld [arch]`, `ja`, branches on constants, `and #k` and `ret #k`. Any other instruction on the path
//! makes the verdict not constant, and so does any return value other than `SECCOMP_RET_ALLOW` without
//! data.

use super::insn::Insn;
use super::op::Op;
use super::program::LongProgram;
use crate::data::{Endian, Word};
use crate::verdict::Verdict;

/// Whether the kernel caches that this syscall is allowed, and does not run the filter for it.
///
/// The kernel only does so for numbers in its table for the arch (never for x32 numbers, which have a high
/// bit); this function accepts any number.
///
/// ```
/// use callgate_bpf::{Insn, Op, Program, is_constant_allow};
///
/// let program = Program::new(vec![
///     Insn::new(Op::LdWordAbs, 0),
///     Insn::branch(Op::JeqK, 39, 1, 0),
///     Insn::new(Op::LdWordAbs, 16),
///     Insn::new(Op::RetK, 0x7fff_0000),
/// ])?;
/// assert!(is_constant_allow(&program, 0xc000_003e, 39));
/// assert!(!is_constant_allow(&program, 0xc000_003e, 40), "an argument is loaded on the path");
/// # Ok::<(), callgate_bpf::ProgramError>(())
/// ```
pub fn is_constant_allow(program: &LongProgram, arch_token: u32, nr: u32) -> bool {
    let insns = program.insns();
    insns
        .get(emulate(insns, arch_token, nr))
        .is_some_and(|insn| insn.op == Op::RetK && insn.k == Verdict::ALLOW.0)
}

/// The index of the instruction at which the emulation of a syscall ends: a return, or an instruction that
/// the emulator does not support.
pub fn emulate(insns: &[Insn], arch_token: u32, nr: u32) -> usize {
    emulate_observed(insns, arch_token, nr, |_, _| ())
}

/// As [`emulate`]; `observe` gets each instruction before the last one, and A before it.
#[inline(always)]
pub fn emulate_observed(
    insns: &[Insn],
    arch_token: u32,
    nr: u32,
    mut observe: impl FnMut(Insn, u32),
) -> usize {
    // Equal in both byte orders.
    const NR: u32 = Word::NR.offset(Endian::Little);
    const ARCH: u32 = Word::ARCH.offset(Endian::Little);
    let mut index = 0usize;
    let mut a = 0u32;
    while let Some(insn) = insns.get(index) {
        let (k, before) = (insn.k, a);
        let branch = |holds| usize::from(if holds { insn.jt } else { insn.jf });
        let skipped = match insn.op {
            Op::Ja => k as usize,
            Op::JeqK => branch(a == k),
            Op::JgtK => branch(a > k),
            Op::JgeK => branch(a >= k),
            Op::JsetK => branch(a & k != 0),
            op => {
                match op {
                    Op::LdWordAbs if k == NR => a = nr,
                    Op::LdWordAbs if k == ARCH => a = arch_token,
                    Op::AndK => a &= k,
                    _ => break,
                }
                0
            }
        };
        observe(*insn, before);
        index = index.saturating_add(1).saturating_add(skipped);
    }
    index
}

#[cfg(test)]
mod tests {
    use super::super::Insn;
    use super::*;

    const ALLOW: Insn = Insn::new(Op::RetK, Verdict::ALLOW.0);
    const NR: Insn = Insn::new(Op::LdWordAbs, 0);

    fn cached(insns: &[Insn], arch: u32, nr: u32) -> bool {
        is_constant_allow(&LongProgram::new(insns.to_vec()).unwrap(), arch, nr)
    }

    #[test]
    fn supported_instructions_are_emulated() {
        let kill = Insn::new(Op::RetK, 0);
        let arch = [Insn::new(Op::LdWordAbs, 4), Insn::branch(Op::JeqK, 9, 0, 1), ALLOW, kill];
        assert!(cached(&arch, 9, 1) && !cached(&arch, 8, 1));
        for (op, yes, no) in
            [(Op::JeqK, 6, 7), (Op::JgeK, 6, 5), (Op::JgtK, 7, 6), (Op::JsetK, 2, 0xffff_fff9)]
        {
            let on_true = [NR, Insn::branch(op, 6, 1, 0), kill, ALLOW];
            assert!(cached(&on_true, 0, yes) && !cached(&on_true, 0, no), "{op:?}");
            let on_false = [NR, Insn::branch(op, 6, 0, 1), kill, ALLOW];
            assert!(!cached(&on_false, 0, yes) && cached(&on_false, 0, no), "{op:?}");
        }
        let masked = [NR, Insn::new(Op::AndK, 0xf), Insn::branch(Op::JeqK, 3, 1, 0), kill, ALLOW];
        assert!(cached(&masked, 0, 0xf3) && !cached(&masked, 0, 0xf4));
        assert!(cached(&[Insn::new(Op::Ja, 1), kill, ALLOW], 0, 0));
        assert!(cached(&[Insn::branch(Op::JeqK, 0, 1, 0), kill, ALLOW], 0, 5), "A starts as 0");
    }

    #[test]
    fn only_allow_without_data_is_constant_allow() {
        for verdict in [Verdict(Verdict::ALLOW.0 | 1), Verdict::LOG, Verdict::errno(0)] {
            assert!(!cached(&[Insn::new(Op::RetK, verdict.0)], 0, 0), "{verdict}");
        }
        assert!(cached(&[ALLOW], 0, 0));
    }

    /// None of these changes the verdict, but they are on the path.
    #[test]
    fn other_instructions_on_the_path_end_the_emulation() {
        let known = [
            Op::JeqK,
            Op::JgeK,
            Op::JgtK,
            Op::JsetK,
            Op::AndK,
            Op::Ja,
            Op::RetK,
            // Not acceptable as the first instruction.
            Op::LdMem,
            Op::LdxMem,
        ];
        for &op in Op::ALL.iter().filter(|op| op.in_seccomp() && !known.contains(op)) {
            let insn = match op {
                Op::LdWordAbs => Insn::new(op, 8),
                op => Insn::new(op, 1),
            };
            assert!(!cached(&[insn, ALLOW], 0, 0), "{op:?}");
        }
        assert!(!cached(&[Insn::new(Op::St, 0), Insn::new(Op::LdMem, 0), ALLOW], 0, 0));
        let after = [NR, Insn::branch(Op::JeqK, 1, 1, 0), Insn::new(Op::LdWordAbs, 16), ALLOW];
        assert!(cached(&after, 0, 1) && !cached(&after, 0, 2), "only on the path of that syscall");
    }
}
