//! The syscalls that can be measured, and their arguments.
//!
//! Under no filter a call is executed thousands of times, so it must not block, end the process, change
//! what matters, or write to memory. Each call here has arguments with which the kernel does next to
//! nothing: no file (-1), an empty name, no address (0), no process of that number, or a value that it
//! refuses. A filter sees
//! exactly these arguments, so a check of arguments is measured on the way that they take; the values are
//! chosen so that usual profiles permit them where they permit the call at all (`socket` asks for
//! AF_UNIX, `clone` for a thread, `personality` only reads).
//!
//! Left out are calls without arguments that do what they do (`fork`, `vfork`, `exit_group`, `pause`,
//! `sync`, `rt_sigreturn`, …): nothing stops them but a filter. `callgate bench --list-calls` prints
//! the table.
//!
//! Source of what the kernel refuses first: `SYSCALL_DEFINE` of each call.

use callgate::{Arch, SeccompData};

use crate::raw::RawCall;
use crate::subject::{self, Subject, Treatment};

/// A call that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StandIn {
    /// Its name.
    pub name: &'static str,
    nr: u32,
    /// The arguments.
    pub args: [u64; 6],
    /// What the kernel does with them.
    pub effect: &'static str,
}

/// -1 as a descriptor.
const NO: u64 = u64::MAX;

/// In the table, in place of the address of an empty name.
const EMPTY: u64 = u64::MAX - 1;

/// A process that does not exist: beyond the largest number.
const NOBODY: u64 = 0x7fff_ffff;

/// A value that is no command, option, clock or resource.
const ODD: u64 = 0x7ff;

const NO_FILE: &str = "no file: EBADF, or EINVAL";
const NO_NAME: &str = "an empty name: ENOENT, or EINVAL";
const NO_PLACE: &str = "no address: EFAULT, or EINVAL";
const READS: &str = "reads a number";
const REFUSED: &str = "refused: EINVAL";
const NO_PROCESS: &str = "no such process: ESRCH, ECHILD";
const KEEPS: &str = "changes nothing";

/// Arguments, what happens, and the calls of which that is true. Further arguments are 0.
type Row = (&'static [u64], &'static str, &'static [&'static str]);

