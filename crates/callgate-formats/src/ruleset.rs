//! libseccomp's rule set: how the rules of one call combine, whatever the order they came in.
//!
//! A [`RuleSet`] holds the rules for one architecture and turns them into the ordered rules of a
//! [`Section`]. The container runtimes hand every entry of a profile to libseccomp, so this is what
//! a profile means. The rules, from `seccomp_rule_add(3)` and `src/db.c` of libseccomp 2.6:
//!
//! - The first unconditional rule of a call decides it: it replaces the conditional rules that were
//!   there, and later rules of that call are dropped.
//! - Conditional rules form a union. Where several match a call, the one that looks at the
//!   **higher** first argument decides; then EQ, NE and MASKED_EQ come before LT and LE, and these
//!   before GT and GE; then the larger value decides, for LT and LE the smaller one; then the next
//!   argument counts; a condition that is a prefix of another one decides before it. So a rule with
//!   more comparisons than another one has no effect. Of what is equal in all that, the rule that was
//!   added first decides. Words of 32 bits are compared, the high one of an argument first (`order`).
//! - On 32-bit interfaces (x32 is one) only the low halves are compared, and the high half of a
//!   value is dropped. A mask without bits looks at nothing.
//! - Where `socketcall(2)` or `ipc(2)` exist, a rule for a call that they reach becomes a rule for
//!   them too, with argument 0 equal to the sub-call's number instead of what the rule said about
//!   argument 0.
//!
//! libseccomp does not take every set of rules. [`RuleSet::refused`] says which it refuses with
//! `-EEXIST`, and exactly so: it keeps libseccomp's own data structure. The same condition with another
//! verdict is refused, a condition that is a prefix of an earlier one with another verdict, and some
//! pairs that merely meet on their way, such as `a0 > 5 && a1 == 0` and then `a0 > 9`: they share
//! the comparison of the high half of argument 0. Rules for a call that the architecture does not have
//! can be refused too. [`RuleSet::contradictions`] is the part that does not depend on libseccomp:
//! the same condition with two verdicts.
//!
//! libseccomp's programs do not mean their own rules everywhere: up to 2.6.1, parts that rules with ordered
//! comparisons or NE share let other calls through, and an architecture without the call that has the
//! fewest comparisons may compare no number at all. These defects are not imitated.
//!
//! [`RuleSet`] does not know the default verdict: callers skip rules that have it, as libseccomp
//! refuses them.

mod comparison;
mod libseccomp;
mod order;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

pub use comparison::{Comparison, Op};

use callgate_bpf::syscalls::{Arch, is_known_name, known_name, nearest_name};
use callgate_bpf::verdict::Verdict;
use callgate_proof::policy::{CallSet, Condition, Rule, Section};
use comparison::Tests;
use libseccomp::{Steps, Stop, Tree};
use order::Order;

/// The rules for one architecture. `O` is whatever tells the caller where a rule came from.
///
/// ```
/// use callgate_formats::ruleset::{Comparison, Op, RuleSet};
/// use callgate_bpf::{Arch, Verdict};
/// let mut rules = RuleSet::new(Arch::X86_64);
/// let five = Comparison::new(0, Op::Eq, 5).ok_or("there are arguments 0 to 5")?;
/// rules.add(41, &[five], Verdict::ALLOW, "line 1");
/// rules.add(41, &[five], Verdict::LOG, "line 2");
/// assert_eq!(rules.contradictions()[0].earlier, "line 1");
///
/// let misspelt = rules.add_call("unshar", &[], Verdict::errno(1), "line 3").unwrap_err();
/// assert_eq!(misspelt.to_string(), r#"unknown syscall "unshar"; did you mean "unshare"?"#);
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug)]
pub struct RuleSet<O> {
    arch: Arch,
    /// Every condition once: rules name it by its place.
    conditions: Vec<Tests>,
    places: HashMap<Tests, usize>,
    calls: BTreeMap<Call, Vec<Added<O>>>,
    /// The calls that an unconditional rule decides.
    always: BTreeSet<Call>,
}

/// A call of an architecture, or one that it does not have: libseccomp keeps the rules of such calls, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Call {
    Number(u32),
    Missing(&'static str),
}

/// A rule of one call.
#[derive(Clone, Copy, Debug)]
struct Added<O> {
    condition: usize,
    verdict: Verdict,
    origin: O,
}

