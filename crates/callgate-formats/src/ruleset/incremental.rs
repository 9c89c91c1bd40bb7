//! Rules that libseccomp accepts or rejects one at a time, as they are added.

use std::collections::{BTreeMap, BTreeSet};

use super::by_syscall::Target;
use super::comparison::Comparison;
use super::libseccomp::{ChainNode, InsertError, Tree};
use super::rule_set::RuleSet;
use callgate_core::{Arch, Verdict};

/// The largest number of nodes that are visited for one rule. After that, the rules of its syscall are not checked for
/// contradictions any more: which verdict they have does not depend on it.
const MAX_STEPS: u64 = 1_000_000;

/// The rules for one architecture, each of which was accepted when it was added, as by libseccomp 2.6.1.
///
/// ```
/// use callgate_formats::ruleset::{Comparison, IncrementalRules, Op};
/// use callgate_core::{Arch, Verdict};
///
/// let mut rules = IncrementalRules::new(Arch::X86_64);
/// let five = [Comparison::new(0, Op::Eq, 5).ok_or("there are arguments 0 to 5")?];
/// rules.add(41, &five, Verdict::ALLOW)?;
/// let before = rules.len();
/// assert!(rules.add(41, &five, Verdict::LOG).is_err());
/// assert_eq!(rules.len(), before);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct IncrementalRules {
    set: RuleSet<()>,
    /// The syscall of each rule, in the order in which they were added.
    added: Vec<Target>,
    /// The trees of the syscalls whose rules have different verdicts; rules with one verdict never contradict each
    /// other. `None` after [`MAX_STEPS`] was reached.
    trees: BTreeMap<Target, Option<Tree>>,
}

/// The error that a rule contradicts earlier ones (`-EEXIST`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the rule contradicts an earlier rule of the same syscall")
    }
}

impl std::error::Error for Refused {}

/// The rules of one syscall in libseccomp's form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyscallTree {
    /// The syscall has this verdict for all arguments.
    Always(Verdict),
    /// The comparisons, in order of precedence, and the number of different ones.
    Compared(Vec<ChainNode>, usize),
}

impl IncrementalRules {
    /// No rules.
    pub fn new(arch: Arch) -> IncrementalRules {
        IncrementalRules { set: RuleSet::new(arch), added: Vec::new(), trees: BTreeMap::new() }
    }

    /// The architecture.
    pub fn arch(&self) -> Arch {
        self.set.arch()
    }

    /// The rules as a set.
    pub fn set(&self) -> &RuleSet<()> {
        &self.set
    }

