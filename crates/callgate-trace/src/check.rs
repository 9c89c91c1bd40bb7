//! Which recorded calls a filter would treat otherwise than allow.
//!
//! A recording keeps the values of each argument for itself, not which of them came together. So the
//! question is asked of the diagram for *all* combinations of recorded values at once: values that are
//! known one by one as they are, summaries as the range and the bits that they bound, arguments of
//! which not every value is known as anything, and so registers that are not arguments of the call, of which
//! no value is kept, and the instruction pointer. What no combination denies is certain to pass. What is
//! denied is certain where one recorded value alone decides it, and possible elsewhere ([`Certainty`]): the
//! combination may never have happened, or the filter looks at what was not recorded ([`Unrecorded`]).
//!
//! ```
//! use callgate_trace::check::{Certainty, check};
//! use callgate_proof::diagram::Store;
//! use callgate_proof::policy::{CallSet, Condition, Field, Policy, Rule, Section, Test};
//! use callgate_trace::recording::{CallId, Recording};
//! use callgate_bpf::{Arch, Verdict};
//!
//! // socket(2) with the family AF_UNIX alone.
//! let unix = Condition::test(Test::eq(Field::arg_low(0).ok_or("argument 0")?, 1));
//! let rules = vec![Rule { calls: CallSet::one(41), when: unix, verdict: Verdict::ALLOW }];
//! let section = Section::new(Arch::X86_64, rules, Verdict::errno(1));
//! let policy = Policy::new(vec![section], Verdict::KILL_PROCESS)?;
//!
//! let mut recording = Recording::default();
//! for family in [1, 2] {
//!     recording.observe(CallId::new(Arch::X86_64, 41), &[family, 1, 0, 0, 0, 0]);
//! }
//! let mut store = Store::default();
//! let filter = store.policy(&policy)?;
//! let findings = check(&mut store, filter, &recording)?;
//! assert_eq!(findings[0].certainty, Certainty::Values(vec![(0, vec![2])]));
//! assert_eq!(findings[0].verdicts, [Verdict::errno(1)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::recording::{CallId, Recording, Seen, Values};
use callgate_bpf::data::{SeccompData, Word};
use callgate_bpf::verdict::Verdict;
use callgate_codegen::query;
use callgate_proof::diagram::{DiagramError, Func, Pred, Store};
use callgate_proof::policy::{Cmp, Condition, Field, Test};

/// A recorded call that a filter does not always allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The call.
    pub call: CallId,
    /// How often it was recorded.
    pub count: u64,
    /// What it may get instead of ALLOW, the severest first.
    pub verdicts: Vec<Verdict>,
    /// What is certain about it.
    pub certainty: Certainty,
    /// What whether it is allowed depends on beside the recorded values.
    pub unrecorded: Vec<Unrecorded>,
    /// A call with recorded values that gets one of the verdicts; what was not recorded is 0 where
    /// that does not matter.
    pub example: SeccompData,
}

/// How sure it is that a recorded call does not get ALLOW.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// None of the recorded calls does.
    Every,
    /// Those with these values of these arguments do not, whatever the others were; perhaps more.
    Values(Vec<(u8, Vec<u64>)>),
    /// Some combination of recorded values does not; it may never have happened.
    Possible,
}

/// Something that a filter looks at and that a recording does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unrecorded {
    /// Where the call was made.
    InstructionPointer,
    /// An argument of which not every value was recorded.
    Values(u8),
    /// A register that is not an argument of the call: it may hold anything, and is not kept.
    NotAnArgument(u8),
}

impl Finding {
    /// Whether one of the verdicts keeps the call from running, at least without a tracer or a
    /// supervisor. Otherwise it runs and is logged.
    pub fn is_denied(&self) -> bool {
        self.verdicts.iter().any(|verdict| !verdict.permits())
    }
}

/// The recorded calls that may get something else than ALLOW, by architecture and number.
///
/// # Errors
/// [`DiagramError`].
pub fn check(
    store: &mut Store,
    filter: Func,
    recording: &Recording,
) -> Result<Vec<Finding>, DiagramError> {
    let allow = store.verdict(Verdict::ALLOW)?;
    let mut findings = Vec::new();
    for (call, seen) in recording.calls() {
        let calls = store.restrict(filter, Word::ARCH, call.arch.token())?;
        let mut treated = store.restrict(calls, Word::NR, call.nr)?;
        // The high halves of narrow registers are always 0.
        for high in high_words().filter(|_| !call.arch.has_wide_registers()) {
            treated = store.restrict(treated, high, 0)?;
        }
        if treated != allow {
            findings.extend(Question { store, allow, treated, call, seen }.ask()?);
        }
    }
    Ok(findings)
}

/// The high halves of all that may have 64 bits.
fn high_words() -> impl Iterator<Item = Word> {
    (0..6).filter_map(Word::arg_high).chain([Word::IP_HIGH])
}

/// One call that is not simply allowed.
struct Question<'a> {
    store: &'a mut Store,
    allow: Func,
    /// What the filter makes of the arguments.
    treated: Func,
    call: CallId,
    seen: &'a Seen,
}

