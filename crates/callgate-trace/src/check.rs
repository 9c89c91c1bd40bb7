//! Finds the recorded syscalls to which a filter does not return ALLOW.
//!
//! A recording keeps the values of each argument separately, not which of them occurred together. Therefore the MTBDD is
//! queried for *all* combinations of recorded values at once. Listed values are used as they are, bounds as a range and a
//! mask. Arguments whose values are not all known, registers that are not arguments (which are not recorded) and the
//! instruction pointer may have any value. If no combination is denied, the syscall is certainly allowed. A denial is
//! certain if one recorded value alone causes it, and otherwise possible ([`Certainty`]): the combination may never have
//! occurred, or the filter tests something that was not recorded ([`Unrecorded`]).
//!
//! ```
//! use callgate_trace::check::{Certainty, check};
//! use callgate_core::diagram::Store;
//! use callgate_core::SyscallSet;
//! use callgate_core::policy::{Condition, Field, Policy, Rule, Section, Test};
//! use callgate_trace::recording::{Recording, SyscallId};
//! use callgate_core::{Arch, Verdict};
//!
//! // Allows only socket(2) with the family AF_UNIX.
//! let unix = Condition::test(Test::eq(Field::arg_low(0).ok_or("argument 0")?, 1));
//! let rules = vec![Rule { syscalls: SyscallSet::one(41), when: unix, verdict: Verdict::ALLOW }];
//! let section = Section::new(Arch::X86_64, rules, Verdict::errno(1));
//! let policy = Policy::new(vec![section], Verdict::KILL_PROCESS)?;
//!
//! let mut recording = Recording::default();
//! for family in [1, 2] {
//!     recording.observe(SyscallId::new(Arch::X86_64, 41), &[family, 1, 0, 0, 0, 0]);
//! }
//! let mut store = Store::default();
//! let filter = store.policy(&policy)?;
//! let findings = check(&mut store, filter, &recording)?;
//! assert_eq!(findings[0].certainty, Certainty::Values(vec![(0, vec![2])]));
//! assert_eq!(findings[0].verdicts, [Verdict::errno(1)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use callgate_bpf::SyscallTable;
use std::cmp::Reverse;

use crate::generate::clone_fallbacks;
use crate::recording::{ArgValues, Recording, SyscallId, SyscallStats};
use callgate_codegen::query;
use callgate_core::diagram::{DiagramError, Func, Pred, Store};
use callgate_core::policy::{Cmp, Condition, Field, Test};
use callgate_core::{Arch, SeccompData, Verdict, Word};

/// A recorded syscall that a filter does not always allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The syscall.
    pub syscall: SyscallId,
    /// How often it was recorded.
    pub count: u64,
    /// The verdicts other than ALLOW, by descending precedence.
    pub verdicts: Vec<Verdict>,
    /// How certain the denial is.
    pub certainty: Certainty,
    /// Unrecorded inputs on which the decision depends.
    pub unrecorded: Vec<Unrecorded>,
    /// A syscall with recorded values that gets one of the verdicts. Unrecorded values are 0 unless another value is
    /// needed.
    pub example: SeccompData,
    /// The syscall that libraries use instead, and that the filter permits: `clone` if this is a `clone3` that fails with
    /// ENOSYS. The program runs nevertheless.
    pub fallback: Option<&'static str>,
}

/// How certain it is that a recorded syscall does not get ALLOW.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// No recorded occurrence gets ALLOW.
    Every,
    /// Syscalls with these values of these arguments do not get ALLOW, for any values of the other arguments. There may be
    /// further such syscalls.
    Values(Vec<(u8, Vec<u64>)>),
    /// A combination of recorded values does not get ALLOW, but may never have occurred.
    Possible,
}

/// An input of a filter that is not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unrecorded {
    /// The address of the instruction.
    InstructionPointer,
    /// An argument for which some values were not recorded.
    Values(u8),
    /// A register that is not an argument of the syscall: it may have any value, and is not recorded.
    NotAnArgument(u8),
}

impl Finding {
    /// Whether one of the verdicts prevents execution, at least without a tracer or a supervisor, and libraries do not use
    /// another syscall then. Otherwise the syscall is executed and logged, or has a [fallback](Finding::fallback).
    pub fn is_denied(&self) -> bool {
        self.fallback.is_none() && self.verdicts.iter().any(|verdict| !verdict.permits())
    }
}

