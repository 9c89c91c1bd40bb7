//! Denials, and what else a log contains.

use crate::recording::SyscallId;

/// The maximum number of distinct denials that are kept.
pub const MAX_DENIALS: usize = 4096;

/// The maximum number of programs that are kept for a denial.
pub(super) const MAX_PROGRAMS: usize = 16;

/// Why a line counts as a denial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
    /// A filter denied the syscall.
    Filter,
    /// It failed with this error number, perhaps for another reason.
    Failed(u16),
    /// It did not return, perhaps for another reason.
    NoReturn,
}

/// A syscall in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LoggedCall {
    /// The syscall.
    pub syscall: SyscallId,
    /// The arguments that the log contains. Of those of which the kernel reads 32 bits, only these are known.
    pub args: [Option<u64>; 6],
    /// Why it counts as a denial.
    pub evidence: Evidence,
}

/// A distinct denial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The syscall, with the arguments that matter.
    pub call: LoggedCall,
    /// How often it was denied.
    pub count: u64,
    /// The programs and how often each was denied, as far as the log tells; the most frequent first.
    pub programs: Vec<(String, u64)>,
    /// Denials of programs that were not kept, because there are too many.
    pub others: u64,
}

/// Records that are not denials of a known syscall.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// How many.
    pub count: u64,
    /// The line of the first one, and the reason.
    pub first: Option<(u64, String)>,
}

/// The denials in a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DenialLog {
    /// The most frequent first.
    pub denials: Vec<Denial>,
    /// The number of lines.
    pub lines: u64,
    /// Records of syscalls that were logged and executed.
    pub logged: u64,
    /// Records that could not be read.
    pub unread: Unread,
    /// Denials beyond [`MAX_DENIALS`] distinct ones.
    pub lost: u64,
}