impl Question<'_> {
    fn ask(&mut self) -> Result<Option<Finding>, DiagramError> {
        let recorded = self.recorded()?;
        let within = self.store.select(recorded, self.treated, self.allow)?;
        let mut verdicts = self.store.verdicts(within);
        verdicts.retain(|verdict| *verdict != Verdict::ALLOW);
        verdicts.sort_by_key(|verdict| (verdict.severity(), verdict.data()));
        let start = self.start();
        let Some(example) = self.store.witness(within, self.allow, start)? else { return Ok(None) };
        let certainty = self.certainty(recorded)?;
        let unrecorded = match certainty {
            Certainty::Every => Vec::new(),
            Certainty::Values(_) | Certainty::Possible => self.unrecorded(recorded)?,
        };
        let (call, count) = (self.call, self.seen.count());
        Ok(Some(Finding { call, count, verdicts, certainty, unrecorded, example }))
    }

    /// What decides between ALLOW and anything else, for calls of recorded values, and was not recorded.
    fn unrecorded(&mut self, recorded: Pred) -> Result<Vec<Unrecorded>, DiagramError> {
        let allowed = query::has_verdict(self.store, self.treated, Verdict::ALLOW)?;
        let allowed = self.store.and(recorded, allowed)?;
        let words = query::support(self.store, allowed).into_iter();
        let mut unrecorded: Vec<Unrecorded> = words
            .filter_map(|word| match word.argument() {
                None => Some(Unrecorded::InstructionPointer),
                Some((arg, _)) if self.seen.is_known(usize::from(arg)) => None,
                Some((arg, _)) if usize::from(arg) < self.seen.args().len() => {
                    Some(Unrecorded::Values(arg))
                }
                Some((arg, _)) => Some(Unrecorded::NotAnArgument(arg)),
            })
            .collect();
        unrecorded.dedup();
        Ok(unrecorded)
    }

    /// The combinations of recorded values.
    fn recorded(&mut self) -> Result<Pred, DiagramError> {
        let mut all = Pred::ALWAYS;
        for (arg, values) in (0..).zip(self.seen.args()) {
            if self.seen.is_known(usize::from(arg)) {
                let condition = self.holds(arg, values);
                let condition = self.store.condition(&condition)?;
                all = self.store.and(all, condition)?;
            }
        }
        Ok(all)
    }

    /// What is known of the values of an argument.
    fn holds(&self, arg: u8, values: &Values) -> Condition {
        let Some(field) = Field::arg(arg) else { return Condition::always() };
        match (values.all(), values.bounds()) {
            (Some(all), Some(_)) => Condition::any(
                all.iter().map(|value| Condition::test(Test::eq(field, self.seen_as(*value)))),
            ),
            (None, Some(bounds)) if self.call.arch.has_wide_registers() => {
                let tests = [
                    Test::new(field, Cmp::Ge, bounds.min),
                    Test::new(field, Cmp::Le, bounds.max),
                    Test::masked_eq(field, !bounds.ever, 0),
                    Test::masked_eq(field, bounds.always, bounds.always),
                ];
                Condition::all(tests.map(Condition::test))
            }
            // Bounds of 64 bits say little about the low halves, but their bits do.
            (None, Some(bounds)) => {
                let (ever, always) = (self.seen_as(bounds.ever), self.seen_as(bounds.always));
                let tests =
                    [Test::masked_eq(field, !ever, 0), Test::masked_eq(field, always, always)];
                Condition::all(tests.map(Condition::test))
            }
            (_, None) => Condition::always(),
        }
    }

    /// A value as the filter sees it: narrow registers have low halves alone.
    fn seen_as(&self, value: u64) -> u64 {
        if self.call.arch.has_wide_registers() { value } else { value & u64::from(u32::MAX) }
    }

    /// A call with a recorded value in each argument, as far as they are known.
    fn start(&self) -> SeccompData {
        let mut start = SeccompData {
            arch: self.call.arch.token(),
            nr: self.call.nr,
            ..SeccompData::default()
        };
        for (arg, values) in start.args.iter_mut().zip(self.seen.args()) {
            *arg = values.bounds().map_or(0, |bounds| self.seen_as(bounds.min));
        }
        start
    }

    fn certainty(&mut self, recorded: Pred) -> Result<Certainty, DiagramError> {
        if self.never_allowed(recorded)? {
            return Ok(Certainty::Every);
        }
        let mut decisive = Vec::new();
        for (arg, values) in (0..).zip(self.seen.args()) {
            let Some(field) = Field::arg(arg) else { break };
            let mut denied = Vec::new();
            // Of a summary two values are known to have been there.
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

    /// Whether no call of a set, which is not empty, gets ALLOW.
    fn never_allowed(&mut self, calls: Pred) -> Result<bool, DiagramError> {
        let other = self.store.verdict(Verdict::KILL_PROCESS)?;
        let within = self.store.select(calls, self.treated, other)?;
        Ok(!self.store.verdicts(within).contains(&Verdict::ALLOW))
    }
}

#[cfg(test)]
mod tests;