/// The recorded syscalls that may get a verdict other than ALLOW, ordered by architecture and number.
///
/// # Errors
/// If the queries exceed the budget of the MTBDD.
pub fn check(
    store: &mut Store,
    filter: Func,
    recording: &Recording,
) -> Result<Vec<Finding>, DiagramError> {
    let allow = store.verdict(Verdict::ALLOW)?;
    let mut findings = Vec::new();
    for (syscall, stats) in recording.syscalls() {
        let syscalls = store.follow(filter, Word::ARCH, syscall.arch.token());
        let mut verdict = store.follow(syscalls, Word::NR, syscall.nr);
        // The high halves of 32-bit registers are always 0.
        for high in high_words().filter(|_| !syscall.arch.has_wide_registers()) {
            verdict = query::restrict(store, verdict, high, 0)?;
        }
        if verdict != allow {
            let finding = SyscallQuery { store, allow, verdict, syscall, stats }.finding()?;
            let Some(mut finding) = finding else { continue };
            if fails_as_on_old_kernels(&finding) && permits_clone(store, syscalls, syscall.arch)? {
                finding.fallback = Some("clone");
            }
            findings.push(finding);
        }
    }
    Ok(findings)
}

/// Whether this is a `clone3` that fails as on kernels without it. glibc, musl and Go then use `clone`.
fn fails_as_on_old_kernels(finding: &Finding) -> bool {
    let enosys = Verdict::errno(finding.syscall.arch.enosys());
    finding.syscall.name() == Some("clone3")
        && finding.verdicts.iter().all(|verdict| *verdict == enosys)
}

