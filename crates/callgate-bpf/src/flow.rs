//! A forward analysis for comments in listings: which words A and X hold, and which arch and syscall
//! number the path has established. Where paths with different facts meet, the facts are dropped.

use callgate_core::cfg::{Facts, Forward, Registers, Successors};
use callgate_core::{Arch, Endian, Insn, LongProgram, Op, Word, X32_SYSCALL_BIT};

/// Facts before an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PathFacts {
    /// The word that A holds, unchanged, or the syscall number without the x32 bit.
    pub(super) a: Option<Word>,
    /// The word that X holds, unchanged.
    pub(super) x: Option<Word>,
    /// What the path has established about the arch.
    pub(super) arch: ArchKnown,
    /// The syscall number that the path has established.
    pub(super) nr: Option<u32>,
}

/// What a path has established about the arch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArchKnown {
    /// The arch was not tested.
    Untested,
    /// The arch has this token.
    Token(u32),
    /// Only some tokens are excluded, or different paths have met.
    Other,
}

impl PathFacts {
    const START: PathFacts = PathFacts { a: None, x: None, arch: ArchKnown::Untested, nr: None };

    /// After `jeq #k`.
    fn after_equal(mut self, k: u32, equal: bool) -> PathFacts {
        match self.a {
            Some(Word::ARCH) if equal => self.arch = ArchKnown::Token(k),
            Some(Word::ARCH) if self.arch == ArchKnown::Untested => self.arch = ArchKnown::Other,
            Some(Word::NR) if equal => self.nr = Some(k),
            _ => {}
        }
        self
    }
}

impl Facts for PathFacts {
    fn join(&mut self, other: &PathFacts) {
        fn agree<T: PartialEq>(a: &mut Option<T>, b: &Option<T>) {
            if *a != *b {
                *a = None;
            }
        }
        agree(&mut self.a, &other.a);
        agree(&mut self.x, &other.x);
        agree(&mut self.nr, &other.nr);
        if self.arch != other.arch {
            self.arch = ArchKnown::Other;
        }
    }
}

/// The facts before each instruction; `None` for unreachable instructions.
pub(super) fn known(insns: &[Insn], endian: Endian) -> Vec<Option<PathFacts>> {
    let mut analysis = Forward::new(insns.len(), PathFacts::START);
    let mut known = Vec::with_capacity(insns.len());
    for (index, &insn) in insns.iter().enumerate() {
        let here = analysis.take(index);
        known.push(here);
        let Some(mut after) = here else { continue };
        match insn.op {
            Op::LdWordAbs => after.a = Word::from_offset(insn.k, endian),
            Op::Tax => after.x = after.a,
            Op::Txa => after.a = after.x,
            // Without the x32 bit it is, with few exceptions, the number of the same syscall.
            Op::AndK if insn.k == !X32_SYSCALL_BIT && after.a == Some(Word::NR) => {}
            _ if insn.writes() == Registers::A => after.a = None,
            _ if insn.writes() == Registers::X => after.x = None,
            _ => {}
        }
        match insn.successors(index) {
            Successors::Branch { taken, otherwise } if insn.op == Op::JeqK => {
                analysis.arrive(taken, &after.after_equal(insn.k, true));
                analysis.arrive(otherwise, &after.after_equal(insn.k, false));
            }
            successors => successors.into_iter().for_each(|next| analysis.arrive(next, &after)),
        }
    }
    known
}

/// The tokens that a program compares with the arch by `jeq`, with the facts before each instruction.
pub(super) fn arch_tests(insns: &[Insn], known: &[Option<PathFacts>]) -> impl Iterator<Item = u32> {
    let tests = insns.iter().zip(known).filter(|(insn, known)| {
        insn.op == Op::JeqK && known.is_some_and(|known| known.a == Some(Word::ARCH))
    });
    tests.map(|(insn, _)| insn.k)
}

