//! Kafel policies for nsjail (`src/parser.y` and `lexer.l` of Kafel).
//!
//! Kafel names some syscalls as the kernel does internally (`newuname`), and each version knows only the syscalls that
//! existed at its release. Therefore each name is first defined as a number; definitions take precedence over Kafel's own
//! names. Kafel then has no information about the arguments: they have 64 bits and the names that the policy gives them.

use callgate_bpf::SyscallTable;
use std::fmt::Write;

use super::comments::{MADE_BY_KERNEL_WHY, all_in_code, dangerous, is_dangerous, limits, origin};
use super::policy::has_conditions;
use crate::generate::arg_limit::{ArgLimit, Cube};
use crate::generate::draft::Draft;
use crate::generate::format::ProfileFormat;
use crate::generate::grant::{Grant, GrantReason};
use crate::generate::options::DenyAction;
use callgate_formats::layout::wrapped;

/// The maximum width of a line.
const WIDTH: usize = 80;

pub(super) fn write(draft: &Draft) -> String {
    let Some(arch) = draft.arches().first().copied() else { return String::new() };
    let mut text = String::new();
    comment(&mut text, 0, &format!("For {arch}; {}", origin(draft)));
    comment(&mut text, 0, &format!("All {}.", draft.deny().description()));
    text.push('\n');
    let refused: Vec<&str> = draft.refused_explicitly(ProfileFormat::Kafel).collect();
    let names = draft.grants().map(|grant| grant.name).chain(refused.iter().copied());
    let numbered = names.filter_map(|name| Some((name, arch.number(name)?)));
    let numbered: Vec<(&str, u32)> = numbered.collect();
    for (name, nr) in numbered.iter().filter(|(name, _)| is_identifier(name)) {
        let _ = writeln!(text, "#define {name} {nr}");
    }
    let word = |name: &str| {
        let nr = numbered.iter().find(|(known, _)| *known == name).map(|(_, nr)| *nr)?;
        Some(if is_identifier(name) { name.to_owned() } else { format!("SYSCALL[{nr}]") })
    };

    let mut blocks = Vec::new();
    let plain = |wanted: fn(&GrantReason) -> bool| -> Vec<String> {
        let is_plain = |grant: &Grant| !has_conditions(grant) && !is_dangerous(draft, grant);
        let grants = draft.grants().filter(|grant| wanted(&grant.reason) && is_plain(grant));
        grants.filter_map(|grant| word(grant.name)).collect()
    };
    let mut recorded = plain(|reason| matches!(reason, GrantReason::Recorded(_)));
    recorded.extend(draft.numbers().iter().map(|(syscall, _)| format!("SYSCALL[{}]", syscall.nr)));
    block(&mut blocks, "Recorded.", "ALLOW", &recorded);
    for (name, why) in dangerous(draft) {
        block(&mut blocks, &why, "ALLOW", word(name).as_slice());
    }
    let in_code: Vec<&Grant> =
        draft.grants().filter(|grant| grant.reason == GrantReason::Code).collect();
    let names = plain(|reason| matches!(reason, GrantReason::Code));
    block(&mut blocks, &all_in_code(&in_code), "ALLOW", &names);
    let runtime = plain(|reason| matches!(reason, GrantReason::Runtime));
    block(
        &mut blocks,
        &format!("Not recorded: {}.", draft.runtime().description()),
        "ALLOW",
        &runtime,
    );
    let by_kernel = plain(|reason| matches!(reason, GrantReason::Kernel));
    block(&mut blocks, &format!("Not recorded: {MADE_BY_KERNEL_WHY}."), "ALLOW", &by_kernel);
    for runtime in draft.languages().iter().copied() {
        let grants = draft.grants().filter(|grant| grant.reason.is_of(runtime));
        let names: Vec<String> = grants
            .filter(|grant| !has_conditions(grant))
            .filter_map(|grant| word(grant.name))
            .collect();
        let why = format!("Not recorded: {}.", runtime.description());
        block(&mut blocks, &why, "ALLOW", &names);
    }
    let siblings = plain(|reason| matches!(reason, GrantReason::Sibling { .. }));
    block(
        &mut blocks,
        "Not recorded: other C libraries make them instead of, or in addition to, recorded ones.",
        "ALLOW",
        &siblings,
    );
    let conditional: Vec<String> = draft
        .grants()
        .filter(|grant| has_conditions(grant))
        .filter_map(|grant| Some(limited(draft, grant, &word(grant.name)?)))
        .collect();
    if !conditional.is_empty() {
        blocks.push(format!("  ALLOW {{\n{}\n  }}", conditional.join(",\n")));
    }
    let refused: Vec<String> = refused.iter().filter_map(|name| word(name)).collect();
    block(
        &mut blocks,
        "Fails with ENOSYS, so that libraries fall back to a granted syscall.",
        &format!("ERRNO({})", arch.enosys()),
        &refused,
    );
    let action = match draft.deny() {
        DenyAction::Enosys | DenyAction::Eperm => {
            format!("ERRNO({})", draft.default_verdict().data())
        }
        DenyAction::Kill => "KILL_PROCESS".to_owned(),
        DenyAction::Log => "LOG".to_owned(),
    };
    let _ = writeln!(
        text,
        "\nPOLICY generated {{\n{}\n}}\n\nUSE generated DEFAULT {action}",
        blocks.join(",\n")
    );
    text
}

/// Whether Kafel accepts a name as an identifier: it starts with a letter and is not a keyword. Keywords are in
/// capitals, except for `define`.
fn is_identifier(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic()) && name != "define"
}

fn block(blocks: &mut Vec<String>, why: &str, action: &str, names: &[String]) {
    if names.is_empty() {
        return;
    }
    let mut text = String::new();
    comment(&mut text, 2, why);
    let lines = wrapped(names.iter().map(String::as_str), WIDTH - 5, ", ").join(",\n    ");
    let _ = write!(text, "  {action} {{\n    {lines}\n  }}");
    blocks.push(text);
}

fn comment(text: &mut String, indent: usize, words: &str) {
    for line in wrapped(words.split(' '), WIDTH - 3 - indent, " ") {
        let _ = writeln!(text, "{:indent$}// {line}", "");
    }
}

/// A syscall with its limits.
fn limited(draft: &Draft, grant: &Grant, word: &str) -> String {
    let mut text = String::new();
    comment(&mut text, 4, &limits(draft, grant));
    let last = grant.limits.iter().map(|limit| limit.arg).max().unwrap_or(0);
    let args: Vec<String> = (0..=last).map(|arg| format!("arg{arg}")).collect();
    let alternatives: Vec<String> = grant
        .alternatives()
        .into_iter()
        .map(|all| {
            let tests: Vec<String> =
                all.into_iter().filter_map(|(limit, cube)| test(limit, cube)).collect();
            tests.join(" && ")
        })
        .collect();
    let _ = write!(
        text,
        "    {word}({}) {{\n      {}\n    }}",
        args.join(", "),
        alternatives.join(" ||\n      ")
    );
    text
}

fn test(limit: &ArgLimit, Cube { mask, wanted }: Cube) -> Option<String> {
    let arg = limit.arg;
    match mask {
        0 => None,
        u64::MAX => Some(format!("arg{arg} == {wanted:#x}")),
        mask => Some(format!("(arg{arg} & {mask:#x}) == {wanted:#x}")),
    }
}
