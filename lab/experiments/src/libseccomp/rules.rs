//! A policy as libseccomp's rules.
//!
//! libseccomp has one filter per architecture. In it each syscall has either an action or combinations of
//! argument tests, each with an action; other syscalls get the default action. Rules have no order, so a rule that only
//! applies after others have failed cannot be expressed, except for the default.

use std::collections::{BTreeMap, BTreeSet};

use callgate::{Arch, Verdict};
use callgate_core::X32_SYSCALL_BIT;
use callgate_core::policy::{Cmp, Field, Policy, Section, Test};

use super::error::{ShapeError, ShapeErrorKind};

/// The maximum length of a range of numbers that is treated as a list of syscalls.
const MANY: u32 = 8192;
/// The maximum number of combinations of tests of one syscall.
const MAX_COMBINATIONS: usize = 8192;

/// The rules of an architecture; those of x86-64 include those of x32 if the policy has both.
pub(super) struct Filter {
    pub(super) token: u32,
    pub(super) default: Verdict,
    /// Whether numbers of the other one of x86-64 and x32 are rejected.
    pub(super) foreign: Option<Foreign>,
    /// The syscalls of x32, which follow those of x86-64.
    pub(super) syscalls: Vec<BTreeMap<u32, Action>>,
}

/// Numbers of an ABI that the policy does not have and that shares the arch token.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Foreign {
    X32,
    X86_64,
}

/// The rules of a syscall.
pub(super) enum Action {
    Always(Verdict),
    /// Combinations of tests, which must all hold. The tests of a combination are of different arguments, in their order.
    Combinations(Vec<(Vec<Test>, Verdict)>),
}

/// One filter per section of the policy.
pub(super) fn filters(policy: &Policy) -> Result<Vec<Filter>, ShapeError> {
    let defaults: BTreeSet<Verdict> =
        policy.sections().iter().map(|section| section.default).collect();
    if defaults.len() > 1 {
        return Err(ShapeError(ShapeErrorKind::Arches("the default action is one for all")));
    }
    policy.sections().iter().map(|section| filter(section, policy.bad_arch())).collect()
}

fn filter(section: &Section, bad_arch: Verdict) -> Result<Filter, ShapeError> {
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
                return Err(ShapeError(ShapeErrorKind::Range { first, last }));
            }
            numbers.extend(first..=last);
        }
    }
    let mut syscalls = vec![BTreeMap::new()];
    if has(Arch::X86_64) && has(Arch::X32) {
        syscalls.push(BTreeMap::new());
    }
    for nr in numbers {
        let map = usize::from(nr & X32_SYSCALL_BIT != 0).min(syscalls.len() - 1);
        if let Some(action) = action(section, nr)? {
            syscalls[map].insert(nr, action);
        }
    }
    Ok(Filter { token: section.token(), default: section.default, foreign, syscalls })
}

/// The rules of the policy for a syscall, up to the first one without a condition.
fn action(section: &Section, nr: u32) -> Result<Option<Action>, ShapeError> {
    let no_rule = |why| ShapeError(ShapeErrorKind::NoRule { syscall: nr, why });
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

pub(super) fn is_masked(test: &Test) -> bool {
    test.mask & test.field.full_mask() != test.field.full_mask()
}
