//! What the outcomes of calls say about the filters.
//!
//! A filter that denies a syscall with an errno answers all of its calls with it. So:
//!
//! - A syscall is *allowed* if two of its calls got different answers that the kernel gives, or one got a number that no errno is.
//! - It is *denied with an errno* if all of its calls got this one, and the kernel gives it to none of them. An errno with which
//!   one syscall is denied for sure also denies those of which the kernel gives it to some calls, but not to all; and a call alone
//!   to which the kernel does not give it, because a filter may depend on arguments.
//! - `SIGSYS` is a kill or a trap.
//!
//! Everything else is unknown, with the reason. The answers of a supervisor, or of a tracer, are taken for those of a filter. One that
//! answers each of these calls as the kernel does is not noticed.

use std::collections::BTreeSet;

use super::ask::Outcome;
use super::calls::VALUE;
use super::machine::Machine;

/// What a filter does with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The kernel executes it.
    Allowed,
    /// It fails with this errno; 0 is success.
    Denied(u16),
    /// It kills.
    Killed,
    /// It sends `SIGSYS`.
    Trapped,
    /// `SIGSYS`, and the filter does not let a process catch it.
    KilledOrTrapped,
    /// It cannot be told, for this reason.
    Unknown(Doubt),
}

/// Why it cannot be told what a filter does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The kernel gives this errno as well.
    Same(u16),
    /// The kernel gives `EPERM` as well, without a privilege.
    Privilege(String),
    /// The kernel may lack the syscall.
    Missing,
    /// Neither the kernel nor a filter that denies the syscall gives this errno.
    Odd(u16),
    /// The kernel does not return this number.
    OddValue(u32),
    /// There was no answer.
    NoAnswer,
    /// The child ended, with this wait status.
    Ended(i32),
    /// It was not made, because `getpid` gave no number.
    NotMade,
}

/// A call of a syscall with its outcome, and what the kernel can answer.
pub(super) struct Answered<'c> {
    pub(super) syscall: &'c str,
    pub(super) outcome: Outcome,
    pub(super) kernel: &'c [i32],
}

/// How an outcome relates to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Likeness {
    /// The kernel gives this answer.
    Kernel,
    /// The kernel may give it without a privilege, or because it lacks the syscall.
    Perhaps,
    /// The kernel does not give it.
    Foreign,
}

