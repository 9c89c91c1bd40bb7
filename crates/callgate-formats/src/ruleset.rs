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
//!   argument counts; a condition that is a prefix of another one decides before it.
//! - The same condition with another verdict is a [`Conflict`], and so is a condition that is a
//!   prefix of an earlier one with another verdict. The reverse, a longer condition after its
//!   prefix, is accepted, and the longer rule is dead. So is one with more comparisons than another
//!   in general; with the same verdict it is dropped, and then conflicts with nothing.
//! - On 32-bit interfaces (x32 is one) only the low halves are compared, and the high half of a
//!   value is dropped. A mask without bits looks at nothing.
//! - Where `socketcall(2)` or `ipc(2)` exist, a rule for a call that they reach becomes a rule for
//!   them too, with argument 0 equal to the sub-call's number instead of what the rule said about
//!   argument 0.
//!
//! libseccomp's generator does not keep to this order everywhere. Among conditions of equal rank
//! (equal but for the mask or the operator) the order of insertion decides there; here the larger
//! mask does. Where comparisons that overlap in one half of a 64-bit value get different verdicts,
//! and with ordered comparisons, released versions depart from the union of their own rules in
//! ways that are not imitated. Which rules are accepted is the same.
//!
//! [`RuleSet`] does not know the default verdict: callers skip rules that have it, as libseccomp
//! refuses them.

use std::collections::BTreeMap;

use callgate_bpf::syscalls::{Arch, X32_SYSCALL_BIT};
use callgate_bpf::verdict::Verdict;
use callgate_proof::policy::{CallSet, Cmp, Condition, Field, Rule, Section, Test};

/// How an argument is compared (`enum scmp_compare`), unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Op {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// Equal in the bits of this mask; bits of the value outside it do not count.
    MaskedEq(u64),
}

/// One comparison of an argument with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Comparison {
    arg: u8,
    op: Op,
    value: u64,
}

impl Comparison {
    /// `argument op value`; `None` when there is no such argument (six exist, 0–5).
    pub const fn new(arg: u8, op: Op, value: u64) -> Option<Comparison> {
        if arg < 6 { Some(Comparison { arg, op, value }) } else { None }
    }

    /// Which argument, 0–5.
    pub const fn arg(&self) -> u8 {
        self.arg
    }

    /// How it is compared.
    pub const fn op(&self) -> Op {
        self.op
    }

    /// With what.
    pub const fn value(&self) -> u64 {
        self.value
    }

    /// What an interface of the given width compares: `None` when it looks at no bit.
    fn on(self, is_64bit: bool) -> Option<Comparison> {
        let bits = if is_64bit { u64::MAX } else { u64::from(u32::MAX) };
        let (op, value) = match self.op {
            Op::MaskedEq(mask) => match mask & bits {
                0 => return None,
                mask => (Op::MaskedEq(mask), self.value & mask),
            },
            op => (op, self.value & bits),
        };
        Some(Comparison { op, value, ..self })
    }

    /// The test of a comparison that went through [`Comparison::on`].
    fn test(self, is_64bit: bool) -> Option<Test> {
        let field = if is_64bit { Field::arg(self.arg) } else { Field::arg_low(self.arg) }?;
        Some(match self.op {
            Op::MaskedEq(mask) => Test::masked_eq(field, mask, self.value),
            Op::Eq => Test::new(field, Cmp::Eq, self.value),
            Op::Ne => Test::new(field, Cmp::Ne, self.value),
            Op::Lt => Test::new(field, Cmp::Lt, self.value),
            Op::Le => Test::new(field, Cmp::Le, self.value),
            Op::Gt => Test::new(field, Cmp::Gt, self.value),
            Op::Ge => Test::new(field, Cmp::Ge, self.value),
        })
    }

    /// Its place in the order of conditions.
    fn key(self) -> (Rank, Kind) {
        let (class, op, mask) = match self.op {
            Op::Eq => (0, 0, u64::MAX),
            Op::Ne => (0, 1, u64::MAX),
            Op::MaskedEq(mask) => (0, 2, mask),
            Op::Le => (1, 0, u64::MAX),
            Op::Lt => (1, 1, u64::MAX),
            Op::Ge => (2, 0, u64::MAX),
            Op::Gt => (2, 1, u64::MAX),
        };
        let value = if class == 1 { self.value } else { !self.value };
        (Rank { arg: !self.arg, class, value }, Kind { mask: !mask, op })
    }
}

