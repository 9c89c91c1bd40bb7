//! The system calls that the program which installs the filter makes itself, between installing it and
//! the first instruction of the command. A recording of the command alone does not have these calls.
//!
//! Sources: for runc, `libcontainer/standard_init_linux.go`, `init_linux.go` (`finalizeNamespace`) and
//! `setns_init_linux.go` of the development of 1.5 after 1.5.0-rc.1, and runs of 1.1.5 under strace; for crun, `container_init`,
//! `apply_security_settings` and `exec_process_entrypoint` of `src/libcrun/container.c` of 1.8.1, 1.14, 1.20
//! and 1.29.1, and runs of 1.8.1 under strace. Both were run with and without `noNewPrivileges`, as
//! root and as another user, with and without capabilities. Without `noNewPrivileges` they install the
//! filter first and set capabilities and ids under it. What the Go runtime may call at any time is in
//! the `sys_linux_*.s` of its source; runc uses cgo, so that glibc starts its threads. For systemd, the
//! set `@default` of systemd 252, which it adds to every allowlist (systemd.exec(5)); later versions add
//! to it. nsjail and `callgate run` install the filter last and execute the command.

/// Who installs the filter.
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
    /// The program itself, or nobody that needs anything.
    None,
}

/// A call that a runtime makes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Needed {
    pub(super) name: &'static str,
    /// The values of the argument that is limited for this call, if it is; `None` for any.
    pub(super) values: Option<&'static [u64]>,
}

impl Runtime {
    /// All of them.
    pub const ALL: &'static [Runtime] = &[
        Runtime::Oci,
        Runtime::Runc,
        Runtime::Crun,
        Runtime::Systemd,
        Runtime::Nsjail,
        Runtime::Callgate,
        Runtime::None,
    ];

    /// Its name.
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

    /// What it has to do with calls that were not recorded, for people.
    pub const fn why(self) -> &'static str {
        match self {
            Runtime::Oci => {
                "runc or crun calls it between installing the filter and executing the command"
            }
            Runtime::Runc => {
                "runc calls it between installing the filter and executing the command"
            }
            Runtime::Crun => {
                "crun calls it between installing the filter and executing the command"
            }
            Runtime::Systemd => "systemd adds @default to every allow list",
            Runtime::Nsjail => "nsjail executes the command after installing the filter",
            Runtime::Callgate => "callgate run executes the command after installing the filter",
            Runtime::None => "",
        }
    }

    pub(super) fn needs(self) -> impl Iterator<Item = Needed> {
        let parts: &'static [Part] = match self {
            Runtime::Oci => &[RUNC, CRUN],
            Runtime::Runc => &[RUNC],
            Runtime::Crun => &[CRUN],
            Runtime::Systemd => &[SYSTEMD],
            Runtime::Nsjail | Runtime::Callgate => &[COMMAND],
            Runtime::None => &[],
        };
        parts.iter().flat_map(|part| {
            let any = part.any.iter().map(|name| Needed { name, values: None });
            part.some.iter().copied().chain(any)
        })
    }

    /// Calls that it tries and can do without, if they fail with ENOSYS: privileges that no command should
    /// get because of its runtime.
    pub(super) fn tries(self) -> &'static [&'static str] {
        match self {
            Runtime::Oci | Runtime::Runc => RUNC_TRIES,
            _ => &[],
        }
    }
}

/// What the kernel makes a program call: it goes on after a signal, or in a sleep that a signal, SIGSTOP or a
/// tracer interrupted. A recording has them only when that happened.
///
/// Sources: `restart_syscall(2)`, `sigreturn(2)`.
pub(super) static BY_KERNEL: &[&str] = &["restart_syscall", "rt_sigreturn", "sigreturn"];

/// Whether systemd adds a call to every allow list.
pub(super) fn is_added_by_systemd(name: &str) -> bool {
    SYSTEMD_DEFAULT.contains(&name)
}

/// What one program calls.
#[derive(Clone, Copy)]
struct Part {
    /// With some values alone.
    some: &'static [Needed],
    /// With any values.
    any: &'static [&'static str],
}

/// What executes the command alone.
const COMMAND: Part = Part { some: &[], any: &["execve"] };

const SYSTEMD: Part = Part { some: &[], any: SYSTEMD_DEFAULT };

/// runc's own calls, and those of the Go runtime, which starts threads without new namespaces, maps
/// memory that is not executable, and waits and wakes.
const RUNC: Part = Part { some: RUNC_SOME, any: RUNC_ANY };

static RUNC_SOME: &[Needed] = &[
    // F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC.
    Needed { name: "fcntl", values: Some(&[1, 2, 3, 4, 1030]) },
    // FUTEX_WAIT, FUTEX_WAKE.
    Needed { name: "futex", values: Some(&[0, 1]) },
    Needed { name: "clone", values: Some(&[0]) },
    // PROT_NONE, PROT_READ | PROT_WRITE.
    Needed { name: "mmap", values: Some(&[0, 3]) },
    Needed { name: "mprotect", values: Some(&[0, 3]) },
    // The same on 32-bit interfaces.
    Needed { name: "fcntl64", values: Some(&[1, 2, 3, 4, 1030]) },
    Needed { name: "mmap2", values: Some(&[0, 3]) },
];

