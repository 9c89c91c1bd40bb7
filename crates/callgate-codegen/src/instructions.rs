//! The instructions that generated programs may contain.
//!
//! [`Instructions::allows`] is the only description of the sets. Each place of the code generator that chooses an
//! instruction outside of [`Instructions::Basic`] asks this module, and [`generate`](crate::generate()) refuses to
//! return a program with any other instruction.

use callgate_core::Op;

/// The instructions that generated programs may contain.
///
/// A seccomp filter may use nearly all of classic BPF, but programs that read filters know less of it: simulators such
/// as libseccomp's `scmp_bpf_sim`, translators to other machines, and verifiers that were written for the programs of
/// one compiler. [`Basic`](Instructions::Basic) is for these. The kernel runs both kinds alike.
///
/// # Cost
///
/// The built-in container profile without weights; the last two columns are the mean number of executed instructions per
/// syscall:
///
/// | architectures | aim | `All` | `Basic` | executed, `All` | executed, `Basic` |
/// |---|---|--:|--:|--:|--:|
/// | x86-64, x86, x32 | speed | 192 | 202 | 8.83 | 8.86 |
/// | x86-64, x86, x32 | size | 179 | 188 | 10.56 | 10.60 |
/// | x86-64 | speed | 71 | 78 | 8.76 | 8.79 |
/// | x86-64 | size | 64 | 71 | 9.56 | 9.60 |
///
/// This is printed by `callgate compile container-default --arch x86_64 --kernel 6.18 --stats -o filter.bpf`, with
/// `--arch x86 --arch x32`, `--optimize size` and `--instructions basic`. Arguments that are compared with many masks cost
/// most: each mask overwrites A, so the next one loads the argument again. 1,000 random policies with conditions on one
/// argument need a third more instructions; 2,000 other random policies 7 % more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Instructions {
    /// All that the kernel accepts.
    #[default]
    All,
    /// The instructions that libseccomp's own simulator `scmp_bpf_sim` executes: `ld` of a word, `and` and `or` with a
    /// constant, `jeq`, `jgt` and `jge` with a constant, `ja`, and `ret` of a constant. Without `jset`, the X register,
    /// scratch memory and shifts.
    Basic,
}

impl Instructions {
    /// All sets.
    pub const ALL: &'static [Instructions] = &[Instructions::All, Instructions::Basic];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Instructions::All => "all",
            Instructions::Basic => "basic",
        }
    }

    /// Whether programs may contain this operation.
    ///
    /// ```
    /// use callgate_core::Op;
    /// use callgate_codegen::Instructions;
    ///
    /// assert!(Instructions::All.allows(Op::JsetK));
    /// assert!(!Instructions::Basic.allows(Op::JsetK));
    /// assert!(Instructions::Basic.allows(Op::JeqK));
    /// ```
    pub const fn allows(self, op: Op) -> bool {
        match self {
            Instructions::All => op.in_seccomp(),
            Instructions::Basic => matches!(
                op,
                Op::LdWordAbs
                    | Op::AndK
                    | Op::OrK
                    | Op::Ja
                    | Op::JeqK
                    | Op::JgtK
                    | Op::JgeK
                    | Op::RetK
            ),
        }
    }

    /// Whether programs may test with one instruction whether a value shares a bit with a mask.
    pub(crate) fn allows_jset(self) -> bool {
        self.allows(Op::JsetK)
    }

    /// Whether programs may contain bitset tests.
    pub(crate) fn allows_bitset_tests(self) -> bool {
        BITSET_TEST.iter().all(|op| self.allows(*op))
    }
}

/// The operations of a bitset test.
const BITSET_TEST: [Op; 5] = [Op::SubK, Op::Tax, Op::LdImm, Op::RshX, Op::JsetK];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instruction_is_in_the_set_of_the_kernel() {
        for op in Op::ALL.iter().copied() {
            assert_eq!(Instructions::All.allows(op), op.in_seccomp(), "{op:?}");
            assert!(op.in_seccomp() || !Instructions::Basic.allows(op), "{op:?}");
        }
    }

    /// By code, as `bpf_execute` in libseccomp's `tools/scmp_bpf_sim.c` compares them.
    #[test]
    fn basic_instructions_are_those_of_scmp_bpf_sim() {
        let codes = (0..=u16::MAX)
            .filter(|code| Op::from_code(*code).is_some_and(|op| Instructions::Basic.allows(op)));
        let expected = [0x05, 0x06, 0x15, 0x20, 0x25, 0x35, 0x44, 0x54];
        assert_eq!(codes.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn basic_programs_have_no_masks_in_one_instruction() {
        assert!(Instructions::All.allows_jset() && Instructions::All.allows_bitset_tests());
        assert!(!Instructions::Basic.allows_jset() && !Instructions::Basic.allows_bitset_tests());
    }
}
