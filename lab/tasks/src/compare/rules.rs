//! Rules in the form that all compilers of the comparison get.
//!
//! For each architecture and number there is an ordered list of alternatives: the first one whose tests all hold
//! decides, otherwise the default applies. Conditions are in disjunctive normal form, so drivers need no trees.
//! Decisions that compilers make on their own are kept apart as [`Edges`], so that a program can be compared
//! with the rules as its compiler interprets them.
//!
//! Limit: a rule has at most [`MAX_RANGE`] consecutive numbers, except for the rule that rejects x32.

use std::collections::{BTreeMap, BTreeSet};

use callgate::{Arch, Verdict};
use callgate_core::policy::{Condition, Policy, Rule, Section, Test};
use callgate_core::{SyscallSet, X32_SYSCALL_BIT};

use callgate_tasks::Result;

/// The maximum number of consecutive syscall numbers in a rule.
const MAX_RANGE: u32 = 8192;
/// The maximum number of alternatives of a condition.
const MAX_ALTERNATIVES: usize = 8192;

/// Rules for some architectures.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rules {
    /// x86_64 and x32, which share a token, have a block each.
    pub(super) blocks: Vec<Block>,
    /// The decisions that differ between compilers.
    pub(super) edges: Edges,
    /// The most frequent syscalls of the native architecture, in descending order, with their share of all
    /// syscalls in thousandths: for compilers that accept frequencies.
    pub(super) hot: Vec<(u32, u32)>,
}

/// The verdicts for syscalls without rules.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Edges {
    /// For syscalls of other architectures.
    pub(super) bad_arch: Verdict,
    /// For numbers from [`X32_SYSCALL_BIT`] to this one on x86_64; `None`: the default, as for any
    /// other number.
    pub(super) x32: Option<(u32, Verdict)>,
    /// Whether these are only the numbers with bit 30, without those from 0x80000000 to 0xbfffffff.
    pub(super) bit_30: bool,
}

impl Edges {
    /// The numbers of x32 with their verdict, if it is not the default.
    fn x32_numbers(&self) -> Option<(SyscallSet, Verdict)> {
        let (last, verdict) = self.x32?;
        let ranges = match self.bit_30 {
            true => vec![
                (X32_SYSCALL_BIT, last.min(i32::MAX as u32)),
                (1 << 31 | X32_SYSCALL_BIT, last),
            ],
            false => vec![(X32_SYSCALL_BIT, last)],
        };
        let ranges = ranges.into_iter().filter(|(first, last)| first <= last);
        Some((SyscallSet::from_ranges(ranges), verdict))
    }
}

/// An argument of a syscall of which only the lower bits are compared, because its type has no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Narrow {
    pub(super) arch: Arch,
    pub(super) nr: u32,
    pub(super) argument: u8,
    pub(super) bits: u32,
}

/// The rules of one architecture.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    pub(super) arch: Arch,
    pub(super) default: Verdict,
    pub(super) syscalls: BTreeMap<u32, Vec<Alternative>>,
}

