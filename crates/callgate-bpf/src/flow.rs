//! A forward analysis for comments in listings: which words A and X hold, and which arch and syscall
//! number the path has established. Where paths with different facts meet, the facts are dropped.

use super::cfg::{Facts, Forward, Registers, Successors};
use super::insn::Insn;
use super::op::Op;
use super::program::LongProgram;
use crate::data::{Endian, Word};
use crate::syscalls::{Arch, X32_SYSCALL_BIT};

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

/// The architectures whose tokens a program compares with the arch by `jeq`, in the order of
/// [`Arch::ALL`]. x32 and x86-64 share a token, so they occur together. This is a heuristic: comparisons
/// of an arch that was kept in scratch memory are not found.
///
/// ```
/// use callgate_bpf::{Insn, Op, Program, compared_arches};
/// use callgate_bpf::{Arch, Endian};
///
/// let program = Program::new(vec![
///     Insn::new(Op::LdWordAbs, 4),                          // A = arch
///     Insn::branch(Op::JeqK, Arch::X86.token(), 0, 2),
///     Insn::new(Op::LdWordAbs, 0),                          // A = nr
///     Insn::branch(Op::JeqK, Arch::Arm.token(), 0, 0),
///     Insn::new(Op::RetK, 0),
/// ])?;
/// assert_eq!(compared_arches(&program, Endian::Little), [Arch::X86]);
/// # Ok::<(), callgate_bpf::ProgramError>(())
/// ```
pub fn compared_arches(program: &LongProgram, endian: Endian) -> Vec<Arch> {
    let known = known(program.insns(), endian);
    let tokens: Vec<u32> = program
        .insns()
        .iter()
        .zip(known)
        .filter(|(insn, known)| {
            insn.op == Op::JeqK && known.is_some_and(|known| known.a == Some(Word::ARCH))
        })
        .map(|(insn, _)| insn.k)
        .collect();
    Arch::ALL.iter().copied().filter(|arch| tokens.contains(&arch.token())).collect()
}