/// The architectures whose tokens a program compares with the arch by `jeq`, in the order of
/// [`Arch::ALL`]. x32 and x86-64 share a token, so they occur together. This is a heuristic: comparisons
/// of an arch that was kept in scratch memory are not found.
///
/// ```
/// use callgate_bpf::compared_arches;
/// use callgate_core::{Insn, Op, Program};
/// use callgate_core::{Arch, Endian};
///
/// let program = Program::new(vec![
///     Insn::new(Op::LdWordAbs, 4),                          // A = arch
///     Insn::branch(Op::JeqK, Arch::X86.token(), 0, 2),
///     Insn::new(Op::LdWordAbs, 0),                          // A = nr
///     Insn::branch(Op::JeqK, Arch::Arm.token(), 0, 0),
///     Insn::new(Op::RetK, 0),
/// ])?;
/// assert_eq!(compared_arches(&program, Endian::Little), [Arch::X86]);
/// # Ok::<(), callgate_core::ProgramError>(())
/// ```
pub fn compared_arches(program: &LongProgram, endian: Endian) -> Vec<Arch> {
    let known = known(program.insns(), endian);
    let tokens: Vec<u32> = arch_tests(program.insns(), &known).collect();
    Arch::ALL.iter().copied().filter(|arch| tokens.contains(&arch.token())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NR: Insn = Insn::new(Op::LdWordAbs, 0);
    const ARCH: Insn = Insn::new(Op::LdWordAbs, 4);
    const RET: Insn = Insn::new(Op::RetK, 0);

    const fn jeq(k: u32, jt: u8, jf: u8) -> Insn {
        Insn::branch(Op::JeqK, k, jt, jf)
    }

    /// The facts before an instruction.
    fn before(index: usize, insns: &[Insn]) -> PathFacts {
        known(insns, Endian::Little)[index].unwrap()
    }

    #[test]
    fn registers_hold_the_word_that_was_loaded_last() {
        let (nr, arch) = (Some(Word::NR), Some(Word::ARCH));
        let (tax, txa) = (Insn::new(Op::Tax, 0), Insn::new(Op::Txa, 0));
        for (mut insns, a, x) in [
            (vec![NR, tax, ARCH], arch, nr),
            (vec![NR, tax, ARCH, txa], nr, nr),
            (vec![NR, tax, Insn::new(Op::St, 0)], nr, nr),
            (vec![NR, tax, Insn::new(Op::AddK, 1)], None, nr),
            (vec![NR, tax, Insn::new(Op::LdxImm, 1)], nr, None),
            (vec![ARCH, tax, Insn::new(Op::LdImm, 1)], None, arch),
            (vec![ARCH, txa], None, None),
            // The x32 bit does not count as part of the number.
            (vec![NR, Insn::new(Op::AndK, 0xbfff_ffff)], nr, None),
            (vec![NR, Insn::new(Op::AndK, 0x4000_0000)], None, None),
            (vec![ARCH, Insn::new(Op::AndK, 0xbfff_ffff)], None, None),
        ] {
            insns.push(RET);
            let facts = before(insns.len() - 1, &insns);
            assert_eq!((facts.a, facts.x), (a, x), "{insns:?}");
        }
    }

    #[test]
    fn only_equality_establishes_the_arch_and_the_number() {
        let arch = [ARCH, jeq(7, 0, 1), RET, RET];
        assert_eq!(before(2, &arch).arch, ArchKnown::Token(7));
        assert_eq!(before(3, &arch).arch, ArchKnown::Other);
        let number = [NR, jeq(59, 0, 1), RET, RET];
        assert_eq!((before(2, &number).nr, before(3, &number).nr), (Some(59), None));
        let at_least = [NR, Insn::branch(Op::JgeK, 59, 0, 1), RET, RET];
        assert_eq!((before(2, &at_least).nr, before(3, &at_least).nr), (None, None));
    }

    #[test]
    fn an_arch_stays_known_when_another_is_excluded() {
        let insns = [ARCH, jeq(7, 0, 2), jeq(9, 1, 0), RET, RET];
        assert_eq!(before(3, &insns).arch, ArchKnown::Token(7));
    }

    #[test]
    fn where_paths_meet_only_common_facts_remain() {
        let tax = Insn::new(Op::Tax, 0);
        let same = [NR, tax, jeq(1, 0, 0), RET];
        let PathFacts { a, x, arch, nr } = before(3, &same);
        assert_eq!((a, x), (Some(Word::NR), Some(Word::NR)));
        assert_eq!((arch, nr), (ArchKnown::Untested, None));
        let different = [NR, jeq(1, 0, 2), tax, ARCH, RET];
        let PathFacts { a, x, nr, .. } = before(4, &different);
        assert_eq!((a, x, nr), (None, None, None));
        let arches = [ARCH, jeq(7, 1, 0), jeq(9, 0, 1), RET, RET];
        assert_eq!(before(3, &arches).arch, ArchKnown::Other);
    }

    #[test]
    fn compared_arches_are_those_whose_token_is_compared_with_the_arch() {
        let arches = |insns: &[Insn]| {
            compared_arches(&LongProgram::new(insns.to_vec()).unwrap(), Endian::Little)
        };
        let (x86, arm) = (Arch::X86.token(), Arch::Arm.token());
        let both = [ARCH, jeq(x86, 0, 1), RET, jeq(Arch::X86_64.token(), 0, 0), RET];
        assert_eq!(arches(&both), [Arch::X86_64, Arch::X86, Arch::X32]);
        let at_least = [ARCH, Insn::branch(Op::JgeK, arm, 0, 0), RET];
        assert_eq!(arches(&at_least), []);
        assert_eq!(arches(&[NR, jeq(arm, 0, 0), RET]), []);
    }
}
