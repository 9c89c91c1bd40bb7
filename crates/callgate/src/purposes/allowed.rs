//! Dangerous syscalls that a filter allows, and those that only one of two filters allows.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use callgate_bpf::SyscallTable;
use callgate_core::diagram::{Func, Store};
use callgate_core::{Arch, Word};

use super::danger::{Danger, DangerousValue, Severity};
use super::danger_list::{DANGERS, danger};
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

/// A dangerous syscall that a filter allows, and the filter that it is compared with does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FurtherDanger {
    /// The syscall, and why it is dangerous.
    pub danger: &'static Danger,
    /// The architectures on which it is allowed.
    pub arches: Vec<Arch>,
    /// The dangerous values that only this filter allows; empty if all arguments are dangerous.
    pub values: Vec<&'static DangerousValue>,
}

/// The dangerous syscalls that a filter permits and another filter denies, on these architectures, each dangerous value
/// on its own: the most severe first, then by name.
pub fn further_dangers(
    store: &Store,
    filter: Func,
    other: Func,
    arches: &[Arch],
) -> Vec<FurtherDanger> {
    let mut found: Vec<FurtherDanger> = Vec::new();
    for danger in DANGERS {
        let mut further = FurtherDanger { danger, arches: Vec::new(), values: Vec::new() };
        for arch in arches.iter().copied() {
            let Some(nr) = arch.number(danger.syscall) else { continue };
            let [own, others] = [filter, other].map(|filter| {
                let numbers = store.follow(filter, Word::ARCH, arch.token());
                store.follow(numbers, Word::NR, nr)
            });
            let values = danger.further_values(store, [own, others], arch);
            let is_further = match danger.values.is_empty() {
                true => {
                    danger.is_permitted(store, own, arch)
                        && !danger.is_permitted(store, others, arch)
                }
                false => !values.is_empty(),
            };
            if is_further {
                further.arches.push(arch);
                for value in values {
                    if !further.values.contains(&value) {
                        further.values.push(value);
                    }
                }
            }
        }
        if !further.arches.is_empty() {
            found.push(further);
        }
    }
    found.sort_by_key(|further| std::cmp::Reverse(further.danger.severity));
    found
}

#[cfg(test)]
mod tests {
    use callgate_core::policy::{Condition, Field, Policy, Rule, Section, Test};
    use callgate_core::{SyscallSet, Verdict};

    use crate::explain::{ArchExplanation, Clause, Group, Outcome};

    use super::super::danger_list::danger;
    use super::*;

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

    fn allowing(store: &mut Store, rules: &[(&str, Option<(u8, u64)>)]) -> Func {
        let rules = rules.iter().map(|(name, value)| Rule {
            syscalls: SyscallSet::one(Arch::X86_64.number(name).unwrap()),
            when: match value {
                Some((arg, value)) => {
                    Condition::test(Test::eq(Field::arg_low(*arg).unwrap(), *value))
                }
                None => Condition::always(),
            },
            verdict: Verdict::ALLOW,
        });
        let section = Section::new(Arch::X86_64, rules.collect(), Verdict::errno(1));
        let policy = Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap();
        store.policy(&policy).unwrap()
    }

    #[test]
    fn only_what_the_other_filter_denies_is_listed() {
        let mut store = Store::default();
        let own = allowing(
            &mut store,
            &[
                ("read", None),
                ("ptrace", None),
                ("mount", None),
                ("bpf", None),
                ("socket", Some((0, 40))),
                ("clone", Some((0, 0x11))),
            ],
        );
        let other = allowing(&mut store, &[("ptrace", Some((0, 0))), ("socket", Some((0, 17)))]);
        let found = further_dangers(&store, own, other, &[Arch::X86_64]);
        let names: Vec<&str> = found.iter().map(|further| further.danger.syscall).collect();
        assert_eq!(names, ["bpf", "mount", "socket"]);
        assert_eq!(found[2].values.iter().map(|value| value.bits).collect::<Vec<_>>(), [40]);
        assert_eq!(further_dangers(&store, other, other, &[Arch::X86_64]), []);
    }

    /// What is granted at any time must not be dangerous.
    #[cfg(feature = "sources")]
    #[test]
    fn runtimes_are_granted_nothing_dangerous() {
        use callgate_trace::generate::LanguageRuntime;
        for runtime in LanguageRuntime::ALL {
            for call in runtime.calls() {
                let (name, granted) = (call.needed.name, call.needed.values);
                let danger = danger(name);
                // Only with values that the runtime does not use: new namespaces of clone.
                let values = danger.map_or(&[][..], |danger| danger.values);
                let used = granted.unwrap_or_default();
                assert!(danger.is_none() || !values.is_empty(), "{name}");
                assert!(
                    values.iter().all(|value| used
                        .iter()
                        .all(|used| *used as u32 & value.mask != value.bits)),
                    "{name}"
                );
                assert!(danger.is_none() || granted.is_some(), "{name}");
            }
        }
    }
}
