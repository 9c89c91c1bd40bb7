//! What the readers of languages whose rules libseccomp combines have in common: reports of rejected rules and of rules without
//! effect, statements, unknown syscalls, and the limit on comparisons.

use std::collections::BTreeSet;

use crate::diagnostics::quote::{did_you_mean, shorten};
use crate::ruleset::{Conflict, LibseccompVersion, Overridden, RuleSet};
use crate::statements::Statement;
use crate::syntax::reader::Reader;
use callgate_bpf::SyscallTable;
use callgate_bpf::diagnostic::{Severity, Topic};
use callgate_bpf::syscalls::known_names;
use callgate_core::Verdict;
use callgate_core::policy::Condition;

/// Where a rule comes from: its byte offset, and the name of its syscall.
pub(crate) type Origin<'t> = (usize, &'t str);

/// How messages name the parts of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words {
    /// What contains a rule, such as "entry".
    pub(crate) unit: &'static str,
    /// What follows if libseccomp rejects a rule.
    pub(crate) consequence: &'static str,
}

/// Maximum number of comparisons of nodes to find out which rules libseccomp rejects: a tenth of a second.
const MAX_STEPS: u64 = 20_000_000;

/// Reports rules that libseccomp rejects: as errors, or as warnings if only versions before 2.6.1 do.
pub(crate) fn report_rejected(reader: &mut Reader<'_>, sets: &[RuleSet<Origin<'_>>], words: Words) {
    let mut reported = BTreeSet::new();
    let (mut now, mut before) = (MAX_STEPS, MAX_STEPS);
    for set in sets {
        let rejected = set.refused(LibseccompVersion::From2_6_1, &mut now);
        let rejected_before = set.refused(LibseccompVersion::Before2_6_1, &mut before);
        for conflict in &rejected.conflicts {
            if reported.insert((conflict.later.0, conflict.earlier.0)) {
                report_conflict(reader, Severity::Error, conflict, words);
            }
        }
        for conflict in &rejected_before.conflicts {
            let is_new = !rejected.conflicts.iter().any(|other| other.nr == conflict.nr);
            if is_new && reported.insert((conflict.later.0, conflict.earlier.0)) {
                report_conflict(reader, Severity::Warning, conflict, words);
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

/// Reports rules with the same condition and different verdicts.
pub(crate) fn report_contradictions(
    reader: &mut Reader<'_>,
    sets: &[RuleSet<Origin<'_>>],
    words: Words,
) {
    let mut reported = BTreeSet::new();
    for conflict in sets.iter().flat_map(RuleSet::contradictions) {
        if reported.insert((conflict.later.0, conflict.earlier.0)) {
            report_conflict(reader, Severity::Error, &conflict, words);
        }
    }
}

fn report_conflict(
    reader: &mut Reader<'_>,
    severity: Severity,
    conflict: &Conflict<Origin<'_>>,
    words: Words,
) {
    let Words { unit, consequence } = words;
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
        Severity::Error => format!("libseccomp rejects such rules, {consequence}"),
        Severity::Warning => "libseccomp before 2.6.1 rejects such rules".to_owned(),
    };
    let advice = if conflict.same {
        "remove one of the two".to_owned()
    } else {
        format!("move this {unit} before the other, or remove one")
    };
    let message =
        format!("`{name}` gets {verdict} here, but {other} under {condition} at {earlier}{via}");
    reader.report(severity, at, message).help = format!("{versions}; {advice}");
}

/// Warns about rules without effect, once for all architectures.
pub(crate) fn report_overridden(reader: &mut Reader<'_>, overridden: Vec<Overridden<Origin<'_>>>) {
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
            let warning = reader.warn(loser.0, message);
            warning.help = "remove one of the two".to_owned();
            warning.topic = Some(Topic::Overruled);
        }
    }
}

/// Warns about rules whose conditions are not checked behind `socketcall` or `ipc`.
pub(crate) fn report_hidden(
    reader: &mut Reader<'_>,
    sets: &[RuleSet<Origin<'_>>],
    hidden: Vec<(usize, u32, Origin<'_>)>,
) {
    let mut reported = BTreeSet::new();
    for (index, nr, (at, name)) in hidden {
        let Some(set) = sets.get(index) else { continue };
        if set.is_unconditional(nr) || !reported.insert((at, index)) {
            continue;
        }
        let arch = set.arch();
        let via = arch.syscall_name(nr).unwrap_or("another syscall");
        let message = format!(
            "on {arch}, programs can also reach `{name}` through `{via}`, where a filter cannot see \
             its arguments; this rule does not check them there"
        );
        let warning = reader.warn(at, message);
        warning.topic = Some(Topic::Multiplexer);
        warning.help = format!(
            "if the condition matters on {arch}, deny `{via}`; C libraries there may use only that"
        );
    }
}

/// The rules of sets, whose origins are byte offsets and names.
pub(crate) fn rules_of(reader: &Reader<'_>, sets: &[RuleSet<(usize, &str)>]) -> Vec<Statement> {
    let of_set = |set: &RuleSet<(usize, &str)>| -> Vec<Statement> {
        let rule = |(nr, when, verdict, (at, name)): (u32, Condition, Verdict, (usize, &str))| {
            let (site, name) = (reader.site(at), name.to_owned());
            Statement { site, name, arch: set.arch(), nr, when, verdict }
        };
        set.stated().map(rule).collect()
    };
    sets.iter().flat_map(of_set).collect()
}

/// The maximum number of comparisons, counted for each architecture.
const MAX_COMPARISONS: usize = 150_000;

/// Counts the comparisons of rules. A rule without comparisons counts as one.
#[derive(Debug, Default)]
pub(crate) struct ComparisonBudget(usize);

impl ComparisonBudget {
    /// Counts the comparisons of a rule for each of these architectures. `None` after the limit was reported.
    pub(crate) fn spend(
        &mut self,
        reader: &mut Reader<'_>,
        comparisons: usize,
        arches: usize,
        at: usize,
    ) -> Option<()> {
        self.0 = self.0.saturating_add(comparisons.max(1).saturating_mul(arches));
        if self.0 <= MAX_COMPARISONS {
            return Some(());
        }
        let message = format!(
            "the rules up to this line have more than {MAX_COMPARISONS} comparisons, the limit; each counts on {arches} \
             architectures"
        );
        let help = "compare with ranges or bits instead of single values";
        reader.error(at, message).set_too_large(help);
        None
    }
}

/// Reports an unknown name: as a warning that says who skips it (`by`, such as "LXC skips it"), or as an error. `help`
/// replaces the suggestion of a similar name or of one of the other words.
pub(crate) fn report_unknown_syscall(
    reader: &mut Reader<'_>,
    name: &str,
    at: usize,
    is_strict: bool,
    by: &str,
    words: &[&'static str],
    help: Option<&str>,
) {
    let severity = if is_strict { Severity::Error } else { Severity::Warning };
    if reader.is_full(severity) {
        reader.report(severity, at, "");
        return;
    }
    let near = reader.nearest(name, known_names().chain(words.iter().copied()));
    let skipped = if is_strict { String::new() } else { format!("; {by}") };
    let message = format!("no architecture has a syscall `{}`{skipped}", shorten(name));
    let otherwise = "check the spelling against syscalls(2)";
    reader.report(severity, at, message).help =
        help.map_or_else(|| did_you_mean(near, otherwise), str::to_owned);
}

/// The lines of a text that begins at this offset, each with its own offset and without the line feed.
pub(crate) fn lines(text: &str, at: usize) -> impl Iterator<Item = (&str, usize)> {
    let mut offset = at;
    text.split_inclusive('\n').map(move |line| {
        let start = offset;
        offset += line.len();
        (line.strip_suffix('\n').unwrap_or(line), start)
    })
}
