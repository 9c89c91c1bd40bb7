//! Derives an explanation from the diagram.

use callgate_bpf::SyscallTable;
use std::collections::BTreeMap;

use rustc_hash::FxHashMap as HashMap;

use super::explanation::{ArchExplanation, Explanation, Group, Outcome};
use crate::purposes::danger;
use callgate_codegen::query::{
    self, ArgPart, Branch, Clause, Cube, Exceptions, MAX_EXITS, MAX_INTERVALS, ValueCondition,
    ValueSet, branches, exceptions, few_cubes,
};
use callgate_core::diagram::{Func, Store};
use callgate_core::{Arch, SyscallSet, Verdict, Word};

/// The maximum number of clauses; beyond, an outcome is [`Outcome::Complex`].
const MAX_CLAUSES: usize = MAX_EXITS;

/// The maximum number of masks that describe the values of a branch together.
const MAX_CUBES: usize = 6;

/// More values than these are not listed in many ranges, if masks describe them.
const MAX_LISTED: u128 = 1024;

/// The maximum number of intervals of syscall numbers that are distinguished; there may be billions.
const MAX_NUMBERS: usize = 1 << 14;

/// Explains what a filter does with the syscalls of these architectures.
pub fn explain(store: &Store, filter: Func, arches: &[Arch]) -> Explanation {
    let mut outcomes = Outcomes { store, arches, memo: HashMap::default() };
    let known: Vec<u32> = arches.iter().map(|arch| arch.token()).collect();
    let mut others: Vec<Option<Verdict>> = Vec::new();
    for interval in query::partition(store, filter, Word::ARCH, MAX_INTERVALS).unwrap_or_default() {
        if !(interval.first == interval.last && known.contains(&interval.first)) {
            others.push(store.as_verdict(interval.then));
        }
    }
    others.dedup();
    let other_arches = match others.as_slice() {
        [Some(only)] => Some(*only),
        _ => None,
    };
    let arches = arches.iter().map(|arch| outcomes.arch(filter, *arch)).collect();
    let checks_arch = store.top_word(filter) == Some(Word::ARCH);
    Explanation { arches, other_arches, checks_arch, notes: Vec::new() }
}

/// What a function of the arguments does on this architecture.
pub fn outcome(store: &Store, func: Func, arch: Arch) -> Outcome {
    let mut outcome = Outcomes { store, arches: &[], memo: HashMap::default() }.outcome(func);
    if !arch.has_wide_registers() {
        outcome.narrow();
    }
    outcome
}

struct Outcomes<'a> {
    store: &'a Store,
    arches: &'a [Arch],
    memo: HashMap<Func, Outcome>,
}

