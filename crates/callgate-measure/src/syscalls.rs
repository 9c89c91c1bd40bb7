//! The syscalls that can be measured, and their arguments.
//!
//! Without a filter, a syscall is executed thousands of times, so it must not block, end the process, have lasting
//! effects, or write to memory. Each syscall here has arguments with which the kernel does almost nothing: an invalid
//! descriptor (-1), an empty path, a null pointer, a process that does not exist, or an invalid value. A filter that
//! inspects arguments sees exactly these and takes the corresponding branches. The values are chosen so that usual
//! profiles permit them if they permit the syscall at all (`socket` requests AF_UNIX, `clone` a thread, `personality`
//! returns the current one). [`MeasurableSyscall::with_args`] accepts others that are as harmless (`arguments.rs`).
//!
//! Syscalls that have an effect with any arguments are excluded (`fork`, `vfork`, `exit_group`, `pause`, `sync`, …).
//! `callgate bench --list-calls` prints the table.
//!
//! Source of the errors: `SYSCALL_DEFINE` of each syscall.

use callgate::{Arch, SeccompData};
use callgate_bpf::SyscallTable;

use crate::arguments::{self, Rule, UnsafeArguments};
use crate::raw::RawSyscall;
use crate::sigreturn;
use crate::subject::{self, Subject, Treatment};

/// A syscall that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasurableSyscall {
    /// Its name.
    pub name: &'static str,
    nr: u32,
    /// The arguments, which [`arguments::check`] accepted.
    args: [u64; 6],
    /// The effect of the syscall with the arguments of the table.
    pub effect: &'static str,
    /// Whether the arguments are not those of the table.
    is_chosen: bool,
}

/// -1 as a descriptor.
pub(crate) const NO: u64 = u64::MAX;

/// In the table, stands for the address of an empty string.
pub(crate) const EMPTY: u64 = u64::MAX - 1;

/// In the table, stands for the address of an invalid time. The kernel reads it and returns EINVAL; a null pointer would be
/// a page fault, which takes several times as long.
pub(crate) const BAD_TIME: u64 = u64::MAX - 2;

/// Seconds and nanoseconds, none of which may be negative: an interval and a time, of which `nanosleep` reads the first.
static INVALID_TIME: [i64; 4] = [-1; 4];

/// A process ID that does not exist: above the maximum.
pub(crate) const ABSENT_PROCESS: u64 = 0x7fff_ffff;

/// A value that is not a command, option, clock or resource.
pub(crate) const ODD: u64 = 0x7ff;

const NO_FILE: &str = "invalid descriptor: EBADF or EINVAL";
const NO_NAME: &str = "empty path: ENOENT or EINVAL";
const NO_PLACE: &str = "null pointer: EFAULT or EINVAL";
const READS: &str = "returns a number";
const REFUSED: &str = "invalid value: EINVAL";
const NO_PROCESS: &str = "no such process: ESRCH or ECHILD";
const KEEPS: &str = "changes nothing";
const RETURNS: &str = "returns from a signal handler, to the next instruction";

/// Arguments, their effect, and the syscalls for which this is true. Further arguments are 0.
type Row = (&'static [u64], &'static str, &'static [&'static str]);

