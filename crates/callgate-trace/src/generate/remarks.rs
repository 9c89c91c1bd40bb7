//! Warnings about a generated profile: why it may allow less than the program needs, or more than necessary.

use super::draft::Draft;
use super::grant::{Grant, GrantReason, times};
use crate::recording::{Effect, Recording, RecordingMethod, Run};
use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::{Diagnostic, Help};
use callgate_core::Arch;
use callgate_formats::annotated::AnnotatedWriter;

/// Warnings about a profile in a format. `recordings` are those from which it was generated.
pub fn remarks(recordings: &[Recording], draft: &Draft, to: &AnnotatedWriter) -> Vec<Diagnostic> {
    let runs: Vec<&Run> = recordings.iter().flat_map(Recording::runs).collect();
    let mut remarks = Vec::new();
    let mut warn = |message: String, help: Help| {
        remarks.push(Diagnostic::warning(None, message).help(help));
    };
    for caveat in draft.recorded().caveats() {
        let (message, help) = match caveat.effect {
            Effect::Incomplete => (
                format!("{}: the profile may deny syscalls that the program needs", caveat.text),
                Advice::RecordAsRoot.into(),
            ),
            Effect::Excerpt => (
                format!("{}: the profile may deny them", caveat.text),
                "also record the program from its start to its end, and give all recordings".into(),
            ),
            Effect::Altered => (caveat.text, Advice::RecorderAlters.into()),
            Effect::Excess => (
                format!("{}: the profile allows them", caveat.text),
                "record without those filters, or remove the syscalls from the profile".into(),
            ),
        };
        warn(message, help);
    }
    if !runs.is_empty() && runs.iter().all(|run| run.method == RecordingMethod::Audit) {
        warn(
            "an audit log has only syscalls that a filter logged or denied: the profile denies all others"
                .to_owned(),
            "add a recording of a normal run".into(),
        );
    }
    let crashed = runs.iter().filter_map(|run| run.status).find(|status| is_crash(*status));
    if let Some(status) = crashed {
        warn(
            format!("a recorded command exited with status {status}, as after a crash"),
            "the profile lacks later syscalls; record a run that succeeds".into(),
        );
    }
    let no_values = draft
        .recorded()
        .syscalls()
        .all(|(_, stats)| stats.args().iter().all(|values| values.observed() == 0));
    let nothing = draft.recorded().total() == 0 && draft.has_code();
    if no_values && !nothing {
        warn(
            "the recording has no argument values, so no arguments are limited".to_owned(),
            Advice::RecordValues.into(),
        );
    }
    let lacking: Vec<&str> =
        draft.grants().filter(|grant| lacks_values(grant)).map(|g| g.name).collect();
    if !no_values && !lacking.is_empty() && to.has_arguments() {
        let more = match lacking.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let named = lacking.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(", ");
        warn(
            format!(
                "some argument values are not known, so these syscalls are granted without limits on them: \
                 {named}{more}"
            ),
            Advice::RecordAllValues.into(),
        );
    }
    for name in draft.assumed() {
        warn(
            format!(
                "not all flags of {name} are known: the profile assumes that no namespace was created by the others"
            ),
            Advice::NameNamespaces.into(),
        );
    }
    let left_out = arches_left_out(recordings, draft);
    if !left_out.is_empty() {
        let names: Vec<&str> = left_out.iter().map(|arch| arch.name()).collect();
        warn(
            format!("syscalls of {} were recorded too, and are denied", names.join(", ")),
            Advice::AllRecordedArches.into(),
        );
    }
    if !to.has_numbers {
        for (syscall, count) in draft.numbers() {
            warn(
                format!(
                    "{} has no syscall with the number {}, which was recorded {}: it is denied",
                    syscall.arch,
                    syscall.nr,
                    times(*count)
                ),
                "the syscall tables do not have it; a Kafel policy can allow it by its number"
                    .into(),
            );
        }
    }
    let limited = draft.grants().filter(|grant| !grant.limits.is_empty()).count();
    if limited > 0 && !to.has_arguments() {
        warn(
            format!(
                "systemd limits arguments only by directives such as RestrictAddressFamilies=: other limits are \
                 omitted (syscalls with limits: {limited})"
            ),
            "the other formats express all limits".into(),
        );
    }
    for grant in draft.grants().filter(|grant| !draft.can_name(to, grant.name)) {
        if let GrantReason::Recorded(count) = grant.reason {
            warn(
                format!(
                    "systemd {} does not know {}, which was recorded {}: it is denied",
                    draft.options().systemd,
                    grant.name,
                    times(count)
                ),
                Advice::NewerSystemd.into(),
            );
        }
    }
    remarks
}

/// How many syscalls a warning names.
const MAX_NAMED: usize = 8;

/// Whether an argument is not limited because some of its values are not known.
fn lacks_values(grant: &Grant) -> bool {
    grant.unlimited.iter().any(|unlimited| unlimited.lacks_values)
}

/// Whether an exit status reports a signal of a crash or of a filter: SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV,
/// SIGSYS.
fn is_crash(status: u8) -> bool {
    matches!(status.checked_sub(128), Some(4 | 5 | 6 | 7 | 8 | 11 | 31))
}

/// Architectures with recorded syscalls that the profile is not for.
fn arches_left_out(recordings: &[Recording], draft: &Draft) -> Vec<Arch> {
    let mut left_out: Vec<Arch> = recordings
        .iter()
        .flat_map(Recording::syscalls)
        .map(|(syscall, _)| syscall.arch)
        .filter(|arch| !draft.arches().contains(arch))
        .collect();
    left_out.sort_unstable();
    left_out.dedup();
    left_out
}