impl Outcomes<'_> {
    fn arch(&mut self, filter: Func, arch: Arch) -> ArchExplanation {
        let numbers = self.store.follow(filter, Word::ARCH, arch.token());
        let mut groups: BTreeMap<(u8, Outcome), Vec<(u32, &'static str)>> = BTreeMap::new();
        let mut dangers = Vec::new();
        for (nr, name) in arch.syscalls() {
            let func = self.store.follow(numbers, Word::NR, nr);
            if danger(name).is_some_and(|danger| danger.is_permitted(self.store, func, arch)) {
                dangers.push(name);
            }
            let mut outcome = self.outcome(func);
            if !arch.has_wide_registers() {
                outcome.narrow();
            }
            groups.entry((rank(&outcome), outcome)).or_default().push((nr, name));
        }
        let groups = groups
            .into_iter()
            .map(|((_, outcome), syscalls)| Group { outcome, syscalls })
            .collect();
        let siblings = self.arches.iter().filter(|other| other.token() == arch.token());
        let named: SyscallSet =
            siblings.flat_map(|arch| arch.syscalls().map(|(nr, _)| nr)).collect();
        let mut unnamed: BTreeMap<Outcome, Vec<(u32, u32)>> = BTreeMap::new();
        match query::partition(self.store, numbers, Word::NR, MAX_NUMBERS) {
            Some(intervals) => {
                for interval in intervals {
                    let gaps = without(interval.first, interval.last, &named);
                    if !gaps.is_empty() {
                        let outcome = self.outcome(interval.then);
                        unnamed.entry(outcome).or_default().extend(gaps);
                    }
                }
            }
            None => {
                let outcome = Outcome::Complex { verdicts: self.verdicts(numbers) };
                unnamed.insert(outcome, without(0, u32::MAX, &named));
            }
        }
        let unnamed = unnamed
            .into_iter()
            .map(|(outcome, ranges)| (outcome, SyscallSet::from_ranges(ranges)))
            .collect();
        ArchExplanation { arch, groups, unnamed, dangers }
    }

    fn outcome(&mut self, func: Func) -> Outcome {
        if let Some(done) = self.memo.get(&func) {
            return done.clone();
        }
        let outcome = match self.store.as_verdict(func) {
            Some(verdict) => Outcome::Always(verdict),
            None => self.depends(func),
        };
        self.memo.insert(func, outcome.clone());
        outcome
    }

    fn depends(&self, func: Func) -> Outcome {
        let mut clauses = Vec::new();
        match self.clauses(func, &mut Vec::new(), &mut clauses) {
            Some(otherwise) => {
                Outcome::Depends { clauses: without_redundant(clauses, otherwise), otherwise }
            }
            None => Outcome::Complex { verdicts: self.verdicts(func) },
        }
    }

    /// Adds the clauses of a function, and returns the verdict if none of them applies; `None` if there are too many.
    /// Each recursion is at a later word.
    fn clauses(
        &self,
        func: Func,
        conditions: &mut Vec<ValueCondition>,
        clauses: &mut Vec<Clause>,
    ) -> Option<Verdict> {
        if let Some(verdict) = self.store.as_verdict(func) {
            return Some(verdict);
        }
        let (branches, last) = match exceptions(self.store, func) {
            Some(Exceptions { branches, others }) => (branches, others),
            None => {
                let mut branches = branches(self.store, func)?;
                // The branch with the most values goes last and needs no condition.
                branches.sort_by_key(|branch| branch.size);
                let last = branches.pop()?.then;
                (branches, last)
            }
        };
        for branch in branches {
            for condition in self.in_words(func, &branch) {
                conditions.push(condition);
                let verdict = self.clauses(branch.then, conditions, clauses)?;
                if clauses.len() == MAX_CLAUSES {
                    return None;
                }
                clauses.push(Clause { conditions: conditions.clone(), verdict });
                conditions.pop();
            }
        }
        // The last branch has no condition, so its default is that of the function.
        self.clauses(last, conditions, clauses)
    }

    /// The condition of a branch; several, of which one holds, if its values are too many to list and a few masks describe them.
    fn in_words(&self, func: Func, branch: &Branch) -> Vec<ValueCondition> {
        let few = |word| few_cubes(self.store, func, word, branch.then, MAX_CUBES);
        let is_many = match &branch.condition.values {
            ValueSet::Many(_) => true,
            ValueSet::Ranges(ranges) => {
                let is_half = branch.condition.part != ArgPart::Whole;
                is_half && ranges.len() > MAX_CUBES && branch.size > MAX_LISTED
            }
            _ => false,
        };
        let cubes = self.store.top_word(func).filter(|_| is_many).and_then(few);
        let Some(cubes) = cubes else { return vec![branch.condition.clone()] };
        let of_cube = |cube: Cube| ValueCondition {
            // Bits of the low half are bits of the whole.
            part: match branch.condition.part {
                ArgPart::Low => ArgPart::Whole,
                part => part,
            },
            values: ValueSet::Masked { mask: cube.mask.into(), wanted: cube.wanted.into() },
            ..branch.condition.clone()
        };
        cubes.into_iter().map(of_cube).collect()
    }

    fn verdicts(&self, func: Func) -> Vec<Verdict> {
        let mut verdicts = self.store.verdicts(func);
        verdicts.sort();
        verdicts
    }
}

/// The order of groups: allowed syscalls, then those that depend on arguments, then the others.
fn rank(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Always(verdict) if *verdict == Verdict::ALLOW => 0,
        Outcome::Always(verdict) if verdict.permits() => 1,
        Outcome::Depends { .. } => 2,
        Outcome::Complex { .. } => 3,
        Outcome::Always(_) => 4,
    }
}

/// The parts of a range that are not in a set.
fn without(first: u32, last: u32, set: &SyscallSet) -> Vec<(u32, u32)> {
    let mut gaps = Vec::new();
    let mut from = Some(first);
    for (start, end) in set.ranges() {
        let Some(at) = from.filter(|at| *at <= last) else { break };
        if *end < at {
            continue;
        }
        if *start > at {
            gaps.push((at, last.min(start - 1)));
        }
        from = end.checked_add(1);
    }
    if let Some(at) = from.filter(|at| *at <= last) {
        gaps.push((at, last));
    }
    gaps
}

