//! The rules for one architecture: adding them, what libseccomp rejects, and what is left as a policy.

use std::collections::BTreeSet;
use std::collections::hash_map::Entry;

use super::by_syscall::{BySyscall, Target};
use super::comparison::{Comparison, Conjunction};
use super::libseccomp::{InsertError, Tree};
use callgate_bpf::SyscallTable;
use callgate_bpf::syscalls::{KnownSyscall, is_known_name, nearest_name};
use callgate_core::policy::{Condition, Rule, Section};
use callgate_core::{Arch, SyscallSet, Verdict};
use rustc_hash::FxHashMap as HashMap;

/// The number of syscalls for which there is memory at once. Most filters of programs name fewer; profiles of containers name
/// 300 to 450.
const USUAL_SYSCALLS: usize = 64;

/// The rules for one architecture. `O` is the caller's record of where a rule comes from, such as a position.
///
/// ```
/// use callgate_formats::ruleset::{Comparison, Op, RuleSet};
/// use callgate_core::{Arch, Verdict};
/// let mut rules = RuleSet::new(Arch::X86_64);
/// let five = Comparison::new(0, Op::Eq, 5).ok_or("there are arguments 0 to 5")?;
/// rules.add(41, &[five], Verdict::ALLOW, "line 1");
/// rules.add(41, &[five], Verdict::LOG, "line 2");
/// assert_eq!(rules.contradictions()[0].earlier, "line 1");
///
/// let misspelt = rules.add_syscall("unshar", &[], Verdict::errno(1), "line 3").unwrap_err();
/// assert_eq!(misspelt.to_string(), r#"unknown syscall "unshar"; did you mean "unshare"?"#);
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug)]
pub struct RuleSet<O> {
    arch: Arch,
    /// The distinct conditions; rules refer to them by index.
    pub(super) conditions: Vec<Conjunction>,
    /// The indices of those with comparisons.
    pub(super) indices: HashMap<Conjunction, usize>,
    /// The index of the condition without comparisons.
    pub(super) unconditional: Option<usize>,
    /// The rules of each syscall, in the order of its first rule, and where they are.
    syscalls: Vec<SyscallRules<O>>,
    by_syscall: BySyscall,
    /// The syscalls that have had several rules. Most syscalls have one, which needs no comparison with others.
    several: BTreeSet<Target>,
}

/// The rules of one syscall, in the order in which they were added.
#[derive(Clone, Debug)]
struct SyscallRules<O> {
    added: Added<O>,
    /// Whether one of them is unconditional, and so decides the syscall.
    is_always: bool,
    /// Whether all of them have the same verdict, so that they cannot contradict each other.
    is_uniform: bool,
}

/// One rule or more. Most syscalls have one, which needs no memory of its own.
#[derive(Clone, Debug)]
enum Added<O> {
    One([AddedRule<O>; 1]),
    Several(Vec<AddedRule<O>>),
}

impl<O: Copy> Added<O> {
    fn push(&mut self, rule: AddedRule<O>) {
        match self {
            Added::One([first]) => *self = Added::Several(vec![*first, rule]),
            Added::Several(rules) => rules.push(rule),
        }
    }

    fn rules(&self) -> &[AddedRule<O>] {
        match self {
            Added::One(rule) => rule,
            Added::Several(rules) => rules,
        }
    }
}

/// A rule of one syscall.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddedRule<O> {
    pub(super) condition: usize,
    pub(super) verdict: Verdict,
    pub(super) origin: O,
}

/// Whether all rules have the same verdict.
pub(super) fn have_one_verdict<O>(rules: &[AddedRule<O>]) -> bool {
    rules.first().is_none_or(|first| rules.iter().all(|rule| rule.verdict == first.verdict))
}

