//! Short lists of clauses in the plan without code graph: values of one word, and clauses that are tested in their order.

use callgate_core::{Cases, Clause, Insn, Literal, Op, SectionCases, Verdict, Word, WordTest};

use super::in_order::{Emit, are_apart, in_order, is_value};
use super::literals::is_guard;
use super::numbers::{Backwards, Numbers, Target};
use crate::Instructions;
use crate::tree::WeightedInterval;

/// The maximum number of literals in all lists. Jumps of longer programs are too far, or the code graph makes them shorter.
const MAX_LITERALS: usize = 80;

/// Whether all lists are of the forms that [`Conditions`] make code for.
pub(super) fn are_simple(cases: &Cases) -> bool {
    let mut literals = 0;
    (0..cases.lists()).all(|list| {
        literals += cases.list(list).map(|clause| clause.literals.len()).sum::<usize>();
        literals <= MAX_LITERALS
            && (cases.verdict(list).is_some() || {
                let clauses: Vec<Clause<'_>> = cases.list(list).collect();
                compared_with_values(&clauses).is_some() || are_apart(&clauses)
            })
    })
}

/// The word that each clause but the last compares with a value, if they do not differ in anything else but the verdict.
fn compared_with_values(clauses: &[Clause<'_>]) -> Option<Word> {
    let (_, clauses) = clauses.split_last()?;
    let [first, second, ..] = clauses else { return None };
    let differing = first.literals.iter().find(|literal| !second.literals.contains(literal))?;
    let word = differing.test.word;
    let is_alike = |clause: &Clause<'_>| {
        let mut both = clause.literals.iter().zip(first.literals);
        let of_word = clause.literals.iter().filter(|one| one.test.word == word);
        clause.verdict.is_some()
            && clause.literals.len() == first.literals.len()
            && both.all(|(own, of_first)| own == of_first || own.test.word == word)
            && of_word.map(is_value).eq([true])
    };
    (is_value(differing) && clauses.iter().all(is_alike)).then_some(word)
}

/// The code of lists.
pub(super) struct Conditions<'c> {
    cases: &'c Cases,
    instructions: Instructions,
    /// Per list, its code.
    of_lists: Vec<Option<Target>>,
}

impl Conditions<'_> {
    pub(super) fn new(cases: &Cases, instructions: Instructions) -> Conditions<'_> {
        let of_lists = (0..cases.lists()).map(|list| cases.verdict(list).map(Target::Return));
        Conditions { cases, instructions, of_lists: of_lists.collect() }
    }

    /// Per list, what follows for numbers of this section, with the code of those of its lists that have none yet.
    pub(super) fn targets(
        &mut self,
        section: &SectionCases,
        code: &mut Backwards,
    ) -> Option<Vec<Target>> {
        for interval in &section.intervals {
            if self.of_lists.get(interval.list)?.is_none() {
                let clauses: Vec<Clause<'_>> = self.cases.list(interval.list).collect();
                let place = match compared_with_values(&clauses) {
                    Some(word) => self.of_values(&clauses, word, code)?,
                    None => in_order(&mut Emitter { code, conditions: self }, &clauses)?,
                };
                *self.of_lists.get_mut(interval.list)? = Some(Target::Place(place));
            }
        }
        let other = Target::Return(self.cases.bad_arch());
        Some(self.of_lists.iter().map(|target| target.unwrap_or(other)).collect())
    }

    /// The place of the code for clauses that compare a word with values.
    fn of_values(
        &mut self,
        clauses: &[Clause<'_>],
        word: Word,
        code: &mut Backwards,
    ) -> Option<usize> {
        let (last, clauses) = clauses.split_last()?;
        let otherwise = last.verdict?;
        let common = clauses.first()?.literals.iter().filter(|literal| literal.test.word != word);
        let (guards, others): (Vec<Literal>, Vec<Literal>) = common.copied().partition(is_guard);
        // The verdicts, and what follows for values of each. The first one is that of all other values.
        let mut verdicts = vec![otherwise];
        let mut targets = vec![Target::Return(otherwise)];
        let mut values: Vec<(u32, usize)> = Vec::with_capacity(clauses.len());
        for clause in clauses {
            let verdict = clause.verdict?;
            let class = match verdicts.iter().position(|known| *known == verdict) {
                Some(class) => class,
                None => {
                    let guarded = Clause { literals: &guards, verdict: Some(verdict) };
                    let place =
                        in_order(&mut Emitter { code, conditions: self }, &[guarded, *last])?;
                    verdicts.push(verdict);
                    targets.push(Target::Place(place));
                    targets.len() - 1
                }
            };
            let of_word = clause.literals.iter().find(|literal| literal.test.word == word)?;
            values.push((of_word.test.value, class));
        }
        // Of equal values, the first one counts.
        values.sort_by_key(|(value, _)| *value);
        values.dedup_by_key(|(value, _)| *value);
        let numbers = Numbers::of_values(&targets, intervals(&values));
        let place = numbers.placed(self.instructions.allows(Op::JsetK), code)?;
        let mut place = code.load(word.offset(self.cases.endian()), place)?;
        let otherwise = code.verdict(otherwise);
        let mut emitter = Emitter { code, conditions: self };
        for Literal { test, holds } in others.iter().rev() {
            let targets = if *holds { [place, otherwise] } else { [otherwise, place] };
            let tested = emitter.tested(*test, targets)?;
            place = emitter.loaded(test.word, tested)?;
        }
        Some(place)
    }
}

