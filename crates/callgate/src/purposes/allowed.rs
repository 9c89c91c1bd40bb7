//! Dangerous syscalls that a filter allows.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use callgate_core::Arch;

use super::danger::{Severity, danger};
use crate::explain::{Explanation, Permission};

/// Syscalls that a filter allows and that are dangerous for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedDanger {
    /// The reason; see [`Danger::reason`](super::Danger::reason).
    pub reason: &'static str,
    /// How much an attacker gains.
    pub severity: Severity,
    /// Whether they are allowed for some arguments only.
    pub is_partial: bool,
    /// The architectures on which they are allowed, in the order of the explanation.
    pub arches: Vec<Arch>,
    /// Their names, sorted.
    pub syscalls: Vec<&'static str>,
}

/// The dangerous syscalls that a filter allows: the most severe first, of these those that it always allows, sorted by
/// their first name.
pub fn allowed_dangers(explanation: &Explanation) -> Vec<AllowedDanger> {
    let mut by_name: BTreeMap<(&'static str, bool), AllowedDanger> = BTreeMap::new();
    for arch in &explanation.arches {
        for group in &arch.groups {
            let permission = Permission::of(&group.outcome);
            for (_, name) in &group.syscalls {
                let Some(danger) = danger(name).filter(|_| arch.dangers.contains(name)) else {
                    continue;
                };
                let is_partial = permission != Permission::Always;
                let new = || AllowedDanger {
                    reason: danger.reason,
                    severity: danger.severity,
                    is_partial,
                    arches: Vec::new(),
                    syscalls: vec![*name],
                };
                let own = by_name.entry((name, is_partial)).or_insert_with(new);
                if !own.arches.contains(&arch.arch) {
                    own.arches.push(arch.arch);
                }
            }
        }
    }
    let mut found: Vec<AllowedDanger> = Vec::new();
    for danger in by_name.into_values() {
        let is_same = |other: &&mut AllowedDanger| {
            (other.reason, other.is_partial, &other.arches)
                == (danger.reason, danger.is_partial, &danger.arches)
        };
        match found.iter_mut().find(is_same) {
            Some(other) => other.syscalls.extend(danger.syscalls),
            None => found.push(danger),
        }
    }
    found.sort_by_key(|danger| (Reverse(danger.severity), danger.is_partial));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;
    use crate::explain::{ArchExplanation, Clause, Group, Outcome};

    fn group(outcome: Outcome, names: &[&'static str]) -> Group {
        Group { outcome, syscalls: names.iter().map(|name| (0, *name)).collect() }
    }

    fn depends() -> Outcome {
        let clause = Clause { conditions: Vec::new(), verdict: Verdict::ALLOW };
        Outcome::Depends { clauses: vec![clause], otherwise: Verdict::errno(1) }
    }

    #[test]
    fn dangers_are_grouped_by_reason_and_sorted_by_severity() {
        let allowed = Outcome::Always(Verdict::ALLOW);
        let explanation = Explanation {
            arches: vec![
                ArchExplanation {
                    arch: Arch::X86_64,
                    groups: vec![
                        group(allowed.clone(), &["swapon", "read", "finit_module", "init_module"]),
                        group(depends(), &["socket", "ptrace"]),
                        group(Outcome::Always(Verdict::errno(1)), &["bpf"]),
                    ],
                    unnamed: Vec::new(),
                    // Not socket: the condition leaves out the families that are dangerous.
                    dangers: vec!["finit_module", "init_module", "ptrace", "swapon"],
                },
                ArchExplanation {
                    arch: Arch::X86,
                    groups: vec![group(allowed, &["ptrace"])],
                    unnamed: Vec::new(),
                    dangers: vec!["ptrace"],
                },
            ],
            other_arches: None,
            checks_arch: true,
            notes: Vec::new(),
        };
        let found = allowed_dangers(&explanation);
        let found: Vec<(&[&str], bool, &[Arch])> = found
            .iter()
            .map(|danger| (danger.syscalls.as_slice(), danger.is_partial, danger.arches.as_slice()))
            .collect();
        assert_eq!(
            found,
            [
                (&["finit_module", "init_module"][..], false, &[Arch::X86_64][..]),
                (&["ptrace"], false, &[Arch::X86]),
                (&["ptrace"], true, &[Arch::X86_64]),
                (&["swapon"], false, &[Arch::X86_64]),
            ]
        );
    }
}
