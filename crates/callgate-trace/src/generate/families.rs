//! Syscalls that are granted together with recorded ones.
//!
//! *Families* are equivalent syscalls: which of them a program makes depends on its C library and its architecture, not
//! on what the program does. A profile with only one of them breaks when the library is updated or replaced. One more
//! member of a family is hardly an additional privilege.
//!
//! *Companions* may or may not accompany a syscall, depending on timing or on the library. Together with that syscall
//! they are not an additional privilege.
//!
//! Sources: the man pages of section 2 ("C library/kernel differences"), `sysdeps/unix/sysv/linux` of
//! glibc and `src` of musl.

use super::limitable::TERMINAL;
use super::runtime::{NeededSyscall, any, only};

/// Equivalent syscalls.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) names: &'static [&'static str],
    /// Whether their arguments have the same meaning and position, so that a limit applies to all.
    pub(super) same_arguments: bool,
    /// How they are related.
    pub(super) why: &'static str,
}

/// The families of a syscall.
pub(super) fn of(name: &str) -> impl Iterator<Item = &'static Family> {
    FAMILIES.iter().filter(move |family| family.names.contains(&name))
}

const fn family(why: &'static str, names: &'static [&'static str]) -> Family {
    Family { names, same_arguments: false, why }
}

/// The same syscall with wider values.
const fn wider(why: &'static str, names: &'static [&'static str]) -> Family {
    Family { names, same_arguments: true, why }
}

const AT: &str =
    "the variant with a directory descriptor; newer libraries and architectures have only that one";
const FLAGS: &str = "the variant with flags; newer libraries and architectures have only that one";
const FILES64: &str = "the variant with 64-bit offsets and sizes, on 32-bit ABIs";
const TIME64: &str = "the variant with 64-bit times, on 32-bit ABIs";
const IDS32: &str = "the variant with 32-bit IDs, on 32-bit ABIs";
const SIGNALS: &str = "the variant for more than 32 signals";

#[rustfmt::skip]
static FAMILIES: &[Family] = &[
    family("stat(3), lstat(3) and fstat(3) use different syscalls, depending on the library", &[
        "stat", "lstat", "fstat", "newfstatat", "stat64", "lstat64", "fstat64", "fstatat64", "statx",
    ]),
    family(AT, &["open", "openat", "creat"]),
    family(AT, &["access", "faccessat", "faccessat2"]),
    family(AT, &["readlink", "readlinkat"]),
    family(AT, &["mkdir", "mkdirat"]),
    family(AT, &["mknod", "mknodat"]),
    family(AT, &["unlink", "rmdir", "unlinkat"]),
    family(AT, &["rename", "renameat", "renameat2"]),
    family(AT, &["link", "linkat"]),
    family(AT, &["symlink", "symlinkat"]),
    family(AT, &["chmod", "fchmodat", "fchmodat2"]),
    family(AT, &["chown", "lchown", "chown32", "lchown32", "fchownat"]),
    family(AT, &["utime", "utimes", "futimesat", "utimensat", "utimensat_time64"]),
    family(FLAGS, &["dup2", "dup3"]),
    family(FLAGS, &["pipe", "pipe2"]),
    family(FLAGS, &["accept", "accept4"]),
    family(FLAGS, &["eventfd", "eventfd2"]),
    family(FLAGS, &["signalfd", "signalfd4"]),
    family(FLAGS, &["inotify_init", "inotify_init1"]),
    family(FLAGS, &["epoll_create", "epoll_create1"]),
    family(FLAGS, &["preadv", "preadv2"]),
    family(FLAGS, &["pwritev", "pwritev2"]),
    family("the variant with a signal set or a finer timeout", &[
        "epoll_wait", "epoll_pwait", "epoll_pwait2",
    ]),
    family("the variant with a signal set or a finer timeout", &["poll", "ppoll", "ppoll_time64"]),
    family("the variant with a signal set or a finer timeout", &[
        "select", "_newselect", "pselect6", "pselect6_time64",
    ]),
    family("fork(3) and posix_spawn(3) use different syscalls, depending on the library", &[
        "fork", "vfork", "clone", "clone3",
    ]),
    family("a library that starts a thread makes all of these that it supports", &[
        "set_tid_address", "set_robust_list", "rseq",
    ]),
    family("some architectures have only one of them", &["send", "sendto"]),
    family("some architectures have only one of them", &["recv", "recvfrom"]),
    family("for DNS queries, musl uses sendto and glibc sendmmsg", &["sendto", "sendmmsg"]),
    family("for DNS replies, glibc uses recvfrom and musl recvmsg", &["recvfrom", "recvmsg"]),
    family("stdio uses write in glibc and writev in musl", &["write", "writev"]),
    family("stdio uses read in glibc and readv in musl", &["read", "readv"]),
    family("raise(3) and abort(3) use tgkill in glibc and tkill in musl", &["tgkill", "tkill"]),
    family("the older variant lacks resource usage", &["waitpid", "wait4"]),
    family("a program exits by either", &["exit", "exit_group"]),
    family("the variants for the calling process and for any process", &["getpgrp", "getpgid"]),
    family("the variant with a finer time", &["alarm", "setitimer"]),
    family("readdir(3) uses either", &["getdents", "getdents64"]),
    family("getrlimit(3) uses either", &["getrlimit", "ugetrlimit", "prlimit64"]),
    family("setrlimit(3) uses either", &["setrlimit", "prlimit64"]),
    family("libraries read the clock by any of these, unless the vDSO suffices", &[
        "clock_gettime", "clock_gettime64", "gettimeofday", "time",
    ]),
    family("sleep(3) and nanosleep(3) use different syscalls, depending on the library", &[
        "nanosleep", "clock_nanosleep", "clock_nanosleep_time64",
    ]),
    family(FILES64, &["lseek", "_llseek"]),
    family(FILES64, &["ftruncate", "ftruncate64"]),
    family(FILES64, &["truncate", "truncate64"]),
    family(FILES64, &["statfs", "statfs64"]),
    family(FILES64, &["fstatfs", "fstatfs64"]),
    family(FILES64, &["sendfile", "sendfile64"]),
    family(FILES64, &["fadvise64", "fadvise64_64", "arm_fadvise64_64"]),
    wider(FILES64, &["fcntl", "fcntl64"]),
    wider(FILES64, &["mmap", "mmap2"]),
    wider(TIME64, &["futex", "futex_time64"]),
    wider(TIME64, &["semtimedop", "semtimedop_time64"]),
    wider(TIME64, &["rt_sigtimedwait", "rt_sigtimedwait_time64"]),
    wider(TIME64, &["recvmmsg", "recvmmsg_time64"]),
    wider(TIME64, &["clock_getres", "clock_getres_time64"]),
    wider(TIME64, &["clock_settime", "clock_settime64"]),
    wider(TIME64, &["clock_adjtime", "clock_adjtime64"]),
    wider(TIME64, &["timer_gettime", "timer_gettime64"]),
    wider(TIME64, &["timer_settime", "timer_settime64"]),
    wider(TIME64, &["timerfd_gettime", "timerfd_gettime64"]),
    wider(TIME64, &["timerfd_settime", "timerfd_settime64"]),
    wider(TIME64, &["mq_timedsend", "mq_timedsend_time64"]),
    wider(TIME64, &["mq_timedreceive", "mq_timedreceive_time64"]),
    wider(TIME64, &["sched_rr_get_interval", "sched_rr_get_interval_time64"]),
    wider(TIME64, &["io_pgetevents", "io_pgetevents_time64"]),
    wider(IDS32, &["getuid", "getuid32"]),
    wider(IDS32, &["geteuid", "geteuid32"]),
    wider(IDS32, &["getgid", "getgid32"]),
    wider(IDS32, &["getegid", "getegid32"]),
    wider(IDS32, &["getresuid", "getresuid32"]),
    wider(IDS32, &["getresgid", "getresgid32"]),
    wider(IDS32, &["getgroups", "getgroups32"]),
    wider(IDS32, &["setgroups", "setgroups32"]),
    wider(IDS32, &["setuid", "setuid32"]),
    wider(IDS32, &["setgid", "setgid32"]),
    wider(IDS32, &["setreuid", "setreuid32"]),
    wider(IDS32, &["setregid", "setregid32"]),
    wider(IDS32, &["setresuid", "setresuid32"]),
    wider(IDS32, &["setresgid", "setresgid32"]),
    wider(IDS32, &["setfsuid", "setfsuid32"]),
    wider(IDS32, &["setfsgid", "setfsgid32"]),
    wider(IDS32, &["fchown", "fchown32"]),
    wider(SIGNALS, &["sigaction", "rt_sigaction"]),
    wider(SIGNALS, &["sigprocmask", "rt_sigprocmask"]),
    wider(SIGNALS, &["sigpending", "rt_sigpending"]),
    wider(SIGNALS, &["sigsuspend", "rt_sigsuspend"]),
    wider(SIGNALS, &["sigreturn", "rt_sigreturn"]),
];

/// Syscalls that may accompany another one.
#[derive(Debug)]
pub(super) struct Companions {
    of: &'static [&'static str],
    /// With the usual values of the argument that can be limited, if there is one.
    pub(super) syscalls: &'static [NeededSyscall],
    /// When they accompany it.
    pub(super) why: &'static str,
}

/// The syscalls that may accompany a syscall.
pub(super) fn companions(name: &str) -> impl Iterator<Item = &'static Companions> {
    COMPANIONS.iter().filter(move |companions| companions.of.contains(&name))
}

