//! The calls that are made to learn what the filters of this process do, and what the kernel itself can answer to each.
//!
//! No call has an effect outside of the child process that makes it, even if the kernel executes it: its arguments are invalid
//! (a closed descriptor, an empty path, a null pointer, a process that does not exist), or request the current state. A
//! descriptor that is open is that of an empty pipe. Syscalls that have an effect with any arguments are left out (`sync`, `vhangup`,
//! `fork`, `exit_group`, `pause`, …), and those whose answer never tells: loading modules and other kernels.
//!
//! Most syscalls have two calls that the kernel answers differently. A filter that denies the syscall answers both alike.
//!
//! Linux refuses some of them without a privilege; [`PRIVILEGES`] has these. It can lack a syscall, which answers `ENOSYS`
//! (`machine.rs`).
//!
//! Sources: `SYSCALL_DEFINE` of each syscall, Linux 4.14 to 6.18; `cargo test -p callgate-measure` makes each on the running kernel.

use libc::{
    E2BIG, EACCES, EBADF, ECHILD, EFAULT, EINVAL, EMFILE, ENFILE, ENODEV, ENOENT, ENOMEM, ENOSPC,
    ENOSYS, ENOTDIR, ENOTSOCK, ENOTTY, EOPNOTSUPP, EPERM, EPROTONOSUPPORT, ERANGE, ESPIPE, ESRCH,
};

use crate::syscalls::{ABSENT_PROCESS, BAD_TIME, EMPTY, NO, ODD};

/// Instead of arguments: those of the table of measured syscalls.
pub(super) const LISTED: &[u64] = &[u64::MAX - 0x100];

/// As an argument, the end of an empty pipe that reads.
pub(super) const PIPE: u64 = u64::MAX - 0x101;

/// As an argument, the end of the same pipe that writes.
pub(super) const PIPE_END: u64 = u64::MAX - 0x102;

/// As an argument, the address of zeros, to which the kernel may write.
pub(super) const SCRATCH: u64 = u64::MAX - 0x103;

/// As an argument, the child process that makes the call.
pub(super) const OWN_PROCESS: u64 = u64::MAX - 0x104;

/// As an argument, the effective user and group.
pub(super) const OWN_USER: u64 = u64::MAX - 0x105;
pub(super) const OWN_GROUP: u64 = u64::MAX - 0x106;

/// As an answer, a result above 0, which no errno of a filter is.
pub(super) const VALUE: i32 = -1;

/// Arguments, and the answers of the kernel: errnos, 0 for success with the result 0, [`VALUE`].
pub(super) type Call = (&'static [u64], &'static [i32]);

