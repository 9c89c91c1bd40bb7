//! Calls that do the same for a program: which of them it makes is up to its C library and its
//! architecture, not to what it does.
//!
//! A profile that has one of them and not the others stops working when the library is updated or
//! changed. Who may make one of them gains next to nothing by another, so they are granted together.
//!
//! Other calls a program makes or not as it happens: beside one that it makes anyway they are no privilege.
//!
//! Sources: the man pages of section 2 ("C library/kernel differences"), `sysdeps/unix/sysv/linux` of
//! glibc and `src` of musl for the calls that they make.

use super::limitable::TERMINAL;
use super::runtime::Needed;

/// Calls that stand for each other.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) names: &'static [&'static str],
    /// Whether their arguments mean the same at the same place, so that a limit holds for all.
    pub(super) same_arguments: bool,
    /// Why they belong together.
    pub(super) why: &'static str,
}

/// The families of a call.
pub(super) fn of(name: &str) -> impl Iterator<Item = &'static Family> {
    FAMILIES.iter().filter(move |family| family.names.contains(&name))
}

const fn family(why: &'static str, names: &'static [&'static str]) -> Family {
    Family { names, same_arguments: false, why }
}

/// The same call with wider values.
const fn wider(why: &'static str, names: &'static [&'static str]) -> Family {
    Family { names, same_arguments: true, why }
}

const AT: &str =
    "the same for a path relative to a directory; newer libraries and architectures have only that";
const FLAGS: &str = "the same with flags; newer libraries and architectures have only that";
const FILES64: &str = "the same with 64-bit offsets and sizes, on 32-bit interfaces";
const TIME64: &str = "the same with 64-bit times, on 32-bit interfaces";
const IDS32: &str = "the same with 32-bit ids, on 32-bit interfaces";
const SIGNALS: &str = "the same for more than 32 signals";

#[rustfmt::skip]
static FAMILIES: &[Family] = &[
    family("what stat(3), lstat(3) and fstat(3) call depends on the library", &[
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
    family("the same with a set of signals or a finer time", &[
        "epoll_wait", "epoll_pwait", "epoll_pwait2",
    ]),
    family("the same with a set of signals or a finer time", &["poll", "ppoll", "ppoll_time64"]),
    family("the same with a set of signals or a finer time", &[
        "select", "_newselect", "pselect6", "pselect6_time64",
    ]),
    family("what fork(3) and posix_spawn(3) call depends on the library", &[
        "fork", "vfork", "clone", "clone3",
    ]),
    family("a library that starts a thread registers it with all of them that it knows", &[
        "set_tid_address", "set_robust_list", "rseq",
    ]),
    family("some architectures have only the first pair, others only the second", &["send", "sendto"]),
    family("some architectures have only the first pair, others only the second", &["recv", "recvfrom"]),
    family("glibc asks for names by the second, musl by the first", &["sendto", "sendmmsg"]),
    family("glibc hears of names by the first, musl by the second", &["recvfrom", "recvmsg"]),
    family("stdio writes by the first in glibc, by the second in musl", &["write", "writev"]),
    family("stdio reads by the first in glibc, by the second in musl", &["read", "readv"]),
    family("raise(3) and abort(3) call the first in glibc, the second in musl", &["tgkill", "tkill"]),
    family("the older one lacks resource usage", &["waitpid", "wait4"]),
    family("a program ends by either", &["exit", "exit_group"]),
    family("the same for one process and for any", &["getpgrp", "getpgid"]),
    family("the same with a finer time", &["alarm", "setitimer"]),
    family("readdir(3) calls either", &["getdents", "getdents64"]),
    family("getrlimit(3) calls either", &["getrlimit", "ugetrlimit", "prlimit64"]),
    family("setrlimit(3) calls either", &["setrlimit", "prlimit64"]),
    family("the clock is read by either, where it is not read without a call", &[
        "clock_gettime", "clock_gettime64", "gettimeofday", "time",
    ]),
    family("what sleep(3) and nanosleep(3) call depends on the library", &[
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

/// Calls that come with another one when it so happens.
#[derive(Debug)]
pub(super) struct Company {
    of: &'static [&'static str],
    /// With the usual values of the argument that can be limited, where there is one.
    pub(super) calls: &'static [Needed],
    /// When they come.
    pub(super) why: &'static str,
}

/// What may come with a call.
pub(super) fn company(name: &str) -> impl Iterator<Item = &'static Company> {
    COMPANY.iter().filter(move |company| company.of.contains(&name))
}

const fn any(name: &'static str) -> Needed {
    Needed { name, values: None }
}

static COMPANY: &[Company] = &[
    Company {
        of: &["accept", "accept4", "connect"],
        calls: &[any("shutdown")],
        why: "how a connection ends depends on the other side, too",
    },
    Company {
        of: &["write", "writev"],
        calls: &[Needed { name: "ioctl", values: Some(TERMINAL) }],
        why: "stdio asks whether it writes to a terminal; some libraries do always, some by other calls",
    },
    Company {
        of: &["read", "readv"],
        calls: &[any("lseek"), any("_llseek")],
        why: "stdio goes back over what it read ahead when a file is closed, in some libraries",
    },
    Company {
        of: &["open", "openat"],
        // F_SETFD.
        calls: &[
            Needed { name: "fcntl", values: Some(&[2]) },
            Needed { name: "fcntl64", values: Some(&[2]) },
        ],
        why: "musl sets FD_CLOEXEC once more",
    },
    Company {
        of: &["brk", "mmap", "mmap2"],
        // PROT_NONE, PROT_READ | PROT_WRITE.
        calls: &[
            any("brk"),
            Needed { name: "mmap", values: Some(&[0, 3]) },
            Needed { name: "mmap2", values: Some(&[0, 3]) },
            Needed { name: "mprotect", values: Some(&[0, 3]) },
            any("madvise"),
            any("mremap"),
            any("munmap"),
        ],
        why: "where malloc(3) takes memory from, and when it gives it back, depends on the library",
    },
    Company {
        of: &["set_tid_address"],
        // ARCH_SET_FS.
        calls: &[
            Needed { name: "arch_prctl", values: Some(&[0x1002]) },
            any("getrandom"),
            any("prlimit64"),
            any("readlink"),
            any("readlinkat"),
        ],
        why: "a library that starts a program sets its thread up and looks for limits, random numbers and the path",
    },
    Company {
        of: &["tgkill", "tkill"],
        calls: &[any("getpid"), any("gettid"), any("rt_sigprocmask")],
        why: "raise(3) blocks signals and asks for the own ids, in libraries that do not keep them",
    },
    Company {
        of: &["clone", "clone3"],
        calls: &[
            // FUTEX_WAIT, FUTEX_WAKE.
            Needed { name: "futex", values: Some(&[0, 1]) },
            any("madvise"),
            any("munmap"),
            any("sched_yield"),
        ],
        why: "whether threads wait for each other, and when their memory is given back, is up to chance",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::syscalls::{Arch, is_known_name};

    #[test]
    fn company_is_made_of_calls() {
        for Company { of, calls, why } in COMPANY {
            let names = of.iter().copied().chain(calls.iter().map(|call| call.name));
            names.for_each(|name| assert!(is_known_name(name), "{name}"));
            assert!(!why.is_empty());
        }
        assert_eq!(company("ptrace").count(), 0);
    }

    #[test]
    fn every_name_is_a_call_and_every_family_has_a_choice() {
        for family in FAMILIES {
            assert!(family.names.len() > 1 && !family.why.is_empty(), "{family:?}");
            for name in family.names {
                assert!(is_known_name(name), "{name}");
                assert!(Arch::ALL.iter().any(|arch| arch.number(name).is_some()), "{name}");
            }
        }
    }

    /// A program that was recorded with one library and runs with the other one has no output, and ends
    /// with status 0, when these are missing.
    #[test]
    fn calls_of_musl_and_glibc_stand_for_each_other() {
        for (glibc, musl) in [("read", "readv"), ("write", "writev"), ("tgkill", "tkill")] {
            for (one, other) in [(glibc, musl), (musl, glibc)] {
                assert!(of(one).any(|family| family.names.contains(&other)), "{one} {other}");
            }
        }
        let ioctl =
            company("writev").flat_map(|company| company.calls).find(|call| call.name == "ioctl");
        let values = ioctl.and_then(|ioctl| ioctl.values).unwrap();
        // TCGETS, TIOCGWINSZ.
        assert!(values.contains(&0x5401) && values.contains(&0x5413));
    }

    #[test]
    fn stat_has_its_siblings() {
        let names: Vec<&str> = of("stat").flat_map(|family| family.names).copied().collect();
        assert!(names.contains(&"newfstatat") && names.contains(&"statx"));
        assert_eq!(of("prlimit64").count(), 2);
        assert_eq!(of("ptrace").count(), 0);
    }
}
