//! Assignments to fields of instructions, as in the functions that set variables: `insns[5].k = fd`.
//!
//! An array that the program changes is not the filter. The assignments are found by the name of what they change: the
//! array itself, a variable with a type of instructions, or a copy of the array.

use std::collections::BTreeSet;

use super::headers::has_word;
use super::language::C_TYPES;
use super::types::Types;
use crate::diagnostic::{Diagnostic, error};
use crate::lexer::Language;
use crate::token::{Token, starts};

/// An error at the first assignment to a field of an instruction. `declaration` contains the tokens before the array.
pub(super) fn changed_field(
    text: &[Token<'_>],
    declaration: &[Token<'_>],
    language: Language,
) -> Option<Diagnostic> {
    let assignments = assignments(text);
    if assignments.is_empty() {
        return None;
    }
    let names = names(text, declaration);
    let is_c = language == Language::C;
    let others = if is_c { other_structs(text) } else { BTreeSet::new() };
    let is_of_array = |assignment: &Assignment<'_, '_>| match assignment.place {
        Place::Element(name) => names.contains(name),
        Place::Whole(name) => names.contains(name) || (is_c && !others.contains(name)),
        Place::Expression => true,
    };
    let field = assignments.into_iter().find(is_of_array)?.field;
    let help = "read the policy of a filter with variables, or the running process (pid:N)";
    Some(error(field.position, CHANGED).help(help))
}

/// The message for an array that is not the filter.
pub(super) const CHANGED: &str =
    "an instruction is changed when the program runs, so the array alone is not the filter";

/// An assignment to a field of something.
struct Assignment<'t, 'a> {
    field: &'t Token<'a>,
    place: Place<'a>,
}

/// What has the field.
#[derive(Clone, Copy)]
enum Place<'a> {
    /// `name[…].k`
    Element(&'a str),
    /// `name.k`, `name->k`
    Whole(&'a str),
    /// `(…).k`
    Expression,
}

/// The assignments to fields that are named like the fields of an instruction.
fn assignments<'t, 'a>(text: &'t [Token<'a>]) -> Vec<Assignment<'t, 'a>> {
    let mut found = Vec::new();
    // The names before the brackets that are open, and before the one that was closed last.
    let (mut open, mut closed) = (Vec::new(), None);
    for (at, token) in text.iter().enumerate() {
        let before = |distance| at.checked_sub(distance).and_then(|at| text.get(at));
        if token.is('[') {
            let name = before(1).filter(|before| before.is_name());
            open.push((name.map(|name| name.text), at));
        } else if token.is(']') {
            closed = open.pop();
        } else if is_field(token.text) {
            let dots = match (before(1), before(2)) {
                (Some(dot), _) if dot.is('.') => 1,
                (Some(end), Some(dash)) if end.is('>') && dash.is('-') => 2,
                _ => continue,
            };
            let Some(base) = before(dots + 1) else { continue };
            let place = match closed {
                Some((Some(name), _)) if base.is(']') => Place::Element(name),
                _ if base.is(']') || base.is(')') => Place::Expression,
                _ if base.text == "this" => continue,
                _ if base.is_name() => Place::Whole(base.text),
                // A designated initializer.
                _ => continue,
            };
            let start = match closed {
                Some((_, start)) if base.is(']') => start.saturating_sub(1),
                _ => at - dots - 1,
            };
            let is_before = |mark| {
                let signs = start.checked_sub(2).and_then(|from| text.get(from..start));
                signs.is_some_and(|signs| signs.iter().all(|sign| sign.is(mark)))
            };
            let after = text.get(at + 1..).unwrap_or_default();
            if is_assignment(after) || is_before('+') || is_before('-') {
                found.push(Assignment { field: token, place });
            }
        }
    }
    found
}

/// The fields of an instruction, in order.
pub(super) const FIELDS: [&str; 4] = ["code", "jt", "jf", "k"];

/// Whether a word is the name of a field in C, Rust or Go.
pub(super) fn is_field(name: &str) -> bool {
    FIELDS.iter().any(|field| field.eq_ignore_ascii_case(name))
}

/// Whether an operator that changes what is before it begins here.
pub(super) fn is_assignment(tokens: &[Token<'_>]) -> bool {
    const OPERATORS: [&str; 12] =
        ["+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"];
    (starts(tokens, "=") && !starts(tokens, "=="))
        || OPERATORS.iter().any(|operator| starts(tokens, operator))
}

/// The names that a text declares as those of other structures.
pub(super) fn other_structs<'a>(text: &[Token<'a>]) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    for (at, words) in text.windows(2).enumerate() {
        if let [keyword, tag] = words {
            if matches!(keyword.text, "struct" | "union") && !is_type(tag) {
                let mut rest = text.iter().skip(at + 2).skip_while(|token| token.is('*'));
                found.extend(rest.next().map(|name| name.text));
            }
        }
    }
    found
}