#[rustfmt::skip]
const TABLE: &[Row] = &[
    (&[], READS, &["getpid", "gettid", "getppid", "getuid", "geteuid", "getgid", "getegid", "getpgrp", "getpgid",
        "getsid", "time", "times"]),
    (&[], KEEPS, &["alarm", "brk", "clock_getres", "getrandom", "gettimeofday", "membarrier", "poll",
        "sched_yield", "sigaltstack", "unshare"]),
    (&[0o22], "sets the usual mask", &["umask"]),
    (&[NO], NO_FILE, &["close", "read", "write", "pread64", "pwrite64", "readv", "writev", "preadv", "pwritev",
        "preadv2", "pwritev2", "lseek", "fstat", "fstatfs", "dup", "fcntl", "ioctl", "flock", "fsync",
        "fdatasync", "ftruncate", "getdents", "getdents64", "fchdir", "fchmod", "fchown", "fallocate",
        "fadvise64", "readahead", "syncfs", "fgetxattr", "flistxattr", "fremovexattr", "connect", "bind",
        "listen", "accept", "accept4", "getsockname", "getpeername", "getsockopt", "setsockopt", "shutdown",
        "sendto", "recvfrom", "sendmsg", "recvmsg", "sendmmsg", "recvmmsg", "epoll_ctl", "epoll_wait",
        "epoll_pwait", "epoll_pwait2", "inotify_add_watch", "inotify_rm_watch", "timerfd_gettime", "setns",
        "pidfd_send_signal", "io_uring_enter"]),
    (&[NO, NO], NO_FILE, &["dup2", "dup3", "sendfile"]),
    (&[0, 0, 0, 0, NO], NO_FILE, &["mmap"]),
    (&[EMPTY], NO_NAME, &["open", "creat", "stat", "lstat", "access", "readlink", "statfs", "chdir", "chmod",
        "chown", "lchown", "truncate", "mkdir", "rmdir", "unlink", "mknod", "utimes", "getxattr", "lgetxattr",
        "listxattr", "execve", "chroot"]),
    (&[EMPTY, EMPTY], NO_NAME, &["rename", "link", "symlink", "mount", "umount2"]),
    (&[NO, EMPTY], NO_NAME, &["openat", "openat2", "newfstatat", "faccessat", "faccessat2", "fchmodat",
        "fchownat", "readlinkat", "mkdirat", "unlinkat", "mknodat", "execveat", "open_tree"]),
    (&[NO, EMPTY, NO, EMPTY], NO_NAME, &["renameat", "renameat2", "linkat", "move_mount"]),
    (&[], NO_PLACE, &["uname", "sysinfo", "nanosleep", "add_key", "request_key", "perf_event_open", "statx",
        "rt_sigtimedwait", "io_setup", "clone3", "pipe", "pipe2", "getresuid", "getresgid",
        "sched_getattr", "capget", "clock_gettime", "clock_nanosleep", "io_uring_setup",
        "name_to_handle_at", "symlinkat", "open_by_handle_at"]),
    (&[0, 129, 1], "wakes none (FUTEX_WAKE, private)", &["futex"]),
    (&[1, 15], "AF_UNIX, of no type: EINVAL", &["socket", "socketpair"]),
    (&[0x10000, 0x10000], "CLONE_THREAD alone: EINVAL", &["clone"]),
    (&[0xffff_ffff], "reads the personality", &["personality"]),
    (&[1], REFUSED, &["munmap", "mprotect", "mremap", "madvise", "msync", "mincore", "close_range"]),
    (&[NO, NO], REFUSED, &["setuid", "setgid", "select", "pselect6", "eventfd2", "epoll_create1", "signalfd4",
        "timerfd_create", "userfaultfd"]),
    (&[NO, NO, NO], KEEPS, &["setresuid", "setresgid", "setreuid", "setregid"]),
    (&[ODD], REFUSED, &["prctl", "arch_prctl", "getrlimit", "getrusage", "getitimer", "getpriority", "waitid",
        "keyctl", "bpf", "seccomp", "timer_delete"]),
    (&[0, ODD], REFUSED, &["prlimit64"]),
    (&[NOBODY], NO_PROCESS, &["wait4", "sched_getscheduler", "sched_getparam", "sched_getaffinity", "setpgid",
        "kill", "tkill", "pidfd_open"]),
    (&[NOBODY, NOBODY], NO_PROCESS, &["tgkill", "kcmp"]),
    (&[16, NOBODY], NO_PROCESS, &["ptrace"]),
    (&[0, 0, 0, 8], "no signal, or no set: EINVAL, or nothing", &["rt_sigaction", "rt_sigprocmask"]),
    (&[], "no room: ERANGE", &["getcwd"]),
];

/// The address of an empty name, the same in a child.
fn empty_name() -> u64 {
    c"".as_ptr().expose_provenance() as u64
}

/// An argument as people read it.
fn show(arg: u64) -> String {
    match arg {
        NO => "-1".to_owned(),
        arg if arg == EMPTY || arg == empty_name() => "\"\"".to_owned(),
        arg if arg < 10 => arg.to_string(),
        arg => format!("{arg:#x}"),
    }
}

impl StandIn {
    /// Every call of this machine that can be measured, in the order of the table.
    pub fn all() -> impl Iterator<Item = StandIn> {
        let rows = TABLE.iter().flat_map(|(args, effect, names)| {
            names.iter().map(move |name| (*name, *args, *effect))
        });
        rows.filter_map(|(name, given, effect)| {
            let nr = Arch::native()?.number(name)?;
            let mut args = [0; 6];
            for (slot, value) in args.iter_mut().zip(given) {
                *slot = if *value == EMPTY { empty_name() } else { *value };
            }
            Some(StandIn { name, nr, args, effect })
        })
    }

