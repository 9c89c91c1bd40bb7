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
//!   argument counts; a condition that is a prefix of another one decides before it. 64-bit values
//!   are compared by halves, high before low, and a mask that lacks a half does not look at it.
//! - The same condition with another verdict is a [`Conflict`], and so is a condition that is a
//!   prefix of an earlier one with another verdict. The reverse, a longer condition after its
//!   prefix, is accepted, and the longer rule is dead.
//! - On 32-bit interfaces (x32 is one) only the low halves are compared, and the high half of a
//!   value is dropped. A mask without bits looks at nothing.
//! - Where `socketcall(2)` or `ipc(2)` exist, a rule for a call that they reach becomes a rule for
//!   them too, with argument 0 equal to the sub-call's number instead of what the rule said about
//!   argument 0.
//!
//! Two limits of libseccomp's own are not kept, because they make meaning depend on the order of
//! rules: among conditions of equal rank (equal but for the mask or the operator) the one with the
//! larger mask decides, where libseccomp takes the later one; and its generator's confusion of
//! ordered comparisons on several arguments is not imitated, the union of the rules is.
//!
//! [`RuleSet`] does not know the default verdict: callers skip rules that have it, as libseccomp
//! refuses them.

use std::collections::BTreeMap;

use super::{CallSet, Cmp, Condition, Field, Rule, Section, Test};
use crate::syscalls::{Arch, X32_SYSCALL_BIT};
use crate::verdict::Verdict;

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
                mask if mask == bits => (Op::Eq, self.value & bits),
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

    /// The halves it looks at, high first, ranked.
    fn ranks(self, is_64bit: bool) -> impl Iterator<Item = Rank> {
        let mask = if let Op::MaskedEq(mask) = self.op { mask } else { u64::MAX };
        let half = move |high: bool| {
            let shift = if high { 32 } else { 0 };
            let (value, mask) = ((self.value >> shift) as u32, (mask >> shift) as u32);
            let (class, op) = match self.op {
                Op::Eq => (0, 0),
                Op::Ne => (0, 1),
                Op::MaskedEq(_) => (0, 2),
                Op::Le => (1, 0),
                Op::Lt => (1, 1),
                Op::Ge => (2, 0),
                Op::Gt => (2, 1),
            };
            (mask != 0).then_some(Rank {
                place: !(self.arg << 1 | u8::from(high)),
                class,
                value: if class == 1 { value } else { !value },
                mask: !mask,
                op,
            })
        };
        [half(true).filter(|_| is_64bit), half(false)].into_iter().flatten()
    }
}

/// What one half of a comparison looks at, ordered by precedence: what decides first is smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// Twice the argument's index, one more for the high half; inverted.
    place: u8,
    /// EQ, NE and MASKED_EQ, then LT and LE, then GT and GE.
    class: u8,
    /// Inverted, but for LT and LE.
    value: u32,
    /// Inverted.
    mask: u32,
    op: u8,
}

/// A rule of one call.
#[derive(Clone, Debug)]
struct Entry<O> {
    condition: Condition,
    verdict: Verdict,
    origin: O,
}

/// The rules of one call: conditional ones by precedence.
#[derive(Clone, Debug)]
enum Call<O> {
    Always(Verdict, O),
    When(BTreeMap<Vec<Rank>, Entry<O>>),
}

/// The rules for one architecture. `O` is whatever tells the caller where a rule came from.
///
/// ```
/// use callgate::policy::ruleset::{Comparison, Op, RuleSet};
/// use callgate::{Arch, Verdict};
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
        let mut tests: Vec<(Vec<Rank>, Comparison)> = comparisons
            .iter()
            .filter_map(|comparison| comparison.on(is_64bit))
            .map(|comparison| (comparison.ranks(is_64bit).collect(), comparison))
            .collect();
        // Inside a condition the lower argument comes first; `place` is inverted.
        tests.sort_by_key(|(ranks, comparison)| (comparison.arg, ranks.clone()));
        tests.dedup();
        let call = self.calls.entry(nr).or_insert_with(|| Call::When(BTreeMap::new()));
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
            let overridden = rules.values().filter_map(lost).collect();
            *call = Call::Always(verdict, origin);
            return Ok(overridden);
        }

        let key: Vec<Rank> = tests.iter().flat_map(|(ranks, _)| ranks).copied().collect();
        let conflict = |entry: &Entry<O>, same| Conflict {
            arch: self.arch,
            nr,
            earlier: entry.origin,
            verdict: entry.verdict,
            same,
        };
        if let Some(entry) = rules.get(&key) {
            return if entry.verdict == verdict {
                Ok(Vec::new())
            } else {
                Err(conflict(entry, true))
            };
        }
        let prefixes = (1..key.len()).filter_map(|length| key.get(..length));
        if let Some(entry) = prefixes.filter_map(|prefix| rules.get(prefix)).next() {
            return Ok(if entry.verdict == verdict {
                Vec::new()
            } else {
                let (winner, verdict) = (entry.origin, entry.verdict);
                vec![Overridden { loser: origin, winner, verdict }]
            });
        }
        let longer = || rules.range(key.clone()..).take_while(|(other, _)| other.starts_with(&key));
        if let Some((_, entry)) = longer().find(|(_, entry)| entry.verdict != verdict) {
            return Err(conflict(entry, false));
        }
        let redundant: Vec<Vec<Rank>> = longer().map(|(other, _)| other.clone()).collect();
        for other in redundant {
            rules.remove(&other);
        }
        let condition = Condition::all(
            tests
                .iter()
                .filter_map(|(_, comparison)| comparison.test(is_64bit))
                .map(Condition::test),
        );
        rules.insert(key, Entry { condition, verdict, origin });
        Ok(Vec::new())
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
        let none = Call::When(BTreeMap::new());
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
                Call::When(rules) => when.extend(rules.values().map(|entry| Rule {
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
