//! A policy as libseccomp's rules.
//!
//! libseccomp has one filter per architecture. In it each syscall has either an action or combinations of
//! argument tests, each with an action; other syscalls get the default action. Rules have no order, so a rule that only
//! applies after others have failed cannot be expressed, except for the default.

use std::collections::{BTreeMap, BTreeSet};

use callgate::{Arch, Verdict};
use callgate_core::X32_SYSCALL_BIT;
use callgate_core::policy::{Cmp, Field, Policy, Section, Test};

use super::error::{LibseccompError, LibseccompErrorKind};

/// The maximum length of a range of numbers that is treated as a list of syscalls.
const MANY: u32 = 8192;
/// The maximum number of combinations of tests of one syscall.
const MAX_COMBINATIONS: usize = 8192;

/// The rules of an architecture.
#[derive(Clone)]
pub(super) struct Filter {
    pub(super) arch: Arch,
    pub(super) syscalls: BTreeMap<u32, Action>,
}

/// An ABI that shares the arch token with another one, whose numbers a filter rejects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Foreign {
    X32,
    X86_64,
}

/// The rules of a syscall.
#[derive(Clone)]
pub(super) enum Action {
    Always(Verdict),
    /// Combinations of tests, which must all hold. The tests of a combination are of different arguments, in their order.
    Combinations(Vec<(Vec<Test>, Verdict)>),
}

/// One filter per architecture of the policy.
pub(super) fn filters(policy: &Policy) -> Result<Vec<Filter>, LibseccompError> {
    let defaults: BTreeSet<Verdict> =
        policy.sections().iter().map(|section| section.default).collect();
    if defaults.len() > 1 {
        return Err(LibseccompError(LibseccompErrorKind::Arches(
            "the default action is one for all",
        )));
    }
    let of_section = |section| of_section(section, policy.bad_arch());
    Ok(policy.sections().iter().map(of_section).collect::<Result<Vec<_>, _>>()?.concat())
}

/// One filter per architecture of a section: x86-64 and x32 share one.
fn of_section(section: &Section, bad_arch: Verdict) -> Result<Vec<Filter>, LibseccompError> {
    let has = |arch| section.arches().any(|other| other == arch);
    let foreign = match (has(Arch::X86_64), has(Arch::X32)) {
        (true, false) => Some(Foreign::X32),
        (false, true) => Some(Foreign::X86_64),
        _ => None,
    };
    let mut numbers = BTreeSet::new();
    for rule in &section.rules {
        for &(first, last) in rule.syscalls.ranges() {
            let is_foreign = match foreign {
                Some(Foreign::X32) => first >= X32_SYSCALL_BIT,
                Some(Foreign::X86_64) => last < X32_SYSCALL_BIT,
                None => false,
            };
            if is_foreign && rule.verdict == bad_arch {
                continue;
            }
            if last - first >= MANY {
                return Err(LibseccompError(LibseccompErrorKind::Range { first, last }));
            }
            numbers.extend(first..=last);
        }
    }
    let arches: Vec<Arch> = section.arches().collect();
    let mut filters: Vec<Filter> =
        arches.iter().map(|arch| Filter { arch: *arch, syscalls: BTreeMap::new() }).collect();
    for nr in numbers {
        let owner = Arch::of_syscall(section.token(), nr);
        let at = arches.iter().position(|arch| Some(*arch) == owner).unwrap_or(0);
        if let (Some(action), Some(filter)) = (action(section, nr)?, filters.get_mut(at)) {
            filter.syscalls.insert(nr, action);
        }
    }
    Ok(filters)
}

/// The rules of the policy for a syscall, up to the first one without a condition.
fn action(section: &Section, nr: u32) -> Result<Option<Action>, LibseccompError> {
    let no_rule = |why| LibseccompError(LibseccompErrorKind::NoRule { syscall: nr, why });
    let mut found: Vec<(Vec<Test>, Verdict)> = Vec::new();
    for rule in section.rules.iter().filter(|rule| rule.syscalls.contains(nr)) {
        let combinations = rule
            .when
            .alternatives(MAX_COMBINATIONS)
            .ok_or_else(|| no_rule("its condition has too many combinations"))?;
        found.extend(combinations.into_iter().map(|tests| (tests, rule.verdict)));
        if rule.when.is_always() {
            break;
        }
    }
    while found.last().is_some_and(|(_, verdict)| *verdict == section.default) {
        found.pop();
    }
    match found.as_slice() {
        [] => return Ok(None),
        [(tests, verdict)] if tests.is_empty() => return Ok(Some(Action::Always(*verdict))),
        _ => {}
    }
    for (tests, verdict) in &mut found {
        tests.sort_by_key(|test| argument(test.field));
        let why = if tests.is_empty() {
            "an action for all other arguments cannot follow a condition"
        } else if *verdict == section.default {
            "a rule cannot have the default action"
        } else if tests.iter().any(|test| argument(test.field).is_none()) {
            "rules do not compare the instruction pointer"
        } else if tests.windows(2).any(|pair| argument(pair[0].field) == argument(pair[1].field)) {
            "a rule compares an argument once"
        } else if tests.iter().any(|test| is_masked(test) && test.cmp != Cmp::Eq) {
            "under a mask, rules only compare for equality"
        } else {
            continue;
        };
        return Err(no_rule(why));
    }
    for (index, (tests, _)) in found.iter().enumerate() {
        let mut others = found.iter().enumerate().filter(|(other, _)| *other != index);
        if others.any(|(_, (other, _))| tests.iter().all(|test| other.contains(test))) {
            return Err(no_rule("one of its rules covers another"));
        }
    }
    Ok(Some(Action::Combinations(found)))
}

/// The number of the argument that a field is; `None` for the instruction pointer.
pub(super) fn argument(field: Field) -> Option<u8> {
    (0..6).find(|index| {
        let fields = [Field::arg(*index), Field::arg_low(*index)];
        fields.into_iter().flatten().any(|own| own.low_word() == field.low_word())
    })
}

fn is_masked(test: &Test) -> bool {
    test.mask & test.field.full_mask() != test.field.full_mask()
}
