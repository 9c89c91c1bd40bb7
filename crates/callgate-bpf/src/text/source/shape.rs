//! What tokens begin: an instruction, another structure, a call of the kernel's macros, or of a library that builds filters.

use super::changed::{FIELDS, is_type};
use crate::advice::Advice;
use crate::diagnostic::{Diagnostic, error};
use crate::token::Token;

/// Whether an open brace begins an instruction.
pub(super) fn starts_row(tokens: &[Token<'_>]) -> bool {
    let is_number = |token: &Token<'_>| token.is_number();
    match tokens {
        [open, rest @ ..] if open.is('(') => type_of_element(rest).is_none(),
        [first, ..] if is_number(first) => true,
        [dot, name, ..] if dot.is('.') => field_index(name.text).is_some(),
        [name, colon, ..] if colon.is(':') => field_index(name.text).is_some(),
        [name, comma, next, ..] if comma.is(',') && is_number(next) => name.is_name(),
        [name, ..] => name.text.starts_with("BPF_") && macro_call(tokens).is_none(),
        [] => false,
    }
}

/// How many tokens after a parenthesis are the type of an element: `(struct sock_filter) BPF_STMT(…)`.
pub(super) fn type_of_element(tokens: &[Token<'_>]) -> Option<usize> {
    let length = tokens.iter().take(4).take_while(|token| token.is_name()).count();
    let (words, after) = tokens.split_at_checked(length)?;
    let (close, element) = after.split_first()?;
    let is_type = words.last().is_some_and(is_type) && close.is(')');
    let is_element = element.first().is_some_and(|open| open.is('{'));
    (is_type && (is_element || macro_call(element).is_some())).then_some(length + 1)
}

/// Whether an open brace begins a structure with other fields, such as `struct sock_fprog`.
pub(super) fn starts_other_struct(tokens: &[Token<'_>]) -> bool {
    match tokens {
        [dot, name, ..] if dot.is('.') => !name.is('.'),
        [name, colon, after, ..] => name.is_name() && colon.is(':') && !after.is(':'),
        _ => false,
    }
}

/// Whether the next tokens are a call of `BPF_STMT` or `BPF_JUMP`, also as functions or macros of Rust and Go; if so,
/// whether of the latter.
pub(super) fn macro_call(tokens: &[Token<'_>]) -> Option<bool> {
    let (name, rest) = tokens.split_first()?;
    let is_call = match rest {
        [open, ..] if open.is('(') => true,
        [mark, open, ..] => mark.is('!') && open.is('('),
        _ => false,
    };
    let is_named = |names: [&str; 2]| names.iter().any(|known| name.is_word(known));
    match (is_call, is_named(["BPF_STMT", "bpfStmt"]), is_named(["BPF_JUMP", "bpfJump"])) {
        (true, true, _) => Some(false),
        (true, _, true) => Some(true),
        _ => None,
    }
}

pub(super) fn field_index(name: &str) -> Option<usize> {
    // `Op` is the code in `bpf.RawInstruction` of Go.
    let name = if name == "Op" { "code" } else { name };
    FIELDS.iter().position(|field| field.eq_ignore_ascii_case(name))
}

/// An error for a program that calls a library to build its filter, and so contains no instructions.
pub(in super::super) fn builder(text: &[Token<'_>]) -> Option<Diagnostic> {
    let named = |token: &Token<'_>| Some((token.position, library(token)?));
    let (position, (library, help)) = text.iter().find_map(named)?;
    let message = format!("this program builds its filter with {library} when it runs");
    Some(error(position, message).help(Advice::ReadProcessOr(help)))
}

/// The library that a name is of, and what to do instead of reading its calls.
fn library(token: &Token<'_>) -> Option<(&'static str, &'static str)> {
    let name = token.text;
    let is_libseccomp = name.starts_with("seccomp_rule_add")
        || matches!(name, "seccomp_init" | "SCMP_SYS" | "scmp_filter_ctx" | "ScmpFilterContext");
    match name {
        _ if !token.is_name() => None,
        _ if is_libseccomp => Some(("libseccomp", EXPORT)),
        "SeccompFilter" | "SeccompRule" | "SeccompCondition" | "SeccompAction" | "seccompiler" => {
            Some(("the crate seccompiler", PRINT))
        }
        _ => None,
    }
}

const EXPORT: &str = "let it write the filter with seccomp_export_bpf(3)";
const PRINT: &str = "let it print its BpfProgram with `{:?}` and paste that";
