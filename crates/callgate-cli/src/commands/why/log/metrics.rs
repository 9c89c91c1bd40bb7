//! Denials as metrics.

use callgate_requests::syscall;
use callgate_trace::denials::{DenialLog, Evidence};

use super::super::answer::Answer;
use super::explained::example;
use super::groups::Groups;
use crate::metrics::{self, Metric, MetricsFormat};

/// The program of denials whose log does not name one.
const UNKNOWN: &str = "unknown";

/// The programs that were not kept, because a denial had too many.
const OTHERS: &str = "other";

/// The denials of a log by filter, architecture, syscall, action, evidence and program. Arguments are not labels, because their
/// values are unbounded.
pub(super) fn log(log: &DenialLog, groups: &Groups<'_>, format: MetricsFormat) -> String {
    let mut denials = Metric::new(
        "callgate_denials_total",
        "Syscalls in the log that were denied.",
        "{call}",
        &["filter", "arch", "syscall", "action", "evidence", "program"],
    );
    for denial in &log.denials {
        let call = denial.call.syscall;
        let Some(read) = groups.of(denial).map(|group| &group.read) else { continue };
        let Ok(diagram) = read.diagram() else { continue };
        let answer = Answer::new(&read.stack, Some(call.arch), example(denial, diagram));
        let evidence = match denial.call.evidence {
            Evidence::Filter => "filter",
            Evidence::Failed(_) => "failed",
            Evidence::NoReturn => "no_return",
        };
        let mut add = |program: &str, count: u64| {
            let labels = [
                &read.stack.name,
                call.arch.name(),
                &syscall::name(Some(call.arch), call.nr),
                &answer.verdict.to_string(),
                evidence,
                program,
            ];
            if count > 0 {
                denials.add(labels.map(str::to_owned).to_vec(), count);
            }
        };
        denial.programs.iter().for_each(|(program, count)| add(program, *count));
        add(OTHERS, denial.others);
        let named = denial
            .programs
            .iter()
            .fold(denial.others, |sum, (_, count)| sum.saturating_add(*count));
        add(UNKNOWN, denial.count.saturating_sub(named));
    }
    let mut other = Metric::new(
        "callgate_log_other_denials_total",
        "Denials by security modules of the kernel, which no filter is the reason of.",
        "{record}",
        &["module"],
    );
    log.other.iter().for_each(|one| other.add(vec![one.module.id().to_owned()], one.count));
    let total = Metric::total;
    let all = vec![
        denials,
        total("callgate_log_lines_total", "Lines of the log.", "{line}", log.lines),
        total(
            "callgate_log_unread_total",
            "Lines of the log that look like denials, and could not be read.",
            "{record}",
            log.unread.count,
        ),
        other,
        total(
            "callgate_log_executed_total",
            "Records of syscalls that were logged and executed.",
            "{record}",
            log.logged,
        ),
        total(
            "callgate_log_unrelated_total",
            "Syscalls that failed for a reason other than the filter.",
            "{call}",
            groups.unrelated,
        ),
        total(
            "callgate_log_outside_total",
            "Denials of architectures that --arch does not name.",
            "{call}",
            groups.outside.values().sum(),
        ),
        total(
            "callgate_log_lost_records_total",
            "Audit records that were lost according to the log, as far as it has numbers.",
            "{record}",
            log.lost_records.as_ref().and_then(|lost| lost.count).unwrap_or_default(),
        ),
        total(
            "callgate_log_lost_total",
            "Denials that were not told apart because there were too many different ones.",
            "{call}",
            log.lost,
        ),
    ];
    metrics::write(all, format)
}