/// Two rules that contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict<O> {
    /// The architecture.
    pub arch: Arch,
    /// The number of the syscall, or of `socketcall` or `ipc` if the conflict is there. `None` for a syscall that
    /// the architecture does not have.
    pub nr: Option<u32>,
    /// The origin of the rule that was added first.
    pub earlier: O,
    /// The verdict of the rule that was added first.
    pub verdict: Verdict,
    /// The origin of the rule that is rejected.
    pub later: O,
    /// The verdict of the rule that is rejected.
    pub refused: Verdict,
    /// Whether their conditions are the same.
    pub same: bool,
}

/// A rule without effect, because another rule of the same syscall decides, with another verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overridden<O> {
    /// The origin of the rule without effect.
    pub loser: O,
    /// The origin of the rule that decides.
    pub winner: O,
    /// The verdict of the rule that decides.
    pub verdict: Verdict,
}

/// Versions of libseccomp that differ in which rules they reject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LibseccompVersion {
    /// 2.4 to 2.6.0.
    Before2_6_1,
    /// 2.6.1 and later.
    From2_6_1,
}

/// The rules of a set that libseccomp rejects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusals<O> {
    /// For each syscall, the first rule that is rejected.
    pub conflicts: Vec<Conflict<O>>,
    /// The syscalls for which the steps did not suffice: the rule at which they ran out, and the number of rules of
    /// the syscall.
    pub unknown: Vec<(O, usize)>,
}

impl<O: Copy> RuleSet<O> {
    /// A set without rules.
    pub fn new(arch: Arch) -> RuleSet<O> {
        RuleSet {
            arch,
            conditions: Vec::new(),
            indices: HashMap::default(),
            unconditional: None,
            syscalls: Vec::with_capacity(USUAL_SYSCALLS),
            by_syscall: BySyscall::new(arch),
            several: BTreeSet::new(),
        }
    }

    /// The architecture.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Whether the set has no rule for any syscall of the architecture.
    pub fn is_empty(&self) -> bool {
        self.numbers().next().is_none()
    }

    /// Whether an unconditional rule decides a syscall.
    pub fn is_unconditional(&self, nr: u32) -> bool {
        self.is_always(Target::Number(nr))
    }

    /// Adds a rule for a syscall by number. All comparisons must hold.
    pub fn add(&mut self, nr: u32, comparisons: &[Comparison], verdict: Verdict, origin: O) {
        self.add_to(Target::Number(nr), comparisons, verdict, origin);
    }

    /// Adds a rule for a syscall by name, and for `socketcall` or `ipc` where they reach it. Returns the
    /// number of these when the syscall is reached through them **and** the rule has conditions: they are
    /// hidden there, behind a pointer or shifted by one. A syscall that this architecture does not have
    /// gets no rule.
    ///
    /// # Errors
    /// When no architecture has a syscall of this name: the set is unchanged.
    pub fn add_syscall(
        &mut self,
        name: &str,
        comparisons: &[Comparison],
        verdict: Verdict,
        origin: O,
    ) -> Result<Option<u32>, UnknownSyscall> {
        if !is_known_name(name) {
            return Err(UnknownSyscall::new(name));
        }
        Ok(self.add_syscall_if_known(name, comparisons, verdict, origin))
    }

    /// The same as [`RuleSet::add_syscall`], but an unknown name adds no rule: container runtimes skip
    /// such names, so that one profile serves kernels and libraries of several versions. A rule that
    /// denies an unknown syscall is lost that way.
    pub fn add_syscall_if_known(
        &mut self,
        name: &str,
        comparisons: &[Comparison],
        verdict: Verdict,
        origin: O,
    ) -> Option<u32> {
        let syscall = KnownSyscall::named(name)?;
        self.add_known(syscall, comparisons, verdict, origin)
    }

    /// The same for a syscall whose name was looked up.
    pub fn add_known(
        &mut self,
        syscall: KnownSyscall,
        comparisons: &[Comparison],
        verdict: Verdict,
        origin: O,
    ) -> Option<u32> {
        self.add_numbered(syscall, true, comparisons, verdict, origin)
    }

