//! The language of a text, which decides how its lines, numbers and operators are read.

use crate::lexer::Language;
use crate::token::{Token, starts};

impl Language {
    /// The language of the tokens of a text that was split like C.
    ///
    /// What only C has comes first: a text that C compilers accept is never read by the rules of another language.
    pub(crate) fn of(tokens: &[Token<'_>]) -> Language {
        let has = |is_sign: fn(&[Token<'_>]) -> bool| {
            (0..tokens.len()).any(|at| tokens.get(at..).is_some_and(is_sign))
        };
        match () {
            () if starts_directive(tokens) || has(is_sign_of_c) => Language::C,
            () if has(is_sign_of_rust) => Language::Rust,
            () if has(is_sign_of_go) => Language::Go,
            () => Language::C,
        }
    }
}

/// Whether a line begins with a directive of the preprocessor.
fn starts_directive(tokens: &[Token<'_>]) -> bool {
    tokens.split(|token| token.is_line_end()).any(|line| match line {
        [hash, name, ..] => hash.is('#') && is_directive(name.text),
        _ => false,
    })
}

/// Whether a word is the name of a directive.
pub(super) fn is_directive(name: &str) -> bool {
    DIRECTIVES.split(' ').any(|directive| directive == name)
}

/// The directives of C, and gcc's.
pub(super) const DIRECTIVES: &str = "define undef if ifdef ifndef elif elifdef elifndef else endif include include_next import \
    line pragma error warning ident sccs assert unassert embed";

fn is_sign_of_c(tokens: &[Token<'_>]) -> bool {
    let is_attribute = |token: &Token<'_>| token.text.starts_with("__attribute");
    match tokens {
        // A definition of it, which in Rust has names before types.
        [first, name, open, member, next, ..]
            if first.text == "struct" && name.text == "sock_filter" && open.is('{') =>
        {
            member.is_name() && next.is_name()
        }
        [name, open, close, next, ..]
            if name.is_name()
                && open.is('[')
                && close.is(']')
                && (next.is('=') || is_attribute(next)) =>
        {
            true
        }
        [brace, name, open, ..] if brace.is('}') && name.is_name() && open.is('[') => true,
        // The words of a text around a program in another language are not a declaration.
        [first, second, third, ..] if C_TYPES.contains(&first.text) => {
            second.is_name() && third.is_any(";,=()[")
        }
        [first, ..] if first.text == "typedef" => true,
        [first, name, next, ..] if first.text == "struct" && name.text == "sock_filter" => {
            next.is_name() || next.is('*') || next.is(')') || next.is('[')
        }
        _ => false,
    }
}

fn is_sign_of_rust(tokens: &[Token<'_>]) -> bool {
    let is_name = |at: usize| tokens.get(at).is_some_and(Token::is_name);
    let is = |at: usize, marks: &str| tokens.get(at).is_some_and(|token| token.is_any(marks));
    let second = tokens.get(1).map_or("", |second| second.text);
    match tokens.first().map_or("", |first| first.text) {
        "#" => starts(tokens, "#[") || starts(tokens, "#!["),
        "vec" if is(1, "!") && is(2, "[({") => true,
        "as" if RUST_TYPES.contains(&second) => true,
        "let" | "const" | "static" if is_name(1) && (is(2, ":=") || second == "mut") => true,
        "fn" if is_name(1) && is(2, "(<") => true,
        first if first.starts_with("BPF_") && is(1, "!") && is(2, "(") => true,
        first if second == "sock_filter" && is(2, "{") && first != ")" && first != "struct" => true,
        _ => is_name(0) && is(1, ":") && is(2, ":"),
    }
}

fn is_sign_of_go(tokens: &[Token<'_>]) -> bool {
    let is_name = |at: usize| tokens.get(at).is_some_and(Token::is_name);
    let is = |at: usize, mark| tokens.get(at).is_some_and(|token| token.is(mark));
    match tokens.first().map_or("", |first| first.text) {
        "unix" | "syscall" | "bpf" => is(1, '.') && is_name(2),
        "func" | "package" => is_name(1),
        "Code" | "Op" | "K" => is(1, ':'),
        _ => starts(tokens, ":=") || (starts(tokens, "[]") && is_name(2)),
    }
}

/// Types that only C has before a name.
pub(super) const C_TYPES: &[&str] = &["int", "unsigned", "char", "void"];

/// The types of integers of Rust.
const RUST_TYPES: &[&str] = &[
    "u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize", "c_int", "c_uint",
    "c_long",
];

/// Words of C and C++ before an expression or a statement, which are not the type of a declaration or the name of a function.
pub(super) fn is_statement(word: &str) -> bool {
    const OTHERS: [&str; 9] = [
        "default",
        "throw",
        "delete",
        "co_return",
        "co_yield",
        "not",
        "and",
        "or",
        "__extension__",
    ];
    is_branch(word) || OTHERS.contains(&word)
}

/// Whether a word of C decides what is executed.
pub(super) fn is_branch(word: &str) -> bool {
    matches!(word, "if" | "else" | "for" | "while" | "do" | "switch" | "case" | "goto" | "return")
}