#[rustfmt::skip]
const TABLE: &[Row] = &[
    (&[], READS, &["getpid", "gettid", "getppid", "getuid", "geteuid", "getgid", "getegid", "getpgrp", "getpgid",
        "getsid", "time", "times"]),
    (&[], KEEPS, &["alarm", "brk", "clock_getres", "getrandom", "gettimeofday", "membarrier", "poll",
        "sched_yield", "sigaltstack", "unshare", "getcpu", "getgroups", "sched_get_priority_max",
        "sched_get_priority_min"]),
    (&[], RETURNS, &["rt_sigreturn"]),
    (&[0o22], "sets the usual mask", &["umask"]),
    (&[NO], NO_FILE, &["close", "read", "write", "pread64", "pwrite64", "readv", "writev", "preadv", "pwritev",
        "preadv2", "pwritev2", "lseek", "fstat", "fstatfs", "dup", "fcntl", "ioctl", "flock", "fsync",
        "fdatasync", "ftruncate", "getdents", "getdents64", "fchdir", "fchmod", "fchown", "fallocate",
        "fadvise64", "readahead", "syncfs", "fgetxattr", "flistxattr", "fremovexattr", "connect", "bind",
        "listen", "accept", "accept4", "getsockname", "getpeername", "getsockopt", "setsockopt", "shutdown",
        "sendto", "recvfrom", "sendmsg", "recvmsg", "sendmmsg", "recvmmsg", "epoll_ctl", "epoll_wait",
        "epoll_pwait", "epoll_pwait2", "inotify_add_watch", "inotify_rm_watch", "timerfd_gettime", "setns",
        "pidfd_send_signal", "io_uring_enter", "io_uring_register", "sync_file_range", "fsetxattr",
        "timerfd_settime", "vmsplice", "pidfd_getfd", "process_madvise"]),
    (&[NO, NO], NO_FILE, &["dup2", "dup3", "sendfile"]),
    (&[NO, NO, 1], NO_FILE, &["tee"]),
    (&[NO, 0, NO], NO_FILE, &["copy_file_range"]),
    (&[NO, 0, NO, 0, 1], NO_FILE, &["splice"]),
    (&[0, 0, 0, 0, NO], NO_FILE, &["mmap"]),
    (&[EMPTY], NO_NAME, &["open", "creat", "stat", "lstat", "access", "readlink", "statfs", "chdir", "chmod",
        "chown", "lchown", "truncate", "mkdir", "rmdir", "unlink", "mknod", "utimes", "getxattr", "lgetxattr",
        "listxattr", "execve", "chroot"]),
    (&[EMPTY, EMPTY], NO_NAME, &["rename", "link", "symlink", "mount", "umount2"]),
    (&[NO, EMPTY], NO_NAME, &["openat", "openat2", "newfstatat", "faccessat", "faccessat2", "fchmodat",
        "fchownat", "readlinkat", "mkdirat", "unlinkat", "mknodat", "execveat", "open_tree"]),
    (&[NO, EMPTY, NO, EMPTY], NO_NAME, &["renameat", "renameat2", "linkat", "move_mount"]),
    (&[], NO_PLACE, &["uname", "sysinfo", "add_key", "request_key", "perf_event_open", "statx",
        "rt_sigtimedwait", "io_setup", "clone3", "pipe", "pipe2", "getresuid", "getresgid",
        "sched_getattr", "capget", "clock_gettime", "clock_nanosleep", "io_uring_setup",
        "name_to_handle_at", "symlinkat", "open_by_handle_at", "capset", "get_robust_list", "memfd_create",
        "timer_create", "mq_open"]),
    (&[BAD_TIME], "invalid time: EINVAL", &["nanosleep"]),
    (&[0, 0xffff_ffff], REFUSED, &["ppoll"]),
    (&[0, 129, 1], "wakes no thread (FUTEX_WAKE, private)", &["futex"]),
    (&[1, 15], "AF_UNIX, invalid type: EINVAL", &["socket", "socketpair"]),
    (&[0x10000, 0x10000], "CLONE_THREAD alone: EINVAL", &["clone"]),
    (&[0xffff_ffff], "returns the personality", &["personality"]),
    (&[1], REFUSED, &["munmap", "mprotect", "mremap", "madvise", "msync", "mincore", "close_range"]),
    (&[NO, NO], REFUSED, &["setuid", "setgid", "select", "pselect6", "eventfd2", "epoll_create1", "signalfd4",
        "timerfd_create", "userfaultfd"]),
    (&[NO, NO, NO], KEEPS, &["setresuid", "setresgid", "setreuid", "setregid"]),
    (&[ODD], REFUSED, &["prctl", "arch_prctl", "getrlimit", "getrusage", "getitimer", "getpriority", "waitid",
        "setpriority", "keyctl", "bpf", "seccomp", "timer_delete", "timer_gettime", "timer_getoverrun",
        "timer_settime"]),
    (&[0, ODD], REFUSED, &["prlimit64"]),
    (&[ABSENT_PROCESS], NO_PROCESS, &["wait4", "sched_getscheduler", "sched_getparam", "sched_getaffinity",
        "sched_setscheduler", "sched_setparam", "sched_setaffinity", "sched_rr_get_interval", "setpgid", "kill",
        "tkill", "pidfd_open"]),
    (&[ABSENT_PROCESS, ABSENT_PROCESS], NO_PROCESS, &["tgkill", "kcmp"]),
    (&[16, ABSENT_PROCESS], NO_PROCESS, &["ptrace"]),
    (&[0, 0, 0, 8], "invalid signal, null pointers: EINVAL or no effect", &["rt_sigaction", "rt_sigprocmask"]),
    (&[], "buffer of size 0: ERANGE", &["getcwd"]),
];

