//! Rules in the small form that every compiler of the comparison is given.
//!
//! Per architecture and number an ordered list of alternatives: the first of which all tests hold
//! decides, else the default does. Conditions are in disjunctive normal form, so a driver needs no
//! trees. What compilers decide on their own, each in its way, is kept apart as [`Edges`], so that
//! a program can be compared with the rules as its compiler understands them.
//!
//! Limit: a rule for more than [`MAX_RANGE`] numbers in a row has no place here, but for the one
//! that turns x32 away.

use std::collections::{BTreeMap, BTreeSet};

use callgate::policy::{CallSet, Condition, Policy, Rule, Section, Test};
use callgate::syscalls::X32_SYSCALL_BIT;
use callgate::{Arch, Verdict};

use crate::task::Result;

/// The most numbers in a row that one rule may be about.
const MAX_RANGE: u32 = 8192;
/// The most alternatives of one condition.
const MAX_ALTERNATIVES: usize = 8192;

/// Rules for some architectures.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rules {
    /// x86_64 and x32, which share a token, are a block each.
    pub(super) blocks: Vec<Block>,
    /// What differs between compilers.
    pub(super) edges: Edges,
    /// The numbers of the native architecture that happen most, the most frequent first, with their
    /// share of all calls in thousandths: for compilers that can be told.
    pub(super) hot: Vec<(u32, u32)>,
}

/// What is decided where no rule of any call applies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Edges {
    /// For calls of other architectures.
    pub(super) bad_arch: Verdict,
    /// For numbers from [`X32_SYSCALL_BIT`] to this one on x86_64; `None`: the default, as for any
    /// other number.
    pub(super) x32: Option<(u32, Verdict)>,
}

/// The rules of one architecture.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    pub(super) arch: Arch,
    pub(super) default: Verdict,
    pub(super) calls: BTreeMap<u32, Vec<Alternative>>,
}

/// The verdict of a call under a condition.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Alternative {
    /// All must hold; none: always.
    pub(super) tests: Vec<Test>,
    pub(super) verdict: Verdict,
}

impl Alternative {
    pub(super) fn always(verdict: Verdict) -> Alternative {
        Alternative { tests: Vec::new(), verdict }
    }
}

impl Rules {
    /// Rules for one architecture that kills the thread for calls of others, and for x32 numbers on
    /// x86_64, as libseccomp does.
    pub(super) fn new(
        arch: Arch,
        default: Verdict,
        calls: BTreeMap<u32, Vec<Alternative>>,
    ) -> Rules {
        let bad_arch = Verdict::KILL_THREAD;
        let x32 = (arch == Arch::X86_64).then_some((u32::MAX - 1, bad_arch));
        let edges = Edges { bad_arch, x32 };
        Rules { blocks: vec![Block { arch, default, calls }], edges, hot: Vec::new() }
    }

    /// The rules of a policy.
    pub(super) fn from_policy(policy: &Policy) -> Result<Rules> {
        let mut edges = Edges { bad_arch: policy.bad_arch(), x32: None };
        let mut blocks = Vec::new();
        for section in policy.sections() {
            let numbers = numbers(section, &mut edges)?;
            for arch in section.arches() {
                let mut calls = BTreeMap::new();
                for &nr in numbers.iter().filter(|nr| owner(section, **nr) == Some(arch)) {
                    let alternatives = alternatives(section, nr)?;
                    if !alternatives.is_empty() {
                        calls.insert(nr, alternatives);
                    }
                }
                blocks.push(Block { arch, default: section.default, calls });
            }
        }
        Ok(Rules { blocks, edges, hot: Vec::new() })
    }

