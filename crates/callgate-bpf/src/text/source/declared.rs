//! What a text declares besides arrays:
//!
//! - enumerators and constants, with their values
//! - other names, which hide the same names in headers
//! - structures of instructions, with their layout

use std::collections::{HashMap, HashSet};

use super::changed::changes;
use super::field::{Constants, Context, Fields};
use super::integer::{Type, Value};
use super::literal::Literals;
use super::types::{Types, structure};
use crate::symbols::Names;
use crate::token::Token;

/// How many tokens a declaration may have before its name.
const MAX_TYPE: usize = 6;
/// How many tokens a structure may have before its members.
const MAX_HEAD: usize = 16;
/// How many tokens a list of enumerators may have.
const MAX_LIST: usize = 4000;

/// What a text in C declares. A structure with another layout than the kernel's is entered as `struct NAME`.
pub(super) fn declared<'a>(
    tokens: &[Token<'a>],
    is_replacement: &dyn Fn(&str) -> bool,
    names: &Names,
    types: &Types<'a>,
    literals: Literals,
) -> Constants<'a> {
    let mut constants = Constants::new();
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate() {
        depth += usize::from(token.is('{'));
        depth -= usize::from(token.is('}') && depth > 0);
        if !token.is_name() {
            continue;
        }
        let rest = tokens.get(at..).unwrap_or_default();
        let evaluate = |constants: &Constants<'a>, expression: &[Token<'a>]| {
            Fields::outside(Context { names, types, literals, constants }).whole(expression)
        };
        match token.text {
            "enum" => enumerators(rest, &mut constants, &evaluate),
            "struct" => {
                if let Some(name) = other_layout(rest, types).or_else(|| own_structure(rest)) {
                    constants.insert(name, None);
                }
            }
            name => {
                let before = tokens.get(at.saturating_sub(MAX_TYPE)..at).unwrap_or_default();
                let Some((kind, is_const)) = type_before(before, types) else { continue };
                let end = |mark| rest.iter().take(200).position(|token| token.is(mark));
                let is_outer = depth == 0 || !matches!(names.integer(name, false), Ok(Some(_)));
                let value = match rest.get(1) {
                    Some(next) if next.is('=') && is_const && is_outer => end(';')
                        .and_then(|end| rest.get(2..end))
                        .and_then(|expression| evaluate(&constants, expression))
                        .map(|value| value.converted(kind)),
                    Some(next) if next.is_any(",;)[=") => None,
                    _ => continue,
                };
                // A parameter that `#define` replaces by a constant of the headers.
                if !is_replacement(name) {
                    declare(&mut constants, name, value);
                }
            }
        }
    }
    forget_changed(tokens, types, &mut constants);
    constants
}

/// Forgets the values of names that the text declares more than once, or changes.
fn forget_changed(tokens: &[Token<'_>], types: &Types<'_>, constants: &mut Constants<'_>) {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut enumerators: HashSet<&str> = HashSet::new();
    let mut end = 0;
    for (at, token) in tokens.iter().enumerate() {
        let after = tokens.get(at + 1..).unwrap_or_default();
        if token.text == "enum" && after.iter().take(2).any(|open| open.is('{')) {
            end = at + after.iter().take_while(|token| !token.is('}')).count();
        }
        if !constants.get(token.text).is_some_and(Option::is_some) {
            continue;
        }
        if at < end {
            enumerators.insert(token.text);
            continue;
        }
        let before = tokens.get(..at).unwrap_or_default();
        *counts.entry(token.text).or_default() += changes(before, after, types);
    }
    for (name, count) in counts {
        let own = usize::from(!enumerators.contains(name));
        if let Some(value) = constants.get_mut(name).filter(|_| count > own) {
            *value = None;
        }
    }
}

/// Enters a name; one that is declared twice with different values has none.
fn declare<'a>(constants: &mut Constants<'a>, name: &'a str, value: Option<Value>) {
    let number = |value: &Option<Value>| value.map(|value| (value.number, value.kind));
    let known = constants.entry(name).or_insert(value);
    if number(known) != number(&value) {
        *known = None;
    }
}

/// Reads `enum { A, B = 5 }`.
fn enumerators<'a>(
    rest: &[Token<'a>],
    constants: &mut Constants<'a>,
    evaluate: &dyn Fn(&Constants<'a>, &[Token<'a>]) -> Option<Value>,
) {
    let Some(open) = rest.iter().take(3).position(|token| token.is('{')) else { return };
    let inside = rest.get(open + 1..).unwrap_or_default();
    let close = inside.iter().take(MAX_LIST).position(|token| token.is('}') || token.is(';'));
    let inside = close.and_then(|close| inside.get(..close)).unwrap_or_default();
    let mut next = Some(0);
    let mut depth = 0usize;
    let items = inside.split(|token| {
        depth += usize::from(token.is('('));
        depth -= usize::from(token.is(')') && depth > 0);
        depth == 0 && token.is(',')
    });
    for item in items {
        let Some((name, value)) = item.split_first() else { continue };
        if let Some((equals, expression)) = value.split_first() {
            let value = evaluate(constants, expression).filter(|_| equals.is('='));
            next = value.map(|value| value.number);
        }
        let value = next.filter(|number| Type::INT.holds(*number));
        declare(constants, name.text, value.map(|number| Value::of(number, Type::INT)));
        next = value.map(|number| number + 1);
    }
}