    /// The same for a libseccomp that has a number for the syscall on this architecture, or none.
    pub(crate) fn add_numbered(
        &mut self,
        syscall: KnownSyscall,
        has_number: bool,
        comparisons: &[Comparison],
        verdict: Verdict,
        origin: O,
    ) -> Option<u32> {
        let through = syscall
            .multiplexed(self.arch)
            .and_then(|(via, sub_call)| Some((self.arch.number(via)?, sub_call)));
        if let Some((nr, sub_call)) = through {
            let kept = comparisons.iter().copied().filter(|comparison| comparison.arg() != 0);
            let behind: Vec<Comparison> =
                std::iter::once(Comparison::sub_call(sub_call)).chain(kept).collect();
            self.add(nr, &behind, verdict, origin);
        }
        // On architectures with multiplexers, libseccomp drops rules for missing syscalls.
        let keeps_missing = through.is_some() || !self.arch.has_multiplexers();
        let missing = || keeps_missing.then_some(Target::Missing(syscall));
        let number = syscall.number(self.arch).filter(|_| has_number);
        if let Some(target) = number.map(Target::Number).or_else(missing) {
            self.add_to(target, comparisons, verdict, origin);
        }
        through.map(|(nr, _)| nr).filter(|_| !comparisons.is_empty())
    }

    /// Adds a rule.
    pub(super) fn add_to(
        &mut self,
        syscall: Target,
        comparisons: &[Comparison],
        verdict: Verdict,
        origin: O,
    ) {
        let condition = match (comparisons, self.unconditional) {
            ([], Some(known)) => known,
            _ => self.condition(Conjunction::new(comparisons, self.arch.is_64bit())),
        };
        let is_always = self.unconditional == Some(condition);
        let rule = AddedRule { condition, verdict, origin };
        let place = self.by_syscall.place(syscall);
        match place.and_then(|index| self.syscalls.get_mut(index as usize)) {
            Some(rules) => {
                if let Added::One(_) = rules.added {
                    self.several.insert(syscall);
                }
                let first = rules.added.rules().first();
                rules.is_uniform &= first.is_none_or(|first| first.verdict == verdict);
                rules.added.push(rule);
                rules.is_always |= is_always;
            }
            None => {
                *place = u32::try_from(self.syscalls.len()).ok();
                let added = Added::One([rule]);
                self.syscalls.push(SyscallRules { added, is_always, is_uniform: true });
            }
        }
    }