/// The names of what may be an array of instructions. Other words beside them do no harm.
fn names<'a>(text: &[Token<'a>], declaration: &[Token<'a>]) -> BTreeSet<&'a str> {
    let words = |tokens: &[Token<'a>]| -> Vec<&'a str> {
        let words = tokens.iter().filter(|token| token.is_name());
        words.map(|token| token.text).collect()
    };
    let mut names = BTreeSet::from_iter(words(declaration));
    for (at, _) in text.iter().enumerate().filter(|(_, token)| is_type(token)) {
        // Other parameters of the same function are not of this type.
        let before = declaration_before(text, at).rsplit(|token| token.is('(') || token.is(','));
        names.extend(before.take(1).flat_map(words));
        names.extend(words(declarator_after(text, at + 1)));
    }
    for (at, _) in text.iter().enumerate() {
        let copied = copy(text.get(at..).unwrap_or_default());
        if let Some((to, _)) = copied.filter(|(_, from)| names.contains(from)) {
            names.insert(to);
        }
    }
    names
}

/// What a copy at the beginning of these tokens writes and reads: `to = from`, `to := from`, `memcpy(to, from, …)`.
fn copy<'a>(tokens: &[Token<'a>]) -> Option<(&'a str, &'a str)> {
    let word = |token: &Token<'a>| token.is_name().then_some(token.text);
    let (to, rest) = match tokens {
        [to, equals, rest @ ..] if equals.is('=') => (to, rest),
        [to, colon, equals, rest @ ..] if colon.is(':') && equals.is('=') => (to, rest),
        [function, open, to, comma, rest @ ..]
            if open.is('(')
                && comma.is(',')
                && ["cpy", "copy", "move"].iter().any(|end| function.text.ends_with(end)) =>
        {
            (to, rest)
        }
        _ => return None,
    };
    let from = rest.iter().find(|token| !token.is('&') && !token.is('*'))?;
    Some((word(to)?, word(from)?))
}

/// How often a name between these tokens is declared or changed there: once in its own declaration.
pub(super) fn changes(before: &[Token<'_>], after: &[Token<'_>], types: &Types<'_>) -> usize {
    const KEYWORDS: &[&str] =
        &["return", "case", "else", "do", "goto", "in", "as", "sizeof", "struct", "enum", "union"];
    let is_type = |token: &Token<'_>| token.is_name() && !KEYWORDS.contains(&token.text);
    let next = |marks: &str| after.first().is_some_and(|next| next.is_any(marks));
    match before {
        // A member of a structure.
        [.., dot] if dot.is('.') => 0,
        [.., dash, end] if dash.is('-') && end.is('>') => 0,
        [.., plus, second] if plus.is('+') && second.is('+') => 2,
        [.., minus, second] if minus.is('-') && second.is('-') && !next("=") => 2,
        _ if is_assignment(after) => 1,
        [.., open] if open.is('(') && next(")") && after.get(1..).is_some_and(is_assignment) => 1,
        [.., kind] if is_type(kind) => 1,
        [.., kind, star] if star.is('*') => usize::from(kind.is_name() && types.is_word(kind.text)),
        [.., comma] if comma.is(',') && next(";[") => 1,
        _ => 0,
    }
}

/// Types of instructions, or parts of their names.
const INSN_TYPES: &[&str] = &["sock_filter", "SockFilter", "bpf_insn", "Instruction"];

/// Types of a program, which has a pointer to its instructions.
pub(super) const PROGRAMS: [&str; 2] = ["sock_fprog", "bpf_program"];

/// The maximum number of tokens of a declaration that are considered.
const MAX_DECLARATION: usize = 12;

/// Whether a token is a type of instructions.
pub(super) fn is_type(token: &Token<'_>) -> bool {
    token.is_name() && INSN_TYPES.iter().any(|kind| token.text.contains(kind))
}

/// The tokens before an index that may belong to the same declaration.
pub(super) fn declaration_before<'t, 'a>(tokens: &'t [Token<'a>], at: usize) -> &'t [Token<'a>] {
    let before = tokens.get(at.saturating_sub(MAX_DECLARATION)..at).unwrap_or_default();
    let end = before.iter().rposition(|token| token.is_any(";{}"));
    before.get(end.map_or(0, |end| end + 1)..).unwrap_or_default()
}

/// The tokens after an index up to the end of the declarator.
fn declarator_after<'t, 'a>(tokens: &'t [Token<'a>], at: usize) -> &'t [Token<'a>] {
    let after = tokens.get(at..).unwrap_or_default();
    let ends = |token: &Token<'_>| token.is_any(";{}(),=");
    let length = after.iter().take(MAX_DECLARATION).take_while(|token| !ends(token)).count();
    after.get(..length).unwrap_or_default()
}

/// The words after the types of programs, of which one is the name of a variable.
pub(super) fn programs<'a>(tokens: &[Token<'a>]) -> BTreeSet<&'a str> {
    let after = tokens.windows(3).filter_map(|words| match words {
        [kind, name_or_star, last] if PROGRAMS.contains(&kind.text) => {
            Some([name_or_star.text, last.text])
        }
        _ => None,
    });
    after.flatten().collect()
}

/// Words that only texts in C++ have.
const CPP_WORDS: &str = "using template namespace class typename nullptr constexpr auto operator";

/// Whether a text has a sign of references: `std::`, `auto &`, `unsigned &k`, or of assembly.
pub(super) fn has_references(tokens: &[Token<'_>]) -> bool {
    let is_cpp = |words: &[Token<'_>]| match words {
        [one, other, ..] if one.is(':') && other.is(':') => true,
        [kind, and, name] if and.is('&') => is_cpp_type(kind) && name.is_name(),
        [constant, _, and] if and.is('&') => matches!(constant.text, "const" | "struct"),
        _ => false,
    };
    let is_assembly = |token: &Token<'_>| matches!(token.text.trim_matches('_'), "asm");
    tokens.windows(3).any(is_cpp)
        || tokens.iter().any(|token| has_word(CPP_WORDS, token.text) || is_assembly(token))
}

fn is_cpp_type(token: &Token<'_>) -> bool {
    token.is_name()
        && (is_type(token) || C_TYPES.contains(&token.text) || token.text.ends_with("_t"))
}
