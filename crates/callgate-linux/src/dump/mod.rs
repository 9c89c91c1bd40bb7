//! Reads the filters of another thread from the kernel.
//!
//! Filters belong to threads. [`dump`] stops a thread for some microseconds, reads its filters one by one,
//! byte for byte as they were installed, and lets the thread continue: a signal that arrived meanwhile is
//! delivered, and a thread that SIGSTOP had stopped stays stopped. A thread of its own does all of this,
//! because the kernel detaches a tracer that ends, whatever went wrong.
//!
//! Syscalls that the stop interrupts continue afterwards, and no sleep gets longer; on x86-64 this holds even if
//! a filter denies `restart_syscall` (`resume.rs` says how, and what is lost). The exceptions are those
//! that `signal(7)` names under "Interruption of system calls and library functions by stop signals"
//! (`epoll_wait`, `semop`, `sigtimedwait`, `read` of an inotify descriptor): they fail with EINTR, as after
//! SIGSTOP and SIGCONT.
//!
//! Limit: LOG is the only flag of a filter that the kernel shows.
//!
//! Sources: `kernel/seccomp.c`, `seccomp_get_filter`, `get_nth_filter` and `seccomp_get_metadata`;
//! `ptrace(2)`; `proc_pid_status(5)`.

mod error;
mod read;
#[cfg(target_arch = "x86_64")]
mod resume;
mod tracee;

pub use error::DumpError;
pub use read::{Dump, InstalledFilter, dump};
