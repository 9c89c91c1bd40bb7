//! Records by eBPF: small programs at the kernel's tracepoints count syscalls in maps.
//!
//! The recorder reads the maps at the end, and receives nothing while the command runs, so a busy machine loses
//! nothing. Recording adds about 300 ns to a syscall. Tracepoints belong to the whole machine, so all other
//! syscalls get slower by nearly as much; recorders share their programs ([`set`]), so several cost no more than
//! one. What exceeds a limit is counted as lost: more than [`MAX_SYSCALLS`] different syscalls, more than
//! [`set::MAX_THREADS`] threads at a time.
//!
//! Before the `execve`, the process of the command makes syscalls that must appear in the maps. Otherwise this
//! method does not work on this machine, and the recorder reports that.
//!
//! Limits: x86-64; Linux 5.15 with BTF and cgroups (CONFIG_CGROUPS), CAP_BPF and CAP_PERFMON.

mod asm;
mod attached;
mod btf;
mod error;
mod kernel;
mod layout;
mod living;
#[cfg(test)]
mod mounted;
mod programs;
mod recorder;
mod seed;
mod session;
mod set;

pub(super) use attached::Attached;
pub(super) use error::BpfError;
pub(super) use layout::CGROUP_LEVELS;
pub(super) use recorder::Recorder;