/// What a filter does with each call. Calls of the same syscall follow each other.
pub(super) fn judge(all: &[Answered<'_>], catches: bool, machine: &Machine) -> Vec<Finding> {
    let groups = || all.chunk_by(|a, b| a.syscall == b.syscall);
    let none = BTreeSet::new();
    let denials: BTreeSet<u16> =
        groups().filter_map(|calls| denial_of_all(calls, &none, machine)).collect();
    let findings = groups().flat_map(|calls| {
        let denied = denial_of_all(calls, &denials, machine);
        let is_allowed = is_executed(calls, machine);
        let denials = &denials;
        calls.iter().map(move |call| match (call.outcome, denied) {
            (_, Some(errno)) => Finding::Denied(errno),
            (Outcome::Killed, _) if catches => Finding::Killed,
            (Outcome::Killed, _) => Finding::KilledOrTrapped,
            (Outcome::Trapped(_), _) => Finding::Trapped,
            _ => match likeness(call, machine) {
                Some(Likeness::Kernel) if is_allowed => Finding::Allowed,
                Some(Likeness::Foreign) => match call.outcome {
                    Outcome::Errno(errno) if denials.contains(&errno) => Finding::Denied(errno),
                    _ => Finding::Unknown(doubt(call, machine)),
                },
                _ => Finding::Unknown(doubt(call, machine)),
            },
        })
    });
    findings.collect()
}

/// Whether the outcome is one that the kernel gives, so that a filter which allows the call explains it.
pub(super) fn may_be_allowed(call: &Answered<'_>, machine: &Machine) -> bool {
    matches!(likeness(call, machine), Some(Likeness::Kernel | Likeness::Perhaps))
}

/// `None` for an outcome that is not an answer.
fn likeness(call: &Answered<'_>, machine: &Machine) -> Option<Likeness> {
    let has = |answer: i32| call.kernel.contains(&answer);
    Some(match call.outcome {
        Outcome::Value(_) if has(VALUE) => Likeness::Kernel,
        Outcome::Errno(errno) if has(errno.into()) => Likeness::Kernel,
        Outcome::Errno(errno)
            if (i32::from(errno) == libc::EPERM && machine.privilege(call.syscall).is_some())
                || (i32::from(errno) == libc::ENOSYS && machine.may_lack(call.syscall)) =>
        {
            Likeness::Perhaps
        }
        Outcome::Value(_) | Outcome::Errno(_) => Likeness::Foreign,
        _ => return None,
    })
}

/// The errno with which all calls of a syscall are denied: at least two, to none of which the kernel gives it, or not to all if
/// it is known as an errno of the filter.
fn denial_of_all(
    calls: &[Answered<'_>],
    denials: &BTreeSet<u16>,
    machine: &Machine,
) -> Option<u16> {
    let [first, others @ ..] = calls else { return None };
    let Outcome::Errno(errno) = first.outcome else { return None };
    let is_same = others.iter().all(|call| call.outcome == first.outcome);
    let mut foreign = calls.iter().map(|call| likeness(call, machine) == Some(Likeness::Foreign));
    let is_denied = match denials.contains(&errno) {
        true => foreign.any(|is| is),
        false => foreign.all(|is| is),
    };
    (!others.is_empty() && is_same && is_denied).then_some(errno)
}

/// Whether the kernel executes the syscall with the arguments of some call: two of its answers differ, or one is not an errno.
fn is_executed(calls: &[Answered<'_>], machine: &Machine) -> bool {
    let own = calls.iter().filter(|call| likeness(call, machine) == Some(Likeness::Kernel));
    let mut errnos = BTreeSet::new();
    for call in own {
        match call.outcome {
            Outcome::Errno(errno) => errnos.insert(errno),
            _ => return true,
        };
    }
    errnos.len() > 1
}

fn doubt(call: &Answered<'_>, machine: &Machine) -> Doubt {
    match call.outcome {
        Outcome::Errno(errno) => match likeness(call, machine) {
            Some(Likeness::Perhaps) if i32::from(errno) == libc::EPERM => {
                Doubt::Privilege(machine.privilege(call.syscall).unwrap_or_default())
            }
            Some(Likeness::Perhaps) => Doubt::Missing,
            Some(Likeness::Kernel) => Doubt::Same(errno),
            _ => Doubt::Odd(errno),
        },
        Outcome::Value(value) => Doubt::OddValue(value),
        Outcome::Ended(status) => Doubt::Ended(status),
        Outcome::NotMade => Doubt::NotMade,
        Outcome::NoAnswer | Outcome::Killed | Outcome::Trapped(_) => Doubt::NoAnswer,
    }
}

#[cfg(test)]
mod tests {
    use libc::{EBADF, EFAULT, EINVAL, ENOENT, ENOSYS, EPERM};

    use super::*;

    fn of(syscall: &'static str, outcome: Outcome, kernel: &'static [i32]) -> Answered<'static> {
        Answered { syscall, outcome, kernel }
    }

    fn errno(errno: i32) -> Outcome {
        Outcome::Errno(errno as u16)
    }

    /// A machine that has the syscalls of the tests.
    fn machine() -> Machine {
        let known = ["read", "open", "mount", "clone", "fsopen"].map(str::to_owned);
        Machine { syscalls: Some(known.into()), ..Machine::default() }
    }

    #[track_caller]
    fn found(calls: &[Answered<'_>], expected: &[Finding]) {
        assert_eq!(judge(calls, true, &machine()), expected);
    }

    #[test]
    fn two_answers_of_the_kernel_are_not_one_errno_of_a_filter() {
        let open = |a, b| [of("open", a, &[ENOENT]), of("open", b, &[EFAULT])];
        found(&open(errno(ENOENT), errno(EFAULT)), &[Finding::Allowed, Finding::Allowed]);
        let same = Finding::Unknown(Doubt::Same(ENOENT as u16));
        // The second answer is not the kernel's, so neither is known.
        let odd = Finding::Unknown(Doubt::Odd(ENOENT as u16));
        found(&open(errno(ENOENT), errno(ENOENT)), &[same.clone(), odd]);
        found(&[of("open", errno(ENOENT), &[ENOENT])], &[same]);
        found(&[of("open", Outcome::Value(7), &[VALUE])], &[Finding::Allowed]);
        let odd = Finding::Unknown(Doubt::OddValue(7));
        found(&[of("open", Outcome::Value(7), &[0])], &[odd]);
    }

    #[test]
    fn an_errno_that_the_kernel_does_not_give_is_a_denial() {
        let read = |e| [of("read", errno(e), &[EBADF]), of("read", errno(e), &[0])];
        found(&read(EPERM), &[Finding::Denied(1), Finding::Denied(1)]);
        found(&read(ENOSYS), &[Finding::Denied(38), Finding::Denied(38)]);
        // Success without a call is an errno of 0; the kernel gives it to the second call, so it is not sure.
        let unknown = [Doubt::Odd(0), Doubt::Same(0)].map(Finding::Unknown);
        found(&read(0), &unknown);
        let fake = [of("open", errno(0), &[ENOENT]), of("open", errno(0), &[EFAULT])];
        found(&fake, &[Finding::Denied(0), Finding::Denied(0)]);
        let all: Vec<_> = fake.into_iter().chain(read(0)).collect();
        found(&all, &[const { Finding::Denied(0) }; 4]);
    }

    #[test]
    fn what_the_kernel_may_say_without_a_privilege_is_unknown() {
        let fsopen = [of("fsopen", errno(EPERM), &[EINVAL]), of("fsopen", errno(EPERM), &[EFAULT])];
        let doubt = || Finding::Unknown(Doubt::Privilege("without CAP_SYS_ADMIN".to_owned()));
        found(&fsopen, &[doubt(), doubt()]);
        let admin = Machine { capabilities: 1 << 21, ..machine() };
        assert_eq!(judge(&fsopen, true, &admin), [Finding::Denied(1), Finding::Denied(1)]);
        let missing = [of("bpf", errno(ENOSYS), &[EINVAL]), of("bpf", errno(ENOSYS), &[EFAULT])];
        found(&missing, &[const { Finding::Unknown(Doubt::Missing) }; 2]);
    }

    #[test]
    fn a_filter_may_depend_on_arguments() {
        let calls = [
            of("read", errno(EPERM), &[EBADF]),
            of("read", errno(EPERM), &[0]),
            of("clone", errno(EPERM), &[EINVAL]),
            of("open", errno(EPERM), &[ENOENT]),
            of("open", errno(EFAULT), &[EFAULT]),
        ];
        let denied = || Finding::Denied(1);
        let same = Finding::Unknown(Doubt::Same(EFAULT as u16));
        found(&calls, &[denied(), denied(), denied(), denied(), same]);
        let alone = of("clone", errno(EPERM), &[EINVAL]);
        found(&[alone], &[Finding::Unknown(Doubt::Odd(1))]);
    }

    #[test]
    fn signals_and_silence() {
        let calls = [
            of("read", Outcome::Killed, &[EBADF]),
            of("open", Outcome::Trapped(3), &[ENOENT]),
            of("mount", Outcome::NoAnswer, &[ENOENT]),
            of("clone", Outcome::Ended(9), &[EINVAL]),
        ];
        let silence = || Finding::Unknown(Doubt::NoAnswer);
        let ended = || Finding::Unknown(Doubt::Ended(9));
        found(&calls, &[Finding::Killed, Finding::Trapped, silence(), ended()]);
        let findings = judge(&calls, false, &machine());
        assert_eq!(findings[0], Finding::KilledOrTrapped);
    }
}