    /// The policy of the rules.
    pub(super) fn to_policy(&self) -> Result<Policy> {
        let mut sections: Vec<Section> = Vec::new();
        for block in &self.blocks {
            let token = block.arch.token();
            let index = match sections.iter().position(|section| section.token() == token) {
                Some(index) => {
                    let section = sections[index].clone().and_arch(block.arch);
                    sections[index] = section.map_err(|error| error.to_string())?;
                    index
                }
                None => {
                    sections.push(Section::new(block.arch, Vec::new(), block.default));
                    sections.len() - 1
                }
            };
            let section = &mut sections[index];
            if section.default != block.default {
                return Err(format!("{} has another default than its kin", block.arch));
            }
            section.rules.extend(block.rules());
            if let (Arch::X86_64, Some((last, verdict))) = (block.arch, self.edges.x32) {
                let calls = CallSet::range(X32_SYSCALL_BIT, last);
                section.rules.push(Rule { calls, when: Condition::always(), verdict });
            }
        }
        Policy::new(sections, self.edges.bad_arch).map_err(|error| error.to_string())
    }

    /// The same rules with other edges.
    pub(super) fn with_edges(&self, edges: Edges) -> Rules {
        Rules { edges, ..self.clone() }
    }

    /// The same rules without some calls.
    pub(super) fn without(&self, calls: &[(Arch, u32)]) -> Rules {
        let mut rules = self.clone();
        for block in &mut rules.blocks {
            block.calls.retain(|nr, _| !calls.contains(&(block.arch, *nr)));
        }
        rules
    }

    /// The same rules where every verdict but this one gives way to the default: for compilers that
    /// know one verdict beside the default.
    pub(super) fn only(&self, verdict: Verdict) -> Rules {
        let mut rules = self.clone();
        for block in &mut rules.blocks {
            block.calls.retain(|_, alternatives| {
                alternatives.iter().all(|alternative| alternative.verdict == verdict)
            });
        }
        rules
    }

    /// How many calls have rules.
    pub(super) fn calls(&self) -> usize {
        self.blocks.iter().map(|block| block.calls.len()).sum()
    }

    /// How many tests of arguments there are.
    pub(super) fn tests(&self) -> usize {
        let alternatives = self.blocks.iter().flat_map(|block| block.calls.values().flatten());
        alternatives.map(|alternative| alternative.tests.len()).sum()
    }
}

impl Block {
    /// One rule for each alternative; calls that are decided by their number alone share one.
    fn rules(&self) -> Vec<Rule> {
        let mut rules = Vec::new();
        let mut unconditional: BTreeMap<Verdict, Vec<u32>> = BTreeMap::new();
        for (&nr, alternatives) in &self.calls {
            for Alternative { tests, verdict } in alternatives {
                match alternatives.as_slice() {
                    [_] if tests.is_empty() => {
                        unconditional.entry(*verdict).or_default().push(nr);
                    }
                    _ => rules.push(Rule {
                        calls: CallSet::one(nr),
                        when: Condition::all(tests.iter().copied().map(Condition::test)),
                        verdict: *verdict,
                    }),
                }
            }
        }
        rules.extend(unconditional.into_iter().map(|(verdict, numbers)| Rule {
            calls: numbers.into_iter().collect(),
            when: Condition::always(),
            verdict,
        }));
        rules
    }
}

/// Which architecture of a section a number belongs to.
fn owner(section: &Section, nr: u32) -> Option<Arch> {
    let mut arches = section.arches();
    if arches.clone().count() == 1 {
        return arches.next();
    }
    let x32 = nr & X32_SYSCALL_BIT != 0;
    arches.find(|arch| (*arch == Arch::X32) == x32)
}

/// All numbers that rules of a section are about, but for x32's where they are turned away.
fn numbers(section: &Section, edges: &mut Edges) -> Result<BTreeSet<u32>> {
    let mut numbers = BTreeSet::new();
    for rule in &section.rules {
        for &(first, last) in rule.calls.ranges() {
            if last - first < MAX_RANGE {
                numbers.extend(first..=last);
            } else if first == X32_SYSCALL_BIT && rule.when.is_always() && edges.x32.is_none() {
                edges.x32 = Some((last, rule.verdict));
            } else {
                return Err(format!("a rule is about all numbers from {first} to {last}"));
            }
        }
    }
    Ok(numbers)
}