static COMPANIONS: &[Companions] = &[
    Companions {
        of: &["accept", "accept4", "connect"],
        syscalls: &[any("shutdown")],
        why: "how a connection ends also depends on the peer",
    },
    Companions {
        of: &["write", "writev"],
        syscalls: &[only("ioctl", TERMINAL)],
        why: "stdio tests whether it writes to a terminal; when and how depends on the library",
    },
    Companions {
        of: &["read", "readv"],
        syscalls: &[any("lseek"), any("_llseek")],
        why: "in some libraries, stdio seeks back over unread data when a file is closed",
    },
    Companions {
        of: &["open", "openat"],
        // F_SETFD.
        syscalls: &[only("fcntl", &[2]), only("fcntl64", &[2])],
        why: "musl sets FD_CLOEXEC again",
    },
    Companions {
        of: &["brk", "mmap", "mmap2"],
        // PROT_NONE, PROT_READ | PROT_WRITE.
        syscalls: &[
            any("brk"),
            only("mmap", &[0, 3]),
            only("mmap2", &[0, 3]),
            only("mprotect", &[0, 3]),
            any("madvise"),
            any("mremap"),
            any("munmap"),
        ],
        why: "how malloc(3) allocates memory, and when it frees it, depends on the library",
    },
    Companions {
        of: &["set_tid_address"],
        // ARCH_SET_FS.
        syscalls: &[
            only("arch_prctl", &[0x1002]),
            any("getrandom"),
            any("prlimit64"),
            any("readlink"),
            any("readlinkat"),
        ],
        why: "at program start, libraries set up the thread and may get limits, random numbers and the path",
    },
    Companions {
        of: &["tgkill", "tkill"],
        syscalls: &[any("getpid"), any("gettid"), any("rt_sigprocmask")],
        why: "in some libraries, raise(3) blocks signals and gets the IDs of the process and thread",
    },
    Companions {
        of: &["clone", "clone3"],
        syscalls: &[
            // FUTEX_WAIT, FUTEX_WAKE.
            only("futex", &[0, 1]),
            any("madvise"),
            any("munmap"),
            any("sched_yield"),
        ],
        why: "whether threads wait for each other, and when their memory is freed, depends on timing",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::SyscallTable;
    use callgate_bpf::syscalls::is_known_name;
    use callgate_core::Arch;

    #[test]
    fn companions_are_syscalls() {
        for Companions { of, syscalls, why } in COMPANIONS {
            let names = of.iter().copied().chain(syscalls.iter().map(|syscall| syscall.name));
            names.for_each(|name| assert!(is_known_name(name), "{name}"));
            assert!(!why.is_empty());
        }
        assert_eq!(companions("ptrace").count(), 0);
    }

    #[test]
    fn every_family_has_several_syscalls() {
        for family in FAMILIES {
            assert!(family.names.len() > 1 && !family.why.is_empty(), "{family:?}");
            for name in family.names {
                assert!(is_known_name(name), "{name}");
                assert!(Arch::ALL.iter().any(|arch| arch.number(name).is_some()), "{name}");
            }
        }
    }

    /// Without these, a program that was recorded with one library and runs with the other has no output, and exits with
    /// status 0.
    #[test]
    fn musl_and_glibc_variants_are_in_one_family() {
        for (glibc, musl) in [("read", "readv"), ("write", "writev"), ("tgkill", "tkill")] {
            for (one, other) in [(glibc, musl), (musl, glibc)] {
                assert!(of(one).any(|family| family.names.contains(&other)), "{one} {other}");
            }
        }
        let ioctl = companions("writev")
            .flat_map(|companions| companions.syscalls)
            .find(|syscall| syscall.name == "ioctl");
        let values = ioctl.and_then(|ioctl| ioctl.values).unwrap();
        // TCGETS, TIOCGWINSZ.
        assert!(values.contains(&0x5401) && values.contains(&0x5413));
    }

    #[test]
    fn stat_is_in_a_family_with_its_variants() {
        let names: Vec<&str> = of("stat").flat_map(|family| family.names).copied().collect();
        assert!(names.contains(&"newfstatat") && names.contains(&"statx"));
        assert_eq!(of("prlimit64").count(), 2);
        assert_eq!(of("ptrace").count(), 0);
    }
}
