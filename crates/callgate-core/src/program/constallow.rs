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

use super::alu::{Relation, slack_within};
use super::insn::Insn;
use super::op::Op;
use super::program::LongProgram;
use crate::{Endian, Verdict, Word};

/// Whether the kernel caches that this syscall is allowed, and does not run the filter for it.
///
/// The kernel only does so for numbers in its table for the arch (never for x32 numbers, which have a high
/// bit); this function accepts any number.
///
/// ```
/// use callgate_core::{Insn, Op, Program, is_constant_allow};
///
/// let program = Program::new(vec![
///     Insn::new(Op::LdWordAbs, 0),
///     Insn::branch(Op::JeqK, 39, 1, 0),
///     Insn::new(Op::LdWordAbs, 16),
///     Insn::new(Op::RetK, 0x7fff_0000),
/// ])?;
/// assert!(is_constant_allow(&program, 0xc000_003e, 39));
/// assert!(!is_constant_allow(&program, 0xc000_003e, 40), "an argument is loaded on the path");
/// # Ok::<(), callgate_core::ProgramError>(())
/// ```
pub fn is_constant_allow(program: &LongProgram, arch_token: u32, nr: u32) -> bool {
    Emulator::new(program.insns()).is_constant_allow(arch_token, nr)
}

/// The emulation of a syscall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emulation {
    /// The index of the instruction at which it ends: a return, or an instruction that the emulator does not support.
    pub end: usize,
    /// The number of instructions up to that one, included.
    pub executed: usize,
    /// All numbers of the arch from the emulated one up to this one take the same path.
    pub last: u32,
}

/// Emulates a program for many syscalls. Consecutive numbers of an arch mostly take the same path, which is followed
/// once.
///
/// ```
/// use callgate_core::{Emulator, Insn, Op};
///
/// let insns = [Insn::new(Op::LdWordAbs, 0), Insn::branch(Op::JgeK, 39, 0, 1), Insn::new(Op::RetK, 0x7fff_0000)];
/// let mut emulator = Emulator::new(&insns);
/// assert_eq!(emulator.emulate(0xc000_003e, 7).last, 38, "all below 39 do the same");
/// assert!((39..100).all(|nr| emulator.is_constant_allow(0xc000_003e, nr)));
/// ```
pub struct Emulator<'p> {
    insns: &'p [Insn],
    /// The last syscall that was emulated.
    known: Option<(u32, u32, Emulation)>,
}

impl<'p> Emulator<'p> {
    /// For these instructions.
    pub fn new(insns: &'p [Insn]) -> Emulator<'p> {
        Emulator { insns, known: None }
    }

    /// As [`is_constant_allow`].
    #[inline]
    pub fn is_constant_allow(&mut self, arch_token: u32, nr: u32) -> bool {
        self.insns
            .get(self.emulate(arch_token, nr).end)
            .is_some_and(|insn| insn.op == Op::RetK && insn.k == Verdict::ALLOW.0)
    }

    /// The emulation of a syscall.
    #[inline]
    pub fn emulate(&mut self, arch_token: u32, nr: u32) -> Emulation {
        match self.known {
            Some((token, first, known))
                if token == arch_token && (first..=known.last).contains(&nr) =>
            {
                known
            }
            _ => {
                let emulation = emulate(self.insns, arch_token, nr);
                self.known = Some((arch_token, nr, emulation));
                emulation
            }
        }
    }
}

fn emulate(insns: &[Insn], arch_token: u32, nr: u32) -> Emulation {
    // Equal in both byte orders.
    const NR: u32 = Word::NR.offset(Endian::Little);
    const ARCH: u32 = Word::ARCH.offset(Endian::Little);
    let (mut index, mut executed) = (0usize, 1);
    let mut a = 0u32;
    // How far the number may increase without another path, if A depends on it.
    let (mut slack, mut is_number) = (u32::MAX, false);
    while let Some(insn) = insns.get(index) {
        let k = insn.k;
        let branch = |relation: Relation| {
            let skipped = if relation.holds(a, k) { insn.jt } else { insn.jf };
            (relation.slack(a, k), usize::from(skipped))
        };
        let (further, skipped) = match insn.op {
            Op::JeqK => branch(Relation::Equal),
            Op::JgtK => branch(Relation::Greater),
            Op::JgeK => branch(Relation::AtLeast),
            Op::JsetK => branch(Relation::Shares),
            Op::Ja => (u32::MAX, k as usize),
            Op::LdWordAbs if k == NR || k == ARCH => {
                is_number = k == NR;
                a = if is_number { nr } else { arch_token };
                (u32::MAX, 0)
            }
            Op::AndK => {
                // What is masked increases like the number.
                let further = slack_within(a, k.trailing_ones());
                a &= k;
                (further, 0)
            }
            _ => break,
        };
        slack = if is_number { slack.min(further) } else { slack };
        executed += 1;
        index = index.saturating_add(1).saturating_add(skipped);
    }
    Emulation { end: index, executed, last: nr.saturating_add(slack) }
}

#[cfg(test)]
mod tests {
    use super::super::Insn;
    use super::*;
    use crate::SeccompData;
    use callgate_bpf::random::Rng;

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

    /// Comparisons of the arch and the number, masked or not, in any order.
    #[test]
    fn all_numbers_of_an_emulation_take_the_same_path() {
        let mut rng = Rng::new(1);
        let (mut constant, mut numbers) = (0, 0);
        for _ in 0..500 {
            let mut insns = vec![Insn::new(Op::LdWordAbs, 0)];
            for left in (2..20).rev() {
                let k = rng.below(40) as u32;
                let [jt, jf] = [(); 2].map(|()| rng.below(left) as u8);
                insns.push(match rng.below(9) {
                    0 => Insn::new(Op::LdWordAbs, [0, 4, 4, 16][k as usize % 4]),
                    1 => Insn::new(Op::AndK, k),
                    _ => {
                        let op = rng.pick(&[Op::JeqK, Op::JgtK, Op::JgeK, Op::JsetK]).unwrap();
                        Insn::branch(op, k, jt, jf)
                    }
                });
            }
            insns.extend([0, 1].map(|value| Insn::new(Op::RetK, value)));
            let program = LongProgram::new(insns).unwrap();
            let mut emulator = Emulator::new(program.insns());
            for nr in 0..48 {
                let emulation = emulate(program.insns(), 9, nr);
                let known = emulator.emulate(9, nr);
                assert_eq!((known.end, known.executed), (emulation.end, emulation.executed));
                if program.insns()[emulation.end].op != Op::RetK {
                    continue;
                }
                constant += 1;
                for same in (nr..=emulation.last).take_while(|nr| *nr < 64) {
                    let data = SeccompData { arch: 9, nr: same, ..SeccompData::default() };
                    let run = program.run(&data, Endian::NATIVE);
                    assert_eq!(run.executed, emulation.executed, "{same} as {nr}: {program:?}");
                    numbers += 1;
                }
            }
        }
        assert!(constant > 5_000 && numbers > 2 * constant, "{constant} {numbers}");
    }
}
