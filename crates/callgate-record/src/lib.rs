//! Part of the command `callgate`, without a stable interface.
//!
//! Records the syscalls of a command and of everything that it starts, or of running processes.
//!
//! Three methods produce the same recording ([`RecordMethod`]):
//!
//! - [`Tracepoint`](RecordMethod::Tracepoint): eBPF programs at the kernel's tracepoints count syscalls. Adds about
//!   0.3 µs to each recorded syscall and slightly less to all other syscalls of the machine. Needs root (CAP_BPF
//!   and CAP_PERFMON), x86-64, Linux 5.15, and a kernel with type information (BTF).
//! - [`Listener`](RecordMethod::Listener): each syscall waits for the listener of a seccomp filter, and ptrace
//!   reports processes that start, end and receive signals. Adds some microseconds. Needs no privilege, x86-64,
//!   and Linux 6.6. A process has at most one filter with a listener, so the command cannot use one itself.
//! - [`Stops`](RecordMethod::Stops): ptrace stops each syscall. Slower than a listener in most cases. Needs no
//!   privilege and Linux 5.3.
//!
//! The recording starts with the `execve` of the command and ends when all of its processes have ended, including
//! those that outlive the command. [`Run::lost`](callgate_trace::recording::Run::lost) counts syscalls that could not
//! be recorded.
//!
//! [`attach_to`] records processes that run already, by tracepoint, and does not disturb them: no process is stopped,
//! and no signal is sent.
//!
//! ```no_run
//! use callgate_linux::Command;
//! use callgate_record::{RecordMethod, exit_status, record};
//!
//! let command = Command::find(&["ls".into(), "-l".into()])?;
//! let recorded = record(&command, vec!["ls".into(), "-l".into()], &RecordMethod::ALL)?;
//! println!("{} syscalls, status {}", recorded.recording.total(), exit_status(recorded.status));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bpf;
mod error;
mod note;
mod ptrace;
mod record;
mod running;
mod save;
mod signals;
mod start;
mod tally;
mod tracer;

pub use error::RecordError;
pub use note::{Note, RecordMethod};
pub use ptrace::{CaughtFilter, MAX_CAUGHT};
pub use record::{Caught, Recorders, attach_to, catch, record, record_to};
pub use running::{AttachTarget, Cgroup, RunningProcess, TargetError};
pub use save::{ExecutableRecording, Recorded, Save, ended_by, exit_status};
pub use tally::{MAX_EXECUTABLES, MAX_SYSCALLS, MAX_THREADS};
