//! What whoever installs the filter calls itself, between installing it and the first instruction of
//! the command. A recording of the command alone does not have these calls.
//!
//! Sources: for runc, `libcontainer/standard_init_linux.go` and `init_linux.go` (`finalizeNamespace`), and
//! runs of runc 1.1.5 under strace, with and without `noNewPrivileges`; without it the filter is
//! installed first and capabilities and ids are set under it. What the Go runtime may call at any time is
//! in the `sys_linux_*.s` of its source. For systemd, the set `@default` of systemd 252, which it
//! adds to every allow list (systemd.exec(5)); later versions add to it. nsjail and `callgate run` install
//! the filter last and execute the command.

/// Who installs the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// runc, and what stands on it: Docker, containerd, Kubernetes.
    Runc,
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
    pub const ALL: &'static [Runtime] =
        &[Runtime::Runc, Runtime::Systemd, Runtime::Nsjail, Runtime::Callgate, Runtime::None];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Runtime::Runc => "runc",
            Runtime::Systemd => "systemd",
            Runtime::Nsjail => "nsjail",
            Runtime::Callgate => "callgate",
            Runtime::None => "none",
        }
    }

    /// What it has to do with calls that were not recorded, for people.
    pub const fn why(self) -> &'static str {
        match self {
            Runtime::Runc => {
                "runc makes it between installing the filter and executing the command"
            }
            Runtime::Systemd => "systemd adds @default to every allow list",
            Runtime::Nsjail => "nsjail executes the command after installing the filter",
            Runtime::Callgate => "callgate run executes the command after installing the filter",
            Runtime::None => "",
        }
    }

    pub(super) fn needs(self) -> impl Iterator<Item = Needed> {
        let (some, any): (&[Needed], &[&str]) = match self {
            Runtime::Runc => (RUNC_SOME, RUNC),
            Runtime::Systemd => (&[], SYSTEMD_DEFAULT),
            Runtime::Nsjail | Runtime::Callgate => (&[], &["execve"]),
            Runtime::None => (&[], &[]),
        };
        some.iter().copied().chain(any.iter().map(|name| Needed { name, values: None }))
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

/// With these values alone: runc's own calls, and those of the Go runtime, which starts threads
/// without new namespaces, maps memory that is not executable, and waits and wakes.
static RUNC_SOME: &[Needed] = &[
    // F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC.
    Needed { name: "fcntl", values: Some(&[1, 2, 3, 4, 1030]) },
    // FUTEX_WAIT, FUTEX_WAKE.
    Needed { name: "futex", values: Some(&[0, 1]) },
    Needed { name: "clone", values: Some(&[0]) },
    // PROT_NONE, PROT_READ | PROT_WRITE.
    Needed { name: "mmap", values: Some(&[0, 3]) },
    // The same on 32-bit interfaces.
    Needed { name: "fcntl64", values: Some(&[1, 2, 3, 4, 1030]) },
    Needed { name: "mmap2", values: Some(&[0, 3]) },
];

#[rustfmt::skip]
static RUNC: &[&str] = &[
    // Its own calls; some only in some versions (access(2) by faccessat, directories by openat2).
    "capget", "capset", "chdir", "close", "close_range", "epoll_ctl", "execve", "execveat", "exit_group",
    "faccessat", "faccessat2", "fchown", "fstat", "fstatfs", "getcwd", "getdents64", "getpid", "getppid",
    "kill", "newfstatat", "openat", "openat2", "prctl", "read", "setgid", "setgroups", "setuid", "write",
    // The same on 32-bit interfaces.
    "fstat64", "fstatat64", "fstatfs64", "setgid32", "setgroups32", "setuid32",
    // What the Go runtime may call at any time.
    "epoll_pwait", "gettid", "madvise", "munmap", "nanosleep", "rt_sigprocmask", "rt_sigreturn",
    "sched_yield", "sigaltstack", "tgkill",
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
    use crate::generate::limits;
    use callgate_bpf::syscalls::is_known_name;

    #[test]
    fn what_runtimes_need_are_calls() {
        assert!(BY_KERNEL.iter().all(|name| is_known_name(name)));
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
}