/// Two rules of which neither may give way to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict<O> {
    /// The architecture.
    pub arch: Arch,
    /// The call's number; that of `socketcall` or `ipc` where the rule was also one for these. `None`
    /// for a call that the architecture does not have.
    pub nr: Option<u32>,
    /// Where the rule came from that was there already.
    pub earlier: O,
    /// Its verdict.
    pub verdict: Verdict,
    /// Where the rule came from that is refused.
    pub later: O,
    /// Its verdict.
    pub refused: Verdict,
    /// Whether their conditions are the same.
    pub same: bool,
}

/// A rule that has no effect because another rule of that call, with another verdict, decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overridden<O> {
    /// Where the rule without effect came from.
    pub loser: O,
    /// Where the rule came from that decides.
    pub winner: O,
    /// The verdict that decides.
    pub verdict: Verdict,
}

/// Which versions of libseccomp are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// 2.4 to 2.6.0.
    Before2_6_1,
    /// 2.6.1 and later.
    From2_6_1,
}

/// What libseccomp makes of the rules of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusals<O> {
    /// For each call the first rule that is refused.
    pub conflicts: Vec<Conflict<O>>,
    /// The calls where it took too many steps to find it out: the rule where they ended, and how many
    /// rules the call has.
    pub unknown: Vec<(O, usize)>,
}

/// A name that no syscall has, on any architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownCall {
    name: String,
}

