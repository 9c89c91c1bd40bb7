//! Recognises the form of a text.

use super::clean::clean;
use super::{gvisor, hex, seccomp_tools, source, table};
use crate::lexer::{Flavour, Token, TokenKind, tokens};

/// A textual form of programs; see the [module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Decimal,
    Table,
    Hex,
    Source,
    GVisor,
    /// Statements of seccomp-tools.
    Statements,
    /// libseccomp's pseudo filter code, which is refused.
    PseudoFilterCode,
    Assembly,
}

/// Recognises the form: by the first line, or for source code by its macros and braces.
pub(super) fn form(text: &str, assembly: &[Token<'_>]) -> Form {
    let mut lines =
        assembly.split(|token| token.kind == TokenKind::LineEnd).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let second = lines.next();
    let table = table::is_table(first);
    let source = assembly
        .iter()
        .any(|token| token.is('{') || token.is_word("BPF_STMT") || token.is_word("BPF_JUMP"))
        || (assembly.iter().any(|token| token.is('(')) && source::builder(assembly).is_some());
    let decimal = match first {
        [count] => is_count(count.text) && second.is_none_or(|line| line.len() > 1),
        [count, comma, ..] => is_count(count.text) && comma.is(','),
        _ => false,
    };
    if table {
        Form::Table
    } else if source {
        Form::Source
    } else if is_pseudo_filter_code(text) {
        Form::PseudoFilterCode
    } else if seccomp_tools::is_text(assembly) {
        Form::Statements
    } else if decimal {
        Form::Decimal
    } else if gvisor::is_line(first) || second.is_some_and(gvisor::is_line) {
        Form::GVisor
    } else if hex::is_hex(text) {
        Form::Hex
    } else {
        Form::Assembly
    }
}

/// Words of source code with a program.
const SOURCE_WORDS: [&str; 7] = [
    "BPF_STMT",
    "BPF_JUMP",
    "sock_filter",
    "sock_fprog",
    "SockFilter",
    "SockFprog",
    "RawInstruction",
];

/// Whether a text has marks of a program, which no other text has. Each word is an instruction of some assembly, a brace may
/// begin anything, and a number may be any number.
pub fn has_marks(text: &str) -> bool {
    let cleaned = clean(text);
    let Ok(assembly) = tokens(&cleaned.text, Flavour::Assembly) else { return false };
    match form(&cleaned.text, &assembly) {
        Form::Assembly | Form::Decimal => false,
        Form::Source => {
            let is_mark = |token: &Token<'_>| SOURCE_WORDS.iter().any(|word| token.is_word(word));
            assembly.iter().any(is_mark) || source::builder(&assembly).is_some()
        }
        Form::Table | Form::Hex | Form::GVisor | Form::Statements | Form::PseudoFilterCode => true,
    }
}

/// Whether libseccomp wrote a text with `seccomp_export_pfc(3)`.
fn is_pseudo_filter_code(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start();
        line.starts_with("if ($arch ") || line.starts_with("if ($syscall ")
    })
}

/// Whether a text can be the count of a decimal table.
fn is_count(text: &str) -> bool {
    text.len() <= 5 && text.chars().all(|c| c.is_ascii_digit())
}
