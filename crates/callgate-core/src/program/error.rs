//! Violations of the kernel's acceptance rules, with the limit and the given value.

use std::fmt;

use super::insn::RawInsn;
use super::limits::{MAX_INSNS, SCRATCH_WORDS};
use crate::{Endian, Layout};

/// How many violations [`ProgramError`] prints; the others are counted.
const PRINTED: usize = 5;

/// The error for a program that the kernel would refuse, with every violation.
///
/// A wrong length (no instructions, more than 4,096, or bytes that end inside an instruction) is reported
/// alone; otherwise every instruction is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramError {
    violations: Vec<Violation>,
    hint: Option<ProgramHint>,
}

/// What a program that is refused may be instead, or what to do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramHint {
    /// A program in this byte order.
    ByteOrder(Endian),
    /// Text.
    Text,
    /// Unknown: most of the opcodes are invalid.
    Other,
    /// A program that is too long for the kernel.
    Shorten,
}

impl ProgramError {
    pub(super) fn new(violations: Vec<Violation>) -> ProgramError {
        ProgramError { violations, hint: None }
    }

    pub(super) fn with_hint(self, hint: Option<ProgramHint>) -> ProgramError {
        ProgramError { hint, ..self }
    }

    /// All violations, in the order of the instructions. Never empty.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// Advice about the input as a whole, if there is any: the other byte order, or that it is text.
    pub fn hint(&self) -> Option<ProgramHint> {
        let limit =
            |one: &Violation| matches!(one.kind, ViolationKind::TooLong { limit: MAX_INSNS, .. });
        let is_too_long = self.violations.iter().any(limit);
        self.hint.or(is_too_long.then_some(ProgramHint::Shorten))
    }
}

impl fmt::Display for ProgramHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProgramHint::ByteOrder(Endian::Big) => {
                "in big-endian byte order this is a valid program: read it in this order"
            }
            ProgramHint::ByteOrder(Endian::Little) => {
                "in little-endian byte order this is a valid program: read it in this order"
            }
            ProgramHint::Other => "most of these opcodes are unknown: this is not classic BPF",
            ProgramHint::Shorten => "optimize it, or split it into several filters",
            ProgramHint::Text => {
                "these bytes are text: read them as a program as text, or as a profile"
            }
        })
    }
}

