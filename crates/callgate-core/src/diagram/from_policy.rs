//! From a policy to its diagram.
//!
//! In each section, and in a policy about io_uring requests, one sweep over the syscall numbers or opcodes finds the
//! intervals in which the same rules apply.
//! For each interval, the conditions are folded from the last rule to the first with if-then-else;
//! consecutive rules that compare fields with constants and have the same verdict become one set of values.
//! Tests that precede everything after them in the order of variables become nodes without if-then-else.
//! Then the intervals are combined bit by bit.

use rustc_hash::FxHashMap as HashMap;

use super::compare::{vars_of_field, vars_of_word};
use super::conjunctions::Conjunctions;
use super::node::Node;
use super::value_sets::ValueSets;
use super::{DiagramError, Func, Pred, Split, Store, Var};
use crate::io_uring::Member;
use crate::policy::{
    Condition, Field, Policy, RequestPolicy, Rule, Shape, Test, for_each_interval,
};
use crate::{Layout, Verdict, Word};

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
        self.check_layout(Layout::Seccomp)?;
        let mut func = self.verdict(policy.bad_arch())?;
        let by_number = vars_of_word(Word::NR, u32::MAX);
        for section in policy.sections() {
            let mut created = |first, nodes| created(section.token(), first, nodes);
            let section_func =
                self.rules(&section.rules, section.default, &by_number, &mut created)?;
            func = self.split(Word::ARCH, Split::Equal(section.token()), section_func, func)?;
        }
        Ok(func)
    }

    /// The function that a policy about io_uring requests describes.
    ///
    /// # Errors
    /// If the diagram exceeds its budget; if the store is not for requests on machines of the byte order of the policy.
    pub fn request_policy(&mut self, policy: &RequestPolicy) -> Result<Func, DiagramError> {
        self.check_layout(Layout::IoUring(policy.endian()))?;
        let opcode = Field::of_request(Member::Opcode, policy.endian());
        let by_opcode = vars_of_field(opcode);
        let default = Verdict(policy.default_decision().value());
        self.rules(policy.rules(), default, &by_opcode, &mut |_, _| ())
    }

    /// The predicate of a condition.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn condition(&mut self, condition: &Condition) -> Result<Pred, DiagramError> {
        match condition.shape() {
            Shape::Test(test) => self.test(test),
            Shape::Variable(test) => self.variable_test(test),
            Shape::Fields(test) => self.field_test(test),
            Shape::All(parts) => {
                if let Some(all) = self.all_before(parts, [Pred::ALWAYS, Pred::NEVER])? {
                    return Ok(all);
                }
                let mut conjunction = Conjunctions::default();
                if conjunction.add(condition, self.layout()) {
                    return conjunction.select(self, Pred::ALWAYS, Pred::NEVER);
                }
                let mut all = Pred::ALWAYS;
                for part in parts {
                    let part = self.condition(part)?;
                    all = self.and(all, part)?;
                }
                Ok(all)
            }
            Shape::Any(parts) => {
                let mut values = ValueSets::default();
                let mut conjunctions = Conjunctions::default();
                let mut any = Pred::NEVER;
                for part in parts {
                    if conjunctions.are_full() {
                        any = conjunctions.select(self, Pred::ALWAYS, any)?;
                    }
                    if !values.add(part) && !conjunctions.add(part, self.layout()) {
                        let part = self.condition(part)?;
                        any = self.or(any, part)?;
                    }
                }
                any = conjunctions.select(self, Pred::ALWAYS, any)?;
                for field in values.predicates(self)? {
                    any = self.or(any, field)?;
                }
                Ok(any)
            }
        }
    }

    /// The node `holds` where all of these conditions hold, and `fails` elsewhere; `None` unless they are tests of different
    /// fields, and the nodes test only later variables. Then there is one node for each compared bit, from the last to the
    /// first, and no if-then-else is needed.
    fn all_before<N: Node>(
        &mut self,
        parts: &[Condition],
        [holds, fails]: [N; 2],
    ) -> Result<Option<N>, DiagramError> {
        let mut tests: Vec<&Test> = Vec::with_capacity(parts.len());
        for part in parts {
            let Shape::Test(test) = part.shape() else { return Ok(None) };
            match tests.binary_search_by_key(&test.field, |other| other.field) {
                Ok(_) => return Ok(None),
                Err(at) => tests.insert(at, test),
            }
        }
        let mut all = holds;
        for test in tests.into_iter().rev() {
            let Some(tested) = self.test_before(test, [all, fails])? else { return Ok(None) };
            all = tested;
        }
        Ok(Some(all))
    }

    /// The function of rules, which the number with the bits `selector` selects; `created` receives the first number and the number of nodes of each
    /// group.
    fn rules(
        &mut self,
        rules: &[Rule],
        default: Verdict,
        selector: &[Option<Var>],
        created: &mut dyn FnMut(u32, usize),
    ) -> Result<Func, DiagramError> {
        let largest = u32::MAX >> (32 - selector.len());
        let default = self.verdict(default)?;
        let mut conditions: HashMap<usize, Pred> = HashMap::default();
        let mut folded: HashMap<Vec<usize>, Func> = HashMap::default();
        let (mut from_zero, mut intervals) = (default, Vec::new());
        for_each_interval(rules, largest, |first, matching| {
            let func = match folded.get(matching) {
                Some(func) => *func,
                None => {
                    let before = self.len();
                    let func = self.fold(rules, matching, default, &mut conditions);
                    created(first, self.len() - before);
                    let func = func?;
                    folded.insert(matching.to_vec(), func);
                    func
                }
            };
            if first == 0 {
                from_zero = func;
            } else if intervals.last().map_or(from_zero.id(), |(_, func)| *func) != func.id() {
                intervals.push((u64::from(first), func.id()));
            }
            Ok(())
        })?;
        let id = self.by_interval(selector, None, (from_zero.id(), &intervals), 0)?;
        Ok(self.handle(id))
    }

    /// The function of the arguments for the syscalls to which the rules with these indices apply; the first match decides.
    fn fold(
        &mut self,
        rules: &[Rule],
        matching: &[usize],
        default: Func,
        conditions: &mut HashMap<usize, Pred>,
    ) -> Result<Func, DiagramError> {
        // The list is kept as a key, so it counts as memory.
        self.charge_steps(matching.len() as u64)?;
        let mut func = default;
        let rule_of = |index: &usize| rules.get(*index);
        // The order of rules with the same verdict does not matter.
        let same =
            |a: &usize, b: &usize| rule_of(a).map(|r| r.verdict) == rule_of(b).map(|r| r.verdict);
        for group in matching.chunk_by(same).rev() {
            let Some(verdict) = group.first().and_then(rule_of).map(|rule| rule.verdict) else {
                continue;
            };
            let verdict = self.verdict(verdict)?;
            let mut values = ValueSets::default();
            let mut conjunctions = Conjunctions::default();
            for index in group.iter().rev() {
                let Some(rule) = rule_of(index).filter(|rule| !values.add(&rule.when)) else {
                    continue;
                };
                if conjunctions.are_full() {
                    func = conjunctions.select(self, verdict, func)?;
                }
                if conjunctions.add(&rule.when, self.layout()) {
                    continue;
                }
                let direct = match rule.when.shape() {
                    Shape::Test(test) => self.test_before(test, [verdict, func])?,
                    Shape::All(parts) => self.all_before(parts, [verdict, func])?,
                    Shape::Variable(_) | Shape::Fields(_) | Shape::Any(_) => None,
                };
                if let Some(direct) = direct {
                    func = direct;
                    continue;
                }
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
            func = conjunctions.select(self, verdict, func)?;
            func = values.select(self, verdict, func)?;
        }
        Ok(func)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Cmp, Section, SyscallSet, Test};
    use crate::{Arch, SeccompData, Verdict};

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

    /// Conjunctions of tests in any order, of different fields and of the same ones, before functions of later words and of
    /// the same ones: with nodes at once, where that is possible, they are the same as with if-then-else.
    #[test]
    fn conjunctions_equal_their_tests_applied_one_by_one() {
        let fields: Vec<Field> =
            (0..3).flat_map(|i| [Field::arg(i), Field::arg_low(i)]).flatten().collect();
        let cmps = [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge];
        let values = [0, 1, 6, 0xffff_ffff, 0x1_0000_0000, u64::MAX];
        let masks = [u64::MAX, 0xffff_ffff, 6, 0x1_0000_0001];
        let mut store = Store::default();
        let [allow, deny] =
            [Verdict::ALLOW, Verdict::errno(1)].map(|verdict| store.verdict(verdict).unwrap());
        let (mut func, mut direct) = (deny, 0);
        for step in 0..600usize {
            let tests: Vec<Test> = (0..step % 4)
                .map(|k| {
                    let at = step * 7 + k * (5 + step % 3);
                    let field = fields[at % fields.len()];
                    let test = Test::new(field, cmps[at / 3 % 6], values[at / 5 % 6]);
                    Test { mask: masks[at / 7 % 4] & field.full_mask(), ..test }
                })
                .collect();
            let mut one_by_one = Pred::ALWAYS;
            for test in &tests {
                let test = store.test(test).unwrap();
                one_by_one = store.and(one_by_one, test).unwrap();
            }
            let parts: Vec<Condition> = tests.into_iter().map(Condition::test).collect();
            let expected = store.select(one_by_one, allow, func).unwrap();
            let found = store.all_before(&parts, [allow, func]).unwrap();
            assert_eq!(found.unwrap_or(expected), expected, "{parts:?}");
            assert_eq!(store.condition(&Condition::all(parts)).unwrap(), one_by_one);
            direct += usize::from(found.is_some());
            func = if step % 3 == 0 { deny } else { expected };
        }
        assert!((100..500).contains(&direct), "{direct}");
    }
}