    /// The table: arguments, names and effect, whatever the machine.
    pub fn groups() -> impl Iterator<Item = (String, &'static [&'static str], &'static str)> {
        TABLE.iter().map(|(args, effect, names)| {
            let args = args.iter().map(|arg| show(*arg)).collect::<Vec<_>>().join(", ");
            (args, *names, *effect)
        })
    }

    /// The call of this name; `None` when it cannot be measured or does not exist on this machine.
    pub fn find(name: &str) -> Option<StandIn> {
        StandIn::all().find(|call| call.name == name)
    }

    /// The call as a filter sees it.
    pub fn data(&self) -> SeccompData {
        subject::call_data(self.nr, self.args).unwrap_or_default()
    }

    /// The arguments as people read them, without the zeros at the end.
    pub fn show(&self) -> String {
        let last = self.args.iter().rposition(|arg| *arg != 0).map_or(0, |last| last + 1);
        let args = self.args.iter().take(last).map(|arg| show(*arg));
        format!("{}({})", self.name, args.collect::<Vec<_>>().join(", "))
    }

    pub(crate) fn raw(&self) -> RawCall {
        RawCall { nr: self.nr.into(), args: self.args }
    }
}

/// Calls that show each treatment that these subjects have for calls: one that the cache answers, one that
/// is looked at and allowed, and one that is denied, of each subject. Where the subjects do not have
/// them, there are fewer.
pub fn choose(subjects: &[Subject]) -> Vec<StandIn> {
    /// What people know, in front of the table.
    const KNOWN: &[&str] =
        &["getpid", "socket", "clone", "personality", "read", "keyctl", "ptrace", "setns"];
    let known = KNOWN.iter().filter_map(|name| StandIn::find(name));
    let calls: Vec<StandIn> = known.chain(StandIn::all()).collect();
    let mut chosen: Vec<StandIn> = Vec::new();
    for treatment in [Treatment::Cached, Treatment::Allowed, Treatment::Denied] {
        for subject in subjects {
            let shows = |call: &&StandIn| subject.treatment(&call.data()) == treatment;
            if !chosen.iter().any(|call| shows(&call)) {
                chosen.extend(calls.iter().find(shows));
            }
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::raw::system_call;

    #[test]
    fn every_call_stands_once() {
        let mut seen = HashSet::new();
        for (_, _, names) in TABLE {
            for name in *names {
                assert!(seen.insert(name), "{name} stands twice");
                assert!(callgate::syscalls::is_known_name(name), "{name} is not a syscall");
            }
        }
        assert!(StandIn::find("getpid").is_some());
        for not_safe in
            ["fork", "vfork", "exit", "exit_group", "pause", "sync", "rt_sigreturn", "reboot"]
        {
            assert_eq!(StandIn::find(not_safe), None);
        }
    }

    /// Each is made, in a process of its own that must be there, and itself, afterwards.
    #[test]
    fn stand_ins_return_at_once_and_change_nothing() {
        let calls: Vec<StandIn> = StandIn::all().collect();
        // SAFETY: the child makes system calls and writes to the shared memory alone.
        let worker = unsafe {
            callgate_linux::Worker::start(1, |words| {
                for call in calls.iter().chain(&calls) {
                    let RawCall { nr, args } = call.raw();
                    let before = libc::getpid();
                    let result = system_call(nr, args);
                    let same = before == libc::getpid();
                    let quiet = ["times", "time", "getppid"].contains(&call.name)
                        || result < 1 << 32
                        || call.name == "brk";
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
        while made() < 2 * calls.len() && start.elapsed().as_secs() < 20 {
            assert_eq!(worker.has_ended().unwrap(), None, "after {} calls", made());
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let last = calls.get(made() % calls.len()).map(|call| call.name);
        assert_eq!(made(), 2 * calls.len(), "stopped at {last:?}");
    }
}
