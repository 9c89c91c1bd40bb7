//! The syscalls that the program that installs the filter makes itself, between installing the filter and the first
//! instruction of the command. A recording of the command does not have them.
//!
//! Sources: for runc, `libcontainer/standard_init_linux.go`, `init_linux.go` (`finalizeNamespace`) and
//! `setns_init_linux.go` of the development branch after 1.5.0-rc.1, and runs of 1.1.5 under strace; for crun,
//! `container_init`, `apply_security_settings` and `exec_process_entrypoint` of `src/libcrun/container.c` of 1.8.1, 1.14, 1.20
//! and 1.29.1, and runs of 1.8.1 under strace. Both were run with and without `noNewPrivileges`, as
//! root and as another user, with and without capabilities. Without `noNewPrivileges` they install the
//! filter first, and then set capabilities and IDs. The syscalls that the Go runtime may make at any time are in
//! the `sys_linux_*.s` of its source; runc uses cgo, so glibc starts its threads. For systemd, the
//! set `@default` of systemd 252, which systemd adds to every allowlist (systemd.exec(5)); later versions extend
//! it. nsjail and `callgate run` install the filter last and execute the command.

/// The program that installs the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// runc or crun: the profile starts under either.
    Oci,
    /// runc, the default of Docker, containerd and Kubernetes.
    Runc,
    /// crun, the default of Podman and CRI-O.
    Crun,
    /// systemd.
    Systemd,
    /// nsjail.
    Nsjail,
    /// `callgate run`.
    Callgate,
    /// The recorded program itself, or a program that needs no further syscalls.
    None,
}

/// A syscall that a runtime makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeededSyscall {
    /// The syscall.
    pub name: &'static str,
    /// The values of the argument that can be limited; `None` if it needs any value, or none can be limited.
    pub values: Option<&'static [u64]>,
}

/// A syscall that is needed with any values.
pub(super) const fn any(name: &'static str) -> NeededSyscall {
    NeededSyscall { name, values: None }
}

/// A syscall that is needed with these values.
pub(super) const fn only(name: &'static str, values: &'static [u64]) -> NeededSyscall {
    NeededSyscall { name, values: Some(values) }
}

impl Runtime {
    /// All runtimes.
    pub const ALL: &'static [Runtime] = &[
        Runtime::Oci,
        Runtime::Runc,
        Runtime::Crun,
        Runtime::Systemd,
        Runtime::Nsjail,
        Runtime::Callgate,
        Runtime::None,
    ];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Runtime::Oci => "oci",
            Runtime::Runc => "runc",
            Runtime::Crun => "crun",
            Runtime::Systemd => "systemd",
            Runtime::Nsjail => "nsjail",
            Runtime::Callgate => "callgate",
            Runtime::None => "none",
        }
    }

    /// The runtime with this name.
    pub fn from_name(name: &str) -> Option<Runtime> {
        Runtime::ALL.iter().copied().find(|runtime| runtime.name() == name)
    }

    /// What it is, in a line.
    pub const fn about(self) -> &'static str {
        match self {
            Runtime::Oci => "runc or crun: the profile starts under either",
            Runtime::Runc => "runc, the default of Docker, containerd and Kubernetes",
            Runtime::Crun => "crun, the default of Podman and CRI-O",
            Runtime::Systemd => "systemd, which grants its set @default itself",
            Runtime::Nsjail => "nsjail",
            Runtime::Callgate => "callgate run",
            Runtime::None => "The recorded program itself",
        }
    }

    /// Why it needs syscalls that were not recorded, for people.
    pub const fn description(self) -> &'static str {
        match self {
            Runtime::Oci => {
                "made by runc or crun after installing the filter, before executing the command"
            }
            Runtime::Runc => {
                "made by runc after installing the filter, before executing the command"
            }
            Runtime::Crun => {
                "made by crun after installing the filter, before executing the command"
            }
            Runtime::Systemd => "systemd adds @default to every allowlist",
            Runtime::Nsjail => "nsjail executes the command after installing the filter",
            Runtime::Callgate => "callgate run executes the command after installing the filter",
            Runtime::None => "",
        }
    }

    /// The syscalls that it makes after installing the filter.
    pub(super) fn needs(self) -> impl Iterator<Item = NeededSyscall> {
        let parts: &'static [NeededSyscalls] = match self {
            Runtime::Oci => &[RUNC, CRUN],
            Runtime::Runc => &[RUNC],
            Runtime::Crun => &[CRUN],
            Runtime::Systemd => &[SYSTEMD],
            Runtime::Nsjail | Runtime::Callgate => &[COMMAND],
            Runtime::None => &[],
        };
        parts.iter().flat_map(|part| {
            let any = part.any.iter().copied().map(any);
            part.some.iter().copied().chain(any)
        })
    }

    /// Syscalls that it tries and has a fallback for if they fail with ENOSYS. A command should not get these privileges
    /// because of its runtime.
    pub(super) fn tries(self) -> &'static [&'static str] {
        match self {
            Runtime::Oci | Runtime::Runc => RUNC_TRIES,
            _ => &[],
        }
    }
}

