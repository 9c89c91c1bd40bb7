//! What is known at each instruction: which word A and X hold, which arch and which call the path has
//! established. One pass forward suffices, because jumps only go forward.
//!
//! This serves comments and names only; where paths with different knowledge meet, the knowledge is gone.

use super::insn::Insn;
use super::op::Op;
use super::program::LongProgram;
use crate::data::{Endian, Word};
use crate::syscalls::{Arch, X32_SYSCALL_BIT};

/// The indices of the instructions that a jump may go to next; what a branch does when its
/// condition holds first.
pub(super) fn targets(index: usize, insn: Insn) -> (usize, Option<usize>) {
    let skip = |distance: usize| (index + 1).saturating_add(distance);
    if insn.op.is_branch() {
        (skip(usize::from(insn.jt)), Some(skip(usize::from(insn.jf))))
    } else {
        (skip(insn.k as usize), None)
    }
}

/// What is known before an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// The word that A holds, unchanged, or the number without the bit of x32.
    pub(super) a: Option<Word>,
    /// The word that X holds, unchanged.
    pub(super) x: Option<Word>,
    /// What the path knows of the arch word.
    pub(super) arch: ArchKnown,
    /// The number that the path has established.
    pub(super) nr: Option<u32>,
}

/// What a path knows of the arch word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArchKnown {
    /// It has not looked.
    Untested,
    /// It is this token.
    Token(u32),
    /// It has looked, but only excluded some, or different paths have met.
    Other,
}

impl Known {
    const START: Known = Known { a: None, x: None, arch: ArchKnown::Untested, nr: None };

    fn meet(self, other: Known) -> Known {
        fn agree<T: PartialEq>(a: Option<T>, b: Option<T>) -> Option<T> {
            if a == b { a } else { None }
        }
        Known {
            a: agree(self.a, other.a),
            x: agree(self.x, other.x),
            arch: if self.arch == other.arch { self.arch } else { ArchKnown::Other },
            nr: agree(self.nr, other.nr),
        }
    }

    /// After `jeq #k`.
    fn after_equal(mut self, k: u32, equal: bool) -> Known {
        match self.a {
            Some(Word::ARCH) if equal => self.arch = ArchKnown::Token(k),
            Some(Word::ARCH) if self.arch == ArchKnown::Untested => self.arch = ArchKnown::Other,
            Some(Word::NR) if equal => self.nr = Some(k),
            _ => {}
        }
        self
    }
}

/// What is known before each instruction; `None` where no path leads.
pub(super) fn known(insns: &[Insn], endian: Endian) -> Vec<Option<Known>> {
    let mut known: Vec<Option<Known>> = vec![None; insns.len()];
    if let Some(first) = known.first_mut() {
        *first = Some(Known::START);
    }
    for (index, &insn) in insns.iter().enumerate() {
        let Some(mut here) = known.get(index).copied().flatten() else { continue };
        let mut reach = |at: usize, with: Known| {
            if let Some(there) = known.get_mut(at) {
                *there = Some(there.map_or(with, |before| before.meet(with)));
            }
        };
        match insn.op {
            Op::RetK | Op::RetA => {}
            Op::Ja => reach(targets(index, insn).0, here),
            Op::JeqK => {
                let (holds, fails) = targets(index, insn);
                reach(holds, here.after_equal(insn.k, true));
                reach(fails.unwrap_or(holds), here.after_equal(insn.k, false));
            }
            op if op.is_branch() => {
                let (holds, fails) = targets(index, insn);
                reach(holds, here);
                reach(fails.unwrap_or(holds), here);
            }
            op => {
                match op {
                    Op::LdWordAbs => here.a = Word::from_offset(insn.k, endian),
                    Op::Tax => here.x = here.a,
                    Op::Txa => here.a = here.x,
                    Op::LdxImm | Op::LdxLen | Op::LdxMem | Op::LdxMsh => here.x = None,
                    Op::St | Op::Stx => {}
                    // Without the bit of x32 it is the number of the same call, but for some.
                    Op::AndK if insn.k == !X32_SYSCALL_BIT && here.a == Some(Word::NR) => {}
                    _ => here.a = None,
                }
                reach(index + 1, here);
            }
        }
    }
    known
}

/// The architectures with whose tokens a program compares the arch, in the order of [`Arch::ALL`]; x32 is
/// one where x86-64 is, as they share it. Good enough to name numbers by: a program that keeps
/// the arch in scratch memory, or asks for it by order, compares it with none.
///
/// ```
/// use callgate::bpf::{Insn, Op, Program, compared_arches};
/// use callgate::{Arch, Endian};
///
/// let program = Program::new(vec![
///     Insn::new(Op::LdWordAbs, 4),                          // A = arch
///     Insn::branch(Op::JeqK, Arch::X86.token(), 0, 2),
///     Insn::new(Op::LdWordAbs, 0),                          // A = nr
///     Insn::branch(Op::JeqK, Arch::Arm.token(), 0, 0),
///     Insn::new(Op::RetK, 0),
/// ])?;
/// assert_eq!(compared_arches(&program, Endian::Little), [Arch::X86]);
/// # Ok::<(), callgate::bpf::ProgramError>(())
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
