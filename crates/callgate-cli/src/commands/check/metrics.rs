//! Recorded syscalls that a filter would deny, as metrics.

use callgate_requests::syscall;
use callgate_trace::check::{Certainty, Finding};
use callgate_trace::recording::Recording;

use crate::metrics::{self, Metric, MetricsFormat};

/// The recorded calls that would be denied, by filter, architecture, syscall, the action of highest precedence, and how certain
/// it is.
pub(super) fn text(
    recording: &Recording,
    filter: &str,
    findings: &[Finding],
    format: MetricsFormat,
) -> String {
    let mut denials = Metric::new(
        "callgate_recorded_denials_total",
        "Recorded calls of syscalls that the filter would deny, for some arguments at least.",
        "{call}",
        &["filter", "arch", "syscall", "action", "certainty"],
    );
    let mut fallbacks = Metric::new(
        "callgate_recorded_fallbacks_total",
        "Recorded calls of syscalls that fail with ENOSYS, instead of which libraries make another one that is allowed.",
        "{call}",
        &["filter", "arch", "syscall", "fallback"],
    );
    for finding in findings {
        let Some(fallback) = finding.fallback else { continue };
        let arch = finding.syscall.arch;
        let name = syscall::name(Some(arch), finding.syscall.nr);
        let labels = [filter, arch.name(), &name, fallback];
        fallbacks.add(labels.map(str::to_owned).to_vec(), finding.count);
    }
    for finding in findings.iter().filter(|finding| finding.is_denied()) {
        let certainty = match finding.certainty {
            Certainty::Every => "all",
            Certainty::Values(_) => "values",
            Certainty::Possible => "possible",
        };
        let action = finding.verdicts.first().map(ToString::to_string).unwrap_or_default();
        let arch = finding.syscall.arch;
        let name = syscall::name(Some(arch), finding.syscall.nr);
        let labels = [filter, arch.name(), &name, &action, certainty];
        denials.add(labels.map(str::to_owned).to_vec(), finding.count);
    }
    let calls = Metric::total(
        "callgate_recorded_calls_total",
        "Recorded calls.",
        "{call}",
        recording.total(),
    );
    let runs = recording.runs().len().max(1) as u64;
    let runs = Metric::total("callgate_recorded_runs_total", "Recorded runs.", "{run}", runs);
    metrics::write(vec![denials, fallbacks, calls, runs], format)
}
