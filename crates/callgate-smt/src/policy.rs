//! A policy as definitions: which syscalls each rule matches, and the first match.
//!
//! For section `s` and rule `r` of filter `a` (numbers from 0, in the order of the policy):
//! - `a.s.match_r`: whether rule `r` matches;
//! - `a.s.left_r`: whether the arch is that of the section and no rule before `r` matches.

use callgate_bpf::syscalls::list_syscalls;
use callgate_core::policy::{
    Cmp, Condition, Field, FieldTest, Policy, Section, Shape, Test, VariableRelation, VariableTest,
};
use callgate_core::template::Variable;
use callgate_core::{Arch, SyscallSet};

use crate::variables::symbol;
use crate::writer::{BOOL, Outcomes, Writer, join, long, word};

/// Defines the conditions under which a policy returns each verdict.
pub(crate) fn translate(writer: &mut Writer, name: &str, policy: &Policy) -> Outcomes {
    let mut outcomes = Outcomes::default();
    let mut others = Vec::new();
    for (number, section) in policy.sections().iter().enumerate() {
        let variables = policy.variables();
        rules(writer, &format!("{name}.{number}"), (section, variables), &mut outcomes);
        others.push(format!("(not {name}.{number}.left0)"));
    }
    writer.comment(&format!("Any other arch: {}", policy.bad_arch()));
    let other = format!("{name}.other");
    writer.define(&other, BOOL, &join("and", &others, "true"), "");
    outcomes.add(word(policy.bad_arch().0), other);
    outcomes
}

fn rules(
    writer: &mut Writer,
    name: &str,
    (section, variables): (&Section, &[Variable]),
    outcomes: &mut Outcomes,
) {
    let arches: Vec<&str> = section.arches().map(Arch::name).collect();
    let token = section.token();
    writer.comment(&format!("Section {name}: arch {token:#010x} ({})", arches.join(", ")));
    let left = |rule: usize| format!("{name}.left{rule}");
    writer.define(&left(0), BOOL, &format!("(= arch {})", word(token)), "");
    for (number, rule) in section.rules.iter().enumerate() {
        let verdict = rule.verdict;
        let names = list_syscalls(token, &rule.syscalls, None, shown(&rule.syscalls));
        let limited = if rule.when.is_always() { "" } else { " under a condition" };
        writer.comment(&format!("{verdict}{limited}: {names}"));
        let syscalls = syscalls(&rule.syscalls);
        let term = match condition(&rule.when, variables).as_str() {
            "true" => syscalls,
            condition => format!("(and {syscalls} {condition})"),
        };
        let matches = format!("{name}.match{number}");
        writer.define(&matches, BOOL, &term, "");
        outcomes.add(word(verdict.0), format!("(and {} {matches})", left(number)));
        let rest = format!("(and {} (not {matches}))", left(number));
        writer.define(&left(number + 1), BOOL, &rest, "");
    }
    writer.comment(&format!("{}: default", section.default));
    outcomes.add(word(section.default.0), left(section.rules.len()));
}

/// The number of names in the comment of a rule: all, except for large ranges.
fn shown(syscalls: &SyscallSet) -> usize {
    const ALL: u64 = 512;
    let numbers = syscalls.ranges().iter().map(|(first, last)| u64::from(last - first) + 1);
    if numbers.sum::<u64>() <= ALL { ALL as usize } else { 16 }
}

/// Whether the number is in the set.
fn syscalls(syscalls: &SyscallSet) -> String {
    let ranges = syscalls.ranges().iter().map(|(first, last)| {
        if first == last {
            format!("(= nr {})", word(*first))
        } else {
            format!("(and (bvule {} nr) (bvule nr {}))", word(*first), word(*last))
        }
    });
    join("or", &ranges.collect::<Vec<_>>(), "false")
}

/// The term of a condition. Uses a stack instead of recursion.
fn condition(condition: &Condition, variables: &[Variable]) -> String {
    let mut text = String::new();
    // The conditions that are left; `None` closes a parenthesis.
    let mut parts = vec![Some(condition)];
    while let Some(part) = parts.pop() {
        let Some(condition) = part else {
            text.push(')');
            continue;
        };
        let (operator, empty, inner) = match condition.shape() {
            Shape::Test(of) => {
                text.push_str(&format!(" {}", test(of)));
                continue;
            }
            Shape::Variable(of) => {
                text.push_str(&format!(" {}", variable_test(of, variables)));
                continue;
            }
            Shape::Fields(of) => {
                text.push_str(&format!(" {}", field_test(of)));
                continue;
            }
            Shape::All(inner) => ("and", "true", inner),
            Shape::Any(inner) => ("or", "false", inner),
        };
        match inner.as_slice() {
            [] => text.push_str(&format!(" {empty}")),
            [only] => parts.push(Some(only)),
            _ => {
                text.push_str(&format!(" ({operator}"));
                parts.push(None);
                parts.extend(inner.iter().rev().map(Some));
            }
        }
    }
    text.trim_start().to_owned()
}

/// `(field & mask) cmp value` on 64 bits, unsigned. A field of 32 bits is the low half of one of 64.
fn test(test: &Test) -> String {
    compare(&masked(test.field, test.mask), test.cmp, &long(test.value))
}

/// `(field & mask) relation symbol` on 64 bits.
fn variable_test(test: &VariableTest, variables: &[Variable]) -> String {
    let (field, value) = (masked(test.field, test.mask), symbol(test.symbol, variables));
    related(&field, test.relation, &value)
}

/// `left relation right` on 64 bits.
fn field_test(test: &FieldTest) -> String {
    let [left, right] = [test.left, test.right].map(|field| masked(field, field.full_mask()));
    related(&left, test.relation, &right)
}

fn related(field: &str, relation: VariableRelation, value: &str) -> String {
    let shared = format!("(= (bvand {field} {value}) {})", long(0));
    match relation {
        VariableRelation::Cmp(cmp) => compare(field, cmp, value),
        VariableRelation::NoBit => shared,
        VariableRelation::AnyBit => format!("(not {shared})"),
    }
}

/// `field & mask`.
fn masked(of: Field, mask: u64) -> String {
    let (field, mask) = (field(of), mask & of.full_mask());
    if mask == u64::MAX { field } else { format!("(bvand {field} {})", long(mask)) }
}

fn compare(field: &str, cmp: Cmp, value: &str) -> String {
    match cmp {
        Cmp::Eq => format!("(= {field} {value})"),
        Cmp::Ne => format!("(not (= {field} {value}))"),
        Cmp::Lt => format!("(bvult {field} {value})"),
        Cmp::Le => format!("(bvule {field} {value})"),
        Cmp::Gt => format!("(bvugt {field} {value})"),
        Cmp::Ge => format!("(bvuge {field} {value})"),
    }
}

fn field(field: Field) -> String {
    match field.low_word().argument() {
        Some((arg, _)) => format!("arg{arg}"),
        None => "instruction_pointer".to_owned(),
    }
}
