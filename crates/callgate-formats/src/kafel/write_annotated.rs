//! Policies with comments.
//!
//! Kafel names some syscalls as the kernel does internally (`newuname`), and each version knows only the syscalls that
//! existed at its release. Therefore each name is first defined as a number; definitions take precedence over Kafel's own
//! names. Kafel then has no information about the arguments: they have 64 bits and the names that the policy gives them.
//!
//! Source: `src/parser.y` and `lexer.l` of Kafel.

use super::text::{PolicyText, is_identifier, rule};
use crate::annotated::{Annotated, Group, Reason};
use crate::ruleset::{Comparison, Op};
use callgate_bpf::SyscallTable;

/// The text; `None` for a filter of several architectures.
pub(super) fn write(policy: &Annotated) -> Option<String> {
    let [arch] = policy.arches.as_slice() else { return None };
    let mut text = PolicyText::default();
    text.comment(&format!("For {arch}; {}", policy.origin));
    text.comment(&format!("All {}.", policy.denied));
    text.gap();
    let mut names: Vec<&'static str> =
        policy.groups.iter().flat_map(|group| group.names.iter().copied()).collect();
    names.sort_unstable();
    names.dedup();
    let numbered = names.into_iter().filter_map(|name| Some((name, arch.number(name)?)));
    let numbered: Vec<(&'static str, u32)> = numbered.collect();
    for (name, nr) in numbered.iter().filter(|(name, _)| is_identifier(name)) {
        text.define(name, nr);
    }
    let word = |name: &str| {
        let nr = numbered.iter().find(|(known, _)| *known == name).map(|(_, nr)| *nr)?;
        Some(if is_identifier(name) { name.to_owned() } else { format!("SYSCALL[{nr}]") })
    };
    let is_conditional = |group: &&Group| !group.alternatives.is_empty();
    let conditional: Vec<&Group> = policy.groups.iter().filter(is_conditional).collect();
    let mut is_written = false;
    for group in &policy.groups {
        if is_conditional(&group) {
            // All rules with conditions are one block.
            if !is_written {
                let rules = conditional.iter().flat_map(|group| {
                    group.names.iter().filter_map(|name| Some(limited(group, &word(name)?)))
                });
                text.conditional(group.verdict, &rules.collect::<Vec<String>>());
            }
            is_written = true;
            continue;
        }
        let mut words: Vec<String> = group.names.iter().filter_map(|name| word(name)).collect();
        words.extend(group.numbers.iter().map(|nr| format!("SYSCALL[{nr}]")));
        let why = match &group.reason {
            Reason::Recorded => "Recorded.",
            other => other.text(),
        };
        text.block(why, group.verdict, &words);
    }
    Some(text.finish("generated", policy.default))
}

/// A syscall with its limits.
fn limited(group: &Group, word: &str) -> String {
    let last = group.alternatives.iter().flatten().map(Comparison::arg).max().unwrap_or(0);
    let args: Vec<String> = (0..=last).map(|arg| format!("arg{arg}")).collect();
    let alternatives: Vec<String> = group
        .alternatives
        .iter()
        .map(|all| all.iter().map(test).collect::<Vec<String>>().join(" && "))
        .collect();
    rule(group.reason.text(), &format!("{word}({})", args.join(", ")), &alternatives)
}

fn test(comparison: &Comparison) -> String {
    let (arg, value) = (comparison.arg(), comparison.value());
    let compared = |sign: &str| format!("arg{arg} {sign} {value:#x}");
    match comparison.op() {
        Op::MaskedEq(mask) => format!("(arg{arg} & {mask:#x}) == {value:#x}"),
        Op::Eq => compared("=="),
        Op::Ne => compared("!="),
        Op::Lt => compared("<"),
        Op::Le => compared("<="),
        Op::Gt => compared(">"),
        Op::Ge => compared(">="),
    }
}
