//! What is to be said about recordings and the profile that is made from them: where it may be smaller
//! than a program needs, or larger than it could be.

use super::draft::{Draft, Grant, Reason};
use super::times;
use super::write::Form;
use crate::diagnostic::Diagnostic;
use crate::recording::{Effect, How, Recording, Run};
use crate::syscalls::Arch;

/// Warnings about a profile in a form. `recordings` are those that it was made from.
pub fn remarks(recordings: &[Recording], draft: &Draft, form: Form) -> Vec<Diagnostic> {
    let runs: Vec<&Run> = recordings.iter().flat_map(Recording::runs).collect();
    let mut remarks = Vec::new();
    let mut warn = |message: String, help: &str| {
        remarks.push(Diagnostic::warning(None, message).help(help));
    };
    for caveat in draft.recorded().caveats() {
        let (message, help) = match caveat.effect {
            Effect::Incomplete => (
                format!("{}: the profile may be too small", caveat.text),
                "record again, on a quieter machine, or as root with the kernel's tracepoint",
            ),
            Effect::Altered => (
                caveat.text,
                "the program may call something else without the recorder; see callgate record --help",
            ),
            Effect::Excess => (
                format!("{}: the profile allows them", caveat.text),
                "record without those filters, or remove from the profile what --explain shows too much",
            ),
        };
        warn(message, help);
    }
    if !runs.is_empty() && runs.iter().all(|run| run.how == How::Audit) {
        warn(
            "an audit log has only the calls that a filter logged or denied: the profile allows nothing \
             else"
            .to_owned(),
            "add a recording of a normal run",
        );
    }
    let crashed = runs.iter().filter_map(|run| run.status).find(|status| is_crash(*status));
    if let Some(status) = crashed {
        warn(
            format!("a recorded command ended with status {status}, as after a crash"),
            "what it did not live to call is not in the profile; record a run that ends well",
        );
    }
    let no_values = draft
        .recorded()
        .calls()
        .all(|(_, seen)| seen.args().iter().all(|values| values.observed() == 0));
    if no_values {
        warn(
            "the recording has no values of arguments, so none are limited".to_owned(),
            "record with callgate record, or log with strace -e raw=all",
        );
    }
    let lacking: Vec<&str> =
        draft.grants().filter(|grant| lacks_values(grant)).map(|g| g.name).collect();
    if !no_values && !lacking.is_empty() && form.says_arguments() {
        let more = match lacking.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let named = lacking.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        warn(
            format!(
                "not all recorded values are known as numbers, so these calls are granted with more than \
                 was recorded: {named}{more}"
            ),
            "logs of strace have names for numbers, and counts have no values: record with callgate record, \
             or log with strace -e raw=all",
        );
    }
    let left_out = arches_left_out(recordings, draft);
    if !left_out.is_empty() {
        let names: Vec<&str> = left_out.iter().map(|arch| arch.name()).collect();
        warn(
            format!("calls of {} were recorded, too, and are denied", names.join(", ")),
            "name all architectures with --arch, or none",
        );
    }
    if !form.says_numbers() {
        for (call, count) in draft.numbers() {
            warn(
                format!(
                    "{} has no call with the number {}, which was recorded {}: it is denied",
                    call.arch,
                    call.nr,
                    times(*count)
                ),
                "no kernel that is known here has it; a Kafel policy can allow it by its number",
            );
        }
    }
    let limited = draft.grants().filter(|grant| !grant.limits.is_empty()).count();
    if limited > 0 && !form.says_arguments() {
        warn(
            format!(
                "systemd limits arguments by directives such as RestrictAddressFamilies= alone: other limits \
                 are left out (calls with limits: {limited})"
            ),
            "another form of the profile limits them",
        );
    }
    for grant in draft.grants().filter(|grant| !draft.can_name(form, grant.name)) {
        if let Reason::Recorded(count) = grant.reason {
            warn(
                format!(
                    "systemd {} does not know {}, which was recorded {}: it is denied",
                    draft.systemd(),
                    grant.name,
                    times(count)
                ),
                "where a later systemd runs, name its version with --systemd",
            );
        }
    }
    remarks
}

/// How many calls a remark names.
const NAMED: usize = 8;

/// Whether an argument of a call is not limited because not all its values are known.
fn lacks_values(grant: &Grant) -> bool {
    grant.unlimited.iter().any(|unlimited| unlimited.lacks_values)
}

/// Whether a status is that of a signal by which programs crash, or are killed by a filter: SIGILL,
/// SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS.
fn is_crash(status: u8) -> bool {
    matches!(status.checked_sub(128), Some(4 | 5 | 6 | 7 | 8 | 11 | 31))
}

/// The architectures of recorded calls that the profile is not for.
fn arches_left_out(recordings: &[Recording], draft: &Draft) -> Vec<Arch> {
    let mut left_out: Vec<Arch> = recordings
        .iter()
        .flat_map(Recording::calls)
        .map(|(call, _)| call.arch)
        .filter(|arch| !draft.arches().contains(arch))
        .collect();
    left_out.sort_unstable();
    left_out.dedup();
    left_out
}
