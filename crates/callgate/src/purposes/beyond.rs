//! Dangerous syscalls that one filter allows and another one denies.

use callgate_bpf::SyscallTable;
use callgate_core::diagram::{Func, Store};
use callgate_core::{Arch, Word};

use super::danger::{DANGERS, Danger, DangerousValue};

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
            let values: Vec<&DangerousValue> = danger
                .values
                .iter()
                .filter(|value| {
                    danger.permits_value(value, store, own, arch)
                        && !danger.permits_value(value, store, others, arch)
                })
                .collect();
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

    use super::*;

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
            for call in runtime.calls().iter().map(|call| call.needed) {
                let danger = super::super::danger(call.name);
                // Only with values that the runtime does not use: new namespaces of clone.
                let values = danger.map_or(&[][..], |danger| danger.values);
                let used = call.values.unwrap_or_default();
                assert!(danger.is_none() || !values.is_empty(), "{}", call.name);
                assert!(
                    values.iter().all(|value| used
                        .iter()
                        .all(|used| *used as u32 & value.mask != value.bits)),
                    "{}",
                    call.name
                );
                assert!(danger.is_none() || call.values.is_some(), "{}", call.name);
            }
        }
    }
}
