//! Denials, and what else a log contains.

use callgate_core::Verdict;

use crate::recording::{Caveat, SyscallId};

/// The maximum number of distinct denials that are kept.
pub const MAX_DENIALS: usize = 4096;

/// The maximum number of programs that are kept for a denial, and of verdicts.
pub(super) const MAX_PROGRAMS: usize = 16;

/// The maximum number of unread lines that are kept.
pub(super) const MAX_UNREAD: usize = 5;

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
    /// The arguments that the log contains. If the kernel reads only 32 bits of an argument, the others are not known.
    pub args: [Option<u64>; 6],
    /// Why it counts as a denial.
    pub evidence: Evidence,
    /// Whether a 32-bit kernel wrote it (`compat=0`), and not a 64-bit one about a 32-bit program.
    pub is_of_narrow_kernel: bool,
}

impl LoggedCall {
    /// A syscall that a filter denied, about which nothing else is known.
    pub(super) fn denied(syscall: SyscallId) -> LoggedCall {
        let evidence = Evidence::Filter;
        LoggedCall { syscall, args: [None; 6], evidence, is_of_narrow_kernel: false }
    }
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
    /// What the filter returned, as far as the log tells, without the data of the action; the most frequent first.
    pub verdicts: Vec<(Verdict, u64)>,
    /// Whether the log says that the process got `SIGSYS`, which only KILL and TRAP send.
    pub has_signal: bool,
}

/// Lines that look like denials, and could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// How many.
    pub count: u64,
    /// The first of them.
    pub lines: Vec<UnreadLine>,
}

/// A line that looks like a denial, and could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadLine {
    /// The number of the line.
    pub line: u64,
    /// Why it could not be read.
    pub why: String,
    /// The start of the line.
    pub text: String,
}

/// A security module of the kernel that denies accesses, not syscalls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecurityModule {
    /// AppArmor.
    AppArmor,
    /// SELinux.
    Selinux,
    /// Smack.
    Smack,
    /// Landlock.
    Landlock,
}

impl SecurityModule {
    /// The name for people.
    pub const fn name(self) -> &'static str {
        match self {
            SecurityModule::AppArmor => "AppArmor",
            SecurityModule::Selinux => "SELinux",
            SecurityModule::Smack => "Smack",
            SecurityModule::Landlock => "Landlock",
        }
    }

    /// The identifier in JSON, which does not change.
    pub const fn id(self) -> &'static str {
        match self {
            SecurityModule::AppArmor => "apparmor",
            SecurityModule::Selinux => "selinux",
            SecurityModule::Smack => "smack",
            SecurityModule::Landlock => "landlock",
        }
    }
}

/// The denials by a security module, which no seccomp filter is the reason of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherDenials {
    /// The module.
    pub module: SecurityModule,
    /// How many.
    pub count: u64,
    /// The number of the first line.
    pub line: u64,
    /// What the first one denied: the operation and the profile, or what corresponds to them.
    pub what: String,
    /// The start of the first line.
    pub text: String,
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
    /// These syscalls and how often each was logged, the most frequent first; at most [`MAX_DENIALS`].
    pub logged_calls: Vec<(SyscallId, u64)>,
    /// Lines that look like denials, and could not be read.
    pub unread: Unread,
    /// Denials and logged syscalls that the [selection](crate::Selection) leaves out: of other programs, or without a name.
    pub unselected: u64,
    /// Whether any line was recognized: an audit record of any type, a line of the kernel's log, a syscall of strace, or a report
    /// of a denial. Otherwise the log cannot tell whether anything was denied.
    pub is_recognized: bool,
    /// Whether a line is one of the kernel's log or of the audit log, which have the denials of all programs.
    pub is_of_kernel: bool,
    /// Whether denials are those of crash dumps of Android, whose filter for apps is the reason.
    pub is_of_android: bool,
    /// Denials by security modules, in the order of the log.
    pub other: Vec<OtherDenials>,
    /// Audit records of syscalls that failed. No filter denied them: the kernel writes such a record only for a syscall that the
    /// filters let through.
    pub failed: u64,
    /// Reports of denials that do not name the architecture.
    pub assumed_arch: u64,
    /// Denials of which only the innermost function of a stack tells the syscall.
    pub from_stacks: u64,
    /// The first line that says that a container runtime could not install its filter, which denied nothing then.
    pub not_installed: Option<UnreadLine>,
    /// What the log says about records that were lost.
    pub lost_records: Option<Caveat>,
    /// Denials beyond [`MAX_DENIALS`] distinct ones.
    pub lost: u64,
}

/// The maximum length of the text of a line that is kept.
const MAX_TEXT: usize = 160;

/// The part of a line that is kept, to show it.
pub(super) fn kept(text: &str) -> String {
    text.trim().chars().take(MAX_TEXT).collect()
}
