//! What a filter does with a syscall, from the findings of its calls.

use std::collections::BTreeMap;

use callgate_core::errno_name;
use callgate_measure::own_filters::{Doubt, Finding, ProbedCall};

/// What a filter does with a syscall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Summary<'c> {
    /// The same with each call of which it is known.
    Known(&'c Finding),
    /// It depends on the arguments.
    Depends,
    /// Unknown; the reason for the first call.
    Unknown(&'c Doubt),
}

/// The syscalls, each with what a filter does and its calls, in alphabetical order.
pub(super) fn syscalls(calls: &[ProbedCall]) -> Vec<(&'static str, Summary<'_>, Vec<&ProbedCall>)> {
    let mut groups: BTreeMap<&'static str, Vec<&ProbedCall>> = BTreeMap::new();
    for call in calls {
        groups.entry(call.call.syscall).or_default().push(call);
    }
    let all = groups.into_iter();
    all.filter_map(|(name, calls)| Some((name, summary(&calls)?, calls))).collect()
}

fn summary<'c>(calls: &[&'c ProbedCall]) -> Option<Summary<'c>> {
    let is_known = |call: &&&ProbedCall| !matches!(call.finding, Finding::Unknown(_));
    let mut known = calls.iter().filter(is_known).map(|call| &call.finding);
    let Some(first) = known.next() else {
        let doubt = calls.iter().find_map(|call| match &call.finding {
            Finding::Unknown(doubt) => Some(doubt),
            _ => None,
        });
        return doubt.map(Summary::Unknown);
    };
    let is_same = known.all(|other| other == first);
    let may_be_same = calls.iter().all(|call| match &call.finding {
        Finding::Unknown(doubt) => may_be(first, doubt),
        _ => true,
    });
    Some(if is_same && may_be_same { Summary::Known(first) } else { Summary::Depends })
}

/// Whether a filter may do this with a call about which there is a doubt. One that is denied has the errno of the denial.
fn may_be(finding: &Finding, doubt: &Doubt) -> bool {
    match (finding, doubt) {
        (Finding::Denied(errno), Doubt::Same(answer)) => answer == errno,
        (Finding::Denied(errno), Doubt::Privilege(_)) => errno_name(*errno) == Some("EPERM"),
        (
            Finding::Killed | Finding::Trapped | Finding::KilledOrTrapped,
            Doubt::Same(_) | Doubt::Privilege(_),
        ) => false,
        _ => true,
    }
}

/// What a filter does, as in a heading.
pub(super) fn show(finding: &Finding) -> String {
    match finding {
        Finding::Allowed => "allowed".to_owned(),
        Finding::Denied(errno) => format!("denied with {}", errno_text(*errno)),
        Finding::Killed => "killed".to_owned(),
        Finding::Trapped => "trapped".to_owned(),
        Finding::KilledOrTrapped => "killed or trapped".to_owned(),
        Finding::Unknown(doubt) => format!("unknown: {}", reason(doubt)),
    }
}

pub(super) fn errno_text(errno: u16) -> String {
    match (errno, errno_name(errno)) {
        (0, _) => "success".to_owned(),
        (_, Some(name)) => name.to_owned(),
        (number, None) => format!("errno {number}"),
    }
}

/// Why it is unknown what a filter does.
pub(super) fn reason(doubt: &Doubt) -> String {
    match doubt {
        Doubt::Same(errno) => {
            format!("the kernel answers {} as well", errno_text(*errno))
        }
        Doubt::Privilege(unless) => format!("the kernel answers EPERM as well, {unless}"),
        Doubt::Missing => "the kernel may lack the syscall (ENOSYS)".to_owned(),
        Doubt::Odd(errno) => {
            format!("{} is neither the kernel's nor surely a filter's", errno_text(*errno))
        }
        Doubt::OddValue(value) => {
            format!("the result {value} is not the kernel's: perhaps a supervisor's")
        }
        Doubt::NoAnswer => "no answer: perhaps a supervisor decides".to_owned(),
        Doubt::Ended(status) => format!("the child process ended (wait status {status:#x})"),
        Doubt::NotMade => "getpid gives no number, which the call needs".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_another_errno_answers_is_not_denied_as_a_whole() {
        let denied = Finding::Denied(1);
        assert!(may_be(&denied, &Doubt::Same(1)));
        assert!(may_be(&denied, &Doubt::Privilege("without CAP_SYS_BOOT".to_owned())));
        // clone of a thread, beside clone of a user namespace.
        assert!(!may_be(&denied, &Doubt::Same(22)));
        assert!(!may_be(&Finding::Denied(38), &Doubt::Privilege(String::new())));
        assert!(!may_be(&Finding::Killed, &Doubt::Same(1)));
        assert!(may_be(&Finding::Killed, &Doubt::NoAnswer));
        assert!(may_be(&Finding::Allowed, &Doubt::Same(22)));
    }
}