/// Removes clauses with the default verdict, unless a later clause could apply to their syscalls.
fn without_redundant(clauses: Vec<Clause>, otherwise: Verdict) -> Vec<Clause> {
    let mut kept: Vec<Clause> = Vec::new();
    for clause in clauses.into_iter().rev() {
        let redundant = clause.verdict == otherwise
            && kept.iter().all(|later| later.verdict == otherwise || later.is_disjoint(&clause));
        if !redundant {
            kept.push(clause);
        }
    }
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Section, Test};

    fn outcome_of(when: Condition) -> Outcome {
        outcome_on(Arch::X86_64, 41, when)
    }

    fn outcome_on(arch: Arch, nr: u32, when: Condition) -> Outcome {
        let rules = vec![Rule { syscalls: SyscallSet::one(nr), when, verdict: Verdict::ALLOW }];
        let section = Section::new(arch, rules, Verdict::errno(1));
        let policy = Policy::new(vec![section], Verdict::KILL_THREAD).unwrap();
        let mut store = Store::default();
        let filter = store.policy(&policy).unwrap();
        let explanation = explain(&store, filter, &[arch]);
        assert_eq!(explanation.other_arches, Some(Verdict::KILL_THREAD));
        let socket = |group: &&Group| group.syscalls == [(nr, "socket")];
        let group = explanation.arches[0].groups.iter().find(socket);
        group.map_or(Outcome::Always(Verdict::errno(1)), |group| group.outcome.clone())
    }

    fn lines(outcome: &Outcome) -> Vec<String> {
        let Outcome::Depends { clauses, otherwise } = outcome else {
            panic!("{outcome:?} does not depend on arguments");
        };
        let clause = |c: &Clause| format!("{} if {}", c.verdict, c.describe(Some("socket")));
        clauses.iter().map(clause).chain([format!("else {otherwise}")]).collect()
    }

    fn test(arg: u8, cmp: Cmp, value: u64) -> Condition {
        Condition::test(Test::new(Field::arg(arg).unwrap(), cmp, value))
    }

    #[test]
    fn the_smaller_set_comes_first() {
        let most =
            Condition::any([test(0, Cmp::Lt, 38), test(0, Cmp::Gt, 40), test(0, Cmp::Eq, 39)]);
        assert_eq!(lines(&outcome_of(most)), ["ERRNO(EPERM) if family in {38, 40}", "else ALLOW"]);
        let few = Condition::any([test(0, Cmp::Lt, 2), test(0, Cmp::Eq, 10)]);
        assert_eq!(
            lines(&outcome_of(few)),
            ["ALLOW if family <= 1 or family == 10", "else ERRNO(EPERM)"]
        );
    }

    #[test]
    fn conditions_on_several_arguments_nest() {
        let both = Condition::all([
            Condition::any([test(0, Cmp::Eq, 16), test(0, Cmp::Lt, 3)]),
            test(2, Cmp::Eq, 9),
        ]);
        assert_eq!(
            lines(&outcome_of(both)),
            ["ALLOW if (family <= 2 or family == 16) and protocol == 9", "else ERRNO(EPERM)"]
        );
    }

    #[test]
    fn masks_are_recognised() {
        let field = Field::arg_low(1).unwrap();
        let masked = Condition::test(Test::masked_eq(field, 0x7e02_0000, 0x0002_0000));
        assert_eq!(
            lines(&outcome_of(masked.clone())),
            ["ALLOW if type & 0x7e020000 == 0x20000", "else ERRNO(EPERM)"]
        );
        assert_eq!(
            lines(&outcome_of(masked.negated())),
            ["ERRNO(EPERM) if type & 0x7e020000 == 0x20000", "else ALLOW"]
        );
    }

    /// The namespaces of `unshare` that systemd denies, where one of two flags makes up for it.
    #[test]
    fn values_that_are_too_many_to_list_are_a_few_masks() {
        let masked = |mask, wanted| {
            Condition::test(Test::masked_eq(Field::arg_low(1).unwrap(), mask, wanted))
        };
        // Neither an interval, nor one mask, nor the opposite of one.
        let any = Condition::any([masked(0x7e02_0000, 0), masked(0x11, 0x11)]);
        let outcome = outcome_of(any);
        let text = lines(&outcome);
        assert_eq!(
            text,
            ["ALLOW if type & 0x7e020000 == 0", "ALLOW if type & 0x11 == 17", "else ERRNO(EPERM)"]
        );
    }

    /// As systemd's RestrictNamespaces= for `setns`: no flags, and one flag.
    #[test]
    fn a_few_values_are_exceptions_where_otherwise_the_low_half_decides() {
        let new_user = Condition::test(Test::masked_eq(Field::arg(1).unwrap(), 0x1000_0000, 0));
        let some = Condition::test(Test::eq(Field::arg(1).unwrap(), 0)).negated();
        let outcome = outcome_of(Condition::all([new_user, some]));
        assert_eq!(
            lines(&outcome),
            ["ERRNO(EPERM) if type == 0", "ALLOW if type & 0x10000000 == 0", "else ERRNO(EPERM)"]
        );
    }

    #[test]
    fn values_and_flags_have_names_on_an_architecture() {
        let text = |arch, syscall: &str, when: Condition| {
            let nr = Arch::number(arch, syscall).unwrap();
            let rules = vec![Rule { syscalls: SyscallSet::one(nr), when, verdict: Verdict::ALLOW }];
            let section = Section::new(arch, rules, Verdict::errno(1));
            let policy = Policy::new(vec![section], Verdict::KILL_THREAD).unwrap();
            let mut store = Store::default();
            let filter = store.policy(&policy).unwrap();
            let arches = explain(&store, filter, &[arch]).arches;
            let own = |group: &&Group| group.syscalls.iter().any(|(_, name)| *name == syscall);
            match &arches[0].groups.iter().find(own).unwrap().outcome {
                Outcome::Depends { clauses, .. } => clauses[0].describe_on(arch, Some(syscall)),
                other => panic!("{other:?}"),
            }
        };
        let two = Condition::any([test(0, Cmp::Eq, 38), test(0, Cmp::Eq, 40)]);
        assert_eq!(text(Arch::X86_64, "socket", two), "family in {AF_ALG, AF_VSOCK}");
        let masked = |arg, mask, wanted| {
            Condition::test(Test::masked_eq(Field::arg(arg).unwrap(), mask, wanted))
        };
        assert_eq!(
            text(Arch::X86_64, "clone", masked(0, 0x1000_0000, 0)),
            "CLONE_NEWUSER is not set"
        );
        assert_eq!(text(Arch::X86_64, "openat", masked(2, 3, 2)), "flags & 0x3 == O_RDWR");
        assert_eq!(text(Arch::X86_64, "ioctl", test(1, Cmp::Eq, 0x5412)), "cmd == TIOCSTI");
        assert_eq!(text(Arch::Mips64, "ioctl", test(1, Cmp::Eq, 0x5472)), "cmd == TIOCSTI");
        assert_eq!(text(Arch::X86_64, "write", test(2, Cmp::Eq, 8)), "count == 8");
        assert_eq!(text(Arch::X86_64, "socket", test(0, Cmp::Le, 38)), "family <= 38");
        let few = Condition::any([test(0, Cmp::Eq, 10), test(0, Cmp::Le, 2)]);
        let named = "family in {AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6}";
        assert_eq!(text(Arch::X86_64, "socket", few), named);
    }

    /// A test of the low half does not compare the high half, which matters where registers have one.
    #[test]
    fn a_low_half_is_the_whole_argument_only_with_32_bit_registers() {
        for arch in Arch::ALL.iter().copied() {
            let Some(nr) = arch.number("socket") else { continue };
            let low = Condition::test(Test::eq(Field::arg_low(0).unwrap(), 5));
            let name = if arch.has_wide_registers() { "family.low" } else { "family" };
            assert_eq!(
                lines(&outcome_on(arch, nr, low)),
                [format!("ALLOW if {name} == 5"), "else ERRNO(EPERM)".to_owned()],
                "{arch}"
            );
            let whole = lines(&outcome_on(arch, nr, test(0, Cmp::Eq, 5)));
            assert_eq!(whole, ["ALLOW if family == 5", "else ERRNO(EPERM)"], "{arch}");
        }
    }

    /// Alternating verdicts: two billion intervals.
    #[test]
    fn numbers_with_too_many_intervals_are_complex() {
        let mut store = Store::default();
        let allow = store.verdict(Verdict::ALLOW).unwrap();
        let deny = store.verdict(Verdict::errno(1)).unwrap();
        let odd = store.any_bit(Word::NR, 1).unwrap();
        let filter = store.select(odd, allow, deny).unwrap();
        let explanation = explain(&store, filter, &[Arch::X86_64]);
        let [(outcome, numbers)] = explanation.arches[0].unnamed.as_slice() else {
            panic!("{:?}", explanation.arches[0].unnamed);
        };
        let verdicts = vec![Verdict::errno(1), Verdict::ALLOW];
        assert_eq!(*outcome, Outcome::Complex { verdicts });
        assert!(numbers.contains(u32::MAX) && !numbers.contains(0));
    }

    #[test]
    fn gaps_are_the_numbers_without_a_name() {
        let set: SyscallSet = [3, 4, 8].into_iter().collect();
        assert_eq!(without(0, 10, &set), [(0, 2), (5, 7), (9, 10)]);
        assert_eq!(without(3, 4, &set), []);
        assert_eq!(without(8, u32::MAX, &set), [(9, u32::MAX)]);
    }
}