/// All values in intervals: those with a class, and the rest with class 0.
fn intervals(values: &[(u32, usize)]) -> Vec<WeightedInterval> {
    let mut intervals: Vec<WeightedInterval> = Vec::with_capacity(2 * values.len() + 1);
    let mut add = |first: u32, last: u32, class: usize| match intervals.last_mut() {
        Some(before) if before.class == class => before.last = last,
        // Other values count less: few values are tested one after the other.
        _ => {
            let weight = if class == 0 { 0.0 } else { 1.0 };
            intervals.push(WeightedInterval { first, last, class, weight });
        }
    };
    let mut next = Some(0);
    for (value, class) in values {
        match next {
            Some(first) if first < *value => add(first, value - 1, 0),
            _ => {}
        }
        add(*value, *value, *class);
        next = value.checked_add(1);
    }
    if let Some(first) = next {
        add(first, u32::MAX, 0);
    }
    intervals
}

/// Makes code of clauses before the latest instruction.
struct Emitter<'e, 'c> {
    code: &'e mut Backwards,
    conditions: &'e mut Conditions<'c>,
}

impl Emitter<'_, '_> {
    /// Whether a test asks whether no bit of a mask is set, and one instruction tells.
    fn is_any_bit(&self, test: WordTest) -> bool {
        !test.is_order
            && test.value == 0
            && test.mask != u32::MAX
            && self.conditions.instructions.allows(Op::JsetK)
    }
}

impl Emit for Emitter<'_, '_> {
    type At = usize;

    fn returned(&mut self, verdict: Verdict) -> usize {
        self.code.verdict(verdict)
    }

    fn tested(&mut self, test: WordTest, targets: [usize; 2]) -> Option<usize> {
        let [then, otherwise] = targets;
        if self.is_any_bit(test) {
            return self.code.test(Op::JsetK, test.mask, otherwise, then);
        }
        let op = if test.is_order { Op::JgeK } else { Op::JeqK };
        let place = self.code.test(op, test.value, then, otherwise)?;
        match test.mask {
            u32::MAX => Some(place),
            mask => self.code.before(place, Insn::new(Op::AndK, mask)),
        }
    }

    fn loaded(&mut self, word: Word, next: usize) -> Option<usize> {
        self.code.load(word.offset(self.conditions.cases.endian()), next)
    }

    fn keeps(&self, test: WordTest) -> bool {
        test.mask == u32::MAX || self.is_any_bit(test)
    }
}

