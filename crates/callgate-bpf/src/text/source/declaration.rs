//! Declarations of arrays of instructions.

use std::collections::BTreeSet;

use crate::lexer::Token;

/// Types of instructions, or parts of their names.
const TYPES: &[&str] = &["sock_filter", "SockFilter", "bpf_insn", "Instruction"];

/// Types of a program, which has a pointer to its instructions.
pub(super) const PROGRAMS: [&str; 2] = ["sock_fprog", "bpf_program"];

/// The maximum number of tokens of a declaration that are considered.
const LENGTH: usize = 12;

/// Whether a token is a type of instructions.
pub(super) fn is_type(token: &Token<'_>) -> bool {
    token.is_name() && TYPES.iter().any(|kind| token.text.contains(kind))
}

/// The tokens before an index that may belong to the same declaration.
pub(super) fn declaration_before<'t, 'a>(tokens: &'t [Token<'a>], at: usize) -> &'t [Token<'a>] {
    let before = tokens.get(at.saturating_sub(LENGTH)..at).unwrap_or_default();
    let end = before.iter().rposition(|token| token.is_any(";{}"));
    before.get(end.map_or(0, |end| end + 1)..).unwrap_or_default()
}

/// The tokens after an index up to the end of the declarator.
pub(super) fn declarator_after<'t, 'a>(tokens: &'t [Token<'a>], at: usize) -> &'t [Token<'a>] {
    let after = tokens.get(at..).unwrap_or_default();
    let ends = |token: &Token<'_>| token.is_any(";{}(),=");
    let length = after.iter().take(LENGTH).take_while(|token| !ends(token)).count();
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
