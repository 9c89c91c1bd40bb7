//! Programs as numbers: `tcpdump -ddd`, bytes in hexadecimal, and the tables of libseccomp and of Linux 3.10.

use super::linux3::code_of_name;
use crate::asm::{AsmError, Errors};
use crate::cursor::Result;
use crate::diagnostic::{Diagnostic, Position, error};
use crate::token::{Token, TokenKind, quote};
use callgate_core::{Endian, Op, RawInsn};

/// A count, then `code jt jf k` in decimal; records end with a line or a comma.
pub(super) fn decimal(text: &str) -> Result<Vec<RawInsn>, AsmError> {
    let mut count = None;
    let mut insns = Vec::new();
    let mut errors = Errors::default();
    for (line, number) in text.lines().zip(1u32..) {
        let mut column = 1;
        for record in line.split(',') {
            let fields = fields(record, Position { line: number, column });
            column += width(record) + 1;
            let read = match (fields.as_slice(), count) {
                ([], _) => continue,
                ([field], None) => decimal_field(*field, "the count", u32::MAX)
                    .map(|given| count = Some((given, field.1))),
                ([code, jt, jf, k], Some(_)) => {
                    insn([*code, *jt, *jf, *k], decimal_field).map(|insn| insns.push(insn))
                }
                ([(_, position), ..], count) => {
                    let expected = match count {
                        None => "only the count of instructions",
                        Some(_) => "the four numbers `code jt jf k`",
                    };
                    let unit = if count.is_none() { " numbers" } else { "" };
                    let found = fields.len();
                    Err(error(*position, format!("expected {expected}, found {found}{unit}")))
                }
            };
            errors.extend(read.err());
        }
    }
    let wrong = count.filter(|(given, _)| errors.is_empty() && *given as usize != insns.len());
    if let Some((given, position)) = wrong {
        let message =
            format!("the count is {given}, but the table has {} instructions", insns.len());
        errors.push(error(position, message).help("the text is truncated, or lines are missing"));
    }
    errors.check().map(|()| insns)
}

/// The words of a record with their positions.
fn fields(record: &str, start: Position) -> Vec<(&str, Position)> {
    let mut fields = Vec::new();
    let mut rest = record;
    let mut column = start.column;
    loop {
        let trimmed = rest.trim_start();
        let blanks = rest.get(..rest.len() - trimmed.len()).unwrap_or_default();
        column += width(blanks);
        if trimmed.is_empty() {
            return fields;
        }
        let end = trimmed.find(char::is_whitespace).unwrap_or(trimmed.len());
        let (word, after) = trimmed.split_at(end);
        fields.push((word, Position { column, ..start }));
        column += width(word);
        rest = after;
    }
}

/// How many columns a part of a line takes. A line may be long, so no part is counted again for each field.
fn width(part: &str) -> u32 {
    #[cfg(test)]
    tests::COUNTED.with(|counted| counted.set(counted.get() + part.len()));
    part.chars().count() as u32
}

/// An instruction from its four fields.
fn insn<F>(
    [code, jt, jf, k]: [F; 4],
    read: impl Fn(F, &str, u32) -> Result<u32>,
) -> Result<RawInsn> {
    Ok(RawInsn {
        code: read(code, "the code", u16::MAX.into())? as u16,
        jt: read(jt, "jt", u8::MAX.into())? as u8,
        jf: read(jf, "jf", u8::MAX.into())? as u8,
        k: read(k, "k", u32::MAX)?,
    })
}

fn decimal_field((text, position): (&str, Position), what: &str, limit: u32) -> Result<u32> {
    if text.is_empty() || !text.chars().all(|c| c.is_ascii_digit()) {
        let message = format!("expected {what} as a decimal number, found {}", quote(text));
        return Err(error(position, message));
    }
    let value = text.parse().ok().filter(|value| *value <= limit);
    value.ok_or_else(|| too_large(text, position, what, limit))
}