/// The verdict of a syscall under a condition.
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
    /// Rules for one architecture that kills the thread for syscalls of others, and for x32 numbers on
    /// x86_64, as libseccomp does.
    pub(super) fn new(
        arch: Arch,
        default: Verdict,
        syscalls: BTreeMap<u32, Vec<Alternative>>,
    ) -> Rules {
        let bad_arch = Verdict::KILL_THREAD;
        let x32 = (arch == Arch::X86_64).then_some((u32::MAX - 1, bad_arch));
        let edges = Edges { bad_arch, x32, bit_30: false };
        Rules { blocks: vec![Block { arch, default, syscalls }], edges, hot: Vec::new() }
    }

    /// Converts a policy.
    pub(super) fn from_policy(policy: &Policy) -> Result<Rules> {
        let mut edges = Edges { bad_arch: policy.bad_arch(), x32: None, bit_30: false };
        let mut blocks = Vec::new();
        for section in policy.sections() {
            let numbers = numbers(section, &mut edges)?;
            for arch in section.arches() {
                let mut syscalls = BTreeMap::new();
                for &nr in numbers.iter().filter(|nr| owner(section, **nr) == Some(arch)) {
                    let alternatives = alternatives(section, nr)?;
                    if !alternatives.is_empty() {
                        syscalls.insert(nr, alternatives);
                    }
                }
                blocks.push(Block { arch, default: section.default, syscalls });
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
                return Err(format!(
                    "the default of {} differs from that of the other ABI under the same token",
                    block.arch
                ));
            }
            section.rules.extend(block.rules());
            if let (Arch::X86_64, Some((syscalls, verdict))) =
                (block.arch, self.edges.x32_numbers())
            {
                section.rules.push(Rule { syscalls, when: Condition::always(), verdict });
            }
        }
        Policy::new(sections, self.edges.bad_arch).map_err(|error| error.to_string())
    }

    /// The same rules with other edges.
    pub(super) fn with_edges(&self, edges: Edges) -> Rules {
        Rules { edges, ..self.clone() }
    }

    /// The same rules without some syscalls.
    pub(super) fn without(&self, syscalls: &[(Arch, u32)]) -> Rules {
        let mut rules = self.clone();
        for block in &mut rules.blocks {
            block.syscalls.retain(|nr, _| !syscalls.contains(&(block.arch, *nr)));
        }
        rules
    }

    /// The same rules, where only the lower bits of some arguments are compared.
    pub(super) fn narrowed(mut self, narrow: &[Narrow]) -> Rules {
        for block in &mut self.blocks {
            for Narrow { nr, argument, bits, .. } in narrow.iter().filter(|n| n.arch == block.arch)
            {
                let tests = block.syscalls.get_mut(nr).into_iter().flatten();
                let tests = tests.flat_map(|alternative| &mut alternative.tests);
                let of = |test: &&mut Test| test.field.low_word().argument().map(|(arg, _)| arg);
                for test in tests.filter(|test| of(test) == Some(*argument)) {
                    test.mask &= (1 << bits) - 1;
                }
            }
        }
        self
    }

    /// The same rules with all verdicts but this one replaced by the default: for compilers that support only one
    /// verdict besides the default.
    pub(super) fn only(&self, verdict: Verdict) -> Rules {
        let mut rules = self.clone();
        for block in &mut rules.blocks {
            block.syscalls.retain(|_, alternatives| {
                alternatives.iter().all(|alternative| alternative.verdict == verdict)
            });
        }
        rules
    }

    /// The number of syscalls with rules.
    pub(super) fn syscalls(&self) -> usize {
        self.blocks.iter().map(|block| block.syscalls.len()).sum()
    }

    /// The number of tests of arguments.
    pub(super) fn tests(&self) -> usize {
        let alternatives = self.blocks.iter().flat_map(|block| block.syscalls.values().flatten());
        alternatives.map(|alternative| alternative.tests.len()).sum()
    }
}

impl Block {
    /// One rule for each alternative; syscalls without conditions share one.
    fn rules(&self) -> Vec<Rule> {
        let mut rules = Vec::new();
        let mut unconditional: BTreeMap<Verdict, Vec<u32>> = BTreeMap::new();
        for (&nr, alternatives) in &self.syscalls {
            for Alternative { tests, verdict } in alternatives {
                match alternatives.as_slice() {
                    [_] if tests.is_empty() => {
                        unconditional.entry(*verdict).or_default().push(nr);
                    }
                    _ => rules.push(Rule {
                        syscalls: SyscallSet::one(nr),
                        when: Condition::all(tests.iter().copied().map(Condition::test)),
                        verdict: *verdict,
                    }),
                }
            }
        }
        rules.extend(unconditional.into_iter().map(|(verdict, numbers)| Rule {
            syscalls: numbers.into_iter().collect(),
            when: Condition::always(),
            verdict,
        }));
        rules
    }
}

/// The architecture of a section to which a number belongs.
fn owner(section: &Section, nr: u32) -> Option<Arch> {
    let mut arches = section.arches();
    if arches.clone().count() == 1 {
        return arches.next();
    }
    let x32 = nr & X32_SYSCALL_BIT != 0;
    arches.find(|arch| (*arch == Arch::X32) == x32)
}

/// All numbers in the rules of a section, except for x32's if they are rejected.
fn numbers(section: &Section, edges: &mut Edges) -> Result<BTreeSet<u32>> {
    let mut numbers = BTreeSet::new();
    for rule in &section.rules {
        for &(first, last) in rule.syscalls.ranges() {
            if last - first < MAX_RANGE {
                numbers.extend(first..=last);
            } else if first == X32_SYSCALL_BIT && rule.when.is_always() && edges.x32.is_none() {
                edges.x32 = Some((last, rule.verdict));
            } else {
                return Err(format!(
                    "a rule has all numbers from {first} to {last}, more than {MAX_RANGE}"
                ));
            }
        }
    }
    Ok(numbers)
}