impl UnknownCall {
    fn new(name: &str) -> UnknownCall {
        UnknownCall { name: name.to_owned() }
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

impl std::fmt::Display for UnknownCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "unknown syscall {:?}", self.name)?;
        match self.nearest() {
            Some(nearest) => write!(f, "; did you mean {nearest:?}?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for UnknownCall {}

/// What happens to the rules of one call.
struct Outcome<O> {
    /// Those that decide anything, by precedence.
    live: Vec<Added<O>>,
    overridden: Vec<Overridden<O>>,
    /// Pairs with the same condition, which nothing else decides.
    contradicting: Vec<(Added<O>, Added<O>)>,
}

impl<O: Copy> RuleSet<O> {
    /// No rules yet.
    pub fn new(arch: Arch) -> RuleSet<O> {
        RuleSet {
            arch,
            conditions: Vec::new(),
            places: HashMap::new(),
            calls: BTreeMap::new(),
            always: BTreeSet::new(),
        }
    }

    /// The architecture.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Whether there is no rule for a call that the architecture has.
    pub fn is_empty(&self) -> bool {
        self.numbers().next().is_none()
    }

    /// Whether an unconditional rule decides a call.
    pub fn is_unconditional(&self, nr: u32) -> bool {
        self.always.contains(&Call::Number(nr))
    }

    /// Adds a rule for a call by number; all comparisons must hold.
    pub fn add(&mut self, nr: u32, comparisons: &[Comparison], verdict: Verdict, origin: O) {
        self.add_to(Call::Number(nr), comparisons, verdict, origin);
    }

    /// Adds a rule for a syscall by name, and for `socketcall` or `ipc` where they reach it. Returns the
    /// number of these when the syscall is reached through them **and** the rule has conditions: they are
    /// hidden there, behind a pointer or shifted by one. A syscall that this architecture does not have
    /// gets no rule.
    ///
    /// # Errors
    /// When no architecture has a syscall of this name: the set is unchanged.
    pub fn add_call(
        &mut self,
        name: &str,
        comparisons: &[Comparison],
        verdict: Verdict,
        origin: O,
    ) -> Result<Option<u32>, UnknownCall> {
        if !is_known_name(name) {
            return Err(UnknownCall::new(name));
        }
        Ok(self.add_call_if_known(name, comparisons, verdict, origin))
    }

    /// The same as [`RuleSet::add_call`], but an unknown name adds no rule: container runtimes skip
    /// such names, so that one profile serves kernels and libraries of several versions. A rule that
    /// denies an unknown syscall is lost that way.
    pub fn add_call_if_known(
        &mut self,
        name: &str,
        comparisons: &[Comparison],
        verdict: Verdict,
        origin: O,
    ) -> Option<u32> {
        let through = self
            .arch
            .multiplexed(name)
            .and_then(|(via, sub_call)| Some((self.arch.number(via)?, sub_call)));
        if let Some((nr, sub_call)) = through {
            let kept = comparisons.iter().copied().filter(|comparison| comparison.arg() != 0);
            let behind: Vec<Comparison> =
                std::iter::once(Comparison::sub_call(sub_call)).chain(kept).collect();
            self.add(nr, &behind, verdict, origin);
        }
        // Where there are multiplexers, libseccomp drops the rules of calls that are missing.
        let keeps_missing = through.is_some() || !self.arch.has_multiplexers();
        let missing = || known_name(name).filter(|_| keeps_missing).map(Call::Missing);
        if let Some(call) = self.arch.number(name).map(Call::Number).or_else(missing) {
            self.add_to(call, comparisons, verdict, origin);
        }
        through.map(|(nr, _)| nr).filter(|_| !comparisons.is_empty())
    }

    fn add_to(&mut self, call: Call, comparisons: &[Comparison], verdict: Verdict, origin: O) {
        let tests = Tests::new(comparisons, self.arch.is_64bit());
        if tests.is_empty() {
            self.always.insert(call);
        }
        let condition = match self.places.get(&tests) {
            Some(place) => *place,
            None => {
                self.conditions.push(tests.clone());
                self.places.insert(tests, self.conditions.len() - 1);
                self.conditions.len() - 1
            }
        };
        self.calls.entry(call).or_default().push(Added { condition, verdict, origin });
    }

    /// The rules without effect.
    pub fn overridden(&self) -> Vec<Overridden<O>> {
        let covering = self.covering();
        let outcomes = self.numbers().map(|(_, rules)| self.outcome(rules, &covering));
        outcomes.flat_map(|outcome| outcome.overridden).collect()
    }

    /// The pairs of rules that have the same condition, but not the same verdict, where nothing else
    /// decides: the order of rules does not say which of the two counts.
    pub fn contradictions(&self) -> Vec<Conflict<O>> {
        let covering = self.covering();
        let mut conflicts = Vec::new();
        for (nr, rules) in self.numbers() {
            let pairs = self.outcome(rules, &covering).contradicting;
            let conflict = |(earlier, later)| self.conflict(Some(nr), &earlier, &later);
            conflicts.extend(pairs.into_iter().map(conflict));
        }
        conflicts
    }

    /// The rules that a version of libseccomp refuses with `-EEXIST`, in the order in which they were
    /// added. `steps` is how many comparisons of nodes may be made to find out, and what is left; one call
    /// takes at most half of what is left, so that it leaves some for others.
    pub fn refused(&self, version: Version, steps: &mut u64) -> Refusals<O> {
        let mut refusals = Refusals { conflicts: Vec::new(), unknown: Vec::new() };
        for (call, rules) in &self.calls {
            // Rules of one verdict never contradict each other.
            let first = rules.first().map(|rule| rule.verdict);
            if rules.iter().all(|rule| Some(rule.verdict) == first) {
                continue;
            }
            let nr = match call {
                Call::Number(nr) => Some(*nr),
                Call::Missing(_) => None,
            };
            let share = *steps / 2;
            let mut left = Steps(share);
            let mut tree = Tree::new(self.arch.is_64bit(), version == Version::Before2_6_1);
            for (number, rule) in (0..).zip(rules) {
                let tests = self.conditions.get(rule.condition).map_or(&[][..], Tests::comparisons);
                match tree.add(tests, rule.verdict.0, number, &mut left) {
                    Ok(()) => {}
                    Err(Stop::Refused { earlier }) => {
                        let earlier = rules.get(earlier as usize).unwrap_or(rule);
                        refusals.conflicts.push(self.conflict(nr, earlier, rule));
                        break;
                    }
                    Err(Stop::OutOfSteps) => {
                        refusals.unknown.push((rule.origin, rules.len()));
                        left = Steps(0);
                        break;
                    }
                }
            }
            *steps -= share - left.0;
        }
        refusals
    }

    fn conflict(&self, nr: Option<u32>, earlier: &Added<O>, later: &Added<O>) -> Conflict<O> {
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

    /// The rules of the calls that the architecture has.
    fn numbers(&self) -> impl Iterator<Item = (u32, &[Added<O>])> {
        self.calls.iter().filter_map(|(call, rules)| match call {
            Call::Number(nr) => Some((*nr, rules.as_slice())),
            Call::Missing(_) => None,
        })
    }

    fn is_always(&self, rule: &Added<O>) -> bool {
        self.conditions.get(rule.condition).is_some_and(Tests::is_empty)
    }

    /// For each condition those with some of its comparisons: they hold wherever it does. Of
    /// conditions longer than any that a runtime makes, none are looked for.
    fn covering(&self) -> Vec<Vec<usize>> {
        let lengths =
            self.conditions.iter().fold(0u64, |set, tests| set | 1 << tests.len().min(63));
        let some = |tests: &Tests| {
            let all = 1u32.checked_shl(tests.len() as u32).filter(|_| tests.len() <= ARGS);
            let is_length = |places: &u32| lengths >> places.count_ones() & 1 == 1;
            let places = (1..all.unwrap_or(1).saturating_sub(1)).filter(is_length);
            places.filter_map(|places| self.places.get(&tests.some(places)).copied()).collect()
        };
        self.conditions.iter().map(some).collect()
    }

    fn outcome(&self, rules: &[Added<O>], covering: &[Vec<usize>]) -> Outcome<O> {
        let mut outcome =
            Outcome { live: Vec::new(), overridden: Vec::new(), contradicting: Vec::new() };
        let overridden = |loser: &Added<O>, winner: &Added<O>| Overridden {
            loser: loser.origin,
            winner: winner.origin,
            verdict: winner.verdict,
        };
        if let Some(always) = rules.iter().find(|rule| self.is_always(rule)) {
            let losers = rules.iter().filter(|rule| rule.verdict != always.verdict);
            outcome.overridden.extend(losers.map(|loser| overridden(loser, always)));
            outcome.live.push(*always);
            return outcome;
        }
        let mut first: HashMap<usize, Added<O>> = HashMap::new();
        for rule in rules {
            first.entry(rule.condition).or_insert(*rule);
        }
        let precedence = |left: &usize, right: &usize| {
            let tests = |place: &usize| self.conditions.get(*place);
            match (tests(left), tests(right)) {
                (Some(left), Some(right)) => left.precedence(right),
                _ => left.cmp(right),
            }
        };
        for rule in rules {
            let shorter = covering.get(rule.condition).into_iter().flatten();
            let winner = shorter.filter(|place| first.contains_key(place));
            if let Some(winner) = winner.min_by(|a, b| precedence(a, b)).and_then(|w| first.get(w))
            {
                if winner.verdict != rule.verdict {
                    outcome.overridden.push(overridden(rule, winner));
                }
                continue;
            }
            match first.get_mut(&rule.condition) {
                Some(same) if same.verdict != rule.verdict => {
                    outcome.contradicting.push((*same, *rule));
                }
                _ => {}
            }
            outcome.live.push(*rule);
        }
        // Of the same condition, the first rule counts: the sort is stable.
        match rules.first() {
            Some(first) if rules.iter().any(|rule| rule.verdict != first.verdict) => {
                let places = self.places(rules);
                outcome.live.sort_by_key(|rule| places.get(&rule.condition));
            }
            _ => outcome.live.sort_by(|a, b| precedence(&a.condition, &b.condition)),
        }
        outcome.live.dedup_by_key(|rule| rule.condition);
        outcome
    }

    /// The place of each condition in the order in which they decide.
    fn places(&self, rules: &[Added<O>]) -> HashMap<usize, usize> {
        let mut order = Order::new(self.arch.is_64bit());
        let mut seen = HashSet::new();
        for rule in rules.iter().filter(|rule| seen.insert(rule.condition)) {
            if let Some(tests) = self.conditions.get(rule.condition) {
                order.add(tests, rule.condition);
            }
        }
        order.conditions().into_iter().enumerate().map(|(place, rule)| (rule, place)).collect()
    }

    /// The rules in order: unconditional ones by verdict, then conditional ones by call and
    /// precedence.
    fn rules(&self) -> Vec<Rule> {
        let covering = self.covering();
        let mut always: Vec<(Verdict, Vec<u32>)> = Vec::new();
        let mut when = Vec::new();
        for (nr, rules) in self.numbers() {
            for rule in self.outcome(rules, &covering).live {
                let tests = self.conditions.get(rule.condition).filter(|tests| !tests.is_empty());
                let (verdict, calls) = (rule.verdict, CallSet::one(nr));
                match (tests, always.iter_mut().find(|(other, _)| *other == verdict)) {
                    (Some(tests), _) => {
                        when.push(Rule {
                            calls,
                            when: tests.condition(self.arch.is_64bit()),
                            verdict,
                        });
                    }
                    (None, Some((_, numbers))) => numbers.push(nr),
                    (None, None) => always.push((verdict, vec![nr])),
                }
            }
        }
        let always = always.into_iter().map(|(verdict, numbers)| Rule {
            calls: numbers.into_iter().collect(),
            when: Condition::always(),
            verdict,
        });
        always.chain(when).collect()
    }
}

/// How many arguments there are, and so comparisons in a rule of libseccomp.
const ARGS: usize = 6;

/// The sections of rule sets, one per arch token.
///
/// x86_64 and x32 share theirs. With only one of the two, the numbers of the other get `bad_arch`;
/// 0xffff_ffff, which a tracer sets to skip a call, counts as a number of either.
pub fn sections<O: Copy>(sets: &[RuleSet<O>], default: Verdict, bad_arch: Verdict) -> Vec<Section> {
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
        let calls = section.other_abi();
        if !calls.is_empty() {
            let other = Rule { calls, when: Condition::always(), verdict: bad_arch };
            section.rules.insert(0, other);
        }
    }
    sections
}