impl fmt::Display for ProgramError {
    /// One line for each of the first violations, then the number of others, then the hint.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, violation) in self.violations.iter().take(PRINTED).enumerate() {
            if nth > 0 {
                f.write_str("\n")?;
            }
            violation.fmt(f)?;
        }
        if let Some(more @ 1..) = self.violations.len().checked_sub(PRINTED) {
            write!(f, "\nand {more} more violations")?;
        }
        if let Some(hint) = self.hint() {
            write!(f, "\n{hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ProgramError {}

/// One violation of an acceptance rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    kind: ViolationKind,
    place: Option<(usize, RawInsn)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ViolationKind {
    Empty,
    TooLong { insns: usize, limit: usize },
    Truncated { bytes: usize },
    UnknownCode,
    NotInFilter(Layout),
    LoadUnaligned(Layout),
    LoadOutside(Layout),
    UnknownAncillary,
    DivisionByZero,
    ShiftTooFar,
    ScratchOutside,
    ScratchUnset,
    JumpOutside { target: usize, last: usize },
    BranchOutside { holds: bool, target: usize, last: usize },
    NoReturn,
}

impl Violation {
    pub(super) fn of_program(kind: ViolationKind) -> Violation {
        Violation { kind, place: None }
    }

    pub(super) fn at(index: usize, insn: RawInsn, kind: ViolationKind) -> Violation {
        Violation { kind, place: Some((index, insn)) }
    }

    /// The index of the instruction; `None` if it is about the program as a whole.
    pub fn index(&self) -> Option<usize> {
        self.place.map(|(index, _)| index)
    }

    /// The instruction itself.
    pub fn insn(&self) -> Option<RawInsn> {
        self.place.map(|(_, insn)| insn)
    }

    /// A stable name of the violated rule, for programs and tests: `empty`, `too-long`,
    /// `truncated`, `unknown-code`, `not-in-seccomp`, `not-in-io-uring`, `load-unaligned`, `load-outside`,
    /// `unknown-ancillary`, `division-by-zero`, `shift-too-far`, `scratch-outside`, `scratch-unset`,
    /// `jump-outside`, `branch-outside`, `no-return`.
    pub fn rule(&self) -> &'static str {
        match self.kind {
            ViolationKind::Empty => "empty",
            ViolationKind::TooLong { .. } => "too-long",
            ViolationKind::Truncated { .. } => "truncated",
            ViolationKind::UnknownCode => "unknown-code",
            ViolationKind::NotInFilter(Layout::IoUring(_)) => "not-in-io-uring",
            ViolationKind::NotInFilter(_) => "not-in-seccomp",
            ViolationKind::LoadUnaligned(_) => "load-unaligned",
            ViolationKind::LoadOutside(_) => "load-outside",
            ViolationKind::UnknownAncillary => "unknown-ancillary",
            ViolationKind::DivisionByZero => "division-by-zero",
            ViolationKind::ShiftTooFar => "shift-too-far",
            ViolationKind::ScratchOutside => "scratch-outside",
            ViolationKind::ScratchUnset => "scratch-unset",
            ViolationKind::JumpOutside { .. } => "jump-outside",
            ViolationKind::BranchOutside { .. } => "branch-outside",
            ViolationKind::NoReturn => "no-return",
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RawInsn { code, k, .. } = self.insn().unwrap_or_default();
        if let Some((index, insn)) = self.place {
            write!(f, "instruction {index} (`{insn}`): ")?;
        }
        match self.kind {
            ViolationKind::Empty => write!(
                f,
                "the program is empty; the kernel accepts 1 to {MAX_INSNS} instructions, the last a `ret`"
            ),
            ViolationKind::TooLong { insns, limit: MAX_INSNS } => write!(
                f,
                "the program has {insns} instructions; the kernel accepts at most {MAX_INSNS}"
            ),
            ViolationKind::TooLong { insns, limit } => write!(
                f,
                "the program has {insns} instructions; at most {limit} can be read, and the kernel \
                 accepts at most {MAX_INSNS}"
            ),
            ViolationKind::Truncated { bytes } => write!(
                f,
                "the program has {bytes} bytes: {} instructions of {} bytes and {} more bytes; \
                 it is truncated or not a program",
                bytes / RawInsn::SIZE,
                RawInsn::SIZE,
                bytes % RawInsn::SIZE
            ),
            ViolationKind::UnknownCode => {
                write!(f, "{code:#04x} is not an opcode of classic BPF")
            }
            ViolationKind::NotInFilter(layout) => {
                f.write_str("only socket filters may use this instruction; ")?;
                f.write_str(match layout {
                    Layout::IoUring(_) => "io_uring filters",
                    _ => "seccomp filters",
                })?;
                f.write_str(" load words at constant offsets only and have no `mod`")
            }
            ViolationKind::LoadUnaligned(layout) => write!(
                f,
                "offset {k} is not a multiple of 4; {} loads whole words of {}, at offsets 0, 4, ..., {}",
                layout.a_filter(),
                layout.structure(),
                layout.size() - 4
            ),
            ViolationKind::LoadOutside(layout) => write!(
                f,
                "offset {k} is outside {}, which has {} bytes; the last word is at offset {}",
                layout.structure(),
                layout.size(),
                layout.size() - 4
            ),
            ViolationKind::UnknownAncillary => write!(
                f,
                "offset {k:#x} is not an ancillary word: it is {} bytes into the ancillary data, \
                 which has words at multiples of 4 from 0 to 60",
                k.wrapping_sub(super::ancillary::SKF_AD_OFF)
            ),
            ViolationKind::DivisionByZero => f.write_str("division by the constant 0"),
            ViolationKind::ShiftTooFar => {
                write!(f, "shift by {k} bits; the kernel accepts 0 to 31")
            }
            ViolationKind::ScratchOutside => write!(
                f,
                "scratch word {k} does not exist; there are {SCRATCH_WORDS}, M[0] to M[{}]",
                SCRATCH_WORDS - 1
            ),
            ViolationKind::ScratchUnset => write!(
                f,
                "M[{k}] is read, but not written on every path to here (for the kernel, a path \
                 continues after a `ret`); write it first with `st` or `stx`"
            ),
            ViolationKind::JumpOutside { target, last } => {
                write!(f, "jump by {k} to instruction {target}; the last instruction is {last}")
            }
            ViolationKind::BranchOutside { holds, target, last } => write!(
                f,
                "branch to instruction {target} when the condition {}; the last instruction is {last}",
                if holds { "holds" } else { "does not hold" }
            ),
            ViolationKind::NoReturn => {
                f.write_str("the last instruction is not a `ret`; every path must end with one")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::op::Op;

    #[test]
    fn messages_show_the_instruction_the_limit_and_the_given_value() {
        use ViolationKind::*;
        for (op, k, kind, message) in [
            (
                Op::LdHalfAbs,
                2,
                NotInFilter(Layout::Seccomp),
                "ldh [2]`): only socket filters may use this",
            ),
            (
                Op::LdWordAbs,
                6,
                LoadUnaligned(Layout::Seccomp),
                "ld [6]`): offset 6 is not a multiple of 4",
            ),
            (
                Op::LdWordAbs,
                68,
                LoadOutside(Layout::Seccomp),
                "ld [68]`): offset 68 is outside seccomp_data",
            ),
            (
                Op::LdByteAbs,
                0xffff_f041,
                UnknownAncillary,
                "offset 0xfffff041 is not an ancillary word: it is 65 bytes into",
            ),
            (Op::DivK, 0, DivisionByZero, "div #0x0`): division by the constant 0"),
            (
                Op::LshK,
                33,
                ShiftTooFar,
                "lsh #0x21`): shift by 33 bits; the kernel accepts 0 to 31",
            ),
            (
                Op::St,
                16,
                ScratchOutside,
                "st M[16]`): scratch word 16 does not exist; there are 16, M[0] to M[15]",
            ),
            (Op::LdMem, 3, ScratchUnset, "ld M[3]`): M[3] is read, but not written on every path"),
            (
                Op::Ja,
                9,
                JumpOutside { target: 17, last: 12 },
                "ja +9`): jump by 9 to instruction 17; the last instruction is 12",
            ),
            (
                Op::JeqK,
                5,
                BranchOutside { holds: false, target: 17, last: 12 },
                "branch to instruction 17 when the condition does not hold; the last instruction is 12",
            ),
            (Op::Tax, 0, NoReturn, "tax`): the last instruction is not a `ret`"),
        ] {
            let insn = RawInsn { code: op.code(), jt: 0, jf: 0, k };
            let violation = Violation::at(7, insn, kind);
            assert_eq!((violation.index(), violation.insn()), (Some(7), Some(insn)));
            let text = violation.to_string();
            assert!(text.starts_with("instruction 7 (`") && text.contains(message), "{text}");
        }
        let unknown = RawInsn { code: 0x26, ..RawInsn::default() };
        assert_eq!(
            Violation::at(0, unknown, UnknownCode).to_string(),
            "instruction 0 (`{ 0x26, 0, 0, 0x00000000 }`): 0x26 is not an opcode of classic BPF"
        );
    }

    #[test]
    fn a_violation_of_the_whole_program_has_no_instruction() {
        use ViolationKind::*;
        for (kind, message) in [
            (Empty, "the program is empty; the kernel accepts 1 to 4096 instructions"),
            (
                TooLong { insns: 4097, limit: 4096 },
                "the program has 4097 instructions; the kernel accepts at most 4096",
            ),
            (
                TooLong { insns: 65_537, limit: 65_536 },
                "the program has 65537 instructions; at most 65536 can be read",
            ),
            (
                Truncated { bytes: 19 },
                "the program has 19 bytes: 2 instructions of 8 bytes and 3 more bytes",
            ),
        ] {
            let violation = Violation::of_program(kind);
            assert_eq!((violation.index(), violation.insn()), (None, None));
            assert!(violation.to_string().starts_with(message), "{violation}");
        }
    }
}
