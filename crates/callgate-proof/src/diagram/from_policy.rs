//! From a policy to its diagram.
//!
//! In each section, one sweep over the syscall numbers finds the intervals in which the same rules apply.
//! For each interval, the conditions are folded from the last rule to the first with if-then-else;
//! consecutive rules that compare fields with constants and have the same verdict become one set of values.
//! Then the intervals are combined bit by bit.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap as HashMap;

use super::Split;
use super::compare::var_of;
use super::value_sets::ValueSets;
use super::{DiagramError, Func, Pred, Store};
use crate::policy::{Condition, Policy, Section, Shape};
use callgate_bpf::data::Word;

impl Store {
    /// The function that a policy describes.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn policy(&mut self, policy: &Policy) -> Result<Func, DiagramError> {
        self.policy_by_syscall(policy, &mut |_, _, _| ())
    }

    /// As [`Store::policy`]. For each group of syscalls with the same rules, `created` receives the arch token,
    /// the first syscall number, and the number of nodes that were created for the conditions; also for the
    /// group at which the budget was exhausted.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn policy_by_syscall(
        &mut self,
        policy: &Policy,
        created: &mut dyn FnMut(u32, u32, usize),
    ) -> Result<Func, DiagramError> {
        let mut func = self.verdict(policy.bad_arch())?;
        for section in policy.sections() {
            let section_func = self.section(section, created)?;
            func = self.split(Word::ARCH, Split::Equal(section.token()), section_func, func)?;
        }
        Ok(func)
    }

    /// The predicate of a condition.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn condition(&mut self, condition: &Condition) -> Result<Pred, DiagramError> {
        match condition.shape() {
            Shape::Test(test) => self.test(test),
            Shape::Variable(test) => self.variable_test(test),
            Shape::All(parts) => {
                let mut all = Pred::ALWAYS;
                for part in parts {
                    let part = self.condition(part)?;
                    all = self.and(all, part)?;
                }
                Ok(all)
            }
            Shape::Any(parts) => {
                let mut values = ValueSets::default();
                let mut any = Pred::NEVER;
                for part in parts {
                    if !values.add(part) {
                        let part = self.condition(part)?;
                        any = self.or(any, part)?;
                    }
                }
                for field in values.predicates(self)? {
                    any = self.or(any, field)?;
                }
                Ok(any)
            }
        }
    }

    fn section(
        &mut self,
        section: &Section,
        created: &mut dyn FnMut(u32, u32, usize),
    ) -> Result<Func, DiagramError> {
        // Where each rule begins and ceases to apply.
        let mut bounds: Vec<(u32, usize, bool)> = Vec::new();
        for (rule, syscalls) in section.rules.iter().map(|rule| &rule.syscalls).enumerate() {
            for (first, last) in syscalls.ranges() {
                bounds.push((*first, rule, true));
                if let Some(after) = last.checked_add(1) {
                    bounds.push((after, rule, false));
                }
            }
        }
        bounds.sort_unstable();

        let default = self.verdict(section.default)?;
        let mut conditions: HashMap<usize, Pred> = HashMap::default();
        let mut folded: HashMap<Vec<usize>, Func> = HashMap::default();
        let (mut from_zero, mut intervals) = (default, Vec::new());
        let mut applying: BTreeSet<usize> = BTreeSet::new();
        for group in bounds.chunk_by(|a, b| a.0 == b.0) {
            let mut first = 0;
            for (at, rule, begins) in group {
                first = *at;
                if *begins {
                    applying.insert(*rule);
                } else {
                    applying.remove(rule);
                }
            }
            let mut rules = Vec::new();
            for index in &applying {
                rules.push(*index);
                if section.rules.get(*index).is_some_and(|rule| rule.when.is_always()) {
                    break;
                }
            }
            let func = match folded.get(&rules) {
                Some(func) => *func,
                None => {
                    let before = self.len();
                    let func = self.fold(section, &rules, default, &mut conditions);
                    created(section.token(), first, self.len() - before);
                    let func = func?;
                    folded.insert(rules, func);
                    func
                }
            };
            if first == 0 {
                from_zero = func;
            } else if intervals.last().map_or(from_zero, |(_, func)| *func) != func {
                intervals.push((u64::from(first), func));
            }
        }
        self.by_interval(&|bit| var_of(Word::NR, bit), (from_zero, &intervals), 0, 32)
    }

    /// The function of the arguments for the syscalls to which these rules apply; the first match decides.
    fn fold(
        &mut self,
        section: &Section,
        rules: &[usize],
        default: Func,
        conditions: &mut HashMap<usize, Pred>,
    ) -> Result<Func, DiagramError> {
        // The list is kept as a key, so it counts as memory.
        self.charge_steps(rules.len() as u64)?;
        let mut func = default;
        let rule_of = |index: &usize| section.rules.get(*index);
        // The order of rules with the same verdict does not matter.
        let same =
            |a: &usize, b: &usize| rule_of(a).map(|r| r.verdict) == rule_of(b).map(|r| r.verdict);
        for group in rules.chunk_by(same).rev() {
            let Some(verdict) = group.first().and_then(rule_of).map(|rule| rule.verdict) else {
                continue;
            };
            let verdict = self.verdict(verdict)?;
            let mut values = ValueSets::default();
            for index in group.iter().rev() {
                let Some(rule) = rule_of(index).filter(|rule| !values.add(&rule.when)) else {
                    continue;
                };
                let condition = match conditions.get(index) {
                    Some(condition) => *condition,
                    None => {
                        let condition = self.condition(&rule.when)?;
                        conditions.insert(*index, condition);
                        condition
                    }
                };
                func = self.select(condition, verdict, func)?;
            }
            for field in values.predicates(self)? {
                func = self.select(field, verdict, func)?;
            }
        }
        Ok(func)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Cmp, Field, Rule, SyscallSet, Test};
    use callgate_bpf::Verdict;
    use callgate_bpf::{Arch, SeccompData};

    #[test]
    fn a_diagram_evaluates_to_the_verdicts_of_its_policy() {
        let arg = |i| Field::arg(i).unwrap();
        let rule = |syscalls, when, verdict| Rule { syscalls, when, verdict };
        let small = Condition::test(Test::new(arg(0), Cmp::Lt, 3));
        let masked = Condition::test(Test::masked_eq(arg(1), 0x1_0000_0006, 0x1_0000_0002));
        let policy = Policy::new(
            vec![Section::new(
                Arch::X86_64,
                vec![
                    rule(SyscallSet::one(2), small.clone(), Verdict::LOG),
                    rule(SyscallSet::range(1, 4), Condition::any([small, masked]), Verdict::ALLOW),
                    rule(SyscallSet::range(3, u32::MAX), Condition::always(), Verdict::errno(38)),
                ],
                Verdict::errno(1),
            )],
            Verdict::KILL_THREAD,
        )
        .unwrap();
        let mut store = Store::default();
        let func = store.policy(&policy).unwrap();
        for nr in [0, 1, 2, 3, 4, 5, 0x4000_0000, u32::MAX] {
            for a in [0, 2, 3, 0x1_0000_0000] {
                for b in [0, 2, 6, 0x1_0000_0002, 0x3_0000_000a, 0x1_0000_0006] {
                    for arch in [Arch::X86_64.token(), 7] {
                        let args = [a, b, 0, 0, 0, 0];
                        let data = SeccompData { nr, arch, args, ..Default::default() };
                        assert_eq!(
                            store.evaluate(func, &data).unwrap(),
                            policy.evaluate(&data),
                            "{data:?}"
                        );
                    }
                }
            }
        }
    }
}
