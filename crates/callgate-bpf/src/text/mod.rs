//! Reads programs in any textual form: those that [`disasm`](super::disasm) writes, and those of other
//! tools. The form is recognised.
//!
//! | form | looks like |
//! |---|---|
//! | assembly | `ld [4]`; see [`asm`](super::asm) |
//! | `tcpdump -d` | `(000) ldh [12]` |
//! | `tcpdump -ddd`, `bpf_asm` | a count, then `code jt jf k` in decimal, on lines or between commas |
//! | `tcpdump -dd`, C, Rust, Go | `{ 0x20, 0, 0, 0x00000004 },`, `BPF_STMT(BPF_LD \| BPF_W \| BPF_ABS, 4),` |
//! | libseccomp's table | ` 0000: 0x20 0x00 0x00 0x00000004   ld  $data[4]` |
//! | the kernel's old names | `0: BPF_S_ANC_SECCOMP_LD_W 0 0 0x4` |
//! | bytes in hexadecimal | `2000000004000000`, `\x20\x00…`, `0x20, 0x00, …`, white space and quotes ignored |
//!
//! [`Program::from_raw`](super::Program::from_raw) checks whether the kernel accepts the instructions.

mod error;
mod hex;
mod source;
mod table;

use super::asm::{AsmError, assemble_tokens};
use super::insn::RawInsn;
use super::lexer::{Flavour, Token, TokenKind, tokens};
use crate::data::Endian;

/// Reads a program in any textual form. The byte order applies to hexadecimal bytes, and in assembly
/// without `.endian` to the halves of arguments.
///
/// ```
/// use callgate_bpf::{RawInsn, text};
/// use callgate_bpf::Endian;
///
/// let one = [RawInsn { code: 6, jt: 0, jf: 0, k: 0x7fff_0000 }];
/// for text in ["1\n6 0 0 2147418112", "{ 0x6, 0, 0, 0x7fff0000 },", "060000000000ff7f", "ret ALLOW"] {
///     assert_eq!(text::parse(text, Endian::Little)?, one);
/// }
/// # Ok::<(), callgate_bpf::asm::AsmError>(())
/// ```
pub fn parse(text: &str, endian: Endian) -> Result<Vec<RawInsn>, AsmError> {
    parse_for(text, endian).map(|(insns, _)| insns)
}

/// The same; also returns the byte order of the machine that the program is for: the given one, unless
/// assembly sets another with `.endian`.
///
/// ```
/// use callgate_bpf::Endian;
/// use callgate_bpf::text;
///
/// let (insns, endian) = text::parse_for(".endian big\n ld args[0].low\n ret ALLOW", Endian::Little)?;
/// assert_eq!((insns[0].k, endian), (20, Endian::Big));
/// # Ok::<(), callgate_bpf::asm::AsmError>(())
/// ```
pub fn parse_for(text: &str, endian: Endian) -> Result<(Vec<RawInsn>, Endian), AsmError> {
    let assembly = tokens(text, Flavour::Assembly)?;
    let insns = match form(text, &assembly) {
        Form::Decimal => table::decimal(text),
        Form::Table => table::named(&assembly),
        Form::Hex => hex::bytes(text, endian),
        Form::Source => source::rows(text),
        Form::Assembly => {
            let (insns, endian) = assemble_tokens(&assembly, endian)?;
            return Ok((insns.into_iter().map(RawInsn::from).collect(), endian));
        }
    };
    Ok((insns?, endian))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Decimal,
    Table,
    Hex,
    Source,
    Assembly,
}

/// Recognises the form: by the first line, or for source code by its macros and braces.
fn form(text: &str, assembly: &[Token<'_>]) -> Form {
    let mut lines =
        assembly.split(|token| token.kind == TokenKind::LineEnd).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let second = lines.next();
    let is_number = |kind| matches!(kind, TokenKind::Number(_));
    let legacy = |word: &str| word.starts_with("BPF_S_");
    let table = match first {
        [word, ..] if word.text == "line" || legacy(word.text) => true,
        [index, colon, code, ..] if is_number(index.kind) && colon.is(':') => {
            is_number(code.kind) || legacy(code.text)
        }
        _ => false,
    };
    let source = assembly
        .iter()
        .any(|token| token.is('{') || token.is_word("BPF_STMT") || token.is_word("BPF_JUMP"));
    let decimal = match first {
        [count] => is_count(count.text) && second.is_none_or(|line| line.len() > 1),
        [count, comma, ..] => is_count(count.text) && comma.is(','),
        _ => false,
    };
    if table {
        Form::Table
    } else if source {
        Form::Source
    } else if decimal {
        Form::Decimal
    } else if hex::is_hex(text) {
        Form::Hex
    } else {
        Form::Assembly
    }
}

/// Whether a text can be the count of a decimal table.
fn is_count(text: &str) -> bool {
    text.len() <= 5 && text.chars().all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests;
