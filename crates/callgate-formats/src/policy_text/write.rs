//! Writes policies as a text.

use std::fmt;
use std::fmt::Write;

use callgate_bpf::SyscallTable;
use callgate_bpf::constants::Family;
use callgate_bpf::syscalls::list_syscalls;
use callgate_core::policy::{
    Cmp, Condition, Field, FieldTest, Policy, Rule, Section, Shape, Test, VariableRelation,
    VariableTest,
};
use callgate_core::template::{Symbol, Variable};
use callgate_core::{Arch, Endian, SyscallSet};

use super::read::{FIRST_LINE, MAX_DEPTH};

/// The column of comments, and the last one of lines.
const COMMENTS: usize = 40;
const COLUMNS: usize = 110;

/// Why policies are not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unwritable(String);

impl fmt::Display for Unwritable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unwritable {}

/// Writes one policy, or a stack of policies, the oldest first. `header` has lines for comments at the top.
///
/// # Errors
/// If there is no policy, or several that are not a stack; if their byte orders differ; if a policy of a stack has variables; if
/// a condition is nested too deep, or compares with a sum or complement of a variable.
pub fn write(policies: &[Policy], is_stack: bool, header: &[String]) -> Result<String, Unwritable> {
    let unwritable = |message: &str| Err(Unwritable(message.to_owned()));
    let Some(first) = policies.first() else {
        return unwritable("there is no filter");
    };
    if (policies.len() > 1) != is_stack {
        return unwritable("a stack has at least two filters, and several filters are a stack");
    }
    if policies.iter().any(|policy| policy.endian() != first.endian()) {
        return unwritable("the filters are for machines of different byte orders");
    }
    if is_stack && policies.iter().any(|policy| !policy.variables().is_empty()) {
        return unwritable("a filter of a stack has variables; give their values");
    }
    let mut text = format!("{FIRST_LINE}\n");
    for line in header.iter().flat_map(|line| line.lines()) {
        let _ = writeln!(text, "# {}", line.replace(|c: char| c.is_control(), "?"));
    }
    let endian = match first.endian() {
        Endian::Little => "little",
        Endian::Big => "big",
    };
    let _ = writeln!(text, "byte-order {endian}");
    for variable in first.variables() {
        let _ = writeln!(text, "variable {} {}", variable.name(), variable.bits());
    }
    if is_stack {
        line(&mut text, 0, "stack", "filters on top of each other, the first one first");
    }
    for policy in policies {
        filter(&mut text, policy)?;
    }
    Ok(text)
}

fn filter(text: &mut String, policy: &Policy) -> Result<(), Unwritable> {
    let other = policy.bad_arch();
    line(text, 0, &format!("filter {:#010x}", other.0), &format!("{other}: other architectures"));
    for section in policy.sections() {
        let names: Vec<&str> = section.arches().map(Arch::name).collect();
        let (token, default) = (section.token(), section.default);
        let head = format!("arch {token:#010x} {:#010x} {}", default.0, names.join(" "));
        line(text, 0, &head, &format!("{default}: other syscalls"));
        for of_section in &section.rules {
            rule(text, section, of_section, policy.variables())?;
        }
    }
    Ok(())
}

fn rule(
    text: &mut String,
    section: &Section,
    rule: &Rule,
    variables: &[Variable],
) -> Result<(), Unwritable> {
    line(text, 0, &format!("rule {:#010x}", rule.verdict.0), &rule.verdict.to_string());
    for (first, last) in rule.syscalls.ranges() {
        let numbers =
            if first == last { format!("nr {first}") } else { format!("nr {first} - {last}") };
        line(text, 1, &numbers, &of_interval(section.token(), *first, *last));
    }
    // The conditions that are left, with their depth; `None` ends a group.
    let top = match rule.when.shape() {
        Shape::All(parts) => parts.as_slice(),
        _ => std::slice::from_ref(&rule.when),
    };
    let mut left: Vec<(usize, Option<&Condition>)> = list(top, 1).collect();
    while let Some((depth, condition)) = left.pop() {
        let Some(condition) = condition else {
            line(text, depth, "end", "");
            continue;
        };
        let (word, parts) = match condition.shape() {
            Shape::Test(of) => {
                line(text, depth, &test(of), &of_value(section.token(), &rule.syscalls, of));
                continue;
            }
            Shape::Variable(of) => {
                line(text, depth, &variable_test(of, variables)?, "");
                continue;
            }
            Shape::Fields(of) => {
                line(text, depth, &field_test(of), "");
                continue;
            }
            Shape::All(parts) => ("all", parts),
            Shape::Any(parts) => ("any", parts),
        };
        if depth > MAX_DEPTH {
            let message = format!("conditions are nested deeper than {MAX_DEPTH}");
            return Err(Unwritable(message));
        }
        line(text, depth, word, "");
        left.push((depth, None));
        left.extend(list(parts, depth + 1));
    }
    Ok(())
}

