//! Syscalls that every program or the C library makes, although the program does not ask for them.

use callgate_bpf::SyscallTable;
use callgate_bpf::syscalls::known_name;
use callgate_core::diagram::Pred;
use callgate_core::{Action, Arch};
use callgate_formats::statements::Inactivity;

use crate::error::Result;
use crate::lint::check::Check;
use crate::lint::finding::{Finding, Findings, listed};
use crate::lint::view::{Does, View};

/// Syscalls, what fails without them, and what to do.
const NEEDED: [(&str, &str, &str); 5] = [
    ("rt_sigreturn", "a signal handler cannot return", "allow it"),
    (
        "sigreturn",
        "a handler of signals that is installed without SA_SIGINFO cannot return",
        "allow it",
    ),
    (
        "restart_syscall",
        "a sleep or poll that a stop signal interrupted fails (signal(7))",
        "allow it: it only continues a syscall that was already permitted",
    ),
    ("exit_group", "the process cannot exit", "allow it"),
    ("exit", "a thread cannot end", "allow it"),
];

/// Whether the kernel has a frame for handlers that are installed without SA_SIGINFO, which returns by `sigreturn`
/// (`setup_frame` in `arch/*/kernel/signal.c`). Others have the number only.
fn has_old_frames(arch: Arch) -> bool {
    matches!(
        arch,
        Arch::X86
            | Arch::Arm
            | Arch::S390
            | Arch::S390x
            | Arch::Ppc
            | Arch::Mips
            | Arch::Mipsel
            | Arch::M68k
            | Arch::Sh
            | Arch::Sheb
    )
}

pub(in crate::lint) fn needed(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    for arch in view.arches.iter().copied() {
        // An ABI of which nothing is permitted is denied on purpose.
        let mut is_used = false;
        for (_, name) in arch.syscalls() {
            is_used = is_used || view.named_where(arch, name, Does::Permit)? != Pred::NEVER;
        }
        if !is_used {
            continue;
        }
        for (name, effect, help) in NEEDED {
            let Some((_, func)) = view.named(arch, name) else { continue };
            if view.denies(func)? != Pred::ALWAYS || (name == "sigreturn" && !has_old_frames(arch))
            {
                continue;
            }
            let message = format!("`{name}` is denied: {effect}");
            let at = view.place(arch, name, |_| true);
            let example = view.named_example(arch, name, Does::Deny)?;
            let finding = Finding::new(Check::NeededCall, message).help(help).at(at).on(arch);
            findings.add(finding.about([name]).examples([example]));
        }
    }
    Ok(())
}

/// Syscalls of which each architecture has some, for the same function of the C library.
const SIBLINGS: &[&[&str]] = &[
    &["fcntl", "fcntl64"],
    &["lseek", "_llseek"],
    &["mmap", "mmap2"],
    &["stat", "stat64", "newfstatat", "fstatat64"],
    &["lstat", "lstat64", "newfstatat", "fstatat64"],
    &["fstat", "fstat64"],
    &["newfstatat", "fstatat64"],
    &["statfs", "statfs64"],
    &["fstatfs", "fstatfs64"],
    &["truncate", "truncate64"],
    &["ftruncate", "ftruncate64"],
    &["sendfile", "sendfile64"],
    &["fadvise64", "fadvise64_64", "arm_fadvise64_64"],
    &["sync_file_range", "sync_file_range2", "arm_sync_file_range"],
    &["select", "_newselect", "pselect6"],
    &["poll", "ppoll"],
    &["epoll_wait", "epoll_pwait"],
    &["epoll_create", "epoll_create1"],
    &["eventfd", "eventfd2"],
    &["signalfd", "signalfd4"],
    &["inotify_init", "inotify_init1"],
    &["pipe", "pipe2"],
    &["dup2", "dup3"],
    &["open", "openat"],
    &["access", "faccessat"],
    &["mkdir", "mkdirat"],
    &["mknod", "mknodat"],
    &["rmdir", "unlinkat"],
    &["unlink", "unlinkat"],
    &["rename", "renameat", "renameat2"],
    &["link", "linkat"],
    &["symlink", "symlinkat"],
    &["readlink", "readlinkat"],
    &["chmod", "fchmodat"],
    &["chown", "chown32", "fchownat"],
    &["lchown", "lchown32", "fchownat"],
    &["fchown", "fchown32"],
    &["utime", "utimes", "futimesat", "utimensat"],
    &["getdents", "getdents64"],
    &["getrlimit", "ugetrlimit", "prlimit64"],
    &["setrlimit", "prlimit64"],
    &["getuid", "getuid32"],
    &["geteuid", "geteuid32"],
    &["getgid", "getgid32"],
    &["getegid", "getegid32"],
    &["setuid", "setuid32"],
    &["setgid", "setgid32"],
    &["setreuid", "setreuid32"],
    &["setregid", "setregid32"],
    &["setresuid", "setresuid32"],
    &["setresgid", "setresgid32"],
    &["getresuid", "getresuid32"],
    &["getresgid", "getresgid32"],
    &["getgroups", "getgroups32"],
    &["setgroups", "setgroups32"],
    &["setfsuid", "setfsuid32"],
    &["setfsgid", "setfsgid32"],
    &["waitpid", "wait4"],
    &["send", "sendto"],
    &["recv", "recvfrom"],
    &["accept", "accept4"],
    &["sigaction", "rt_sigaction"],
    &["sigprocmask", "rt_sigprocmask"],
    &["sigreturn", "rt_sigreturn"],
    &["sigsuspend", "rt_sigsuspend"],
    &["sigpending", "rt_sigpending"],
    &["umount", "umount2"],
    &["fork", "vfork", "clone"],
    &["alarm", "setitimer"],
    &["pause", "ppoll"],
    &["time", "gettimeofday", "clock_gettime"],
    &["nice", "setpriority"],
    &["clock_gettime", "clock_gettime64"],
    &["futex", "futex_time64"],
];

