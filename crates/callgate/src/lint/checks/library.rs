//! Syscalls that every program or the C library makes, although the program does not ask for them.

use callgate_bpf::SyscallTable;
use callgate_bpf::syscalls::{self, known_name};
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
        if !is_used(view, arch)? {
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

/// Syscalls that runc and crun make after they install the filter, and before they execute the command: unless
/// `noNewPrivileges` is set, capabilities and IDs are set then. Without one of these, no version of either starts a
/// container; `callgate_trace::generate` has all of them with their sources.
const OF_RUNTIMES: [&str; 4] = ["capset", "chdir", "close", "prctl"];

/// What runtimes with root privileges also call there; 386 and arm have the second one, too.
const SETGROUPS: [&str; 2] = ["setgroups32", "setgroups"];

/// What the dynamic loaders of glibc and musl cannot do without, as syscalls of which one is enough.
const OF_LOADERS: [&[&str]; 6] = [
    &["openat", "open"],
    &["read", "pread64"],
    &["mmap", "mmap2"],
    &["mprotect"],
    &["fstat", "newfstatat", "fstat64", "fstatat64", "statx"],
    &["close"],
];

/// Filters that are in force while a program starts, and under which none can.
pub(in crate::lint) fn start(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    let is_of_container = view.subjects.iter().any(|subject| subject.is_of_container);
    for arch in view.arches.iter().copied() {
        let has_execve = view.named_where(arch, "execve", Does::Permit)? != Pred::NEVER;
        let is_used = is_used(view, arch)?;
        if !is_used || view.is_denylist(arch)? {
            continue;
        }
        if is_of_container && !has_execve {
            let message = "`execve` is denied: runc and crun execute the command with it, so no container starts";
            cannot_start(view, findings, arch, vec!["execve"], message.to_owned())?;
            continue;
        }
        if !has_execve {
            continue;
        }
        let mut denied = Vec::new();
        for name in OF_RUNTIMES.into_iter().filter(|_| is_of_container) {
            if view.named_where(arch, name, Does::Deny)? == Pred::ALWAYS {
                denied.push(name);
            }
        }
        if !denied.is_empty() {
            let is = if denied.len() == 1 { "is" } else { "are" };
            let message = format!(
                "{} {is} denied: runc and crun need {} between the filter and the command, so no container starts \
                 unless noNewPrivileges is set",
                listed(&denied),
                if denied.len() == 1 { "it" } else { "them" },
            );
            cannot_start(view, findings, arch, denied, message)?;
        }
        let mut can_set = !is_of_container;
        for name in SETGROUPS {
            can_set |= view.named_where(arch, name, Does::Permit)? != Pred::NEVER;
        }
        if !can_set {
            let name = SETGROUPS.into_iter().find(|name| arch.number(name).is_some());
            let message = format!(
                "`{}` is denied: runc and crun set the groups of the user with it between the filter and the command, so \
                 a container that is not rootless does not start unless noNewPrivileges is set",
                name.unwrap_or("setgroups")
            );
            cannot_start(view, findings, arch, name.into_iter().collect(), message)?;
        }
        let mut missing = Vec::new();
        for alternatives in OF_LOADERS {
            let mut is_possible = false;
            for name in alternatives {
                is_possible |= view.named_where(arch, name, Does::Permit)? != Pred::NEVER;
            }
            let first = alternatives.iter().copied().find(|name| arch.number(name).is_some());
            missing.extend(first.filter(|_| !is_possible));
        }
        if !missing.is_empty() {
            let is = if missing.len() == 1 { "is" } else { "are" };
            let message = format!(
                "{} {is} denied: a dynamically linked program that is executed under the filter cannot load its \
                 libraries",
                listed(&missing)
            );
            cannot_start(view, findings, arch, missing, message)?;
        }
    }
    Ok(())
}

fn cannot_start(
    view: &mut View<'_>,
    findings: &mut Findings,
    arch: Arch,
    names: Vec<&'static str>,
    message: String,
) -> Result<()> {
    let first = names.first().copied().unwrap_or_default();
    let example = view.named_example(arch, first, Does::Deny)?;
    let at = view.place(arch, first, |_| true);
    let at = match at.1 {
        Some(_) => at,
        None => {
            let mut defaults = view.texts();
            let found =
                defaults.find_map(|(filter, text)| Some((filter, Some(text.default.clone()?))));
            found.unwrap_or(at)
        }
    };
    let help =
        "allow them, or write the list from a recording, which has them: `callgate record -- CMD`";
    let finding = Finding::new(Check::CannotStart, message).help(help).at(at).on(arch);
    findings.add(finding.about(names).examples([example]));
    Ok(())
}

/// Whether a filter permits anything on an ABI; one of which nothing is permitted is denied on purpose.
fn is_used(view: &mut View<'_>, arch: Arch) -> Result<bool> {
    for (_, name) in arch.syscalls() {
        if view.named_where(arch, name, Does::Permit)? != Pred::NEVER {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Rules for syscalls that an architecture does not have, without one for the sibling that programs use there: what is allowed
/// fails, and what is denied is possible.
pub(in crate::lint) fn siblings(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    for (filter, text) in view.texts() {
        for rule in &text.inactive {
            let Inactivity::MissingOn(arch) = rule.reason else { continue };
            let Some(name) = known_name(&rule.name) else { continue };
            let (does, opposite) = match rule.verdict.permits() {
                true => (Does::Permit, Does::Deny),
                false => (Does::Deny, Does::Permit),
            };
            if does == Does::Deny && !view.is_denylist(arch)? {
                continue;
            }
            for family in syscalls::siblings(name) {
                let mut others = Vec::new();
                let mut is_met = false;
                for sibling in family.iter().copied().filter(|sibling| *sibling != name) {
                    is_met |= view.named_where(arch, sibling, does)? != Pred::NEVER;
                    if view.named_where(arch, sibling, opposite)? == Pred::ALWAYS {
                        others.push(sibling);
                    }
                }
                let Some(first) = others.first().copied() else { continue };
                if is_met {
                    continue;
                }
                let verb = if others.len() == 1 { "is" } else { "are" };
                let what = if does == Does::Permit { "denied" } else { "allowed" };
                let message = format!(
                    "{arch} has no `{name}`, and {}, which {verb} used there instead, {verb} {what}",
                    listed(&others)
                );
                let example = view.named_example(arch, first, opposite)?;
                let help = format!("add `{first}`");
                let finding = Finding::new(Check::MissingSibling, message).help(help).on(arch);
                let finding = finding.at((filter, Some(rule.site.clone()))).examples([example]);
                findings.add(finding.about([name].into_iter().chain(others)));
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
