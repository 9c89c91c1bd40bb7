//! Records by ptrace. Processes stop for the recorder when they start, end or receive a signal, and each syscall
//! waits for the recorder.
//!
//! The command runs under a filter of one instruction, so that each syscall is reported once, before it is executed
//! (strace without `--seccomp-bpf` also stops at its end). A notification
//! ([`Mark::Listener`](crate::start::Mark), `ret USER_NOTIF`) costs less than a stop (`Mark::Stops`, `ret TRACE`),
//! unless all processors are busy (lab/results/recording.md).
//!
//! Another filter may deny a syscall, and the most severe verdict wins, so the recorder would not see it. As soon as
//! the command installs a filter, all processes therefore also stop at the start and the end of each syscall, and
//! syscalls are counted at their start, before any filter runs. If the recorder itself runs under a filter, as in a
//! container, the command inherits it, and this applies from the beginning.
//!
//! Job control remains with the shell (`PTRACE_LISTEN`), signals are delivered unchanged, and processes that
//! outlive the command are waited for.
//!
//! Limits: as with strace, the command cannot trace itself, and set-user-ID programs run without their privileges
//! unless the recorder is root. If `SECCOMP_FILTER_FLAG_TSYNC` gives a filter to another thread, a syscall that
//! this thread makes at the same moment may be missed if the new filter denies it. With notifications, the command
//! cannot use a listener itself, and syscalls that its own filters trace or log are executed.
//!
//! Sources: ptrace(2), seccomp_unotify(2), `kernel/ptrace.c`, `kernel/seccomp.c`,
//! `kernel/entry/syscall-common.c`.

mod affinity;
mod installed;
mod interrupted;
mod listener;
mod record;
mod session;
mod sigchld_waker;

pub(super) use installed::Installed;
pub use installed::{CaughtFilter, MAX_CAUGHT};
pub(super) use record::{catch, record};
