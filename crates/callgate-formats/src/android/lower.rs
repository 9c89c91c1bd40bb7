//! From lists to a policy.

use std::collections::{BTreeMap, BTreeSet};

use super::arches::arch_name;
use super::lists::{ArchLists, Lists};
use super::names::{arm_name, kernel_name, number};
use crate::files::{At, Report};
use callgate_bpf::diagnostic::Severity;
use callgate_core::policy::{Condition, Policy, PolicyError, Rule, Section};
use callgate_core::{Arch, Verdict};

/// What bionic's filters return for syscalls that they do not allow, and for other architectures.
const OTHERS: Verdict = Verdict::trap(0);

/// Architectures of an entry that have the same problem, by its place and its name.
type Problems<'t> = BTreeMap<(At, &'t str), Vec<Arch>>;

/// The syscalls that an architecture allows, by name, with their numbers and the places of the entries.
pub(super) type Allowed = BTreeMap<&'static str, (u32, At)>;

/// The policy, the frequent syscalls that it allows, and the entries of each architecture.
pub(super) fn lower(
    report: &mut Report<'_>,
    lists: &Lists<'_>,
) -> Result<(Policy, Vec<&'static str>, Vec<Allowed>), PolicyError> {
    check_blocked(report, &lists.arches, lists.base_at.is_some());
    let mut missing = Problems::new();
    let mut sections = Vec::new();
    let mut entries = Vec::new();
    let mut frequent = BTreeSet::new();
    for of_arch in &lists.arches {
        let arch = of_arch.arch;
        let mut allowed = Allowed::new();
        let kept = of_arch.base.iter().filter(|(name, _)| !of_arch.blocked.contains_key(**name));
        for (name, at) in kept.chain(&of_arch.allowed) {
            match (number(arch, name), kernel_name(name)) {
                (Some(nr), Some(name)) => {
                    allowed.entry(name).or_insert((nr, *at));
                }
                _ => missing.entry((*at, *name)).or_default().push(arch),
            }
        }
        trap_low_priorities(report, lists, arch, &mut allowed);
        frequent.extend(allowed.keys().copied());
        let rule = Rule {
            syscalls: allowed.values().map(|(nr, _)| *nr).collect(),
            when: Condition::always(),
            verdict: Verdict::ALLOW,
        };
        sections.push(Section::new(arch, vec![rule], OTHERS));
        entries.push(allowed);
    }
    for ((at, name), arches) in missing {
        let message = format!("there is no syscall `{name}` on {}", names_of(&arches));
        report.error(at, message).help = match arm_name(name)
            .filter(|_| arches.contains(&Arch::Arm))
        {
            Some(other) => format!("on arm it is `{other}`"),
            None => "genseccomp.py refuses it; remove the architecture from this entry".to_owned(),
        };
    }
    let mut priorities = Vec::new();
    for priority in &lists.priorities {
        if frequent.contains(priority.name) {
            priorities.push(priority.name);
        } else {
            let message = format!("`{}` has no effect: it is not allowed", priority.name);
            report.warn(priority.at, message).help = "remove it".to_owned();
        }
    }
    Ok((Policy::new(sections, OTHERS)?, priorities, entries))
}

/// Reports blocked syscalls that the C library does not have, or that an allow list allows again.
fn check_blocked(report: &mut Report<'_>, arches: &[ArchLists<'_>], has_base: bool) {
    let mut unused = Problems::new();
    let mut allowed = Problems::new();
    for of_arch in arches {
        for (name, at) in &of_arch.blocked {
            let problems = if has_base && !of_arch.base.contains_key(name) {
                &mut unused
            } else if of_arch.allowed.contains_key(name) {
                &mut allowed
            } else {
                continue;
            };
            problems.entry((*at, *name)).or_default().push(of_arch.arch);
        }
    }
    for ((at, name), arches) in unused {
        let message = format!(
            "`{name}` is blocked on {}, but SYSCALLS.TXT does not have it",
            names_of(&arches)
        );
        report.error(at, message).help =
            "genseccomp.py refuses it; remove the entry, or the architecture from it".to_owned();
    }
    for ((at, name), arches) in allowed {
        let message = format!(
            "`{name}` is allowed on {} although it is blocked here: an allow list has it, too",
            names_of(&arches)
        );
        report.warn(at, message).help = "remove it from one of the two lists".to_owned();
    }
}

/// Removes frequent syscalls that the program traps, because their numbers are below those of all others: it compares the
/// lowest number of the others first.
fn trap_low_priorities(
    report: &mut Report<'_>,
    lists: &Lists<'_>,
    arch: Arch,
    allowed: &mut Allowed,
) {
    let is_frequent = |name: &str| lists.priorities.iter().any(|priority| priority.name == name);
    let others = allowed.iter().filter(|(name, _)| !is_frequent(name));
    let start = At::default();
    let name = arch_name(arch);
    let Some((first, lowest)) =
        others.map(|(name, (nr, _))| (*name, *nr)).min_by_key(|(_, nr)| *nr)
    else {
        let (severity, message, help) = match lists.base_at {
            Some(_) => (
                Severity::Error,
                format!("no syscall without priority is allowed on {name}"),
                "genseccomp.py fails without one; add an entry for this architecture",
            ),
            None => (
                Severity::Warning,
                format!("no syscall is allowed on {name}: every syscall gets {OTHERS}"),
                "add an entry for this architecture",
            ),
        };
        report.report(severity, lists.base_at.unwrap_or(start), message).help = help.to_owned();
        return;
    };
    for priority in &lists.priorities {
        if let Some((nr, _)) = allowed.get(priority.name).copied().filter(|(nr, _)| *nr < lowest) {
            allowed.remove(priority.name);
            let message = format!(
                "bionic's program traps `{}` on {name}: its number, {nr}, is below that of `{first}`, {lowest}, which \
                 the program compares first",
                priority.name
            );
            report.warn(priority.at, message).help =
                "remove it from the list of priorities to allow it".to_owned();
        }
    }
}

fn names_of(arches: &[Arch]) -> String {
    arches.iter().map(|arch| arch_name(*arch)).collect::<Vec<_>>().join(" and ")
}