/// The type of integers that these tokens end with, and whether it is constant.
pub(super) fn type_before(before: &[Token<'_>], types: &Types<'_>) -> Option<(Type, bool)> {
    let is_word = |token: &&Token<'_>| token.is_name() && types.is_word(token.text);
    let words = before.iter().rev().take_while(is_word).count();
    let words = before.get(before.len() - words..).filter(|words| !words.is_empty())?;
    let (kind, length) = types.named(words)?;
    let is_const = words.iter().any(|word| word.text == "const");
    (length == words.len()).then_some((kind, is_const))
}

/// The bytes of a member, and what is after its type.
type Member = (i128, &'static [&'static str]);

/// The structures of the kernel.
const STRUCTURES: &[(&str, &[Member])] = &[
    (
        "struct seccomp_data",
        &[
            (4, &["nr"]),
            (4, &["arch"]),
            (8, &["instruction_pointer"]),
            (8, &["args", "[", "6", "]"]),
        ],
    ),
    ("struct sock_filter", &[(2, &["code"]), (1, &["jt"]), (1, &["jf"]), (4, &["k"])]),
];

/// The structure of the headers whose name a text defines itself; those that are compared with the kernel's are not among
/// them.
fn own_structure(rest: &[Token<'_>]) -> Option<&'static str> {
    let is_attribute = |token: &Token<'_>| token.text.starts_with("__attribute");
    let has_attributes = rest.iter().skip(1).take(2).any(is_attribute);
    let ends = if has_attributes { ";{=" } else { ";{=,)" };
    let length = rest.iter().take(MAX_HEAD).take_while(|token| !token.is_any(ends)).count();
    let (head, after) = rest.split_at_checked(length)?;
    let (name, _) = head.iter().skip(1).find_map(|token| structure(token.text))?;
    let is_compared = STRUCTURES.iter().any(|(full, _)| *full == name);
    (after.first().is_some_and(|open| open.is('{')) && !is_compared).then_some(name)
}

/// The structure of the kernel that a text defines in another way.
fn other_layout(rest: &[Token<'_>], types: &Types<'_>) -> Option<&'static str> {
    let [_, name, open, inside @ ..] = rest else { return None };
    let known = |full: &str, name: &Token<'_>| full.strip_prefix("struct ") == Some(name.text);
    // Attributes, which may change the layout, are before the name or after it.
    let is_attribute = |token: &Token<'_>| {
        ["__attribute", "_Alignas", "alignas"].iter().any(|start| token.text.starts_with(start))
    };
    if name.is('[') || is_attribute(name) || is_attribute(open) {
        let head = rest.iter().take_while(|token| !token.is_any(";{="));
        let head = rest.get(..head.count())?;
        let is_definition = rest.get(head.len()).is_some_and(|end| end.is('{'));
        let has = |full: &str| head.iter().any(|token| known(full, token));
        return STRUCTURES.iter().map(|(full, _)| *full).find(|full| is_definition && has(full));
    }
    let (full, members) = STRUCTURES.iter().find(|(full, _)| open.is('{') && known(full, name))?;
    // Much longer than the kernel's, it is another one.
    let Some(close) = inside.iter().take(60).position(|token| token.is('}')) else {
        return Some(full);
    };
    let mut lines =
        inside.get(..close)?.split(|token| token.is(';')).filter(|line| !line.is_empty());
    let is_same = members.iter().all(|(size, expected)| {
        let line = lines.next().unwrap_or_default();
        let Some((kind, words)) = types.named(line) else { return false };
        kind.size() == *size
            && line.iter().skip(words).map(|token| token.text).eq(expected.iter().copied())
    });
    (!is_same || lines.next().is_some()).then_some(full)
}

/// Whether a text declares a name, in any language, so that a well-known macro of this name is not meant.
pub(super) fn declares(tokens: &[Token<'_>], name: &str, types: &Types<'_>) -> bool {
    tokens.iter().enumerate().filter(|(_, token)| token.text == name).any(|(at, _)| {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        let after = tokens.get(at + 1);
        let follows = |marks: &str| after.is_some_and(|next| next.is_any(marks));
        before.is_some_and(|before| {
            let is_keyword =
                matches!(before.text, "let" | "mut" | "const" | "static" | "fn" | "func");
            let is_type = before.is_name() && types.is_word(before.text);
            is_keyword || (is_type && follows(",)=;["))
        }) || (follows(":")
            && tokens.get(at + 2).is_some_and(|next| next.is('=') || types.is_word(next.text)))
    })
}