/// What counts for the precedence of a comparison; what decides first is smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// Inverted.
    arg: u8,
    /// EQ, NE and MASKED_EQ, then LT and LE, then GT and GE.
    class: u8,
    /// Inverted, but for LT and LE.
    value: u64,
}

/// What else tells two comparisons apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    /// Inverted.
    mask: u64,
    op: u8,
}

/// A condition, ordered by precedence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    ranks: Vec<Rank>,
    /// As many.
    kinds: Vec<Kind>,
}

impl Key {
    fn new(tests: &[Comparison]) -> Key {
        let (ranks, kinds) = tests.iter().map(|test| test.key()).unzip();
        Key { ranks, kinds }
    }

    /// Whether every comparison of this condition is one of the other: wherever the other holds,
    /// this one does. It then also decides before the other, as a look at the order shows.
    fn covers(&self, other: &Key) -> bool {
        self.pairs().all(|pair| other.pairs().any(|theirs| theirs == pair))
    }

    fn pairs(&self) -> impl Iterator<Item = (Rank, Kind)> {
        self.ranks.iter().copied().zip(self.kinds.iter().copied())
    }

    fn len(&self) -> usize {
        self.ranks.len()
    }

    fn is_prefix_of(&self, other: &Key) -> bool {
        other.ranks.starts_with(&self.ranks) && other.kinds.starts_with(&self.kinds)
    }
}

/// A rule of one call.
#[derive(Clone, Debug)]
struct Entry<O> {
    condition: Condition,
    verdict: Verdict,
    origin: O,
}

/// The rules of one call.
#[derive(Clone, Debug)]
enum Call<O> {
    Always(Verdict, O),
    When(Conditional<O>),
}

/// Conditional rules by precedence.
#[derive(Clone, Debug)]
struct Conditional<O> {
    entries: BTreeMap<Key, Entry<O>>,
    /// The numbers of comparisons of the shortest and of the longest condition there ever was: a
    /// call with a thousand conditions, all on one argument, need not compare each with each.
    lengths: (usize, usize),
}

impl<O> Conditional<O> {
    const fn new() -> Conditional<O> {
        Conditional { entries: BTreeMap::new(), lengths: (usize::MAX, 0) }
    }

    /// The rules that hold wherever one with this condition does, and more often.
    fn covering<'c>(&'c self, key: &'c Key) -> impl Iterator<Item = (&'c Key, &'c Entry<O>)> {
        let none = self.lengths.0 >= key.len();
        let entries = if none { None } else { Some(self.entries.iter()) };
        let shorter = entries.into_iter().flatten().filter(|(other, _)| other.len() < key.len());
        shorter.filter(|(other, _)| other.covers(key))
    }

    /// The rules that hold only where one with this condition does, and more rarely.
    fn covered<'c>(&'c self, key: &'c Key) -> impl Iterator<Item = (&'c Key, &'c Entry<O>)> {
        let none = self.lengths.1 <= key.len();
        let entries = if none { None } else { Some(self.entries.iter()) };
        let longer = entries.into_iter().flatten().filter(|(other, _)| other.len() > key.len());
        longer.filter(|(other, _)| key.covers(other))
    }
}

/// The rules for one architecture. `O` is whatever tells the caller where a rule came from.
///
/// ```
/// use crate::ruleset::{Comparison, Op, RuleSet};
/// use callgate_bpf::{Arch, Verdict};
/// let mut rules = RuleSet::new(Arch::X86_64);
/// let five = Comparison::new(0, Op::Eq, 5).unwrap();
/// rules.add(41, &[five], Verdict::ALLOW, "line 1").unwrap();
/// let conflict = rules.add(41, &[five], Verdict::LOG, "line 2").unwrap_err();
/// assert_eq!(conflict.earlier, "line 1");
/// ```
#[derive(Clone, Debug)]
pub struct RuleSet<O> {
    arch: Arch,
    calls: BTreeMap<u32, Call<O>>,
}