/// Calls, and the syscalls to which they belong.
type Row = (&'static [Call], &'static [&'static str]);

/// What makes sure that the kernel itself does not answer `EPERM`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unless {
    /// A capability, by its number and name.
    Capability(u32, &'static str),
    /// A setting in `/proc/sys` that has this value, or does not exist.
    Setting(&'static str, &'static str),
    /// Linux of this version.
    Since(u16, u16),
}

const SYS_ADMIN: Unless = Unless::Capability(21, "CAP_SYS_ADMIN");

/// Syscalls to all of whose calls the kernel itself can answer `EPERM`, unless one of these holds.
pub(super) const PRIVILEGES: &[(&[Unless], &[&str])] = &[
    (
        &[SYS_ADMIN],
        &[
            "move_mount",
            "swapoff",
            "pivot_root",
            "fsopen",
            "fsmount",
            "fspick",
            "sethostname",
            "setdomainname",
            "fanotify_init",
        ],
    ),
    (&[Unless::Capability(20, "CAP_SYS_PACCT")], &["acct"]),
    (&[Unless::Capability(22, "CAP_SYS_BOOT")], &["reboot"]),
    (&[Unless::Capability(34, "CAP_SYSLOG")], &["syslog"]),
    (&[Unless::Capability(6, "CAP_SETGID")], &["setgroups"]),
    (&[Unless::Capability(14, "CAP_IPC_LOCK")], &["mlock", "mlock2"]),
    (&[Unless::Capability(2, "CAP_DAC_READ_SEARCH")], &["open_by_handle_at"]),
    (&[Unless::Capability(19, "CAP_SYS_PTRACE"), Unless::Since(5, 11)], &["userfaultfd"]),
    (
        &[
            SYS_ADMIN,
            Unless::Since(5, 19),
            Unless::Setting("kernel/unprivileged_bpf_disabled", "0"),
        ],
        &["bpf"],
    ),
    (&[Unless::Setting("kernel/io_uring_disabled", "0")], &["io_uring_setup"]),
];

/// The calls of each syscall. One with arguments that filters often deny has a row for each kind of them, which are judged alone and
/// not beside each other. `close` is the last, because it closes an end of the pipe.
#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    // Numbers.
    (&[(LISTED, &[VALUE])], &["getpid", "gettid", "time", "times", "brk"]),
    // The number of a process outside of the PID namespace, and of root, is 0.
    (&[(LISTED, &[0, VALUE])], &["getpgrp", "getppid", "getuid", "geteuid", "getgid", "getegid", "getpgid", "getsid"]),
    // The second call returns the mask of the first.
    (&[(LISTED, &[0, VALUE]), (LISTED, &[VALUE])], &["umask"]),
    // No change.
    (&[(LISTED, &[0])], &["alarm", "sched_yield", "setresuid", "setresgid", "setreuid", "setregid"]),
    (&[(LISTED, &[0, VALUE])], &["personality"]),
    (&[(LISTED, &[0]), (&[ODD], &[EINVAL])],
        &["clock_getres", "unshare", "sched_get_priority_max", "sched_get_priority_min"]),
    (&[(LISTED, &[0]), (&[0, 0, ODD], &[EINVAL])], &["getrandom"]),
    (&[(LISTED, &[0]), (&[1], &[EFAULT])], &["gettimeofday", "sigaltstack", "getcpu"]),
    (&[(LISTED, &[0, VALUE]), (&[NO], &[EINVAL])], &["getgroups"]),
    (&[(LISTED, &[0, VALUE, ENOSYS]), (&[ODD], &[EINVAL, ENOSYS])], &["membarrier"]),
    (&[(LISTED, &[0]), (&[0, 0xffff_ffff], &[EINVAL])], &["poll"]),
    (&[(LISTED, &[0]), (&[0, 0, 0, 0], &[EINVAL])], &["rt_sigprocmask"]),
    (&[(LISTED, &[0]), (&[1, 129, 1], &[EINVAL])], &["futex"]),
    // Descriptors: a closed one, and a pipe.
    (&[(LISTED, &[EBADF]), (&[PIPE], &[0])], &["read", "readv"]),
    (&[(LISTED, &[EBADF]), (&[PIPE_END], &[0])], &["write", "writev"]),
    (&[(LISTED, &[EBADF]), (&[PIPE], &[ESPIPE])],
        &["pread64", "pwrite64", "preadv", "pwritev", "preadv2", "pwritev2", "lseek", "fadvise64"]),
    (&[(LISTED, &[EBADF]), (&[PIPE], &[EFAULT])], &["fstat", "fstatfs"]),
    (&[(LISTED, &[EBADF]), (&[PIPE], &[VALUE])], &["dup"]),
    (&[(LISTED, &[EBADF]), (&[PIPE, PIPE], &[VALUE])], &["dup2"]),
    (&[(LISTED, &[EINVAL, EBADF]), (&[NO, 0], &[EBADF])], &["dup3"]),
    (&[(LISTED, &[EBADF]), (&[PIPE, ODD], &[EINVAL])], &["fcntl"]),
    (&[(LISTED, &[EBADF]), (&[PIPE], &[ENOTTY])], &["ioctl"]),
    (&[(LISTED, &[EBADF, EINVAL]), (&[PIPE, 8], &[0])], &["flock"]),
    (&[(LISTED, &[EBADF]), (&[PIPE], &[EINVAL])], &["fsync", "fdatasync", "ftruncate"]),
    (&[(LISTED, &[EBADF]), (&[PIPE], &[EINVAL, ESPIPE])], &["readahead", "fallocate"]),
    (&[(LISTED, &[EBADF]), (&[PIPE], &[ENOTDIR])], &["getdents", "getdents64", "fchdir"]),
    (&[(LISTED, &[EBADF]), (&[PIPE, 0o600], &[0, EPERM])], &["fchmod"]),
    (&[(LISTED, &[EBADF]), (&[PIPE, NO, NO], &[0])], &["fchown"]),
    (&[(LISTED, &[EBADF])], &["syncfs"]),
    // Linux 6.13 reads the name first.
    (&[(LISTED, &[EBADF, EFAULT]), (&[PIPE, EMPTY], &[ERANGE])], &["fgetxattr", "fsetxattr", "fremovexattr"]),
    (&[(LISTED, &[EBADF]), (&[PIPE], &[0, VALUE, EOPNOTSUPP])], &["flistxattr"]),
    (&[(LISTED, &[EBADF]), (&[PIPE], &[ENOTSOCK])],
        &["connect", "bind", "listen", "accept", "accept4", "getsockname", "getpeername", "getsockopt", "setsockopt",
        "shutdown", "sendto", "recvfrom", "sendmsg", "recvmsg", "sendmmsg", "recvmmsg"]),
    (&[(LISTED, &[EFAULT]), (&[PIPE, 2, NO], &[EBADF])], &["epoll_ctl"]),
    (&[(LISTED, &[EBADF, EINVAL]), (&[NO, 0, 1], &[EBADF]), (&[PIPE, 0, 1], &[EINVAL])],
        &["epoll_wait", "epoll_pwait", "epoll_pwait2"]),
    (&[(LISTED, &[EBADF, EINVAL]), (&[NO, 0, 1], &[EBADF]), (&[PIPE, 0, 1], &[EINVAL, EFAULT])],
        &["inotify_add_watch"]),
    (&[(LISTED, &[EBADF]), (&[PIPE], &[EINVAL])],
        &["inotify_rm_watch", "timerfd_gettime", "setns"]),
    (&[(LISTED, &[EBADF]), (&[NO, 0, 0, ODD], &[EINVAL])],
        &["pidfd_send_signal", "vmsplice"]),
    (&[(LISTED, &[EBADF, EINVAL]), (&[PIPE], &[EOPNOTSUPP, EINVAL])],
        &["io_uring_enter", "io_uring_register"]),
    (&[(LISTED, &[EBADF]), (&[PIPE, 0, 0, ODD], &[EINVAL])], &["sync_file_range"]),
    (&[(LISTED, &[EFAULT]), (&[NO, 0, BAD_TIME], &[EINVAL])], &["timerfd_settime"]),
    (&[(LISTED, &[EBADF]), (&[NO, 0, ODD], &[EINVAL])], &["pidfd_getfd"]),
    (&[(LISTED, &[EBADF]), (&[NO, 0, 0, 0, ODD], &[EINVAL])], &["process_madvise"]),
    (&[(LISTED, &[EBADF]), (&[NO, NO, 1], &[EFAULT])], &["sendfile"]),
    (&[(LISTED, &[EBADF]), (&[NO, NO, 1, ODD], &[EINVAL, EBADF])], &["tee"]),
    (&[(LISTED, &[EBADF]), (&[PIPE, 0, PIPE_END], &[EINVAL])], &["copy_file_range"]),
    (&[(LISTED, &[EBADF]), (&[NO, 0, NO, 0, 1, ODD], &[EINVAL])], &["splice"]),
    (&[(LISTED, &[EBADF]), (&[0, 0, 0, 0x22, NO], &[EINVAL])], &["mmap"]),
    // Paths: an empty one, and none.
    (&[(LISTED, &[ENOENT]), (&[], &[EFAULT])],
        &["open", "creat", "stat", "lstat", "access", "statfs", "chdir", "chmod", "chown", "lchown", "truncate",
        "mkdir", "rmdir", "unlink", "mknod", "utimes", "listxattr", "execve", "chroot", "rename", "link", "symlink",
        "mount"]),
    (&[(LISTED, &[ENOENT, EINVAL]), (&[0, 0, 1], &[EFAULT])], &["readlink"]),
    (&[(LISTED, &[ENOENT, EFAULT]), (&[0, EMPTY], &[EFAULT, ERANGE])], &["getxattr", "lgetxattr"]),
    (&[(LISTED, &[EINVAL]), (&[], &[EFAULT, EPERM])], &["umount2"]),
    (&[(LISTED, &[ENOENT]), (&[NO], &[EFAULT])],
        &["openat", "newfstatat", "faccessat", "faccessat2", "fchmodat", "fchownat", "mkdirat", "unlinkat", "mknodat",
        "execveat", "open_tree"]),
    (&[(LISTED, &[EINVAL]), (&[NO, EMPTY, 0, 24], &[EFAULT])], &["openat2"]),
    (&[(LISTED, &[ENOENT, EINVAL]), (&[NO, 0, 0, 1], &[EFAULT])], &["readlinkat"]),
    (&[(LISTED, &[ENOENT]), (&[NO, 0, NO], &[EFAULT])], &["renameat", "renameat2", "linkat"]),
    (&[(LISTED, &[ENOENT, EBADF]), (&[NO, EMPTY, NO, EMPTY, ODD], &[EINVAL])], &["move_mount"]),
    // Addresses: none, and one to which the kernel writes.
    (&[(LISTED, &[EFAULT]), (&[SCRATCH, SCRATCH, SCRATCH], &[0])], &["uname", "sysinfo", "getresuid", "getresgid"]),
    (&[(LISTED, &[EFAULT]), (&[SCRATCH], &[0])], &["pipe"]),
    (&[(LISTED, &[EFAULT]), (&[0, ODD], &[EINVAL])], &["pipe2", "memfd_create"]),
    (&[(LISTED, &[EFAULT]), (&[EMPTY], &[EINVAL])], &["add_key", "request_key"]),
    (&[(LISTED, &[EFAULT, EACCES, EPERM]), (&[0, 0, 0, 0, ODD], &[EINVAL])], &["perf_event_open"]),
    (&[(LISTED, &[EFAULT]), (&[0, 0, 0, 0x8000_0000], &[EINVAL])], &["statx"]),
    (&[(LISTED, &[EINVAL]), (&[0, 0, 0, 8], &[EFAULT])], &["rt_sigtimedwait"]),
    (&[(LISTED, &[EFAULT]), (&[0, SCRATCH], &[EINVAL])], &["io_setup", "io_uring_setup"]),
    (&[(LISTED, &[EINVAL]), (&[0, 64], &[EFAULT])], &["clone3"]),
    (&[(LISTED, &[EINVAL]), (&[ABSENT_PROCESS, SCRATCH, 48], &[ESRCH])], &["sched_getattr"]),
    (&[(LISTED, &[EFAULT]), (&[SCRATCH, SCRATCH], &[EINVAL])], &["capget"]),
    (&[(LISTED, &[EFAULT]), (&[SCRATCH], &[EINVAL])], &["capset"]),
    (&[(LISTED, &[EFAULT]), (&[ODD], &[EINVAL])], &["clock_gettime", "clock_nanosleep", "timer_create"]),
    (&[(LISTED, &[EFAULT]), (&[0, 0, 0, 0, ODD], &[EINVAL])], &["name_to_handle_at"]),
    (&[(LISTED, &[EFAULT]), (&[EMPTY], &[ENOENT])], &["symlinkat", "mq_open"]),
    (&[(LISTED, &[EFAULT, EBADF]), (&[NO, SCRATCH], &[EINVAL, EBADF])], &["open_by_handle_at"]),
    (&[(LISTED, &[EFAULT, ENOSYS]), (&[ABSENT_PROCESS], &[ESRCH, ENOSYS])], &["get_robust_list"]),
    // Values.
    (&[(LISTED, &[EINVAL]), (&[], &[EFAULT])], &["nanosleep", "getrlimit", "getrusage"]),
    (&[(LISTED, &[EINVAL]), (&[0, 0, 1], &[EFAULT])], &["ppoll"]),
    (&[(LISTED, &[EINVAL]), (&[1, 1, ODD], &[EPROTONOSUPPORT, EACCES])], &["socket"]),
    (&[(LISTED, &[EFAULT, EINVAL]), (&[1, 0x7f0], &[EINVAL])], &["socketpair"]),
    (&[(LISTED, &[EINVAL])], &["clone"]),
    (&[(LISTED, &[EINVAL]), (&[0, 0x1000], &[0])], &["munmap"]),
    (&[(LISTED, &[EINVAL]), (&[], &[0])], &["mprotect", "madvise", "msync", "mincore"]),
    (&[(LISTED, &[EINVAL]), (&[0, 0x1000, 0x1000], &[EFAULT])], &["mremap"]),
    (&[(LISTED, &[EINVAL]), (&[0x7fff_fff0, 0x7fff_fff1], &[0])], &["close_range"]),
    (&[(LISTED, &[EINVAL]), (&[OWN_USER], &[0])], &["setuid"]),
    (&[(LISTED, &[EINVAL]), (&[OWN_GROUP], &[0])], &["setgid"]),
    (&[(LISTED, &[EINVAL]), (&[0, 0, 0, 0, 1], &[EFAULT])], &["select", "pselect6"]),
    (&[(LISTED, &[EINVAL]), (&[], &[VALUE, EMFILE, ENFILE])], &["eventfd2", "epoll_create1", "timerfd_create"]),
    (&[(LISTED, &[EINVAL]), (&[NO, 0, 8], &[EFAULT])], &["signalfd4"]),
    (&[(LISTED, &[EINVAL]), (&[1], &[VALUE, EINVAL, EMFILE, ENFILE])], &["userfaultfd"]),
    (&[(LISTED, &[EINVAL]), (&[15], &[EFAULT])], &["prctl"]),
    (&[(LISTED, &[EINVAL, ENODEV]), (&[0x1003], &[EFAULT])], &["arch_prctl"]),
    (&[(LISTED, &[EINVAL, EFAULT]), (&[0, SCRATCH], &[0])], &["getitimer"]),
    (&[(LISTED, &[EINVAL]), (&[], &[VALUE])], &["getpriority"]),
    (&[(LISTED, &[EINVAL]), (&[0, 0, 0, 5], &[ECHILD])], &["waitid"]),
    (&[(LISTED, &[EINVAL]), (&[0, ABSENT_PROCESS], &[ESRCH])], &["setpriority"]),
    (&[(LISTED, &[EOPNOTSUPP]), (&[], &[EINVAL])], &["keyctl"]),
    (&[(LISTED, &[EINVAL]), (&[ODD, 0, 0x7fff_ffff], &[E2BIG])], &["bpf"]),
    (&[(LISTED, &[EINVAL]), (&[2], &[EFAULT])], &["seccomp"]),
    (&[(LISTED, &[EINVAL])], &["timer_delete", "timer_gettime", "timer_getoverrun"]),
    (&[(LISTED, &[EINVAL]), (&[ODD, 0, 1], &[EFAULT])], &["timer_settime"]),
    (&[(LISTED, &[EINVAL]), (&[ABSENT_PROCESS], &[ESRCH])], &["prlimit64"]),
    (&[(LISTED, &[EINVAL]), (&[1, 1, 0, 8], &[EFAULT])], &["rt_sigaction"]),
    (&[(LISTED, &[ERANGE]), (&[1, 0x1000], &[EFAULT])], &["getcwd"]),
    // Processes: one that does not exist.
    (&[(LISTED, &[ECHILD]), (&[0, 0, ODD], &[EINVAL])], &["wait4"]),
    (&[(LISTED, &[ESRCH]), (&[NO], &[EINVAL])], &["sched_getscheduler", "sched_rr_get_interval"]),
    (&[(LISTED, &[EINVAL, ESRCH]), (&[ABSENT_PROCESS, SCRATCH], &[ESRCH])], &["sched_getparam", "sched_setparam"]),
    (&[(LISTED, &[EINVAL, ESRCH]), (&[ABSENT_PROCESS, 0x2000, SCRATCH], &[ESRCH])], &["sched_getaffinity"]),
    (&[(LISTED, &[EINVAL, ESRCH]), (&[ABSENT_PROCESS, 0, SCRATCH], &[ESRCH])], &["sched_setscheduler"]),
    (&[(LISTED, &[ESRCH]), (&[ABSENT_PROCESS, 8], &[EFAULT])], &["sched_setaffinity"]),
    (&[(LISTED, &[ESRCH]), (&[0, NO], &[EINVAL])], &["setpgid"]),
    (&[(LISTED, &[ESRCH]), (&[], &[0])], &["kill"]),
    (&[(LISTED, &[ESRCH]), (&[], &[EINVAL])], &["tkill", "tgkill"]),
    (&[(LISTED, &[ESRCH]), (&[ABSENT_PROCESS, ODD], &[EINVAL])], &["pidfd_open"]),
    (&[(LISTED, &[ESRCH]), (&[OWN_PROCESS, OWN_PROCESS, ODD], &[EINVAL])], &["kcmp"]),
    (&[(LISTED, &[ESRCH]), (&[16, OWN_PROCESS], &[EPERM])], &["ptrace"]),
    // Syscalls that are not measured.
    (&[(&[EMPTY], &[ENOENT]), (&[], &[EFAULT])], &["utime"]),
    (&[(&[EMPTY], &[ENOENT]), (&[], &[EFAULT])], &["swapoff"]),
    (&[(&[EMPTY, 0x80_0000], &[EINVAL]), (&[EMPTY], &[ENOENT, EPERM])], &["swapon"]),
    (&[(&[EMPTY, EMPTY], &[ENOENT]), (&[1, 1], &[EFAULT])], &["pivot_root"]),
    (&[(&[EMPTY], &[ENOENT]), (&[1], &[EFAULT])], &["acct"]),
    (&[(&[NO, EMPTY], &[ENOENT]), (&[NO, 1], &[EFAULT])], &["futimesat", "fchmodat2"]),
    (&[(&[NO, EMPTY], &[ENOENT]), (&[NO], &[EBADF])], &["utimensat"]),
    (&[(&[EMPTY], &[ENOENT, EFAULT]), (&[0, EMPTY], &[EFAULT, ERANGE])],
        &["llistxattr", "setxattr", "lsetxattr", "removexattr", "lremovexattr"]),
    (&[(&[0, ODD], &[EINVAL]), (&[], &[EFAULT])], &["fsopen"]),
    (&[(&[NO], &[EINVAL]), (&[PIPE, ODD], &[EOPNOTSUPP])], &["fsconfig"]),
    (&[(&[NO, ODD], &[EINVAL]), (&[NO], &[EBADF])], &["fsmount", "process_mrelease"]),
    (&[(&[NO, EMPTY, ODD], &[EINVAL]), (&[NO, EMPTY], &[ENOENT])], &["fspick"]),
    (&[(&[NO, EMPTY], &[EINVAL]), (&[NO, EMPTY, 0, 0, 0x7fff_ffff], &[E2BIG])], &["mount_setattr"]),
    (&[(&[0, 0, 0, ODD], &[EINVAL]), (&[], &[EFAULT])], &["statmount", "listmount"]),
    (&[(&[NO], &[EBADF]), (&[PIPE], &[EFAULT])], &["cachestat"]),
    (&[(&[0, NO], &[EINVAL]), (&[1, 1], &[EFAULT])], &["sethostname", "setdomainname"]),
    (&[(&[0], &[EINVAL])], &["reboot"]),
    (&[(&[1], &[EFAULT]), (&[BAD_TIME], &[EINVAL])], &["settimeofday"]),
    (&[(&[ODD], &[EINVAL]), (&[0, 1], &[EFAULT])], &["clock_settime"]),
    (&[(&[ODD, 1], &[EFAULT]), (&[ODD, SCRATCH], &[EINVAL])], &["clock_adjtime"]),
    (&[(&[1], &[EFAULT]), (&[SCRATCH], &[0, VALUE])], &["adjtimex"]),
    (&[(&[NO, 2, 1], &[EINVAL, ENOSYS]), (&[0, 1], &[0, ENOSYS])], &["ioperm"]),
    (&[(&[ODD], &[EINVAL, ENOSYS]), (&[], &[0, ENOSYS])], &["iopl"]),
    // The kernel returns its errors as numbers of 32 bits.
    (&[(&[], &[0]), (&[1], &[EINVAL, VALUE])], &["modify_ldt"]),
    (&[(&[ODD], &[EINVAL]), (&[3], &[VALUE])], &["sysfs"]),
    (&[(&[ODD], &[EINVAL]), (&[10], &[VALUE])], &["syslog"]),
    (&[(&[ODD], &[EINVAL]), (&[0x8000_0400], &[ENODEV])], &["quotactl"]),
    (&[(&[NO, ODD], &[EBADF]), (&[PIPE, ODD], &[EINVAL])], &["quotactl_fd"]),
    (&[(&[0x8000_0000], &[EINVAL])], &["fanotify_init"]),
    (&[(&[NO], &[EINVAL]), (&[NO, 1, 1, NO], &[EBADF])], &["fanotify_mark"]),
    (&[(&[1], &[EINVAL]), (&[], &[0])], &["mbind", "set_mempolicy_home_node"]),
    (&[(&[ODD], &[EINVAL]), (&[], &[0])], &["set_mempolicy"]),
    (&[(&[0, 0, 0, 0, ODD], &[EINVAL]), (&[], &[0])], &["get_mempolicy"]),
    (&[(&[ABSENT_PROCESS], &[ESRCH]), (&[ABSENT_PROCESS, 0x7fff_ffff, 1, 1], &[EINVAL])], &["migrate_pages"]),
    (&[(&[ABSENT_PROCESS, 0, 0, 0, 0, ODD], &[EINVAL]), (&[ABSENT_PROCESS], &[ESRCH])], &["move_pages"]),
    (&[(&[ODD], &[EINVAL]), (&[], &[VALUE, ENOSPC, EINVAL])], &["pkey_alloc"]),
    (&[(&[1, 0, 0, NO], &[EINVAL]), (&[0, 0, 0, NO], &[0])], &["pkey_mprotect"]),
    (&[(&[], &[0]), (&[0, 0x1000], &[ENOMEM])], &["mlock", "munlock"]),
    (&[(&[0, 0, ODD], &[EINVAL]), (&[], &[0])], &["mlock2"]),
    (&[(&[0, 0, ODD], &[EINVAL]), (&[], &[0])], &["mseal"]),
    (&[(&[0, 1], &[EINVAL, ENOSYS]), (&[0, 24], &[0, ENOSYS])], &["set_robust_list"]),
    (&[(&[], &[EINVAL]), (&[0, 1], &[EFAULT])], &["sched_setattr"]),
    (&[(&[ODD], &[EINVAL]), (&[1, ABSENT_PROCESS], &[ESRCH])], &["ioprio_get", "ioprio_set"]),
    (&[(&[0], &[EINVAL])], &["io_destroy", "io_submit"]),
    (&[(&[], &[EFAULT]), (&[0, SCRATCH], &[EINVAL])], &["io_cancel"]),
    (&[(&[], &[EINVAL]), (&[0, 0, 0, 0, 1], &[EFAULT])], &["io_getevents", "io_pgetevents"]),
    (&[(&[NO], &[EINVAL]), (&[], &[VALUE, EMFILE, ENFILE])], &["inotify_init1"]),
    (&[(&[], &[EINVAL]), (&[1], &[VALUE, EMFILE, ENFILE])], &["epoll_create"]),
    (&[(&[NO, 0, 0], &[EINVAL]), (&[NO, 0, 8], &[EFAULT])], &["signalfd"]),
    (&[(&[], &[EFAULT]), (&[EMPTY], &[ENOENT])], &["mq_unlink"]),
    (&[(&[NO], &[EBADF]), (&[NO, 0, 0, 0xffff_ffff], &[EINVAL])], &["mq_timedsend"]),
    (&[(&[NO], &[EBADF]), (&[NO, 0, 0, 0, 1], &[EFAULT])], &["mq_timedreceive"]),
    (&[(&[NO], &[EBADF]), (&[NO, 1], &[EFAULT])], &["mq_notify", "mq_getsetattr"]),
    (&[(&[NO, ODD], &[EINVAL]), (&[0, 3], &[EFAULT])], &["msgctl", "shmctl"]),
    (&[(&[NO, 0, ODD], &[EINVAL]), (&[0, 0, 3], &[EFAULT])], &["semctl"]),
    (&[(&[NO], &[EFAULT]), (&[NO, SCRATCH], &[EINVAL])], &["msgsnd"]),
    (&[(&[NO], &[EINVAL])], &["msgrcv", "shmat"]),
    (&[(&[1], &[EINVAL])], &["shmdt"]),
    (&[(&[ABSENT_PROCESS, NO], &[EINVAL]), (&[ABSENT_PROCESS], &[ENOENT, VALUE, EACCES])], &["semget"]),
    (&[(&[ABSENT_PROCESS], &[ENOENT, VALUE, EACCES])], &["msgget", "shmget"]),
    (&[(&[NO], &[EINVAL]), (&[0, 0, 0x7fff_ffff], &[E2BIG])], &["semop", "semtimedop"]),
    (&[(&[0, 0, ODD], &[EINVAL, EOPNOTSUPP]), (&[0, 0, 1], &[VALUE, EOPNOTSUPP])], &["landlock_create_ruleset"]),
    (&[(&[NO, 0, 0, ODD], &[EINVAL, EOPNOTSUPP]), (&[NO], &[EBADF, EOPNOTSUPP])], &["landlock_add_rule"]),
    (&[(&[NO, 0x8000_0000], &[EINVAL, EPERM, EOPNOTSUPP]), (&[NO], &[EBADF, EPERM, EOPNOTSUPP])],
        &["landlock_restrict_self"]),
    (&[(&[ABSENT_PROCESS, 0, 0, 0, 0, ODD], &[EINVAL]), (&[ABSENT_PROCESS], &[0, ESRCH])],
        &["process_vm_readv", "process_vm_writev"]),
    (&[(&[], &[EINVAL]), (&[1, 1], &[EFAULT])], &["futex_waitv"]),
    (&[(&[NO, 0, ODD], &[EINVAL]), (&[NO], &[EFAULT])], &["listxattrat", "removexattrat"]),
    (&[(&[NO], &[EINVAL]), (&[NO, 0, 0, 0, 0, 0x7fff_ffff], &[E2BIG])], &["getxattrat", "setxattrat"]),
    (&[(&[0, 0, ODD], &[EINVAL]), (&[], &[EFAULT])], &["lsm_list_modules"]),
    (&[(&[ODD], &[EFAULT]), (&[ODD, SCRATCH], &[EINVAL])], &["setrlimit"]),
    (&[(&[ODD], &[EINVAL]), (&[0, 1], &[EFAULT])], &["setitimer"]),
    (&[(&[0, 8], &[EFAULT]), (&[0, 16], &[EINVAL])], &["rt_sigpending"]),
    (&[(&[], &[EINVAL]), (&[0, 8], &[EFAULT])], &["rt_sigsuspend"]),
    (&[(&[ABSENT_PROCESS], &[EFAULT]), (&[ABSENT_PROCESS, 0, SCRATCH], &[EPERM])], &["rt_sigqueueinfo"]),
    (&[(&[], &[EFAULT]), (&[0, 0, 0, SCRATCH], &[EINVAL])], &["rt_tgsigqueueinfo"]),
    (&[(&[NO], &[EINVAL]), (&[1, 1], &[EFAULT])], &["setgroups"]),
    (&[(&[NO], &[0, VALUE])], &["setfsuid", "setfsgid"]),
    // Arguments that profiles deny: AF_ALG and AF_VSOCK, with an invalid type; CLONE_NEWUSER, with the invalid flags.
    (&[(&[38, 15], &[EINVAL])], &["socket"]),
    (&[(&[0x1001_0000, 0x1001_0000], &[EINVAL])], &["clone"]),
    (&[(&[40, 15], &[EINVAL])], &["socket"]),
    (&[(LISTED, &[EBADF]), (&[PIPE_END], &[0])], &["close"]),
];