    /// The index of a condition; adds it if necessary.
    fn condition(&mut self, tests: Conjunction) -> usize {
        let index = self.conditions.len();
        if tests.is_empty() {
            let known = *self.unconditional.get_or_insert(index);
            if known == index {
                self.conditions.push(tests);
            }
            return known;
        }
        match self.indices.entry(tests) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                self.conditions.push(new.key().clone());
                *new.insert(index)
            }
        }
    }

    /// The rules without effect.
    pub fn overridden(&self) -> Vec<Overridden<O>> {
        let outcomes = self.several_rules().filter(|(target, _)| target.number().is_some());
        let outcomes = outcomes.map(|(_, rules)| self.outcome(rules));
        outcomes.flat_map(|outcome| outcome.overridden).collect()
    }

    /// The pairs of rules with the same condition and different verdicts that no other rule decides. Precedence does
    /// not order them.
    pub fn contradictions(&self) -> Vec<Conflict<O>> {
        let mut conflicts = Vec::new();
        for (target, rules) in self.several_rules() {
            let Some(nr) = target.number() else { continue };
            let pairs = self.outcome(rules).contradicting;
            let conflict = |(earlier, later)| self.conflict(Some(nr), &earlier, &later);
            conflicts.extend(pairs.into_iter().map(conflict));
        }
        conflicts
    }

    /// The rules that a version of libseccomp rejects with `-EEXIST`, in the order in which they were added.
    ///
    /// `steps` is the budget of node comparisons, from which the steps taken are subtracted. One syscall may use at
    /// most half of what is left, so that some remain for the others.
    pub fn refused(&self, version: LibseccompVersion, steps: &mut u64) -> Refusals<O> {
        let mut refusals = Refusals { conflicts: Vec::new(), unknown: Vec::new() };
        for (syscall, rules) in self.several_rules() {
            if self.is_uniform(syscall) {
                continue;
            }
            let nr = syscall.number();
            let share = *steps / 2;
            let wrong_branch = version == LibseccompVersion::Before2_6_1;
            let mut tree = Tree::new(self.arch.is_64bit(), wrong_branch, share);
            for (number, rule) in (0..).zip(rules) {
                let tests = self.comparisons(rule.condition);
                match tree.add(tests, rule.verdict.0, number) {
                    Ok(()) => {}
                    Err(InsertError::Rejected { earlier }) => {
                        let earlier = rules.get(earlier as usize).unwrap_or(rule);
                        refusals.conflicts.push(self.conflict(nr, earlier, rule));
                        break;
                    }
                    Err(InsertError::OutOfSteps) => {
                        refusals.unknown.push((rule.origin, rules.len()));
                        tree.steps = 0;
                        break;
                    }
                }
            }
            *steps -= share - tree.steps;
        }
        refusals
    }

    fn conflict(
        &self,
        nr: Option<u32>,
        earlier: &AddedRule<O>,
        later: &AddedRule<O>,
    ) -> Conflict<O> {
        Conflict {
            arch: self.arch,
            nr,
            earlier: earlier.origin,
            verdict: earlier.verdict,
            later: later.origin,
            refused: later.verdict,
            same: earlier.condition == later.condition,
        }
    }

    /// The rules of the syscalls that the architecture has.
    fn numbers(&self) -> impl Iterator<Item = (u32, &[AddedRule<O>])> {
        let numbers = self.by_syscall.numbers();
        numbers.filter_map(|(nr, index)| Some((nr, self.syscalls.get(index)?.added.rules())))
    }

    /// The rules of the syscalls that have several rules.
    fn several_rules(&self) -> impl Iterator<Item = (Target, &[AddedRule<O>])> {
        let rules = self.several.iter().map(|syscall| (*syscall, self.rules_of(*syscall)));
        rules.filter(|(_, rules)| rules.len() > 1)
    }

    /// All rules for syscalls that the architecture has, by number and then in the order in which they were added: the
    /// number, the condition, the verdict and the origin.
    pub fn stated(&self) -> impl Iterator<Item = (u32, Condition, Verdict, O)> {
        self.numbers().flat_map(move |(nr, rules)| {
            rules.iter().map(move |rule| {
                let tests = self.conditions.get(rule.condition).filter(|tests| !tests.is_empty());
                let always = Condition::always;
                let when = tests.map_or_else(always, |tests| tests.condition(self.arch.is_64bit()));
                (nr, when, rule.verdict, rule.origin)
            })
        })
    }

    fn rules_if_any(&self, syscall: Target) -> Option<&SyscallRules<O>> {
        self.syscalls.get(self.by_syscall.get(syscall)?)
    }

    /// The rules of one syscall, in the order in which they were added.
    pub(super) fn rules_of(&self, syscall: Target) -> &[AddedRule<O>] {
        self.rules_if_any(syscall).map_or(&[], |rules| rules.added.rules())
    }

    /// Whether an unconditional rule decides this syscall.
    pub(super) fn is_always(&self, syscall: Target) -> bool {
        self.rules_if_any(syscall).is_some_and(|rules| rules.is_always)
    }

    /// Whether all rules of a syscall have the same verdict.
    pub(super) fn is_uniform(&self, syscall: Target) -> bool {
        self.rules_if_any(syscall).is_none_or(|rules| rules.is_uniform)
    }

    /// The comparisons of a condition.
    pub(super) fn comparisons(&self, condition: usize) -> &[Comparison] {
        self.conditions.get(condition).map_or(&[], Conjunction::comparisons)
    }

    /// Removes the rule that was added last, which is one of this syscall.
    pub(super) fn remove_last(&mut self, syscall: Target) {
        let place = self.by_syscall.place(syscall);
        let rules = place.and_then(|index| self.syscalls.get_mut(index as usize));
        match rules {
            Some(SyscallRules { added: Added::Several(rules), is_always, is_uniform })
                if rules.len() > 1 =>
            {
                rules.pop();
                let unconditional = self.unconditional;
                *is_always = rules.iter().any(|rule| Some(rule.condition) == unconditional);
                *is_uniform = have_one_verdict(rules);
            }
            // No syscall got its first rule later.
            Some(_) => {
                *place = None;
                self.syscalls.pop();
            }
            None => {}
        }
    }

    /// The rules of a section: unconditional ones grouped by verdict, then conditional ones by syscall and
    /// precedence.
    fn rules(&self) -> Vec<Rule> {
        // For each verdict the numbers, as ranges.
        let mut always: Vec<(Verdict, Vec<(u32, u32)>)> = Vec::new();
        let mut when = Vec::new();
        for (nr, rules) in self.numbers() {
            let outcome;
            let live = match rules {
                [_] => rules,
                _ => {
                    outcome = self.outcome(rules);
                    &outcome.live
                }
            };
            for rule in live {
                let tests = self.conditions.get(rule.condition).filter(|tests| !tests.is_empty());
                let verdict = rule.verdict;
                match (tests, always.iter_mut().find(|(other, _)| *other == verdict)) {
                    (Some(tests), _) => {
                        when.push(Rule {
                            syscalls: SyscallSet::one(nr),
                            when: tests.condition(self.arch.is_64bit()),
                            verdict,
                        });
                    }
                    (None, Some((_, ranges))) => match ranges.last_mut() {
                        Some((_, last)) if last.checked_add(1) == Some(nr) => *last = nr,
                        _ => ranges.push((nr, nr)),
                    },
                    (None, None) => {
                        let mut ranges = Vec::with_capacity(64);
                        ranges.push((nr, nr));
                        always.push((verdict, ranges));
                    }
                }
            }
        }
        let always = always.into_iter().map(|(verdict, ranges)| Rule {
            syscalls: SyscallSet::from_ranges(ranges),
            when: Condition::always(),
            verdict,
        });
        always.chain(when).collect()
    }
}