pub(in crate::lint) fn siblings(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    for (filter, text) in view.texts() {
        for rule in text.inactive.iter().filter(|rule| rule.verdict.permits()) {
            let Inactivity::MissingOn(arch) = rule.reason else { continue };
            let Some(name) = known_name(&rule.name) else { continue };
            for family in SIBLINGS.iter().filter(|family| family.contains(&name)) {
                let mut denied = Vec::new();
                let mut is_possible = false;
                for sibling in family.iter().copied().filter(|sibling| *sibling != name) {
                    is_possible |= view.named_where(arch, sibling, Does::Permit)? != Pred::NEVER;
                    if view.named_where(arch, sibling, Does::Deny)? == Pred::ALWAYS {
                        denied.push(sibling);
                    }
                }
                let Some(first) = denied.first().copied() else { continue };
                if is_possible {
                    continue;
                }
                let verb = if denied.len() == 1 { "is" } else { "are" };
                let message = format!(
                    "{arch} has no `{name}`, and {}, which {verb} used there instead, {verb} denied",
                    listed(&denied)
                );
                let example = view.named_example(arch, first, Does::Deny)?;
                let help = format!("add `{first}`");
                let finding = Finding::new(Check::MissingSibling, message).help(help).on(arch);
                let finding = finding.at((filter, Some(rule.site.clone()))).examples([example]);
                findings.add(finding.about([name].into_iter().chain(denied)));
                break;
            }
        }
    }
    Ok(())
}

/// Newer syscalls that glibc or musl try first, and the older ones that they use if the newer one fails with ENOSYS only.
const FALLBACKS: [(&str, &str); 25] = [
    ("clone3", "clone"),
    ("faccessat2", "faccessat"),
    ("fchmodat2", "fchmodat"),
    ("statx", "fstatat64"),
    ("statx", "newfstatat"),
    ("clock_gettime64", "clock_gettime"),
    ("clock_getres_time64", "clock_getres"),
    ("clock_nanosleep_time64", "clock_nanosleep"),
    ("futex_time64", "futex"),
    ("ppoll_time64", "ppoll"),
    ("pselect6_time64", "pselect6"),
    ("recvmmsg_time64", "recvmmsg"),
    ("rt_sigtimedwait_time64", "rt_sigtimedwait"),
    ("sched_rr_get_interval_time64", "sched_rr_get_interval"),
    ("semtimedop_time64", "semtimedop"),
    ("timer_gettime64", "timer_gettime"),
    ("timer_settime64", "timer_settime"),
    ("timerfd_gettime64", "timerfd_gettime"),
    ("timerfd_settime64", "timerfd_settime"),
    ("utimensat_time64", "utimensat"),
    ("mq_timedreceive_time64", "mq_timedreceive"),
    ("mq_timedsend_time64", "mq_timedsend"),
    ("clock_settime64", "clock_settime"),
    ("preadv2", "preadv"),
    ("pwritev2", "pwritev"),
];

pub(in crate::lint) fn fallbacks(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    for arch in view.arches.iter().copied() {
        for (newer, older) in FALLBACKS {
            let Some((nr, func)) = view.named(arch, newer) else { continue };
            let Some(verdict) = view.store.as_verdict(func) else { continue };
            // Where the syscall kills, the author would have noticed.
            let Action::Errno(errno) = verdict.action() else { continue };
            if errno == arch.enosys() || view.named_where(arch, older, Does::Permit)? == Pred::NEVER
            {
                continue;
            }
            let message = format!(
                "`{newer}` gets {verdict}; the C library uses `{older}`, which is allowed, only after ENOSYS"
            );
            let data = callgate_core::SeccompData { arch: arch.token(), nr, ..Default::default() };
            let examples =
                [Some(view.run(arch, data)?), view.named_example(arch, older, Does::Permit)?];
            let named = view.place(arch, newer, |_| true);
            let at = match named.1 {
                Some(_) => named,
                None => view.place(arch, older, |rule| rule.verdict.permits()),
            };
            let help = format!("let `{newer}` fail with ENOSYS, or allow it");
            let finding = Finding::new(Check::ErrnoNotEnosys, message).help(help).at(at).on(arch);
            findings.add(finding.about([newer, older]).examples(examples));
        }
    }
    Ok(())
}