/// The alternatives of a number, up to the first unconditional rule.
fn alternatives(section: &Section, nr: u32) -> Result<Vec<Alternative>> {
    let mut found = Vec::new();
    for rule in section.rules.iter().filter(|rule| rule.syscalls.contains(nr)) {
        let alternatives = rule.when.alternatives(MAX_ALTERNATIVES).ok_or_else(|| {
            format!("the condition of call {nr} has more than {MAX_ALTERNATIVES} alternatives")
        })?;
        let verdict = rule.verdict;
        found.extend(alternatives.into_iter().map(|tests| Alternative { tests, verdict }));
        if rule.when.is_always() {
            break;
        }
    }
    // Alternatives at the end that equal the default have no effect.
    while found.last().is_some_and(|last| last.verdict == section.default) {
        found.pop();
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_core::diagram::Store;
    use callgate_core::policy::{Cmp, Field};
    use callgate_formats::{container_default, oci};

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
        let rule = |when, verdict| Rule { syscalls: SyscallSet::one(7), when, verdict };
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
            rules.blocks[0].syscalls[&7].iter().map(|alternative| alternative.verdict).collect();
        assert_eq!(verdicts, [Verdict::LOG, Verdict::ALLOW, Verdict::ALLOW]);
        assert!(same(&rules.to_policy().unwrap(), &policy));
    }

    #[test]
    fn narrow_arguments_ignore_their_high_bits() {
        let field = Field::arg(1).unwrap();
        let tests = vec![Test::eq(Field::arg(0).unwrap(), 1), Test::new(field, Cmp::Le, 2)];
        let alternatives = vec![Alternative { tests, verdict: Verdict::ALLOW }];
        let rules = Rules::new(
            Arch::X86_64,
            Verdict::errno(1),
            BTreeMap::from([(7, alternatives.clone()), (8, alternatives)]),
        );
        let narrow = Narrow { arch: Arch::X86_64, nr: 7, argument: 1, bits: 32 };
        let narrowed = rules.clone().narrowed(&[narrow]);
        let masks = |nr: u32| {
            narrowed.blocks[0].syscalls[&nr][0].tests.iter().map(|t| t.mask).collect::<Vec<_>>()
        };
        assert_eq!(masks(7), [u64::MAX, 0xffff_ffff]);
        assert_eq!(masks(8), [u64::MAX; 2]);
        assert!(!same(&narrowed.to_policy().unwrap(), &rules.to_policy().unwrap()));
        let elsewhere = Narrow { arch: Arch::X86, ..narrow };
        assert_eq!(rules.clone().narrowed(&[elsewhere]), rules);
    }

    #[test]
    fn edges_change_nothing_else() {
        let rules = Rules::from_policy(&built_in(&[Arch::X86_64])).unwrap();
        assert_eq!(rules.edges.x32, Some((u32::MAX - 1, rules.edges.bad_arch)));
        let others = Edges { bad_arch: Verdict::errno(3), x32: None, bit_30: false };
        let changed = rules.with_edges(others);
        assert!(!same(&changed.to_policy().unwrap(), &rules.to_policy().unwrap()));
        assert_eq!(changed.with_edges(rules.edges), rules);
        let bit_30 = Edges { bit_30: true, ..rules.edges };
        let (numbers, _) = bit_30.x32_numbers().unwrap();
        assert_eq!(numbers.ranges(), [(1 << 30, (1 << 31) - 1), (3 << 30, u32::MAX - 1)]);
    }

    #[test]
    fn a_rule_for_half_of_all_numbers_is_refused() {
        let rule = Rule {
            syscalls: SyscallSet::range(0, 1 << 31),
            when: Condition::always(),
            verdict: Verdict::LOG,
        };
        let section = Section::new(Arch::X86_64, vec![rule], Verdict::ALLOW);
        let policy = Policy::new(vec![section], Verdict::ALLOW).unwrap();
        assert!(Rules::from_policy(&policy).unwrap_err().contains("from 0 to 2147483648"));
    }
}