/// The sections of rule sets, one per arch token.
///
/// x86_64 and x32 share theirs. With only one of the two, the numbers of the other get `bad_arch`;
/// 0xffff_ffff, which a tracer sets to skip a syscall, counts as a number of either.
pub fn sections<'s, O: Copy + 's>(
    sets: impl IntoIterator<Item = &'s RuleSet<O>>,
    default: Verdict,
    bad_arch: Verdict,
) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for set in sets {
        match sections.iter_mut().find(|section| section.token() == set.arch.token()) {
            Some(section) => {
                // The token is the same, so this fails only for an architecture that is there already.
                if let Ok(joined) = section.clone().and_arch(set.arch) {
                    *section = joined;
                }
                section.rules.extend(set.rules());
            }
            None => sections.push(Section::new(set.arch, set.rules(), default)),
        }
    }
    for section in &mut sections {
        let syscalls = section.other_abi();
        if !syscalls.is_empty() {
            let other = Rule { syscalls, when: Condition::always(), verdict: bad_arch };
            section.rules.insert(0, other);
        }
    }
    sections
}

/// A name that no syscall has, on any architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownSyscall {
    name: String,
}

impl UnknownSyscall {
    pub(super) fn new(name: &str) -> UnknownSyscall {
        UnknownSyscall { name: name.to_owned() }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The known name that is most alike, when there is one.
    pub fn nearest(&self) -> Option<&'static str> {
        nearest_name(&self.name)
    }
}

impl std::fmt::Display for UnknownSyscall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "unknown syscall {:?}", self.name)?;
        match self.nearest() {
            Some(nearest) => write!(f, "; did you mean {nearest:?}?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for UnknownSyscall {}
