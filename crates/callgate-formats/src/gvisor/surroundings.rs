//! What stands around a list: the action with which it is used, and statements that change it.

use std::ops::Range;

use callgate_bpf::diagnostic::Diagnostic;

use super::lexer::Token;
use crate::diagnostics::positions::Positions;

/// What a program does with the calls that a list matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// The rule set that contains the list says that it allows them.
    Allow,
    /// The file does not say it where the list is.
    Unknown,
}

fn refused(positions: &Positions<'_>, at: usize, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Some(positions.of(at)), message)
        .help("only lists of what is allowed are read; catch the filter that the program installs: `callgate dump -- CMD`")
}

/// The action of the list at these tokens.
///
/// # Errors
/// If it is not to allow, or if the list is an argument of `Remove`, or has the name of one that denies.
pub(super) fn action(
    all: &[Token<'_>],
    list: Range<usize>,
    name: &str,
    positions: &Positions<'_>,
) -> Result<Action, Diagnostic> {
    let at = all.get(list.start).map_or(0, |first| first.at);
    let before = all.get(..list.start).unwrap_or_default();
    let open = opening(before);
    let around = before.get(..=open.unwrap_or_default()).filter(|_| open.is_some());
    let is_removed = matches!(around, Some([.., dot, method, bracket])
        if dot.is(".") && method.is("Remove") && bracket.is("("));
    if is_removed {
        return Err(refused(positions, at, "this list is removed from another one"));
    }
    let is_field = matches!(before, [.., name, colon] if name.is("Rules") && colon.is(":"));
    if !is_field {
        if name.to_ascii_lowercase().contains("deny") {
            let message = format!("`{name}` is a list of what is denied, as its name says");
            return Err(refused(positions, at, message));
        }
        let is_in_braces = open.is_some_and(|open| before.get(open).is_some_and(|b| b.is("{")));
        let is_element = before.last().is_some_and(|last| last.is("{") || last.is(","));
        return match is_in_braces && is_element {
            true => Err(refused(
                positions,
                at,
                "this list is in a literal without names of fields, so its action is not known",
            )),
            false => Ok(Action::Unknown),
        };
    }
    let fields = own_fields(all, open.map_or(0, |open| open + 1), &list);
    let mut actions = fields.iter().filter(|(name, _)| *name == "Action");
    let (Some((_, given)), None) = (actions.next(), actions.next()) else {
        return Err(refused(positions, at, "the rule set of this list does not have one action"));
    };
    let texts: Vec<&str> = given.iter().map(|token| token.text).collect();
    if !matches!(texts.as_slice(), ["Allow"] | ["seccomp", ".", "Allow"]) {
        let at = given.first().map_or(at, |first| first.at);
        return Err(refused(positions, at, "the action of this list is not seccomp.Allow"));
    }
    let known = |(name, value): &(&str, &[Token<'_>])| match *name {
        "Rules" | "Action" => true,
        "Vsyscall" => matches!(value, [only] if only.is("false")),
        _ => false,
    };
    match fields.iter().find(|field| !known(field)) {
        None => Ok(Action::Allow),
        Some((name, value)) => {
            let at = value.first().map_or(at, |first| first.at);
            let message = format!("the field `{name}` of this rule set is not read");
            Err(refused(positions, at, message))
        }
    }
}

fn is_open(token: &Token<'_>) -> bool {
    ["{", "(", "["].iter().any(|bracket| token.is(bracket))
}

fn is_close(token: &Token<'_>) -> bool {
    ["}", ")", "]"].iter().any(|bracket| token.is(bracket))
}

/// The index of the bracket that is open at the end of these tokens.
fn opening(before: &[Token<'_>]) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, token) in before.iter().enumerate().rev() {
        if is_close(token) {
            depth += 1;
        } else if is_open(token) {
            match depth.checked_sub(1) {
                Some(outer) => depth = outer,
                None => return Some(index),
            }
        }
    }
    None
}

/// The fields of a literal whose content begins at an index, with their values; the list is the value of one of them.
fn own_fields<'c, 't>(
    all: &'c [Token<'t>],
    start: usize,
    list: &Range<usize>,
) -> Vec<(&'t str, &'c [Token<'t>])> {
    let mut fields = Vec::new();
    let (mut first, mut depth) = (start, 0_usize);
    let mut index = start;
    while let Some(token) = all.get(index) {
        // Its brackets are balanced.
        if index == list.start {
            index = list.end;
            continue;
        }
        let is_end = depth == 0 && is_close(token);
        if depth == 0 && (token.is(",") || is_end) {
            match all.get(first..index) {
                Some([name, colon, value @ ..]) if colon.is(":") => fields.push((name.text, value)),
                Some([]) | None => {}
                Some([other, ..]) => fields.push((other.text, &[])),
            }
            first = index + 1;
        }
        if is_end {
            break;
        }
        if is_open(token) {
            depth += 1;
        } else if is_close(token) {
            depth = depth.saturating_sub(1);
        }
        index += 1;
    }
    fields
}

/// The most tokens of an index; a longer one is taken for an assignment.
const MAX_INDEX: usize = 64;

/// Refuses statements that change a list in ways that only a run shows.
///
/// # Errors
/// At the first of them.
pub(super) fn check_uses(
    all: &[Token<'_>],
    name: &str,
    positions: &Positions<'_>,
) -> Result<(), Diagnostic> {
    if name.is_empty() {
        return Ok(());
    }
    let error = |at: usize, what: &str| {
        let message = format!("{what} changes the list `{name}`, so it is not known");
        Err(refused(positions, at, message))
    };
    for (index, token) in all.iter().enumerate() {
        let rest = all.get(index..).unwrap_or_default();
        match rest {
            [delete, open, own, ..] if delete.is("delete") && open.is("(") && own.is(name) => {
                return error(token.at, "`delete`");
            }
            [address, own, ..] if address.is("&") && own.is(name) => {
                return error(token.at, "what has its address");
            }
            [own, open, inner @ ..] if own.is(name) && open.is("[") => {
                let mut depth = 1_usize;
                let closing = inner.iter().take(MAX_INDEX).position(|token| {
                    depth = match token {
                        token if is_open(token) => depth + 1,
                        token if is_close(token) => depth - 1,
                        _ => depth,
                    };
                    depth == 0
                });
                let after = closing.map(|closing| inner.get(closing + 1));
                if after.is_none_or(|after| after.is_some_and(|after| after.is("="))) {
                    return error(token.at, "an assignment to an element");
                }
            }
            _ => {}
        }
    }
    Ok(())
}