/// What decides a number, up to the first unconditional rule.
fn alternatives(section: &Section, nr: u32) -> Result<Vec<Alternative>> {
    let mut found = Vec::new();
    for rule in section.rules.iter().filter(|rule| rule.calls.contains(nr)) {
        let alternatives = rule.when.alternatives(MAX_ALTERNATIVES).ok_or_else(|| {
            format!("the condition of call {nr} has more than {MAX_ALTERNATIVES} alternatives")
        })?;
        let verdict = rule.verdict;
        found.extend(alternatives.into_iter().map(|tests| Alternative { tests, verdict }));
        if rule.when.is_always() {
            break;
        }
    }
    // What is left to the default need not be said.
    while found.last().is_some_and(|last| last.verdict == section.default) {
        found.pop();
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate::diagram::Store;
    use callgate::frontend::{container_default, oci};
    use callgate::policy::{Cmp, Field};

    pub(crate) fn same(a: &Policy, b: &Policy) -> bool {
        let mut store = Store::default();
        store.policy(a).unwrap() == store.policy(b).unwrap()
    }

    fn built_in(arches: &[Arch]) -> Policy {
        let kernel = "6.18".parse().unwrap();
        let options = oci::ReadOptions {
            arches: arches.to_vec(),
            enosys_above: Some(oci::EnosysAbove::Off),
            ..oci::ReadOptions::new(Arch::X86_64, kernel)
        };
        container_default(&options).unwrap().policy
    }

    #[test]
    fn policies_become_rules_and_policies_again() {
        for arches in [&[Arch::X86_64][..], &[Arch::X86_64, Arch::X86, Arch::X32]] {
            let policy = built_in(arches);
            let rules = Rules::from_policy(&policy).unwrap();
            assert!(same(&rules.to_policy().unwrap(), &policy), "{arches:?}");
            assert_eq!(Rules::from_policy(&rules.to_policy().unwrap()), Ok(rules));
        }
    }

    #[test]
    fn conditions_become_alternatives_in_order() {
        let test =
            |arg, cmp, value| Condition::test(Test::new(Field::arg(arg).unwrap(), cmp, value));
        let rule = |when, verdict| Rule { calls: CallSet::one(7), when, verdict };
        let narrow = Condition::all([test(0, Cmp::Eq, 1), test(1, Cmp::Lt, 2)]);
        let either = Condition::any([test(0, Cmp::Eq, 1), test(2, Cmp::Ge, 9)]);
        let rules = vec![
            rule(narrow, Verdict::LOG),
            rule(either, Verdict::ALLOW),
            rule(Condition::always(), Verdict::errno(1)),
            rule(Condition::always(), Verdict::LOG),
        ];
        let section = Section::new(Arch::X86_64, rules, Verdict::errno(1));
        let policy = Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap();
        let rules = Rules::from_policy(&policy).unwrap();
        let verdicts: Vec<Verdict> =
            rules.blocks[0].calls[&7].iter().map(|alternative| alternative.verdict).collect();
        assert_eq!(verdicts, [Verdict::LOG, Verdict::ALLOW, Verdict::ALLOW]);
        assert!(same(&rules.to_policy().unwrap(), &policy));
    }

    #[test]
    fn edges_change_nothing_else() {
        let rules = Rules::from_policy(&built_in(&[Arch::X86_64])).unwrap();
        assert_eq!(rules.edges.x32, Some((u32::MAX - 1, rules.edges.bad_arch)));
        let changed = rules.with_edges(Edges { bad_arch: Verdict::errno(3), x32: None });
        assert!(!same(&changed.to_policy().unwrap(), &rules.to_policy().unwrap()));
        assert_eq!(changed.with_edges(rules.edges), rules);
    }

    #[test]
    fn a_rule_for_half_of_all_numbers_is_refused() {
        let rule = Rule {
            calls: CallSet::range(0, 1 << 31),
            when: Condition::always(),
            verdict: Verdict::LOG,
        };
        let section = Section::new(Arch::X86_64, vec![rule], Verdict::ALLOW);
        let policy = Policy::new(vec![section], Verdict::ALLOW).unwrap();
        assert!(Rules::from_policy(&policy).unwrap_err().contains("from 0 to 2147483648"));
    }
}
