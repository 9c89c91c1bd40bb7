//! Why the kernel would refuse a program: every violation, with the limit and the given value.

use std::fmt;

use super::insn::RawInsn;
use super::{MAX_INSNS, SCRATCH_WORDS};
use crate::data::{Endian, SECCOMP_DATA_SIZE};

/// How many violations [`ProgramError`] prints; the rest is counted.
const PRINTED: usize = 5;

/// A program that the kernel would refuse, with every violation found.
///
/// A program of a wrong length (no instruction, more than 4,096, bytes that end inside an
/// instruction) is reported for that alone; otherwise every instruction has been looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramError {
    violations: Vec<Violation>,
    hint: Option<Hint>,
}

/// What the bytes probably are instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hint {
    /// A program in this byte order.
    ByteOrder(Endian),
    /// Text.
    Text,
    /// Nothing in particular: most of the instructions are unknown.
    Other,
}

impl ProgramError {
    pub(super) fn new(violations: Vec<Violation>) -> ProgramError {
        ProgramError { violations, hint: None }
    }

    pub(super) fn with_hint(self, hint: Option<Hint>) -> ProgramError {
        ProgramError { hint, ..self }
    }

    /// All violations, in the order of the instructions. Never empty.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// What to do about the input as a whole, when there is something to say: the other byte
    /// order, or that it is text.
    pub fn hint(&self) -> Option<&'static str> {
        self.hint.map(|hint| match hint {
            Hint::ByteOrder(Endian::Big) => {
                "in big-endian byte order this is a program: give `--endian big`"
            }
            Hint::ByteOrder(Endian::Little) => {
                "in little-endian byte order this is a program: give `--endian little`"
            }
            Hint::Other => "most of these instructions are unknown: this is no classic BPF",
            Hint::Text => "these bytes are text: read them as `bpftext:`, or as a profile",
        })
    }
}

impl fmt::Display for ProgramError {
    /// One line per violation, the first few of them, then how many more there are, then the hint.
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

/// One thing that the kernel refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    kind: Kind,
    place: Option<(usize, RawInsn)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Empty,
    TooLong { insns: usize, limit: usize },
    Truncated { bytes: usize },
    UnknownCode,
    NotInSeccomp,
    LoadUnaligned,
    LoadOutside,
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
    pub(super) fn of_program(kind: Kind) -> Violation {
        Violation { kind, place: None }
    }

    pub(super) fn at(index: usize, insn: RawInsn, kind: Kind) -> Violation {
        Violation { kind, place: Some((index, insn)) }
    }

    /// Which instruction, from 0; `None` when it is about the program as a whole.
    pub fn index(&self) -> Option<usize> {
        self.place.map(|(index, _)| index)
    }

    /// The instruction itself.
    pub fn insn(&self) -> Option<RawInsn> {
        self.place.map(|(_, insn)| insn)
    }

    /// A stable name of the rule that is violated, for machines and tests: `empty`, `too-long`,
    /// `truncated`, `unknown-code`, `not-in-seccomp`, `load-unaligned`, `load-outside`,
    /// `unknown-ancillary`, `division-by-zero`, `shift-too-far`, `scratch-outside`, `scratch-unset`,
    /// `jump-outside`, `branch-outside`, `no-return`.
    pub fn rule(&self) -> &'static str {
        match self.kind {
            Kind::Empty => "empty",
            Kind::TooLong { .. } => "too-long",
            Kind::Truncated { .. } => "truncated",
            Kind::UnknownCode => "unknown-code",
            Kind::NotInSeccomp => "not-in-seccomp",
            Kind::LoadUnaligned => "load-unaligned",
            Kind::LoadOutside => "load-outside",
            Kind::UnknownAncillary => "unknown-ancillary",
            Kind::DivisionByZero => "division-by-zero",
            Kind::ShiftTooFar => "shift-too-far",
            Kind::ScratchOutside => "scratch-outside",
            Kind::ScratchUnset => "scratch-unset",
            Kind::JumpOutside { .. } => "jump-outside",
            Kind::BranchOutside { .. } => "branch-outside",
            Kind::NoReturn => "no-return",
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
            Kind::Empty => write!(
                f,
                "the program has no instruction; the kernel takes 1 to {MAX_INSNS}, the last a `ret`"
            ),
            Kind::TooLong { insns, limit: MAX_INSNS } => write!(
                f,
                "the program has {insns} instructions, the kernel takes at most {MAX_INSNS}; \
                 `callgate optimize` may make it smaller, or split it into several filters"
            ),
            Kind::TooLong { insns, limit } => write!(
                f,
                "the program has {insns} instructions, at most {limit} are read; the kernel takes at \
                 most {MAX_INSNS}"
            ),
            Kind::Truncated { bytes } => write!(
                f,
                "the program has {bytes} bytes: {} instructions of {} bytes and {} bytes of another; \
                 it was cut off or is no program",
                bytes / RawInsn::SIZE,
                RawInsn::SIZE,
                bytes % RawInsn::SIZE
            ),
            Kind::UnknownCode => {
                write!(f, "no instruction of classic BPF has the code {code:#04x}")
            }
            Kind::NotInSeccomp => f.write_str(
                "socket filters have this instruction, seccomp filters do not; they load words at \
                 constant offsets only and have no `mod`",
            ),
            Kind::LoadUnaligned => write!(
                f,
                "offset {k} is no multiple of 4; a seccomp filter loads whole words of seccomp_data, \
                 at 0, 4, ... {}",
                SECCOMP_DATA_SIZE - 4
            ),
            Kind::LoadOutside => write!(
                f,
                "offset {k} is outside of seccomp_data, which has {SECCOMP_DATA_SIZE} bytes; the last \
                 word is at {}",
                SECCOMP_DATA_SIZE - 4
            ),
            Kind::UnknownAncillary => write!(
                f,
                "offset {k:#x} is {} bytes into the kernel's ancillary data, where nothing is; known \
                 are the multiples of 4 from 0 to 60",
                k.wrapping_sub(super::ancillary::SKF_AD_OFF)
            ),
            Kind::DivisionByZero => f.write_str("division by the constant 0"),
            Kind::ShiftTooFar => {
                write!(f, "shift by {k} bits; the kernel takes 0 to 31")
            }
            Kind::ScratchOutside => write!(
                f,
                "there is no scratch word {k}; there are {SCRATCH_WORDS}, M[0] to M[{}]",
                SCRATCH_WORDS - 1
            ),
            Kind::ScratchUnset => write!(
                f,
                "M[{k}] is read, but not written on every way here (a way that the kernel sees runs on \
                 after a `ret`, too); write it first with `st` or `stx`"
            ),
            Kind::JumpOutside { target, last } => {
                write!(f, "jump by {k} to instruction {target}; the last one is {last}")
            }
            Kind::BranchOutside { holds, target, last } => write!(
                f,
                "jump to instruction {target} when the condition {}; the last one is {last}",
                if holds { "holds" } else { "does not hold" }
            ),
            Kind::NoReturn => {
                f.write_str("the last instruction must be a `ret`, so that no way runs off the end")
            }
        }
    }
}