    /// The number of rules.
    pub fn len(&self) -> usize {
        self.added.len()
    }

    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
    }

    /// Adds a rule for a syscall by number; all comparisons must hold. A negative number stands for a syscall that the
    /// architecture does not have; -1 is the number that a tracer sets to skip a syscall. A rule after an unconditional
    /// one of the same syscall has no effect and is dropped.
    ///
    /// # Errors
    /// If the rule contradicts earlier ones; nothing is changed.
    pub fn add(
        &mut self,
        nr: i32,
        comparisons: &[Comparison],
        verdict: Verdict,
    ) -> Result<(), Refused> {
        let syscall = target(nr);
        if self.set.is_always(syscall) {
            return Ok(());
        }
        self.set.add_to(syscall, comparisons, verdict, ());
        self.added.push(syscall);
        // Rules with the same verdict never contradict each other, and have no tree.
        if self.set.is_uniform(syscall) || self.is_accepted(syscall) {
            return Ok(());
        }
        self.truncate(self.added.len().saturating_sub(1));
        Err(Refused)
    }

    /// Whether the last rule of a syscall, whose rules have different verdicts, contradicts none before it.
    fn is_accepted(&mut self, syscall: Target) -> bool {
        let rules = self.set.rules_of(syscall);
        // Rules that were added before the tree was needed, and the new one.
        let from = match self.trees.get(&syscall) {
            Some(_) => rules.len().saturating_sub(1),
            None => 0,
        };
        let empty = || Some(empty_tree(self.set.arch()));
        let tree = self.trees.entry(syscall).or_insert_with(empty);
        if let Some(tree) = tree {
            tree.steps = MAX_STEPS;
        }
        for (index, rule) in (0..).zip(rules).skip(from) {
            let Some(known) = tree else { return true };
            let tests = self.set.comparisons(rule.condition);
            match known.add(tests, rule.verdict.0, index) {
                Ok(()) => {}
                Err(InsertError::Rejected { .. }) => return false,
                Err(InsertError::OutOfSteps) => *tree = None,
            }
        }
        true
    }

    /// Removes the rules that were added last, until this number is left.
    pub fn truncate(&mut self, len: usize) {
        while self.added.len() > len {
            let Some(syscall) = self.added.pop() else { return };
            self.set.remove_last(syscall);
            self.trees.remove(&syscall);
        }
    }

    /// Whether a syscall has a rule.
    pub fn contains(&self, nr: i32) -> bool {
        !self.set.rules_of(target(nr)).is_empty()
    }

    /// The rules of each syscall in libseccomp's form, by number.
    pub fn trees(&self) -> Vec<(i32, SyscallTree)> {
        let syscalls: BTreeSet<Target> = self.added.iter().copied().collect();
        let mut trees: Vec<_> = syscalls
            .into_iter()
            .filter_map(|syscall| {
                let nr = match syscall {
                    Target::Number(nr) => nr as i32,
                    Target::Pseudo(nr) => nr,
                    Target::Missing(_) => return None,
                };
                Some((nr, self.tree(syscall)))
            })
            .collect();
        trees.sort_by_key(|(nr, _)| *nr);
        trees
    }

    fn tree(&self, syscall: Target) -> SyscallTree {
        let rules = self.set.rules_of(syscall);
        let always = rules.iter().find(|rule| self.set.comparisons(rule.condition).is_empty());
        if let Some(rule) = always {
            return SyscallTree::Always(rule.verdict);
        }
        let mut tree = empty_tree(self.set.arch());
        for (index, rule) in (0..).zip(rules) {
            tree.steps = MAX_STEPS;
            // Each rule was accepted before; one that needs too many steps is left out of this form.
            let tests = self.set.comparisons(rule.condition);
            let _ = tree.add(tests, rule.verdict.0, index);
        }
        SyscallTree::Compared(tree.chains(), tree.node_count())
    }
}

fn empty_tree(arch: Arch) -> Tree {
    Tree::new(arch.is_64bit(), false, MAX_STEPS)
}

fn target(nr: i32) -> Target {
    match nr {
        // A number that no syscall has; filters see it as 0xffff_ffff.
        -1 => Target::Number(u32::MAX),
        0.. => Target::Number(nr as u32),
        _ => Target::Pseudo(nr),
    }
}

#[cfg(test)]
mod tests {
    use super::super::comparison::Op;
    use super::super::libseccomp::ChainEnd;
    use super::super::rule_set::sections;
    use super::*;
    use callgate_core::SeccompData;
    use callgate_core::policy::Policy;

    const ERRNO: Verdict = Verdict::errno(1);

    fn test(arg: u8, op: Op, value: u64) -> Comparison {
        Comparison::new(arg, op, value).unwrap()
    }

    #[test]
    fn a_refused_rule_changes_nothing() {
        let mut rules = IncrementalRules::new(Arch::X86_64);
        rules.add(1, &[test(0, Op::Gt, 5), test(1, Op::Eq, 0)], Verdict::ALLOW).unwrap();
        rules.add(1, &[test(2, Op::Eq, 7)], ERRNO).unwrap();
        let before = (rules.trees(), sections([rules.set()], ERRNO, ERRNO));
        // The high words of argument 0 are the same comparison.
        assert_eq!(rules.add(1, &[test(0, Op::Gt, 9)], Verdict::KILL_PROCESS), Err(Refused));
        assert_eq!((rules.trees(), sections([rules.set()], ERRNO, ERRNO)), before);
        assert_eq!(rules.add(1, &[test(2, Op::Eq, 7)], Verdict::ALLOW), Err(Refused));
        rules.add(1, &[test(3, Op::Eq, 7)], Verdict::LOG).unwrap();
        assert_eq!(rules.len(), 3);
    }

