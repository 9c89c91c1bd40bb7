//! Allowed syscalls that make the denial of others pointless.

use callgate_core::Arch;
use callgate_core::diagram::{DiagramError, Pred};

use crate::error::Result;
use crate::lint::check::Check;
use crate::lint::finding::{Finding, Findings, listed};
use crate::lint::view::{Does, View, denies};
use crate::purposes::{Power, with_power};

pub(in crate::lint) fn check(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    for arch in view.arches.iter().copied() {
        let numbers = view.store.follow(view.whole, callgate_core::Word::ARCH, arch.token());
        if view.permits(numbers)? == Pred::ALWAYS {
            continue;
        }
        match view.is_denylist(arch)? {
            true => forgotten(view, findings, arch)?,
            false => powerful(view, findings, arch)?,
        }
        io_uring(view, findings, arch)?;
        same_effect(view, findings, arch)?;
    }
    Ok(())
}

/// How a [`Power`] of dangerous syscalls is said.
struct Said {
    power: Power,
    /// What one of them does, and what several do.
    verbs: [&'static str; 2],
    object: &'static str,
    /// What else prevents it.
    otherwise: &'static str,
}

const SAID: &[Said] = &[
    Said {
        power: Power::OverProcesses,
        verbs: ["controls", "control"],
        object: "other processes of the same user, which may have no filter",
        otherwise: "run the process in its own PID namespace, or as its own user",
    },
    Said {
        power: Power::KernelCode,
        verbs: ["loads", "load"],
        object: "code into the kernel if the process has the capability",
        otherwise: "remove CAP_SYS_MODULE and CAP_SYS_BOOT",
    },
    Said {
        power: Power::KernelWork,
        verbs: ["observes or changes", "observe or change"],
        object: "the kernel's work for other processes",
        otherwise: "see that unprivileged use is disabled (kernel.unprivileged_bpf_disabled, \
                    kernel.perf_event_paranoid)",
    },
    Said {
        power: Power::AnyFile,
        verbs: ["opens", "open"],
        object: "any file of a file system without its path if the process has CAP_DAC_READ_SEARCH",
        otherwise: "remove the capability",
    },
    Said {
        power: Power::Races,
        verbs: ["lets", "let"],
        object: "a program stop the kernel in the middle of a memory access, which makes races in the kernel easy to win",
        otherwise: "set vm.unprivileged_userfaultfd to 0",
    },
];

/// The syscalls with a power.
fn names_with(power: Power) -> Vec<&'static str> {
    with_power(power).map(|danger| danger.syscall).collect()
}

fn powerful(view: &mut View<'_>, findings: &mut Findings, arch: Arch) -> Result<()> {
    for Said { power, verbs, object, otherwise } in SAID {
        let permitted = permitted_of(view, arch, &names_with(*power))?;
        let Some(first) = permitted.first().copied() else { continue };
        let [one, several] = verbs;
        let verb = if permitted.len() == 1 { one } else { several };
        let message = format!("{} {verb} {object}", listed(&permitted));
        let at = view.place(arch, first, |rule| rule.verdict.permits());
        let example = view.named_example(arch, first, Does::Permit)?;
        let finding = Finding::new(Check::PowerfulCall, message)
            .help(format!("deny {}, or {otherwise}", listed(&permitted)))
            .at(at)
            .on(arch);
        findings.add(finding.about(permitted).examples([example]));
    }
    Ok(())
}

/// A filter that lists what it denies permits most of them; one finding says so, for the first architecture.
fn forgotten(view: &mut View<'_>, findings: &mut Findings, arch: Arch) -> Result<()> {
    if view.arches.first() != Some(&arch) {
        return Ok(());
    }
    let names: Vec<&str> = SAID.iter().flat_map(|said| names_with(said.power)).collect();
    let permitted = permitted_of(view, arch, &names)?;
    let Some(first) = permitted.first().copied() else { return Ok(()) };
    let message = format!(
        "the filter lists what it denies, and permits {}, which control other processes or the kernel",
        listed(&permitted)
    );
    let example = view.named_example(arch, first, Does::Permit)?;
    let help = "deny them as well, or list what is allowed; in addition to another filter, this may be intended";
    let finding = Finding::new(Check::PowerfulCall, message).help(help).on(arch);
    findings.add(finding.about(permitted).examples([example]));
    Ok(())
}

/// Syscalls that io_uring performs without running filters (`io_uring/opdef.c`, Linux 6.18), older forms left out: where
/// `pread64` or `open` is denied and `read` or `openat` is not, a ring adds nothing.
#[rustfmt::skip]
const IN_RINGS: &[&str] = &[
    "read", "write", "close", "fsync", "sync_file_range", "fallocate", "ftruncate", "fadvise64", "madvise",
    "socket", "connect", "accept4", "bind", "listen", "shutdown", "sendmsg", "sendto", "recvmsg", "recvfrom",
    "openat", "openat2", "unlinkat", "renameat2", "mkdirat", "symlinkat", "linkat", "statx", "setxattr",
    "fsetxattr", "getxattr", "fgetxattr", "pipe2", "splice", "tee", "epoll_ctl", "epoll_wait", "waitid",
];

