//! Names of syscalls that an architecture does not have, without the sibling that it uses instead.

use callgate_bpf::syscalls::known_name;
use callgate_formats::statements::Inactivity;

use crate::error::Result;
use crate::lint::check::Check;
use crate::lint::finding::Finding;
use crate::lint::findings::{Findings, listed};
use crate::lint::view::View;

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

pub(super) fn check(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    for (filter, text) in view.texts() {
        for rule in text.inactive.iter().filter(|rule| rule.verdict.permits()) {
            let Inactivity::MissingOn(arch) = rule.reason else { continue };
            let Some(name) = known_name(&rule.name) else { continue };
            for family in SIBLINGS.iter().filter(|family| family.contains(&name)) {
                let mut denied = Vec::new();
                let mut is_possible = false;
                for sibling in family.iter().copied().filter(|sibling| *sibling != name) {
                    is_possible |= view.may_be_permitted(arch, sibling)?;
                    if view.is_denied(arch, sibling)? {
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
                let example = view.denied_example(arch, first)?;
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