/// Syscalls that the kernel makes programs call: to return from a signal handler, and to continue a sleep that a
/// signal, SIGSTOP or a tracer interrupted. A recording has them only if that happened.
///
/// Sources: `restart_syscall(2)`, `sigreturn(2)`.
pub(super) static MADE_BY_KERNEL: &[&str] = &["restart_syscall", "rt_sigreturn", "sigreturn"];

/// Whether systemd adds a syscall to every allowlist.
pub(super) fn is_added_by_systemd(name: &str) -> bool {
    SYSTEMD_DEFAULT.contains(&name)
}

/// The syscalls of one program.
#[derive(Clone, Copy)]
struct NeededSyscalls {
    /// Those that it makes with certain values.
    some: &'static [NeededSyscall],
    /// Those that it makes with any values.
    any: &'static [&'static str],
}

/// Only the syscall that executes the command.
const COMMAND: NeededSyscalls = NeededSyscalls { some: &[], any: &["execve"] };

const SYSTEMD: NeededSyscalls = NeededSyscalls { some: &[], any: SYSTEMD_DEFAULT };

/// runc's own syscalls, and those of the Go runtime, which starts threads without new namespaces, maps
/// non-executable memory, and uses futexes.
const RUNC: NeededSyscalls = NeededSyscalls { some: RUNC_SOME, any: RUNC_ANY };

static RUNC_SOME: &[NeededSyscall] = &[
    // F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC.
    only("fcntl", &[1, 2, 3, 4, 1030]),
    // FUTEX_WAIT, FUTEX_WAKE.
    only("futex", &[0, 1]),
    only("clone", &[0]),
    // PROT_NONE, PROT_READ | PROT_WRITE.
    only("mmap", &[0, 3]),
    only("mprotect", &[0, 3]),
    // The variants on 32-bit ABIs.
    only("fcntl64", &[1, 2, 3, 4, 1030]),
    only("mmap2", &[0, 3]),
];

#[rustfmt::skip]
static RUNC_ANY: &[&str] = &[
    // Its own syscalls; some versions use faccessat for access(2), openat2 for directories, statx to
    // identify /proc.
    "capget", "capset", "chdir", "close", "close_range", "epoll_ctl", "execve", "execveat", "exit_group",
    "faccessat", "faccessat2", "fchown", "fstat", "fstatfs", "getcwd", "getdents64", "getpid", "getppid",
    "kill", "newfstatat", "openat", "openat2", "prctl", "read", "readlinkat", "setgid", "setgroups",
    "setuid", "statx", "uname", "write",
    // The variants on 32-bit ABIs.
    "fstat64", "fstatat64", "fstatfs64", "setgid32", "setgroups32", "setuid32",
    // Syscalls of the Go runtime at any time; since Go 1.19 it restores a limit before execve, since Go 1.25
    // it gets the number of processors every second.
    "epoll_pwait", "gettid", "madvise", "munmap", "nanosleep", "pread64", "prlimit64", "rt_sigprocmask",
    "rt_sigreturn", "sched_getaffinity", "sched_yield", "setrlimit", "sigaltstack", "tgkill",
    // Syscalls of glibc when the Go runtime starts a thread.
    "brk", "rseq", "set_robust_list",
];

/// glibc falls back from clone3 to clone; newer versions of runc mount a /proc of their own if possible, and otherwise
/// open the existing one.
static RUNC_TRIES: &[&str] = &["clone3", "fsopen", "open_tree"];

/// crun, with glibc or musl.
const CRUN: NeededSyscalls = NeededSyscalls { some: CRUN_SOME, any: CRUN_ANY };