/// The address of an empty string, the same in a child.
pub(crate) fn empty_name() -> u64 {
    c"".as_ptr().expose_provenance() as u64
}

/// The address of times that the kernel refuses, the same in a child.
pub(crate) fn invalid_time() -> u64 {
    INVALID_TIME.as_ptr().expose_provenance() as u64
}

/// An argument as text.
fn show(arg: u64) -> String {
    match arg {
        NO => "-1".to_owned(),
        arg if arg == EMPTY || arg == empty_name() => "\"\"".to_owned(),
        arg if arg == BAD_TIME || arg == invalid_time() => "{-1, -1}".to_owned(),
        arg if arg < 10 => arg.to_string(),
        arg => format!("{arg:#x}"),
    }
}

impl MeasurableSyscall {
    /// All syscalls of this machine that can be measured, in the order of the table.
    pub fn all() -> impl Iterator<Item = MeasurableSyscall> {
        let rows = TABLE.iter().flat_map(|(args, effect, names)| {
            names.iter().map(move |name| (*name, *args, *effect))
        });
        rows.filter_map(|(name, given, effect)| {
            let nr = Arch::native()?.number(name)?;
            if name == "rt_sigreturn" && !sigreturn::IS_POSSIBLE {
                return None;
            }
            let mut args = [0; 6];
            for (slot, value) in args.iter_mut().zip(given) {
                *slot = match *value {
                    EMPTY => empty_name(),
                    BAD_TIME => invalid_time(),
                    value => value,
                };
            }
            Some(MeasurableSyscall { name, nr, args, effect, is_chosen: false })
        })
    }

    /// The arguments in the table for the syscall of this name, some of which stand for addresses.
    pub(crate) fn listed(name: &str) -> Option<&'static [u64]> {
        TABLE.iter().find(|(.., names)| names.contains(&name)).map(|(args, ..)| *args)
    }

    /// The table for all machines: arguments, names and effect.
    pub fn groups() -> impl Iterator<Item = (String, &'static [&'static str], &'static str)> {
        TABLE.iter().map(|(args, effect, names)| {
            let args = args.iter().map(|arg| show(*arg)).collect::<Vec<_>>().join(", ");
            (args, *names, *effect)
        })
    }

    /// The syscall of this name; `None` if it cannot be measured or does not exist on this machine.
    pub fn find(name: &str) -> Option<MeasurableSyscall> {
        MeasurableSyscall::all().find(|syscall| syscall.name == name)
    }

    /// The same syscall with chosen arguments. A path is [`MeasurableSyscall::empty_path`].
    ///
    /// # Errors
    /// If the syscall could have an effect with these arguments.
    pub fn with_args(&self, args: [u64; 6]) -> Result<MeasurableSyscall, UnsafeArguments> {
        arguments::check(self.name, &self.args, &self.rule(), &args, empty_name())?;
        Ok(MeasurableSyscall { args, is_chosen: self.is_chosen || args != self.args, ..*self })
    }

    /// As an argument, an empty path: the address of an empty string.
    pub fn empty_path() -> u64 {
        empty_name()
    }

    /// The arguments.
    pub fn args(&self) -> [u64; 6] {
        self.args
    }

    /// Whether the arguments are not those of the table.
    pub fn is_chosen(&self) -> bool {
        self.is_chosen
    }

    /// What decides about chosen arguments.
    fn rule(&self) -> Rule {
        match self.effect {
            NO_FILE if ["dup3", "sendfile", "tee"].contains(&self.name) => Rule::Descriptors(2),
            NO_FILE if self.name != "mmap" => Rule::Descriptors(1),
            NO_NAME => Rule::Paths,
            _ => arguments::special(self.name),
        }
    }

    /// The syscall as a filter sees it.
    pub fn data(&self) -> SeccompData {
        subject::syscall_data(self.nr, self.args).unwrap_or_default()
    }

    /// The syscall as text, without trailing zeros.
    pub fn show(&self) -> String {
        let last = self.args.iter().rposition(|arg| *arg != 0).map_or(0, |last| last + 1);
        let args = self.args.iter().take(last).map(|arg| show(*arg));
        format!("{}({})", self.name, args.collect::<Vec<_>>().join(", "))
    }

    pub(crate) fn raw(&self) -> RawSyscall {
        RawSyscall { nr: self.nr.into(), args: self.args, is_chosen: self.is_chosen }
    }

    /// Whether it needs a signal frame.
    pub(crate) fn is_signal_return(&self) -> bool {
        self.name == "rt_sigreturn"
    }
}

