//! The methods of recording.

/// How syscalls are observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordMethod {
    /// By eBPF programs at the kernel's tracepoint `sys_enter`.
    Tracepoint,
    /// By seccomp notifications: each syscall waits until the listener of a filter lets it continue.
    Listener,
    /// By ptrace: each syscall stops for the tracer.
    Stops,
}

impl RecordMethod {
    /// All of them, the fastest first.
    pub const ALL: [RecordMethod; 3] =
        [RecordMethod::Tracepoint, RecordMethod::Listener, RecordMethod::Stops];
    /// Those that need no privilege, the fastest first.
    pub const PTRACE: [RecordMethod; 2] = [RecordMethod::Listener, RecordMethod::Stops];
}
