//! Whether what is passed by name may be changed: references of C++, and operands of assembly.

use super::declaration::is_type;
use super::language::C_TYPES;
use crate::lexer::Token;

/// Words that only texts in C++ have.
const WORDS: [&str; 9] = [
    "using",
    "template",
    "namespace",
    "class",
    "typename",
    "nullptr",
    "constexpr",
    "auto",
    "operator",
];

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
        || tokens.iter().any(|token| WORDS.contains(&token.text) || is_assembly(token))
}

fn is_cpp_type(token: &Token<'_>) -> bool {
    token.is_name()
        && (is_type(token) || C_TYPES.contains(&token.text) || token.text.ends_with("_t"))
}