/// Whether a filter permits everything that libraries do with `clone` instead of `clone3`. `syscalls` is what the filter
/// does with the syscalls of the architecture.
fn permits_clone(store: &mut Store, syscalls: Func, arch: Arch) -> Result<bool, DiagramError> {
    let Some(nr) = arch.number("clone") else { return Ok(false) };
    let clone = store.follow(syscalls, Word::NR, nr);
    for (arg, flags) in clone_fallbacks(arch) {
        let mut with_flags = clone;
        let words = [(Word::arg_low(arg), flags as u32), (Word::arg_high(arg), 0)];
        for (word, value) in words {
            let Some(word) = word else { return Ok(false) };
            with_flags = query::restrict(store, with_flags, word, value)?;
        }
        if !store.verdicts(with_flags).into_iter().all(Verdict::permits) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The high halves of the arguments and the instruction pointer.
fn high_words() -> impl Iterator<Item = Word> {
    (0..6).filter_map(Word::arg_high).chain([Word::IP_HIGH])
}

/// The query for one syscall that is not always allowed.
struct SyscallQuery<'a> {
    store: &'a mut Store,
    allow: Func,
    /// The verdict of the filter as a function of the arguments.
    verdict: Func,
    syscall: SyscallId,
    stats: &'a SyscallStats,
}

impl SyscallQuery<'_> {
    fn finding(&mut self) -> Result<Option<Finding>, DiagramError> {
        let recorded = self.recorded()?;
        let within = self.store.select(recorded, self.verdict, self.allow)?;
        let mut verdicts = self.store.verdicts(within);
        verdicts.retain(|verdict| *verdict != Verdict::ALLOW);
        verdicts.sort_by_key(|verdict| (Reverse(verdict.precedence()), verdict.data()));
        let start = self.start();
        if within == self.allow {
            return Ok(None);
        }
        let example = query::witness(self.store, within, self.allow, start)?;
        let example = example.ok_or(DiagramError::UNDECIDED)?;
        let certainty = self.certainty(recorded)?;
        let unrecorded = match certainty {
            Certainty::Every => Vec::new(),
            Certainty::Values(_) | Certainty::Possible => self.unrecorded(recorded)?,
        };
        let (syscall, count) = (self.syscall, self.stats.count());
        let fallback = None;
        Ok(Some(Finding { syscall, count, verdicts, certainty, unrecorded, example, fallback }))
    }

    /// The unrecorded inputs that decide between ALLOW and other verdicts, for syscalls with recorded values.
    fn unrecorded(&mut self, recorded: Pred) -> Result<Vec<Unrecorded>, DiagramError> {
        let allowed = query::has_verdict(self.store, self.verdict, Verdict::ALLOW)?;
        let allowed = self.store.and(recorded, allowed)?;
        let words = query::support(self.store, allowed).into_iter();
        let mut unrecorded: Vec<Unrecorded> = words
            .filter_map(|word| match word.argument() {
                None => Some(Unrecorded::InstructionPointer),
                Some((arg, _)) if self.stats.is_known(usize::from(arg)) => None,
                Some((arg, _)) if usize::from(arg) < self.stats.args().len() => {
                    Some(Unrecorded::Values(arg))
                }
                Some((arg, _)) => Some(Unrecorded::NotAnArgument(arg)),
            })
            .collect();
        unrecorded.dedup();
        Ok(unrecorded)
    }

    /// All combinations of recorded values.
    fn recorded(&mut self) -> Result<Pred, DiagramError> {
        let mut all = Pred::ALWAYS;
        for (arg, values) in (0..).zip(self.stats.args()) {
            if self.stats.is_known(usize::from(arg)) {
                let condition = self.has_recorded_value(arg, values);
                let condition = self.store.condition(&condition)?;
                all = self.store.and(all, condition)?;
            }
        }
        Ok(all)
    }

    /// The condition that an argument has a recorded value, or is within the bounds.
    fn has_recorded_value(&self, arg: u8, values: &ArgValues) -> Condition {
        let Some(field) = Field::arg(arg) else { return Condition::always() };
        match (values.all(), values.bounds()) {
            (Some(all), Some(_)) => Condition::any(
                all.iter().map(|value| Condition::test(Test::eq(field, self.seen_as(*value)))),
            ),
            (None, Some(bounds)) if self.syscall.arch.has_wide_registers() => {
                let tests = [
                    Test::new(field, Cmp::Ge, bounds.min),
                    Test::new(field, Cmp::Le, bounds.max),
                    Test::masked_eq(field, !bounds.ever, 0),
                    Test::masked_eq(field, bounds.always, bounds.always),
                ];
                Condition::all(tests.map(Condition::test))
            }
            // The range of 64-bit values says little about their low halves, but the bits do.
            (None, Some(bounds)) => {
                let (ever, always) = (self.seen_as(bounds.ever), self.seen_as(bounds.always));
                let tests =
                    [Test::masked_eq(field, !ever, 0), Test::masked_eq(field, always, always)];
                Condition::all(tests.map(Condition::test))
            }
            (_, None) => Condition::always(),
        }
    }

    /// A value as the filter sees it: only the low half of 32-bit registers.
    fn seen_as(&self, value: u64) -> u64 {
        if self.syscall.arch.has_wide_registers() { value } else { value & u64::from(u32::MAX) }
    }

    /// A syscall with a recorded value in each argument whose values are known.
    fn start(&self) -> SeccompData {
        let mut start = SeccompData {
            arch: self.syscall.arch.token(),
            nr: self.syscall.nr,
            ..SeccompData::default()
        };
        for (arg, values) in start.args.iter_mut().zip(self.stats.args()) {
            *arg = values.bounds().map_or(0, |bounds| self.seen_as(bounds.min));
        }
        start
    }

    fn certainty(&mut self, recorded: Pred) -> Result<Certainty, DiagramError> {
        if self.never_allowed(recorded)? {
            return Ok(Certainty::Every);
        }
        let mut decisive = Vec::new();
        for (arg, values) in (0..).zip(self.stats.args()) {
            let Some(field) = Field::arg(arg) else { break };
            let mut denied = Vec::new();
            // If only bounds are known, the smallest and the largest value were recorded.
            let ends = values.bounds().map_or([0; 2], |bounds| [bounds.min, bounds.max]);
            let known = values.all().unwrap_or(if values.bounds().is_some() { &ends } else { &[] });
            for value in known {
                let this = self.store.test(&Test::eq(field, self.seen_as(*value)))?;
                let with_it = self.store.and(recorded, this)?;
                if self.never_allowed(with_it)? {
                    denied.push(*value);
                }
            }
            if !denied.is_empty() {
                decisive.push((arg, denied));
            }
        }
        let possible = decisive.is_empty();
        Ok(if possible { Certainty::Possible } else { Certainty::Values(decisive) })
    }

    /// Whether no syscall of a nonempty set gets ALLOW.
    fn never_allowed(&mut self, syscalls: Pred) -> Result<bool, DiagramError> {
        let other = self.store.verdict(Verdict::KILL_PROCESS)?;
        let within = self.store.select(syscalls, self.verdict, other)?;
        Ok(!self.store.verdicts(within).contains(&Verdict::ALLOW))
    }
}

#[cfg(test)]
mod tests;
