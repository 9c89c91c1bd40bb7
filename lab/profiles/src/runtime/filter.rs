//! A filter: the rules that a runtime passes to libseccomp, and the program that libseccomp generates.

use std::collections::BTreeMap;

use super::refusal::Refusal;
use crate::machine::{Machine, Multiplexed, X32_BIT};
use crate::rule::{Comparison, Op};
use crate::rules::RuleSet;
use crate::tree::Conflict;

/// A filter.
#[derive(Debug)]
pub struct Filter {
    pub(super) default: u32,
    pub(super) sections: Vec<(Machine, BTreeMap<u32, RuleSet>)>,
    /// Rules of syscalls that an architecture does not have: no verdict depends on them, but they may conflict.
    pub(super) absent: BTreeMap<(Machine, String), RuleSet>,
    /// Whether only the specification applies, which has no conflicts, and whether there was a conflict.
    pub(super) is_text: bool,
    pub(super) undecided: bool,
    /// The code that runc prepends: for each architecture the largest number in the profile.
    pub(super) largest: BTreeMap<Machine, u32>,
}

/// A defect of libseccomp (2.5.4 to 2.6.1) by which its programs contradict its rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Contradiction {
    /// Rules with ordered comparisons or `!=` share parts of the program.
    SharedComparisons,
    /// The program does not load the number of the syscall.
    NumberNotLoaded,
}

/// Returned for architectures that a filter does not know: libseccomp's `SCMP_ACT_KILL`.
const BAD_ARCH: u32 = 0;

/// The input of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The arch word.
    pub token: u32,
    /// The number.
    pub nr: u32,
    /// The instruction pointer.
    pub ip: u64,
    /// The arguments.
    pub args: [u64; 6],
}

impl Filter {
    /// Its architectures.
    pub fn machines(&self) -> impl Iterator<Item = Machine> {
        self.sections.iter().map(|(machine, _)| *machine)
    }

    /// The rules of the syscall, and the verdicts that precede or replace them.
    fn rules(&self, call: &Call) -> Result<Option<&RuleSet>, u32> {
        let of = |wanted: u32| {
            self.sections.iter().filter(move |(machine, _)| machine.token() == wanted)
        };
        for (machine, _) in of(call.token) {
            let Some(largest) = self.largest.get(machine) else { continue };
            let is_x86_64 = matches!(machine, Machine::X86_64 | Machine::X32);
            if is_x86_64 && (call.nr & X32_BIT != 0) != (*machine == Machine::X32) {
                continue;
            }
            // On s390, syscalls with large numbers are made through number 0.
            let setup = matches!(machine, Machine::S390 | Machine::S390x) && call.nr == 0;
            if call.nr > *largest || setup {
                return Err(0x0005_0000 | machine.enosys());
            }
        }
        let machines: Vec<Machine> = of(call.token).map(|(machine, _)| *machine).collect();
        if machines.is_empty() {
            return Err(BAD_ARCH);
        }
        if machines == [Machine::X86_64] && call.nr >= X32_BIT && call.nr != u32::MAX {
            return Err(BAD_ARCH);
        }
        if machines == [Machine::X32] && call.nr < X32_BIT {
            return Err(BAD_ARCH);
        }
        Ok(of(call.token).find_map(|(_, calls)| calls.get(&call.nr)))
    }

    /// The verdict.
    pub fn verdict(&self, call: &Call) -> u32 {
        match self.rules(call) {
            Err(verdict) => verdict,
            Ok(rules) => rules.and_then(|rules| rules.verdict(&call.args)).unwrap_or(self.default),
        }
    }

    /// Whether a verdict is correct ([`RuleSet::allows`]).
    pub fn allows(&self, call: &Call, verdict: u32) -> bool {
        let allows = |rules: &RuleSet| rules.allows(&call.args, verdict);
        self.verdict(call) == verdict
            || self.rules(call).is_ok_and(|rules| rules.is_some_and(allows))
    }

