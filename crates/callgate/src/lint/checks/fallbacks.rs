//! Newer syscalls that fail with an error for which the C library does not fall back to the older one.

use callgate_core::Action;

use crate::error::Result;
use crate::lint::check::Check;
use crate::lint::finding::Finding;
use crate::lint::findings::Findings;
use crate::lint::view::View;

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

pub(super) fn check(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    for arch in view.arches.iter().copied() {
        for (newer, older) in FALLBACKS {
            let Some((nr, func)) = view.named(arch, newer) else { continue };
            let Some(verdict) = view.store.as_verdict(func) else { continue };
            // Where the syscall kills, the author would have noticed.
            let Action::Errno(errno) = verdict.action() else { continue };
            if errno == arch.enosys() || !view.may_be_permitted(arch, older)? {
                continue;
            }
            let message = format!(
                "`{newer}` gets {verdict}; the C library uses `{older}`, which is allowed, only after ENOSYS"
            );
            let data = callgate_core::SeccompData { arch: arch.token(), nr, ..Default::default() };
            let examples = [Some(view.run(arch, data)?), view.permitted_example(arch, older)?];
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