/// Conditions in the order of a stack: the first one last.
fn list(parts: &[Condition], depth: usize) -> impl Iterator<Item = (usize, Option<&Condition>)> {
    parts.iter().rev().map(move |part| (depth, Some(part)))
}

/// A line. Its comment goes on in lines of its own if it is long.
fn line(text: &mut String, depth: usize, words: &str, comment: &str) {
    let start = text.len();
    let _ = write!(text, "{:indent$}{words}", "", indent = 2 * depth);
    let mut column = text.len() - start;
    let mut is_first = true;
    for part in comment.split_inclusive(", ").filter(|part| !part.is_empty()) {
        if is_first || column + part.len() > COLUMNS {
            text.truncate(text.trim_end_matches(' ').len());
            if !is_first {
                text.push('\n');
                column = 0;
            }
            let padding = COMMENTS.saturating_sub(column).max(1);
            let _ = write!(text, "{:padding$}# ", "");
            column = column.max(COMMENTS) + 2;
            is_first = false;
        }
        text.push_str(part);
        column += part.len();
    }
    text.push('\n');
}

/// `field & mask relation value`.
fn test(test: &Test) -> String {
    format!("{} {} {}", masked(test.field, test.mask), relation(test.cmp), number(test.value))
}

fn variable_test(test: &VariableTest, variables: &[Variable]) -> Result<String, Unwritable> {
    let (left, name) = (masked(test.field, test.mask), symbol(test.symbol, variables)?);
    Ok(match test.relation {
        VariableRelation::Cmp(cmp) => format!("{left} {} ${name}", relation(cmp)),
        VariableRelation::AnyBit => format!("{left} & ${name} != 0"),
        VariableRelation::NoBit => format!("{left} & ${name} == 0"),
    })
}

fn field_test(test: &FieldTest) -> String {
    let [left, right] = [test.left, test.right].map(|field| masked(field, field.full_mask()));
    match test.relation {
        VariableRelation::Cmp(cmp) => format!("{left} {} {right}", relation(cmp)),
        VariableRelation::AnyBit => format!("{left} & {right} != 0"),
        VariableRelation::NoBit => format!("{left} & {right} == 0"),
    }
}

fn symbol(symbol: Symbol, variables: &[Variable]) -> Result<&str, Unwritable> {
    let name = variables.get(symbol.variable()).map_or("", Variable::name);
    if symbol.addend() != 0 || symbol.is_complement() {
        let message = format!(
            "a condition compares with a sum or complement of ${name}, which version 1 of the policy text does not have"
        );
        return Err(Unwritable(message));
    }
    Ok(name)
}

fn masked(field: Field, mask: u64) -> String {
    let argument = field.low_word().argument();
    let mut text = argument.map_or_else(|| "ip".to_owned(), |(index, _)| format!("arg{index}"));
    if field.bits() == 32 {
        text.push_str(".low");
    }
    if mask != field.full_mask() {
        let _ = write!(text, " & {}", number(mask));
    }
    text
}

const fn relation(cmp: Cmp) -> &'static str {
    match cmp {
        Cmp::Eq => "==",
        Cmp::Ne => "!=",
        Cmp::Lt => "<",
        Cmp::Le => "<=",
        Cmp::Gt => ">",
        Cmp::Ge => ">=",
    }
}

/// Small numbers are decimal.
fn number(value: u64) -> String {
    if value < 10 { value.to_string() } else { format!("{value:#x}") }
}

/// The names of the syscalls of an interval; of a large one only the first, because they are a range, not a list.
fn of_interval(token: u32, first: u32, last: u32) -> String {
    let shown = if last - first < 512 { 512 } else { 8 };
    list_syscalls(token, &SyscallSet::range(first, last), None, shown)
}

/// The constant with which an argument is compared; empty if it has none, or the rule is about several syscalls.
fn of_value(token: u32, syscalls: &SyscallSet, test: &Test) -> String {
    let [(nr, last)] = syscalls.ranges() else { return String::new() };
    let Some((argument, _)) = test.field.low_word().argument().filter(|_| nr == last) else {
        return String::new();
    };
    let named = Arch::of_syscall(token, *nr).and_then(|arch| {
        let family = Family::of(arch, arch.syscall_name(*nr)?, argument)?;
        match test.mask == test.field.full_mask() {
            true => family.name(arch, test.value),
            false => family.name_masked(arch, test.mask, test.value),
        }
    });
    named.unwrap_or_default()
}