    /// The verdict of the program that libseccomp generates ([`RuleSet::generated`]).
    pub fn generated(&self, call: &Call) -> u32 {
        match self.rules(call) {
            Err(verdict) => verdict,
            Ok(_) if self.is_number_missing(call.token) => self.default,
            Ok(rules) => {
                rules.and_then(|rules| rules.generated(&call.args)).unwrap_or(self.default)
            }
        }
    }

    /// The defect because of which libseccomp's program for the syscall may contradict its rules, if any.
    pub fn contradiction(&self, call: &Call) -> Option<Contradiction> {
        let rules = self.rules(call).ok()?;
        if self.is_number_missing(call.token) {
            return Some(Contradiction::NumberNotLoaded);
        }
        rules.filter(|rules| rules.is_contradictable()).map(|_| Contradiction::SharedComparisons)
    }

    /// Whether the program of an architecture compares syscall numbers without loading the number: libseccomp loads it
    /// with the rules of the syscall that has the fewest comparisons, and omits these rules if the architecture does not
    /// have that syscall. For x86_64 without x32, or the reverse, the number is loaded before.
    fn is_number_missing(&self, token: u32) -> bool {
        let machines = self.machines().filter(|machine| machine.token() == token);
        let machines: Vec<Machine> = machines.collect();
        if matches!(machines[..], [Machine::X86_64 | Machine::X32]) {
            return false;
        }
        let of = |machine: &Machine| machine.token() == token;
        let here = self.sections.iter().filter(|(machine, _)| of(machine));
        let present = here.flat_map(|(_, calls)| calls.values().map(RuleSet::size)).min();
        let others = self.absent.iter().filter(|((machine, _), _)| of(machine));
        let absent = others.map(|(_, rules)| rules.size()).min();
        present.zip(absent).is_some_and(|(present, absent)| absent < present)
    }

    /// The rules of all syscalls.
    pub(super) fn sets(&self) -> impl Iterator<Item = &RuleSet> {
        let present = self.sections.iter().flat_map(|(_, calls)| calls.values());
        present.chain(self.absent.values())
    }

    /// Whether libseccomp may hang for the rules.
    pub fn is_corrupt(&self) -> bool {
        self.sets().any(RuleSet::is_corrupt)
    }

    /// Adds one rule of libseccomp to all architectures.
    pub(super) fn add(
        &mut self,
        name: &str,
        tests: &[Comparison],
        verdict: u32,
    ) -> Result<(), Refusal> {
        for (machine, calls) in &mut self.sections {
            let new = || RuleSet::new(machine.is_wide());
            let mut put = |set: &mut RuleSet, tests: &[Comparison]| match set.add(tests, verdict) {
                Err(_) if self.is_text => {
                    self.undecided = true;
                    Ok(())
                }
                Err(Conflict { is_certain }) => {
                    let machine = machine.name();
                    let why =
                        format!("another action for the same condition of {name} on {machine}");
                    Err(Refusal { why, is_certain })
                }
                _ => Ok(()),
            };
            if let Some(Multiplexed { number, call }) = machine.multiplexed(name) {
                let by_call = Comparison { arg: 0, op: Op::Eq, mask: u64::MAX, datum: call };
                let others = tests.iter().filter(|test| test.arg != 0).copied();
                let tests: Vec<_> = std::iter::once(by_call).chain(others).collect();
                put(calls.entry(number).or_insert_with(new), &tests)?;
            }
            match machine.number(name) {
                Some(number) => put(calls.entry(number).or_insert_with(new), tests)?,
                // For multiplexed syscalls, libseccomp omits variants that the architecture does not have.
                None if machine.multiplexes() && machine.multiplexed(name).is_none() => {}
                None => {
                    let key = (*machine, name.to_owned());
                    put(self.absent.entry(key).or_insert_with(new), tests)?;
                }
            }
        }
        Ok(())
    }
}