fn too_large(text: &str, position: Position, what: &str, limit: u32) -> Diagnostic {
    error(position, format!("{} is too large for {what}; the limit is {limit}", quote(text)))
}

/// Lines of `index: code jt jf k`, where the code is a number (then the rest of the line is its
/// translation and is ignored) or one of the kernel's old names. Both may have the names of the fields: `jt=0x01`.
pub(super) fn named(tokens: &[Token<'_>]) -> Result<Vec<RawInsn>, AsmError> {
    let mut insns = Vec::new();
    let mut errors = Errors::default();
    for line in tokens.split(Token::is_line_end) {
        match line {
            [] => {}
            [header, ..] if header.text == "line" || header.is('=') => {}
            // Below a listing.
            [processed, instructions, colon, count]
                if processed.is_word("Processed")
                    && instructions.is_word("instructions")
                    && colon.is(':') =>
            {
                if errors.is_empty() && count.text != insns.len().to_string() {
                    let message =
                        format!("the listing has {} instructions, not {}", insns.len(), count.text);
                    errors.push(error(count.position, message).help("lines are missing"));
                }
            }
            line => insns.push(row(line, insns.len()).unwrap_or_else(|error| {
                errors.push(error);
                RawInsn::default()
            })),
        }
    }
    errors.check().map(|()| insns)
}

/// Whether a line begins such a table.
pub(super) fn is_table(line: &[Token<'_>]) -> bool {
    let is_legacy = |token: &Token<'_>| token.text.starts_with("BPF_S_");
    match line {
        [word, ..] if word.text == "line" || is_legacy(word) => true,
        [index, colon, code, ..] if index_of(index).is_some() && colon.is(':') => {
            code.is_number() || is_legacy(code)
        }
        [code, rest @ ..] if code.is_number() => is_named_field(rest),
        _ => false,
    }
}

/// The index of a line, `12` or `l12`.
fn index_of<'a>(token: &Token<'a>) -> Option<&'a str> {
    let digits = match token.kind {
        TokenKind::Word => token.text.strip_prefix(['l', 'L'])?,
        _ => token.text,
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(digits)
}

/// Whether the next tokens are the name of a field and `=`.
fn is_named_field(tokens: &[Token<'_>]) -> bool {
    matches!(tokens, [name, equals, ..]
        if equals.is('=') && matches!(name.text, "code" | "jt" | "jf" | "tf" | "k"))
}

fn row(line: &[Token<'_>], index: usize) -> Result<RawInsn> {
    let mut rest = match line {
        [given, colon, fields @ ..] if colon.is(':') => {
            if index_of(given).and_then(|given| given.parse().ok()) != Some(index) {
                let message =
                    format!("expected line {index} of the table, found {}", quote(given.text));
                return Err(
                    error(given.position, message).help("lines are missing or out of order")
                );
            }
            fields
        }
        fields => fields,
    };
    let name = rest
        .split_first()
        .filter(|(name, after)| name.is_name() && !after.first().is_some_and(|mark| mark.is('=')));
    let mut fields: Vec<Field<'_>> = Vec::new();
    if let Some((name, after)) = name {
        let code = legacy_code(name)?;
        fields.push(Field::Code(code));
        rest = after;
        // A listing with names may have the kernel's numbers as well.
        if let Some((number, after)) = rest.split_first().filter(|(_, after)| is_named_field(after))
        {
            field(Field::Token(number), "the code", u16::MAX.into())?;
            if code == Op::DivK.code() {
                return Err(error(
                    name.position,
                    "the divisor is not known: this kernel stored its reciprocal",
                )
                .help(
                    "replace the line by `BPF_S_ALU_DIV_K jt jf DIVISOR`, without the number after the name",
                ));
            }
            rest = after;
        }
    }
    let mut has_names = name.is_some();
    while fields.len() < 4 {
        let is_name = is_named_field(rest);
        has_names |= is_name;
        let values = if is_name { rest.get(2..).unwrap_or_default() } else { rest };
        let Some((value, after)) = values.split_first() else { break };
        fields.push(Field::Token(value));
        rest = after;
    }
    let fields: [Field<'_>; 4] = fields.try_into().map_err(|fields: Vec<_>| {
        let message =
            format!("expected the four fields code, jt, jf and k, found {}", fields.len());
        Diagnostic::error(line.first().map(|first| first.position), message)
    })?;
    if let (true, Some(extra)) = (has_names, rest.first()) {
        let message = format!("expected the end of the line, found {}", quote(extra.text));
        return Err(error(extra.position, message));
    }
    insn(fields, field)
}

/// A field of a row.
enum Field<'t> {
    /// The code of a name.
    Code(u16),
    Token(&'t Token<'t>),
}

fn field(field: Field<'_>, what: &str, limit: u32) -> Result<u32> {
    match field {
        Field::Code(code) => Ok(code.into()),
        Field::Token(Token { kind: TokenKind::Number(Ok(value)), .. }) if *value <= limit => {
            Ok(*value)
        }
        Field::Token(Token { kind: TokenKind::Number(Ok(_)), text, position }) => {
            Err(too_large(text, *position, what, limit))
        }
        Field::Token(token) => {
            let message = format!("expected {what}, found {}", quote(token.text));
            Err(error(token.position, message))
        }
    }
}

/// Whether a table has the names of Linux 3.10 beside its numbers: `BPF_S_JMP_JEQ_K 0x002a jt=0x01 jf=0x00 k=0x0`.
pub(super) fn is_dump_of_linux3(tokens: &[Token<'_>]) -> bool {
    tokens.iter().any(|token| token.text.starts_with("BPF_S_"))
        && tokens.iter().any(|token| token.is_word("jt"))
}

/// The code of a name such as `BPF_S_ALU_AND_K`.
fn legacy_code(token: &Token<'_>) -> Result<u16> {
    let known = token.text.strip_prefix("BPF_S_").and_then(code_of_name);
    known.ok_or_else(|| {
        let message =
            format!("{} is not an instruction of Linux 3.10 (`BPF_S_…`)", quote(token.text));
        error(token.position, message)
    })
}

/// Whether the first non-empty line of a text consists of hexadecimal digits, prefixes and separators.
pub(super) fn is_hex(text: &str) -> bool {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let plain = line.replace("\\x", "").replace("0x", "");
    let digits: String = plain.chars().filter(|c| !is_separator(*c)).collect();
    let is_number = digits.len() >= 8 || digits.contains(|c: char| c.is_ascii_digit());
    is_number && digits.chars().all(|c| c.is_ascii_hexdigit())
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || matches!(c, ',' | '"' | '\'')
}

/// Reads bytes as instructions.
pub(super) fn bytes(text: &str, endian: Endian) -> Result<Vec<RawInsn>, AsmError> {
    let mut bytes = Vec::new();
    let mut errors = Errors::default();
    // The first digit of a byte, and its position.
    let mut half: Option<(u32, Position)> = None;
    for (line, number) in text.lines().zip(1u32..) {
        let mut chars = line.chars().zip(1u32..).peekable();
        while let Some((c, column)) = chars.next() {
            let position = Position { line: number, column };
            let digit = c.to_digit(16);
            let prefix = matches!(c, '\\' | '0') && chars.peek().is_some_and(|(c, _)| *c == 'x');
            if prefix || is_separator(c) {
                if prefix {
                    chars.next();
                }
                errors.extend(half.take().map(|(_, position)| odd(position)));
            } else {
                if digit.is_none() {
                    let message = format!("{} is not a hexadecimal digit", quote(&c.to_string()));
                    errors.push(error(position, message));
                }
                let digit = digit.unwrap_or(0);
                match half.take() {
                    None => half = Some((digit, position)),
                    Some((high, _)) => bytes.push((high << 4 | digit) as u8),
                }
            }
        }
    }
    errors.extend(half.map(|(_, position)| odd(position)));
    errors.check()?;
    whole(&bytes, endian)
}

/// The instructions of bytes, which must be whole ones.
pub(super) fn whole(bytes: &[u8], endian: Endian) -> Result<Vec<RawInsn>, AsmError> {
    let chunks = bytes.chunks_exact(RawInsn::SIZE);
    let rest = chunks.remainder();
    if !rest.is_empty() {
        let message = format!(
            "the text has {} bytes: {} instructions of {} bytes and {} more bytes",
            bytes.len(),
            chunks.len(),
            RawInsn::SIZE,
            rest.len()
        );
        let error = Diagnostic::error(None, message);
        return Err(error.help("the text is truncated or not a program").into());
    }
    let raw = chunks.filter_map(|chunk| Some(RawInsn::from_bytes(*chunk.first_chunk()?, endian)));
    Ok(raw.collect())
}

/// Whether a text is a listing of `firejail --seccomp.print`: a table whose numbers are hexadecimal without a prefix.
pub(super) fn is_firejail(text: &str) -> bool {
    let mut lines = text.lines().map(str::split_whitespace);
    let has_header = lines.any(|words| words.eq(["line", "OP", "JT", "JF", "K"]));
    let row = lines.find(|words| words.clone().next().is_some_and(|word| word.ends_with(':')));
    has_header && row.and_then(|mut row| row.nth(1)).is_some_and(|code| !code.starts_with("0x"))
}

/// Reads such a listing; what follows the four fields is their translation.
pub(super) fn firejail(text: &str) -> Result<Vec<RawInsn>, AsmError> {
    let mut insns = Vec::new();
    let mut errors = Errors::default();
    let is_header = |line: &str| line.trim_start().starts_with("line") || line.contains("=====");
    for (line, number) in text.lines().zip(1u32..) {
        if line.trim().is_empty() || is_header(line) {
            continue;
        }
        let at = Position { line: number, column: 1 };
        let fields = fields(line, at);
        let mut words = fields.iter();
        let index = words.next().and_then(|(word, _)| word.strip_suffix(':'));
        if index.and_then(|index| usize::from_str_radix(index, 16).ok()) != Some(insns.len()) {
            let message = format!("expected line {:04x} of the table", insns.len());
            errors.push(error(at, message).help("lines are missing or out of order"));
            break;
        }
        let mut next = || words.next().copied().unwrap_or(("", at));
        let fields = [next(), next(), next(), next()];
        insns.push(insn(fields, hexadecimal_field).unwrap_or_else(|error| {
            errors.push(error);
            RawInsn::default()
        }));
    }
    errors.check().map(|()| insns)
}

fn hexadecimal_field((text, position): (&str, Position), what: &str, limit: u32) -> Result<u32> {
    let is_hex = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hex {
        let message = format!("expected {what} as a hexadecimal number, found {}", quote(text));
        return Err(error(position, message));
    }
    let value = u32::from_str_radix(text, 16).ok().filter(|value| *value <= limit);
    value.ok_or_else(|| too_large(text, position, what, limit))
}

fn odd(position: Position) -> Diagnostic {
    error(position, "half a byte: a byte has two hexadecimal digits")
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// How many bytes [`width`] was asked about.
        pub(super) static COUNTED: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn columns_of_a_long_line_are_counted_once() {
        for unit in ["6 ", "6 0 0 0,", " ", ","] {
            let text = format!("99999\n{}", unit.repeat(10_000));
            COUNTED.set(0);
            let _ = decimal(&text);
            // A record as a whole, and its words and blanks.
            assert!(COUNTED.get() <= 2 * text.len(), "{unit:?}: {}", COUNTED.get());
        }
    }
}