static CRUN_SOME: &[NeededSyscall] = &[
    // F_GETFD, F_SETFD, F_GETFL.
    only("fcntl", &[1, 2, 3]),
    only("fcntl64", &[1, 2, 3]),
    // PROT_NONE, PROT_READ | PROT_WRITE.
    only("mmap", &[0, 3]),
    only("mmap2", &[0, 3]),
];

#[rustfmt::skip]
static CRUN_ANY: &[&str] = &[
    // Capabilities and IDs.
    "capset", "fchown", "prctl", "setgroups", "setresgid", "setresuid", "umask",
    // The working directory and the path of the command, if not found before.
    "access", "chdir", "faccessat", "faccessat2", "fstat", "getcwd", "newfstatat", "stat", "statx",
    // Signals, and the wait between `create` and `start`.
    "_newselect", "close", "pselect6", "read", "rt_sigaction", "rt_sigprocmask", "select", "write",
    // Closing descriptors: close_range since 1.20, or a list in /proc.
    "close_range", "fstatfs", "getdents64", "openat", "openat2",
    // Memory, and execution of the command or exit.
    "brk", "execve", "exit_group", "munmap",
    // The variants on 32-bit ABIs.
    "fchown32", "fstat64", "fstatat64", "fstatfs64", "pselect6_time64", "setgroups32", "setresgid32",
    "setresuid32", "stat64",
];

#[rustfmt::skip]
static SYSTEMD_DEFAULT: &[&str] = &[
    "arch_prctl", "brk", "cacheflush", "clock_getres", "clock_getres_time64", "clock_gettime",
    "clock_gettime64", "clock_nanosleep", "clock_nanosleep_time64", "execve", "exit", "exit_group",
    "futex", "futex_time64", "futex_waitv", "get_robust_list", "get_thread_area", "getegid",
    "getegid32", "geteuid", "geteuid32", "getgid", "getgid32", "getgroups", "getgroups32", "getpgid",
    "getpgrp", "getpid", "getppid", "getrandom", "getresgid", "getresgid32", "getresuid",
    "getresuid32", "getrlimit", "getsid", "gettid", "gettimeofday", "getuid", "getuid32",
    "membarrier", "mmap", "mmap2", "mprotect", "munmap", "nanosleep", "pause", "prlimit64",
    "restart_syscall", "riscv_flush_icache", "riscv_hwprobe", "rseq", "rt_sigreturn",
    "sched_getaffinity", "sched_yield", "set_robust_list", "set_thread_area", "set_tid_address",
    "set_tls", "sigreturn", "time", "ugetrlimit", "uretprobe",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::limitable;
    use callgate_bpf::syscalls::is_known_name;

    #[test]
    fn needed_names_are_syscalls() {
        assert!(MADE_BY_KERNEL.iter().chain(RUNC_TRIES).all(|name| is_known_name(name)));
        for needed in Runtime::ALL.iter().flat_map(|runtime| runtime.needs()) {
            assert!(is_known_name(needed.name), "{}", needed.name);
            let limited = limitable::of(needed.name).count();
            assert!(needed.values.is_none() || limited == 1, "{}", needed.name);
        }
    }

    #[test]
    fn every_runtime_except_none_executes_the_command() {
        for runtime in Runtime::ALL {
            let execve = runtime.needs().any(|needed| needed.name == "execve");
            assert_eq!(execve, *runtime != Runtime::None, "{}", runtime.name());
        }
    }

    /// From a run of crun 1.8.1 under strace, and the wait of `crun create`.
    #[test]
    fn crun_needs_other_syscalls_than_runc() {
        let names =
            |runtime: Runtime| runtime.needs().map(|needed| needed.name).collect::<Vec<_>>();
        let seen =
            ["rt_sigaction", "setresuid", "setresgid", "select", "pselect6", "capset", "umask"];
        for runtime in [Runtime::Crun, Runtime::Oci] {
            assert!(seen.iter().all(|name| names(runtime).contains(name)), "{}", runtime.name());
        }
        assert!(!names(Runtime::Runc).contains(&"setresuid"));
        // A profile for both contains the syscalls of each.
        let both = names(Runtime::Oci);
        for runtime in [Runtime::Runc, Runtime::Crun] {
            assert!(names(runtime).iter().all(|name| both.contains(name)), "{}", runtime.name());
        }
        // The runtime's use of mount does not grant it to the command.
        assert!(!both.iter().any(|name| RUNC_TRIES.contains(name) || name.contains("mount")));
    }
}