#[rustfmt::skip]
static RUNC_ANY: &[&str] = &[
    // Its own calls; some only in some versions (access(2) by faccessat, directories by openat2, the
    // identity of /proc by statx).
    "capget", "capset", "chdir", "close", "close_range", "epoll_ctl", "execve", "execveat", "exit_group",
    "faccessat", "faccessat2", "fchown", "fstat", "fstatfs", "getcwd", "getdents64", "getpid", "getppid",
    "kill", "newfstatat", "openat", "openat2", "prctl", "read", "readlinkat", "setgid", "setgroups",
    "setuid", "statx", "uname", "write",
    // The same on 32-bit interfaces.
    "fstat64", "fstatat64", "fstatfs64", "setgid32", "setgroups32", "setuid32",
    // What the Go runtime may call at any time; since Go 1.19 an execve restores a limit, since Go 1.25
    // the number of processors is looked up again every second.
    "epoll_pwait", "gettid", "madvise", "munmap", "nanosleep", "pread64", "prlimit64", "rt_sigprocmask",
    "rt_sigreturn", "sched_getaffinity", "sched_yield", "setrlimit", "sigaltstack", "tgkill",
    // What glibc calls when the Go runtime starts a thread.
    "brk", "rseq", "set_robust_list",
];

/// glibc falls back from clone3 to clone; newer versions of runc mount /proc for themselves where they
/// can, and otherwise open it.
static RUNC_TRIES: &[&str] = &["clone3", "fsopen", "open_tree"];

/// crun, with glibc or musl.
const CRUN: Part = Part { some: CRUN_SOME, any: CRUN_ANY };

static CRUN_SOME: &[Needed] = &[
    // F_GETFD, F_SETFD, F_GETFL.
    Needed { name: "fcntl", values: Some(&[1, 2, 3]) },
    Needed { name: "fcntl64", values: Some(&[1, 2, 3]) },
    // PROT_NONE, PROT_READ | PROT_WRITE.
    Needed { name: "mmap", values: Some(&[0, 3]) },
    Needed { name: "mmap2", values: Some(&[0, 3]) },
];

#[rustfmt::skip]
static CRUN_ANY: &[&str] = &[
    // Capabilities and ids.
    "capset", "fchown", "prctl", "setgroups", "setresgid", "setresuid", "umask",
    // The working directory and the path of the command, where they were not found before.
    "access", "chdir", "faccessat", "faccessat2", "fstat", "getcwd", "newfstatat", "stat", "statx",
    // Signals, and waiting between `create` and `start`.
    "_newselect", "close", "pselect6", "read", "rt_sigaction", "rt_sigprocmask", "select", "write",
    // Descriptors are closed by the first, since 1.20, or by a list in /proc.
    "close_range", "fstatfs", "getdents64", "openat", "openat2",
    // Memory, and the ends of the way.
    "brk", "execve", "exit_group", "munmap",
    // The same on 32-bit interfaces.
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
    use crate::generate::limitable as limits;
    use callgate_bpf::syscalls::is_known_name;

    #[test]
    fn what_runtimes_need_are_calls() {
        assert!(BY_KERNEL.iter().chain(RUNC_TRIES).all(|name| is_known_name(name)));
        for needed in Runtime::ALL.iter().flat_map(|runtime| runtime.needs()) {
            assert!(is_known_name(needed.name), "{}", needed.name);
            let limited = limits::of(needed.name).count();
            assert!(needed.values.is_none() || limited == 1, "{}", needed.name);
        }
    }

    #[test]
    fn every_runtime_but_none_executes_the_command() {
        for runtime in Runtime::ALL {
            let execve = runtime.needs().any(|needed| needed.name == "execve");
            assert_eq!(execve, *runtime != Runtime::None, "{}", runtime.name());
        }
    }

    /// What a run of crun 1.8.1 under strace called, and what `crun create` waits with.
    #[test]
    fn crun_sets_ids_and_waits_by_its_own_calls() {
        let names =
            |runtime: Runtime| runtime.needs().map(|needed| needed.name).collect::<Vec<_>>();
        let seen =
            ["rt_sigaction", "setresuid", "setresgid", "select", "pselect6", "capset", "umask"];
        for runtime in [Runtime::Crun, Runtime::Oci] {
            assert!(seen.iter().all(|name| names(runtime).contains(name)), "{}", runtime.name());
        }
        assert!(!names(Runtime::Runc).contains(&"setresuid"));
        // The default starts under both.
        let both = names(Runtime::Oci);
        for runtime in [Runtime::Runc, Runtime::Crun] {
            assert!(names(runtime).iter().all(|name| both.contains(name)), "{}", runtime.name());
        }
        // Nothing is granted to a command because its runtime could mount.
        assert!(!both.iter().any(|name| RUNC_TRIES.contains(name) || name.contains("mount")));
    }
}