/// Two rules of which neither may give way to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict<O> {
    /// The architecture.
    pub arch: Arch,
    /// The call's number; that of `socketcall` or `ipc` where the rule was also one for these.
    pub nr: u32,
    /// Where the rule came from that was there already.
    pub earlier: O,
    /// Its verdict.
    pub verdict: Verdict,
    /// Whether its condition is the same; else it is a longer one that starts with the new one.
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

/// What adding a call by its name did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added<O> {
    /// Rules that lost.
    pub overridden: Vec<Overridden<O>>,
    /// The number of `socketcall` or `ipc` when the call is reached through it as well **and** the
    /// rule has conditions: they are hidden there, behind a pointer or shifted by one.
    pub hidden_behind: Option<u32>,
}

impl<O: Copy> RuleSet<O> {
    /// No rules yet.
    pub fn new(arch: Arch) -> RuleSet<O> {
        RuleSet { arch, calls: BTreeMap::new() }
    }

    /// The architecture.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Whether an unconditional rule decides a call.
    pub fn is_unconditional(&self, nr: u32) -> bool {
        matches!(self.calls.get(&nr), Some(Call::Always(..)))
    }

    /// Adds a rule for a call by number; all comparisons must hold. Returns the rules that lost.
    ///
    /// # Errors
    /// When an earlier rule contradicts it; nothing has changed then.
    pub fn add(
        &mut self,
        nr: u32,
        comparisons: &[Comparison],
        verdict: Verdict,
        origin: O,
    ) -> Result<Vec<Overridden<O>>, Conflict<O>> {
        let is_64bit = self.arch.is_64bit();
        let mut tests: Vec<Comparison> =
            comparisons.iter().filter_map(|comparison| comparison.on(is_64bit)).collect();
        // Inside a condition the lower argument comes first, whereas precedence is the higher one's.
        tests.sort_by_key(|test| (test.arg, test.key()));
        tests.dedup();
        let call = self.calls.entry(nr).or_insert_with(|| Call::When(Conditional::new()));
        let rules = match call {
            Call::Always(decided, winner) => {
                return Ok(if *decided == verdict {
                    Vec::new()
                } else {
                    vec![Overridden { loser: origin, winner: *winner, verdict: *decided }]
                });
            }
            Call::When(rules) => rules,
        };
        let lost = |entry: &Entry<O>| {
            let loser = entry.origin;
            (entry.verdict != verdict).then_some(Overridden { loser, winner: origin, verdict })
        };
        if tests.is_empty() {
            let overridden = rules.entries.values().filter_map(lost).collect();
            *call = Call::Always(verdict, origin);
            return Ok(overridden);
        }

        let key = Key::new(&tests);
        let conflict = |entry: &Entry<O>, same| Conflict {
            arch: self.arch,
            nr,
            earlier: entry.origin,
            verdict: entry.verdict,
            same,
        };
        let mut overridden = Vec::new();
        if let Some((_, first)) = rules.covering(&key).next()
            && first.verdict != verdict
        {
            let (winner, verdict) = (first.origin, first.verdict);
            overridden.push(Overridden { loser: origin, winner, verdict });
        }
        // A rule that decides nothing is kept where libseccomp keeps it: it can still conflict.
        let settles = |(other, entry): (&Key, &Entry<O>)| {
            entry.verdict == verdict || other.is_prefix_of(&key)
        };
        if rules.covering(&key).any(settles) {
            return Ok(overridden);
        }
        if let Some(entry) = rules.entries.get(&key) {
            return if entry.verdict == verdict {
                Ok(Vec::new())
            } else {
                Err(conflict(entry, true))
            };
        }
        let contradicts = |(other, entry): &(&Key, &Entry<O>)| {
            entry.verdict != verdict && key.is_prefix_of(other)
        };
        if let Some((_, entry)) = rules.covered(&key).find(contradicts) {
            return Err(conflict(entry, false));
        }
        overridden.extend(rules.covered(&key).filter_map(|(_, entry)| lost(entry)));
        let same = |(_, entry): &(&Key, &Entry<O>)| entry.verdict == verdict;
        let redundant: Vec<Key> =
            rules.covered(&key).filter(same).map(|(other, _)| other.clone()).collect();
        for other in redundant {
            rules.entries.remove(&other);
        }
        let condition = Condition::all(
            tests.iter().filter_map(|comparison| comparison.test(is_64bit)).map(Condition::test),
        );
        let (shortest, longest) = rules.lengths;
        rules.lengths = (shortest.min(key.len()), longest.max(key.len()));
        rules.entries.insert(key, Entry { condition, verdict, origin });
        Ok(overridden)
    }