#[cfg(test)]
mod tests {
    use callgate_bpf::random::Rng;
    use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Section, Test};
    use callgate_core::{Arch, Endian, Program, SeccompData, SyscallSet};

    use super::super::short::short_program;
    use super::*;

    const VALUES: [u64; 6] = [0, 5, 6, 0xffff_ffff, 0x1_0000_0005, 0x7000_0000_0000_0001];
    const DENIED: Verdict = Verdict::errno(1);

    fn policy(rules: Vec<Rule>) -> Policy {
        let section = Section::new(Arch::X86_64, rules, DENIED);
        Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap()
    }

    fn program(policy: &Policy, instructions: Instructions) -> Option<Program> {
        let cases = Cases::of_policy(policy)?;
        let program = Program::new(short_program(&cases, &[Arch::X86_64], instructions)?).unwrap();
        assert!(cases.proves(&program), "{policy:?}\\n{:?}", program.insns());
        assert!(program.insns().iter().all(|insn| instructions.allows(insn.op)));
        Some(program)
    }

    fn equal(arg: u8, value: u64) -> Condition {
        Condition::test(Test::eq(Field::arg(arg).unwrap(), value))
    }

    fn allowed(nr: u32, when: Condition) -> Rule {
        Rule { syscalls: SyscallSet::one(nr), when, verdict: Verdict::ALLOW }
    }

    #[test]
    fn programs_do_what_the_rules_say() {
        let mut rng = Rng::new(6);
        let (mut made, mut masks) = (0, 0);
        for _ in 0..600 {
            let rules = (0..1 + rng.below(5)).map(|_| {
                let test = |arg: usize, rng: &mut Rng| {
                    let cmps = [Cmp::Eq, Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Ge, Cmp::Gt];
                    let field = Field::arg(arg as u8).unwrap();
                    let (cmp, value) = (rng.pick(&cmps).unwrap(), rng.pick(&VALUES).unwrap());
                    let test = Test::new(field, cmp, value);
                    let mask = rng.pick(&[4, 6, 0x1_0000_0005]).unwrap();
                    Condition::test(if rng.below(3) == 0 { Test { mask, ..test } } else { test })
                };
                let (arg, count) = (rng.below(3), 1 + rng.below(3));
                let when = Condition::all((arg..arg + count).map(|arg| test(arg, &mut rng)));
                let verdict = rng.pick(&[Verdict::ALLOW, Verdict::LOG]).unwrap();
                Rule { verdict, ..allowed(rng.below(4) as u32, when) }
            });
            let policy = policy(rules.collect());
            for instructions in Instructions::ALL {
                let Some(program) = program(&policy, *instructions) else { continue };
                made += 1;
                masks += usize::from(program.insns().iter().any(|insn| insn.op == Op::AndK));
                for _ in 0..100 {
                    let args = [(); 6].map(|()| rng.pick(&VALUES).unwrap());
                    let (nr, arch) = (rng.below(5) as u32, Arch::X86_64.token());
                    let data = SeccompData { nr, arch, args, ..SeccompData::default() };
                    let verdict = program.run(&data, Endian::Little).verdict;
                    assert_eq!(verdict, policy.evaluate(&data), "{data:x?} {policy:?}");
                }
            }
        }
        assert!(made > 400 && masks > 100, "{made} {masks}");
    }

    /// Lists and verdicts share the test that the high half is 0.
    #[test]
    fn the_values_of_an_argument_are_a_search_and_share_what_follows() {
        let len = |rules: Vec<Rule>| program(&policy(rules), Instructions::Basic).unwrap().len();
        let one = len(vec![allowed(1, equal(1, 100))]);
        // Arch, number, both halves, each with its load; three verdicts.
        assert_eq!(one, 8 + 3);
        let more = [100, 300, 500].map(|value| allowed(1, equal(1, value)));
        assert_eq!(len(more.to_vec()), one + 2, "two more values");
        let other = [more.to_vec(), vec![allowed(7, equal(1, 900))]].concat();
        assert_eq!(len(other), one + 2 + 3, "a number, a load and a value");
        let both = |value| Condition::all([equal(0, 7), equal(1, value)]);
        let common = [100, 300, 500].map(|value| allowed(1, both(value)));
        assert_eq!(len(common.to_vec()), one + 2 + 4, "two halves that all rules compare");
    }

    /// Two loads and three tests for each comparison of 64 bits, and no load that is never executed.
    #[test]
    fn rules_with_ordered_comparisons_are_as_long_as_a_list() {
        let order = |arg: u8, cmp| {
            Condition::test(Test::new(Field::arg(arg).unwrap(), cmp, 0x5_0000_0007 << arg))
        };
        for count in 2..6 {
            let cmps = [Cmp::Lt, Cmp::Ge, Cmp::Gt, Cmp::Le, Cmp::Lt];
            let rule = |nr| {
                let tests = (0..count).zip(cmps).map(|(arg, cmp)| order(arg, cmp));
                allowed(nr, Condition::all(tests))
            };
            // Arch, number, and three verdicts.
            let around = 2 + 2 + 3;
            for instructions in Instructions::ALL {
                let one = program(&policy(vec![rule(9)]), *instructions).unwrap();
                assert_eq!(one.len(), around + 5 * usize::from(count), "{:?}", one.insns());
            }
        }
    }

    /// Forty values take an order test for a few of them.
    #[test]
    fn many_values_are_not_tested_one_after_the_other() {
        let rules = (0..40).map(|at| allowed(1, equal(1, 1_000 + at * at * 77)));
        let policy = policy(rules.collect());
        let program = program(&policy, Instructions::All).unwrap();
        let executed = |value| {
            let args = [0, value, 0, 0, 0, 0];
            let arch = Arch::X86_64.token();
            let data = SeccompData { nr: 1, arch, args, ..SeccompData::default() };
            let mut count = 0;
            let run = program.trace(&data, Endian::Little, |_| count += 1);
            assert_eq!(run.verdict, policy.evaluate(&data));
            count
        };
        let most = (0..40).map(|at| executed(1_000 + at * at * 77)).max().unwrap();
        assert!(most < 40, "{most}");
        assert!(program.len() <= (11 + 39) * 21 / 20 + 2, "{}", program.len());
    }

    #[test]
    fn other_lists_have_a_code_graph() {
        let is_simple = |rules: Vec<Rule>| are_simple(&Cases::of_policy(&policy(rules)).unwrap());
        let masked = |mask| {
            let test = Test::masked_eq(Field::arg(0).unwrap(), mask, mask);
            allowed(1, Condition::test(test))
        };
        assert!(is_simple(vec![masked(3), allowed(1, equal(1, 5))]), "other words");
        assert!(is_simple(vec![masked(3), masked(5)]), "other masks");
        let either = |value| allowed(1, Condition::all([equal(0, value), equal(1, 2 * value)]));
        assert!(!is_simple(vec![either(3), either(5)]), "two values of a word");
        let shared = |value| allowed(1, Condition::all([equal(0, 7), equal(value as u8, value)]));
        assert!(!is_simple(vec![shared(1), shared(2)]), "a test that two rules have in common");
    }
}