/// Chooses syscalls that cover, for each subject, every [`Treatment`] by a filter: cached, allowed and denied. A treatment is
/// missing if the subject applies it to no measurable syscall.
pub fn choose_syscalls(subjects: &[Subject]) -> Vec<MeasurableSyscall> {
    /// Well-known syscalls, preferred to the others of the table.
    const KNOWN: &[&str] =
        &["getpid", "socket", "clone", "personality", "read", "keyctl", "ptrace", "setns"];
    let known = KNOWN.iter().filter_map(|name| MeasurableSyscall::find(name));
    let syscalls: Vec<MeasurableSyscall> = known.chain(MeasurableSyscall::all()).collect();
    let mut chosen: Vec<MeasurableSyscall> = Vec::new();
    for treatment in [Treatment::Cached, Treatment::Allowed, Treatment::Denied] {
        for subject in subjects {
            let shows =
                |syscall: &&MeasurableSyscall| subject.treatment(&syscall.data()) == treatment;
            if !chosen.iter().any(|syscall| shows(&syscall)) {
                chosen.extend(syscalls.iter().find(shows));
            }
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::body::Body;
    use crate::raw::system_call;

    #[test]
    fn every_syscall_stands_once() {
        let mut seen = HashSet::new();
        for (_, _, names) in TABLE {
            for name in *names {
                assert!(seen.insert(name), "{name} stands twice");
                assert!(callgate_bpf::syscalls::is_known_name(name), "{name} is not a syscall");
            }
        }
        assert!(MeasurableSyscall::find("getpid").is_some());
        for not_safe in ["fork", "vfork", "exit", "exit_group", "pause", "sync", "reboot"] {
            assert_eq!(MeasurableSyscall::find(not_safe), None);
        }
    }

    /// Each is made, in a process of its own that must be there, and itself, afterwards.
    #[test]
    fn stand_ins_return_at_once_and_change_nothing() {
        let syscalls: Vec<MeasurableSyscall> = MeasurableSyscall::all().collect();
        // SAFETY: the child makes syscalls and writes to the shared memory alone.
        let worker = unsafe {
            callgate_linux::Worker::start(1, |words| {
                for syscall in syscalls.iter().chain(&syscalls) {
                    let RawSyscall { nr, args, .. } = syscall.raw();
                    let before = libc::getpid();
                    let result = match syscall.is_signal_return() {
                        true => Body::from(*syscall)
                            .prepare()
                            .and_then(|body| body.run(1, None))
                            .map_or(i64::MAX, |_| 0),
                        false => system_call(nr, args),
                    };
                    let same = before == libc::getpid();
                    let quiet = ["times", "time", "getppid"].contains(&syscall.name)
                        || result < 1 << 32
                        || syscall.name == "brk";
                    if !same || !quiet {
                        break;
                    }
                    words[0].fetch_add(1, std::sync::atomic::Ordering::Release);
                }
            })
        };
        let worker = worker.unwrap();
        let made = || worker.words()[0].load(std::sync::atomic::Ordering::Acquire) as usize;
        let start = std::time::Instant::now();
        while made() < 2 * syscalls.len() && start.elapsed().as_secs() < 20 {
            assert_eq!(worker.has_ended().unwrap(), None, "after {} calls", made());
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let last = syscalls.get(made() % syscalls.len()).map(|syscall| syscall.name);
        assert_eq!(made(), 2 * syscalls.len(), "stopped at {last:?}");
    }
}
