//! The layout of the maps, of the stack, and of the kernel's structures that the eBPF programs use.

use crate::tally::MAX_PATH;

/// How many different values of an argument are stored; bounds describe the others.
pub(super) const SLOTS: i16 = callgate_trace::recording::MAX_VALUES as i16;
/// The length that indicates bounds.
pub(super) const OVERFULL: i32 = SLOTS as i32 + 1;
/// Words per argument: length, four bounds, values.
pub(super) const ARG_WORDS: i16 = 5 + SLOTS;
/// Words per syscall.
pub(super) const CALL_WORDS: i16 = 1 + 6 * ARG_WORDS;

/// States of a thread.
pub(super) mod state {
    /// After *leave*.
    pub(in super::super) const OUTSIDE: i32 = 0;
    /// Between *enter* and *leave*; also a new thread, which first leaves the syscall of its parent.
    pub(in super::super) const IN_SYSCALL: i32 = 1;
    /// Nothing is counted before its `execve`.
    pub(in super::super) const BEFORE_EXECVE: i32 = 2;
    /// Added by the recorder while it ran: it may be in a syscall whose start was not seen.
    pub(in super::super) const ATTACHED: i32 = 3;
    /// In an `execve`. If that succeeds, the thread joins the session of its cgroup.
    pub(in super::super) const JOINS: i32 = 4;
}

/// The number of a thread before its first `execve`, and of all threads of a session that does not count executables
/// apart.
pub(super) const NO_EXECUTABLE: i32 = 0;
/// The number of all executables beyond [`MAX_EXECUTABLES`](crate::MAX_EXECUTABLES), and of those whose path is not known:
/// each session has an entry with an empty path for them.
pub(super) const OTHERS: i32 = 1;
/// The first number that the programs assign. The recorder assigns smaller ones to executables that ran before.
pub(super) const FIRST_EXECUTABLE: i32 = 1 << 24;

/// How many levels of cgroups are searched for a recorded one.
pub(crate) const CGROUP_LEVELS: i32 = 16;

/// Words per cgroup: session, key of values.
pub(super) const CGROUP_WORDS: usize = 2;

/// Words per thread: state, session, key of values, executable.
pub(super) const THREAD_WORDS: usize = 4;

/// Bytes of the path of an executable, with the zero byte at its end; longer paths are cut.
pub(super) const PATH_BYTES: usize = MAX_PATH + 1;

/// Bytes of a key of executables: session, path.
pub(super) const EXECUTABLE_KEY: usize = 8 + PATH_BYTES;

/// Words per executable: its number in the session, how often it was executed.
pub(super) const EXECUTABLE_WORDS: usize = 2;

/// Bytes of the key of a counter: ABI, syscall number, executable.
pub(super) const COUNTER_KEY: usize = 16;

/// Words per session.
pub(super) mod session {
    /// The second argument of the syscall that adds the first thread.
    pub(in super::super) const SECRET: i16 = 0;
    /// Argument values are stored xor this.
    pub(in super::super) const KEY: i16 = 1;
    /// Syscalls without room in the map.
    pub(in super::super) const LOST: i16 = 2;
    /// New processes.
    pub(in super::super) const PROCESSES: i16 = 3;
    /// New threads, including main threads.
    pub(in super::super) const THREADS: i16 = 4;
    /// Threads without room in the map.
    pub(in super::super) const UNSEEN: i16 = 5;
    /// Threads that have ended.
    pub(in super::super) const ENDED: i16 = 6;
    /// Syscalls that a filter denied.
    pub(in super::super) const DENIED: i16 = 7;
    /// Whether executables are counted apart.
    pub(in super::super) const SPLIT: i16 = 8;
    /// How many paths were executed that had no number.
    pub(in super::super) const EXECUTABLES: i16 = 9;
    /// Counters of single executables so far.
    pub(in super::super) const PAIRS: i16 = 10;
    /// How many of them there may be. The rest of the map is for syscalls that are counted without an executable.
    pub(in super::super) const MAX_PAIRS: i16 = 11;
    /// Syscalls that were counted without their executable, because there were too many counters.
    pub(in super::super) const UNSPLIT: i16 = 12;
    /// Processes of the cgroup that did not join by their `execve`, because the map of threads had no room.
    pub(in super::super) const UNJOINED: i16 = 13;
    /// The number of words.
    pub(in super::super) const ALL: usize = 14;
}

/// Descriptors of the maps.
#[derive(Clone, Copy)]
pub(super) struct Maps {
    /// Thread → state, session, key of values, executable.
    pub(super) threads: i32,
    /// Session → words of [`session`].
    pub(super) sessions: i32,
    /// Session → its map of counters.
    pub(super) syscalls: i32,
    /// Cgroup → session, key of values.
    pub(super) cgroups: i32,
    /// Session and path → number, executions.
    pub(super) executables: i32,
    /// A value of a map of counters, all zero.
    pub(super) zero: i32,
}

/// Offsets in the kernel's structures.
#[derive(Clone, Copy)]
pub(super) struct Offsets {
    /// In `task_struct`.
    pub(super) pid: i16,
    pub(super) tgid: i16,
    /// `thread_info.status` in `task_struct`.
    pub(super) status: i16,
    /// In `task_struct`.
    pub(super) exit_code: i16,
    pub(super) flags: i16,
    /// In `linux_binprm`: the path as it was given to `execve`, for a script that of the script.
    pub(super) filename: i16,
}

/// `TS_COMPAT` of `arch/x86/include/asm/thread_info.h`: the task is in a syscall of the 32-bit ABI.
pub(super) const TS_COMPAT: i32 = 2;
/// `PF_SIGNALED` of `include/linux/sched.h`: the task ends by a signal, as its whole process does.
pub(super) const PF_SIGNALED: i32 = 0x400;

/// Offsets of registers in `struct pt_regs` of x86-64, which has the layout of ptrace's registers.
pub(super) mod regs {
    pub(in super::super) const ORIG_AX: i16 = 120;
    /// The arguments in the 64-bit ABI.
    pub(in super::super) const ARGS: [i16; 6] = [112, 104, 96, 56, 72, 64];
    /// The arguments in the 32-bit ABI: bx, cx, dx, si, di, bp.
    pub(in super::super) const COMPAT_ARGS: [i16; 6] = [40, 88, 96, 104, 112, 32];
}

/// Stack slots.
pub(super) mod stack {
    /// ABI, syscall number and executable: the key of a counter.
    pub(in super::super) const SYSCALL: i16 = -16;
    pub(in super::super) const ARGS: i16 = -64;
    /// A key of four bytes.
    pub(in super::super) const SMALL: i16 = -72;
    pub(in super::super) const THREAD: i16 = -80;
    /// A value of the map of threads: state, session, key of values, executable.
    pub(in super::super) const STATE: i16 = -112;
    pub(in super::super) const SESSION: i16 = -104;
    pub(in super::super) const KEY: i16 = -96;
    pub(in super::super) const EXECUTABLE: i16 = -88;
    /// The number of a cgroup.
    pub(in super::super) const CGROUP: i16 = -120;
    /// A value of the map of executables: number, executions.
    pub(in super::super) const NEW_EXECUTABLE: i16 = -136;
    /// A key of the map of executables: session, path.
    pub(in super::super) const PATH_KEY: i16 = NEW_EXECUTABLE - super::EXECUTABLE_KEY as i16;
}