    /// Adds a rule for a call by name, and for `socketcall` or `ipc` where they reach it. A call
    /// that this architecture does not have changes nothing.
    ///
    /// # Errors
    /// When an earlier rule contradicts it; nothing has changed then.
    pub fn add_call(
        &mut self,
        name: &str,
        comparisons: &[Comparison],
        verdict: Verdict,
        origin: O,
    ) -> Result<Added<O>, Conflict<O>> {
        let mut added = Added { overridden: Vec::new(), hidden_behind: None };
        let before = self.clone_calls_of(name);
        let through = self
            .arch
            .multiplexed(name)
            .and_then(|(via, sub_call)| Some((self.arch.number(via)?, sub_call)));
        if let Some((nr, sub_call)) = through {
            let is_sub_call = Comparison { arg: 0, op: Op::Eq, value: u64::from(sub_call) };
            let kept = comparisons.iter().copied().filter(|comparison| comparison.arg != 0);
            let behind: Vec<Comparison> = std::iter::once(is_sub_call).chain(kept).collect();
            added.overridden.extend(self.add(nr, &behind, verdict, origin)?);
            added.hidden_behind = (!comparisons.is_empty()).then_some(nr);
        }
        if let Some(nr) = self.arch.number(name) {
            match self.add(nr, comparisons, verdict, origin) {
                Ok(overridden) => added.overridden.extend(overridden),
                Err(conflict) => {
                    self.calls.extend(before);
                    return Err(conflict);
                }
            }
        }
        Ok(added)
    }

    /// What stands for the multiplexer of a call, to be put back when the direct rule conflicts.
    fn clone_calls_of(&self, name: &str) -> Option<(u32, Call<O>)> {
        let (via, _) = self.arch.multiplexed(name)?;
        self.arch.number(name)?;
        let nr = self.arch.number(via)?;
        let none = Call::When(Conditional::new());
        Some((nr, self.calls.get(&nr).cloned().unwrap_or(none)))
    }

    /// The rules in order: unconditional ones by verdict, then conditional ones by call and
    /// precedence.
    fn rules(&self) -> Vec<Rule> {
        let mut always: Vec<(Verdict, Vec<u32>)> = Vec::new();
        let mut when = Vec::new();
        for (nr, call) in &self.calls {
            match call {
                Call::Always(verdict, _) => {
                    match always.iter_mut().find(|(other, _)| other == verdict) {
                        Some((_, numbers)) => numbers.push(*nr),
                        None => always.push((*verdict, vec![*nr])),
                    }
                }
                Call::When(rules) => when.extend(rules.entries.values().map(|entry| Rule {
                    calls: CallSet::one(*nr),
                    when: entry.condition.clone(),
                    verdict: entry.verdict,
                })),
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

/// The sections of rule sets, one per arch token.
///
/// x86_64 and x32 share theirs. With only one of the two, the numbers of the other get `bad_arch`;
/// 0xffff_ffff, which a tracer sets to skip a call, counts as a number of either.
pub fn sections<O: Copy>(sets: &[RuleSet<O>], default: Verdict, bad_arch: Verdict) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for set in sets {
        let token = set.arch.token();
        match sections.iter_mut().find(|section| section.token == token) {
            Some(section) => {
                section.arches.push(set.arch);
                section.rules.extend(set.rules());
            }
            None => {
                let (arches, rules) = (vec![set.arch], set.rules());
                sections.push(Section { token, arches, rules, default });
            }
        }
    }
    for section in &mut sections {
        let other = match section.arches.as_slice() {
            [Arch::X86_64] => CallSet::range(X32_SYSCALL_BIT, u32::MAX - 1),
            [Arch::X32] => CallSet::range(0, X32_SYSCALL_BIT - 1),
            _ => continue,
        };
        let other = Rule { calls: other, when: Condition::always(), verdict: bad_arch };
        section.rules.insert(0, other);
    }
    sections
}
