//! The syscall numbers of ABIs that the `syscalls` crate lacks, derived from those of a related ABI.

/// The bit in the numbers of x32.
pub const X32_BIT: u32 = 0x4000_0000;

/// Syscalls that have other numbers in x32 than in x86_64, from 512 on.
const X32_OWN: [&str; 36] = [
    "rt_sigaction",
    "rt_sigreturn",
    "ioctl",
    "readv",
    "writev",
    "recvfrom",
    "sendmsg",
    "recvmsg",
    "execve",
    "ptrace",
    "rt_sigpending",
    "rt_sigtimedwait",
    "rt_sigqueueinfo",
    "sigaltstack",
    "timer_create",
    "mq_notify",
    "kexec_load",
    "waitid",
    "set_robust_list",
    "get_robust_list",
    "vmsplice",
    "move_pages",
    "preadv",
    "pwritev",
    "rt_tgsigqueueinfo",
    "recvmmsg",
    "sendmmsg",
    "process_vm_readv",
    "process_vm_writev",
    "setsockopt",
    "getsockopt",
    "io_setup",
    "io_submit",
    "execveat",
    "preadv2",
    "pwritev2",
];

/// Syscalls of x86_64 that x32 does not have.
const NOT_X32: [&str; 11] = [
    "create_module",
    "epoll_ctl_old",
    "epoll_wait_old",
    "get_kernel_syms",
    "get_thread_area",
    "nfsservctl",
    "query_module",
    "set_thread_area",
    "_sysctl",
    "uselib",
    "vserver",
];

pub(super) fn x32((name, number): (&'static str, u32)) -> Option<(&'static str, u32)> {
    if NOT_X32.contains(&name) {
        return None;
    }
    let own = X32_OWN.iter().position(|call| *call == name).map(|at| 512 + at as u32);
    Some((name, X32_BIT | own.unwrap_or(number)))
}

/// Syscalls of 32-bit ABIs for times after 2038.
pub(super) const TIME64: [(&str, u32); 20] = [
    ("clock_gettime64", 403),
    ("clock_settime64", 404),
    ("clock_adjtime64", 405),
    ("clock_getres_time64", 406),
    ("clock_nanosleep_time64", 407),
    ("timer_gettime64", 408),
    ("timer_settime64", 409),
    ("timerfd_gettime64", 410),
    ("timerfd_settime64", 411),
    ("utimensat_time64", 412),
    ("pselect6_time64", 413),
    ("ppoll_time64", 414),
    ("io_pgetevents_time64", 416),
    ("recvmmsg_time64", 417),
    ("mq_timedsend_time64", 418),
    ("mq_timedreceive_time64", 419),
    ("semtimedop_time64", 420),
    ("rt_sigtimedwait_time64", 421),
    ("futex_time64", 422),
    ("sched_rr_get_interval_time64", 423),
];

/// n32 from n64: the same order, with a few additional syscalls.
pub(super) fn n32(n64: &[(&'static str, u32)]) -> Vec<(&'static str, u32)> {
    let number = |n: u32| match n {
        0..=211 => n,
        212..=215 => n + 1,
        216..=294 => n + 4,
        295..=307 => n + 5,
        308 => 299,
        309..=328 => n + 4,
        _ => n,
    };
    let shared = n64.iter().map(|(name, n)| (*name, 6000 + number(n - 5000)));
    let own = [("fcntl64", 212), ("statfs64", 217), ("fstatfs64", 218), ("sendfile64", 219)];
    shared.chain(own.into_iter().chain(TIME64).map(|(name, n)| (name, 6000 + n))).collect()
}

/// s390 from s390x: 16-bit forms of syscalls with user and group IDs, and extra syscalls for 64-bit file offsets.
pub(super) fn s390(s390x: &[(&'static str, u32)]) -> Vec<(&'static str, u32)> {
    const IDS: [(&str, u32, &str); 20] = [
        ("lchown", 16, "lchown32"),
        ("getuid", 24, "getuid32"),
        ("getgid", 47, "getgid32"),
        ("geteuid", 49, "geteuid32"),
        ("getegid", 50, "getegid32"),
        ("setreuid", 70, "setreuid32"),
        ("setregid", 71, "setregid32"),
        ("getgroups", 80, "getgroups32"),
        ("setgroups", 81, "setgroups32"),
        ("fchown", 95, "fchown32"),
        ("setresuid", 164, "setresuid32"),
        ("getresuid", 165, "getresuid32"),
        ("setresgid", 170, "setresgid32"),
        ("getresgid", 171, "getresgid32"),
        ("chown", 182, "chown32"),
        ("setuid", 23, "setuid32"),
        ("setgid", 46, "setgid32"),
        ("setfsuid", 138, "setfsuid32"),
        ("setfsgid", 139, "setfsgid32"),
        ("getrlimit", 76, "ugetrlimit"),
    ];
    const OWN: [(&str, u32); 17] = [
        ("time", 13),
        ("stime", 25),
        ("ioperm", 101),
        ("_llseek", 140),
        ("_newselect", 142),
        ("mmap2", 192),
        ("truncate64", 193),
        ("ftruncate64", 194),
        ("stat64", 195),
        ("lstat64", 196),
        ("fstat64", 197),
        ("fcntl64", 221),
        ("sendfile64", 223),
        ("fadvise64_64", 264),
        ("fstatat64", 293),
        ("clock_gettime64", 403),
        ("futex_time64", 422),
    ];
    let absent = ["newfstatat", "select", "semtimedop"];
    let mut table: Vec<(&str, u32)> = OWN.to_vec();
    table.extend(TIME64.iter().filter(|call| !OWN.contains(call)));
    for (name, number) in s390x {
        if absent.contains(name) {
            continue;
        }
        match IDS.iter().find(|(id, ..)| id == name) {
            Some((_, short, long)) => table.extend([(*name, *short), (*long, *number)]),
            None => table.push((name, *number)),
        }
    }
    table
}