fn io_uring(view: &mut View<'_>, findings: &mut Findings, arch: Arch) -> Result<()> {
    // A ring with IORING_SETUP_SQPOLL works without `io_uring_enter` (io_uring_setup(2)).
    if view.named_where(arch, "io_uring_setup", Does::Permit)? == Pred::NEVER {
        return Ok(());
    }
    let mut denied = Vec::new();
    for name in IN_RINGS.iter().copied() {
        let Some((_, func)) = view.named(arch, name) else { continue };
        if view.denies(func)? != Pred::NEVER {
            denied.push(name);
        }
    }
    let Some(first) = denied.first().copied() else { return Ok(()) };
    let message =
        format!("io_uring performs {}, which the filter denies or restricts", listed(&denied));
    let at = view.place(arch, "io_uring_setup", |rule| rule.verdict.permits());
    let examples = [
        view.named_example(arch, first, Does::Deny)?,
        view.named_example(arch, "io_uring_setup", Does::Permit)?,
    ];
    let help = "deny `io_uring_setup`; programs fall back to ordinary syscalls";
    let finding = Finding::new(Check::IoUring, message).help(help).at(at).on(arch);
    let names = ["io_uring_setup"].into_iter().chain(denied);
    findings.add(finding.about(names).examples(examples));
    Ok(())
}

/// Syscalls, and others with the same effect.
const SAME_EFFECT: &[(&str, &[&str])] = &[
    ("execve", &["execveat"]),
    ("clone", &["clone3"]),
    ("fork", &["vfork", "clone", "clone3"]),
    ("open", &["openat", "openat2"]),
    ("openat", &["open", "openat2"]),
    ("creat", &["open", "openat", "openat2"]),
    ("unlink", &["unlinkat"]),
    ("rmdir", &["unlinkat"]),
    ("rename", &["renameat", "renameat2"]),
    ("mkdir", &["mkdirat"]),
    ("link", &["linkat"]),
    ("symlink", &["symlinkat"]),
    ("mknod", &["mknodat"]),
    ("mknodat", &["mknod"]),
    ("chmod", &["fchmodat", "fchmodat2", "fchmod"]),
    ("fchmodat", &["chmod", "fchmodat2", "fchmod"]),
    ("chown", &["chown32", "fchownat", "lchown", "lchown32", "fchown", "fchown32"]),
    ("truncate", &["truncate64", "ftruncate", "ftruncate64"]),
    ("mount", &["move_mount"]),
    ("umount", &["umount2"]),
    ("process_vm_writev", &["ptrace"]),
    ("process_vm_readv", &["ptrace"]),
    ("init_module", &["finit_module"]),
    ("finit_module", &["init_module"]),
    ("kexec_load", &["kexec_file_load"]),
    ("kexec_file_load", &["kexec_load"]),
    ("setuid", &["setuid32", "setreuid", "setreuid32", "setresuid", "setresuid32"]),
    ("setgid", &["setgid32", "setregid", "setregid32", "setresgid", "setresgid32"]),
    ("settimeofday", &["clock_settime", "clock_settime64"]),
    ("clock_settime", &["settimeofday", "clock_settime64", "clock_adjtime"]),
    ("adjtimex", &["clock_adjtime", "clock_adjtime64"]),
    ("clock_adjtime", &["adjtimex"]),
    ("sched_setscheduler", &["sched_setattr"]),
    ("setrlimit", &["prlimit64"]),
    ("mprotect", &["pkey_mprotect"]),
    ("mmap", &["mmap2"]),
    ("setxattr", &["fsetxattr", "lsetxattr", "setxattrat"]),
    ("unlinkat", &["unlink", "rmdir"]),
    ("renameat", &["rename", "renameat2"]),
    ("renameat2", &["rename", "renameat"]),
    ("mkdirat", &["mkdir"]),
    ("linkat", &["link"]),
    ("symlinkat", &["symlink"]),
];

fn same_effect(view: &mut View<'_>, findings: &mut Findings, arch: Arch) -> Result<()> {
    let is_denylist = view.is_denylist(arch)?;
    for (name, others) in SAME_EFFECT {
        let Some((nr, func)) = view.named(arch, name) else { continue };
        let denied = view.denies(func)?;
        let stated = |rule: &callgate_formats::statements::Statement| {
            rule.arch == arch && rule.nr == nr && denies(rule.verdict)
        };
        // An allowlist without a syscall says that the program does not need it.
        let is_meant = is_denylist
            || view.permits(func)? != Pred::NEVER
            || view.texts().any(|(_, text)| text.rules.iter().any(stated));
        if denied == Pred::NEVER || !is_meant {
            continue;
        }
        let mut permitted = permitted_of(view, arch, others)?;
        // It moves what `fsmount` made or `open_tree` cloned.
        if permitted_of(view, arch, &["fsmount", "open_tree"])?.is_empty() {
            permitted.retain(|name| *name != "move_mount");
        }
        let Some(first) = permitted.first().copied() else { continue };
        let what = match denied {
            Pred::ALWAYS => "is denied",
            _ => "is restricted",
        };
        let [effect, verb] = if permitted.len() == 1 { ["has", "is"] } else { ["have", "are"] };
        let message = format!(
            "`{name}` {what}, but {}, which {effect} the same effect, {verb} allowed",
            listed(&permitted)
        );
        let help = format!("deny {} as well", listed(&permitted));
        let help = match first {
            "clone3" => "deny `clone3` with ENOSYS: its flags are in memory, where no filter can read them, and the C \
                         library then uses `clone`"
                .to_owned(),
            _ => help,
        };
        let at = view.place(arch, name, |_| true);
        let examples = [
            view.named_example(arch, name, Does::Deny)?,
            view.named_example(arch, first, Does::Permit)?,
        ];
        let finding = Finding::new(Check::SameEffect, message).help(help).at(at).on(arch);
        findings.add(finding.about([*name].into_iter().chain(permitted)).examples(examples));
    }
    Ok(())
}

/// Those that are permitted with all arguments.
fn permitted_of(
    view: &mut View<'_>,
    arch: Arch,
    names: &[&'static str],
) -> Result<Vec<&'static str>, DiagramError> {
    let mut permitted = Vec::new();
    for name in names {
        if view.named_where(arch, name, Does::Permit)? == Pred::ALWAYS {
            permitted.push(*name);
        }
    }
    Ok(permitted)
}