    #[test]
    fn an_unconditional_rule_replaces_others_and_drops_later_ones() {
        let mut rules = IncrementalRules::new(Arch::X86_64);
        rules.add(1, &[test(0, Op::Eq, 5)], Verdict::ALLOW).unwrap();
        let conditional = rules.trees();
        rules.add(1, &[], ERRNO).unwrap();
        assert_eq!(rules.trees(), [(1, SyscallTree::Always(ERRNO))]);
        rules.add(1, &[], Verdict::ALLOW).unwrap();
        rules.add(1, &[test(0, Op::Eq, 5)], Verdict::LOG).unwrap();
        assert_eq!(rules.trees(), [(1, SyscallTree::Always(ERRNO))]);
        rules.truncate(1);
        assert_eq!(rules.trees(), conditional);
        rules.truncate(0);
        assert!(rules.trees().is_empty() && rules.set().is_empty() && !rules.contains(1));
    }

    #[test]
    fn a_rule_that_is_added_again_may_precede_others() {
        let mut rules = IncrementalRules::new(Arch::X86_64);
        let above = [test(0, Op::Gt, 2)];
        rules.add(1, &[test(0, Op::Le, 0x1_0000_0001)], ERRNO).unwrap();
        rules.add(1, &above, Verdict::LOG).unwrap();
        let verdict = |rules: &IncrementalRules| {
            let sections = sections([rules.set()], Verdict::ALLOW, Verdict::ALLOW);
            let policy = Policy::new(sections, Verdict::ALLOW).unwrap();
            let args = [0x35_d823, 0, 0, 0, 0, 0];
            let arch = Arch::X86_64.token();
            policy.evaluate(&SeccompData { nr: 1, arch, args, ..SeccompData::default() })
        };
        assert_eq!(verdict(&rules), ERRNO);
        // Its high word is smaller, so it comes before that of the first rule; the second rule has the same high word.
        rules.add(1, &[test(0, Op::Le, 2)], Verdict::LOG).unwrap();
        assert_eq!(verdict(&rules), ERRNO);
        rules.add(1, &above, Verdict::LOG).unwrap();
        assert_eq!(verdict(&rules), Verdict::LOG);
    }

    #[test]
    fn negative_numbers_are_kept_but_have_no_section() {
        let mut rules = IncrementalRules::new(Arch::X86);
        rules.add(-10_001, &[], Verdict::ALLOW).unwrap();
        assert!(rules.set().is_empty() && rules.contains(-10_001));
        rules.add(-1, &[], Verdict::ALLOW).unwrap();
        assert!(rules.set().is_unconditional(u32::MAX));
    }

    #[test]
    fn verdicts_decide_whether_a_tree_is_kept() {
        let mut rules = IncrementalRules::new(Arch::X86_64);
        for value in 0..100 {
            rules.add(1, &[test(0, Op::Eq, value)], Verdict::ALLOW).unwrap();
        }
        assert!(rules.trees.is_empty());
        rules.add(1, &[test(0, Op::Eq, 100)], ERRNO).unwrap();
        assert_eq!(rules.add(1, &[test(0, Op::Eq, 7)], ERRNO), Err(Refused));
        let [(1, SyscallTree::Compared(level, count))] = &rules.trees()[..] else { panic!() };
        // The high word once, and the low words in descending order.
        let ChainEnd::Level(low) = &level[0].on_true else { panic!() };
        assert_eq!((level.len(), low.len(), *count), (1, 101, 102));
        assert_eq!((low[0].datum, low[100].datum), (100, 0));
    }
}
