//! Reports of rules that keep a container from starting, because libseccomp rejects them, and of rules without
//! effect.

use std::collections::BTreeSet;

use crate::oci::dialect::Dialect;
use crate::oci::model::Name;
use crate::ruleset::{Conflict, LibseccompVersion, Overridden, RuleSet};
use crate::syntax::reader::Reader;
use callgate_bpf::diagnostic::Severity;

/// Maximum number of comparisons of nodes to find out which rules libseccomp rejects: a tenth of a second.
const MAX_STEPS: u64 = 20_000_000;

/// Reports rules that libseccomp rejects, so that a runtime could not start the container. The specification does not
/// mention libseccomp; by it, only rules with the same condition contradict each other.
pub(super) fn report_conflicts(
    reader: &mut Reader<'_>,
    sets: &[RuleSet<Name<'_>>],
    dialect: Dialect,
) {
    let mut reported = BTreeSet::new();
    let (mut now, mut before) = (MAX_STEPS, MAX_STEPS);
    for set in sets {
        if dialect == Dialect::Oci {
            for conflict in set.contradictions() {
                if reported.insert((conflict.later.0, conflict.earlier.0)) {
                    report_conflict(reader, Severity::Error, &conflict);
                }
            }
            continue;
        }
        let rejected = set.refused(LibseccompVersion::From2_6_1, &mut now);
        let rejected_before = set.refused(LibseccompVersion::Before2_6_1, &mut before);
        for conflict in &rejected.conflicts {
            if reported.insert((conflict.later.0, conflict.earlier.0)) {
                report_conflict(reader, Severity::Error, conflict);
            }
        }
        for conflict in &rejected_before.conflicts {
            let is_new = !rejected.conflicts.iter().any(|other| other.nr == conflict.nr);
            if is_new && reported.insert((conflict.later.0, conflict.earlier.0)) {
                report_conflict(reader, Severity::Warning, conflict);
            }
        }
        for ((at, name), rules) in rejected.unknown {
            let message = format!(
                "`{name}` has {rules} rules with different actions; whether libseccomp accepts them is \
                 unknown, because the check exceeds its limit of {MAX_STEPS} comparisons"
            );
            reader.warn(at, message).help =
                "use fewer rules, or one action for all rules of this syscall".to_owned();
        }
    }
}

fn report_conflict(reader: &mut Reader<'_>, severity: Severity, conflict: &Conflict<Name<'_>>) {
    let (at, name) = conflict.later;
    let earlier = reader.place(conflict.earlier.0);
    let condition = if conflict.same { "the same condition" } else { "an overlapping condition" };
    let (verdict, other) = (conflict.refused, conflict.verdict);
    let via = match conflict.nr.map(|nr| conflict.arch.syscall_name(nr)) {
        Some(Some(via)) if via != name => format!(" (through `{via}` on {})", conflict.arch),
        None => format!(" (on {}, which does not have this syscall)", conflict.arch),
        _ => String::new(),
    };
    let versions = match severity {
        Severity::Error => "libseccomp rejects such rules, so the container would not start",
        Severity::Warning => "libseccomp before 2.6.1 rejects such rules",
    };
    let advice = if conflict.same {
        "remove one of the two"
    } else {
        "move this entry before the other, or remove one"
    };
    let message =
        format!("`{name}` gets {verdict} here, but {other} under {condition} at {earlier}{via}");
    reader.report(severity, at, message).help = format!("{versions}; {advice}");
}

/// Warns about rules without effect, once for all architectures.
pub(super) fn report_overridden(reader: &mut Reader<'_>, overridden: Vec<Overridden<Name<'_>>>) {
    let mut reported = BTreeSet::new();
    for Overridden { loser, winner, verdict } in overridden {
        if reported.insert((loser.0, winner.0)) {
            let message = format!(
                "this rule for `{}` has no effect: the rule for `{}` at {} gives {verdict} \
                 whenever this one matches",
                loser.1,
                winner.1,
                reader.place(winner.0)
            );
            reader.warn(loser.0, message).help = "remove one of the two".to_owned();
        }
    }
}
