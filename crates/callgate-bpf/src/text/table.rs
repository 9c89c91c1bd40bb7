//! Tables: `tcpdump -ddd`, libseccomp's, and the kernel's names of Linux 3.10.

use super::error::{error, finish};
use super::linux3::code_of_name;
use crate::asm::{AsmError, Errors};
use crate::diagnostic::{Diagnostic, Position};
use crate::lexer::{Token, TokenKind, quote};
use callgate_core::{Op, RawInsn};

type Result<T> = std::result::Result<T, Diagnostic>;

/// A count, then `code jt jf k` in decimal; records end with a line or a comma.
pub(super) fn decimal(text: &str) -> std::result::Result<Vec<RawInsn>, AsmError> {
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
                    decimal_insn(*code, *jt, *jf, *k).map(|insn| insns.push(insn))
                }
                ([first, ..], None) => Err(error(
                    first.1,
                    format!(
                        "expected only the count of instructions, found {} numbers",
                        fields.len()
                    ),
                )),
                ([first, ..], Some(_)) => Err(error(
                    first.1,
                    format!("expected the four numbers `code jt jf k`, found {}", fields.len()),
                )),
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
    finish(insns, errors)
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

type Field<'a> = (&'a str, Position);

fn decimal_insn(code: Field<'_>, jt: Field<'_>, jf: Field<'_>, k: Field<'_>) -> Result<RawInsn> {
    Ok(RawInsn {
        code: decimal_field(code, "the code", u32::from(u16::MAX))? as u16,
        jt: decimal_field(jt, "jt", u32::from(u8::MAX))? as u8,
        jf: decimal_field(jf, "jf", u32::from(u8::MAX))? as u8,
        k: decimal_field(k, "k", u32::MAX)?,
    })
}

fn decimal_field((text, position): Field<'_>, what: &str, limit: u32) -> Result<u32> {
    if text.is_empty() || !text.chars().all(|c| c.is_ascii_digit()) {
        return Err(error(
            position,
            format!("expected {what} as a decimal number, found {}", quote(text)),
        ));
    }
    match text.parse::<u32>() {
        Ok(value) if value <= limit => Ok(value),
        _ => Err(error(
            position,
            format!("{} is too large for {what}; the limit is {limit}", quote(text)),
        )),
    }
}

/// Lines of `index: code jt jf k`, where the code is a number (then the rest of the line is its
/// translation and is ignored) or one of the kernel's old names. Both may have the names of the fields: `jt=0x01`.
pub(super) fn named(tokens: &[Token<'_>]) -> std::result::Result<Vec<RawInsn>, AsmError> {
    let mut insns = Vec::new();
    let mut errors = Errors::default();
    for line in tokens.split(|token| token.kind == TokenKind::LineEnd) {
        let header = line.first().is_none_or(|first| first.text == "line" || first.is('='));
        if header {
            continue;
        }
        if let Some((count, position)) = total(line) {
            if errors.is_empty() && count != insns.len().to_string() {
                let message = format!("the listing has {} instructions, not {count}", insns.len());
                errors.push(error(position, message).help("lines are missing"));
            }
            continue;
        }
        match row(line, insns.len()) {
            Ok(insn) => insns.push(insn),
            Err(error) => {
                errors.push(error);
                insns.push(RawInsn::default());
            }
        }
    }
    finish(insns, errors)
}

/// Whether a line begins such a table.
pub(super) fn is_table(line: &[Token<'_>]) -> bool {
    let is_number = |token: &Token<'_>| matches!(token.kind, TokenKind::Number(_));
    let is_legacy = |token: &Token<'_>| token.text.starts_with("BPF_S_");
    match line {
        [word, ..] if word.text == "line" || is_legacy(word) => true,
        [index, colon, code, ..] if index_of(index).is_some() && colon.is(':') => {
            is_number(code) || is_legacy(code)
        }
        [code, rest @ ..] if is_number(code) => is_named_field(rest),
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

/// The number of instructions in a line below a listing.
fn total<'a>(line: &[Token<'a>]) -> Option<(&'a str, Position)> {
    match line {
        [first, second, colon, count]
            if first.is_word("Processed") && second.is_word("instructions") && colon.is(':') =>
        {
            Some((count.text, count.position))
        }
        _ => None,
    }
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
    let name = rest.split_first().filter(|(name, _)| name.kind == TokenKind::Word);
    let name = name.filter(|(_, after)| !after.first().is_some_and(|mark| mark.is('=')));
    let mut code = None;
    if let Some((name, after)) = name {
        code = Some(legacy_code(name)?);
        rest = after;
        // A listing with names may have the kernel's numbers as well.
        if let Some((number, after)) = rest.split_first().filter(|(_, after)| is_named_field(after))
        {
            field(number, "the code", u32::from(u16::MAX))?;
            if code == Some(Op::DivK.code()) {
                return Err(divided(name.position));
            }
            rest = after;
        }
    }
    let is_named = code.is_some();
    let mut fields = Vec::new();
    let mut has_names = false;
    while let Some((first, after)) = rest.split_first() {
        if fields.len() + usize::from(is_named) == 4 {
            break;
        }
        let is_name = is_named_field(rest);
        has_names |= is_name;
        match (is_name, after) {
            (true, [_, value, after @ ..]) => {
                fields.push(value);
                rest = after;
            }
            (true, _) => break,
            (false, _) => {
                fields.push(first);
                rest = after;
            }
        }
    }
    let position = line.first().map(|first| first.position);
    let missing = |found: usize| {
        let message = format!("expected the four fields code, jt, jf and k, found {found}");
        Diagnostic::error(position, message)
    };
    let (code, jt, jf, k) = match (code, fields.as_slice()) {
        (Some(code), [jt, jf, k]) => (code, *jt, *jf, *k),
        (None, [code, jt, jf, k]) => {
            (field(code, "the code", u32::from(u16::MAX))? as u16, *jt, *jf, *k)
        }
        (_, fields) => return Err(missing(fields.len() + usize::from(is_named))),
    };
    if let (true, Some(extra)) = (is_named || has_names, rest.first()) {
        return Err(error(
            extra.position,
            format!("expected the end of the line, found {}", quote(extra.text)),
        ));
    }
    Ok(RawInsn {
        code,
        jt: field(jt, "jt", u32::from(u8::MAX))? as u8,
        jf: field(jf, "jf", u32::from(u8::MAX))? as u8,
        k: field(k, "k", u32::MAX)?,
    })
}

/// The error about a division in the memory of Linux 3.
fn divided(position: Position) -> Diagnostic {
    error(position, "the divisor is not known: this kernel stored its reciprocal".to_owned()).help(
        "replace the line by `BPF_S_ALU_DIV_K jt jf DIVISOR`, without the number after the name",
    )
}

fn field(token: &Token<'_>, what: &str, limit: u32) -> Result<u32> {
    let message = match token.kind {
        TokenKind::Number(Ok(value)) if value <= limit => return Ok(value),
        TokenKind::Number(Ok(_)) => {
            format!("{} is too large for {what}; the limit is {limit}", quote(token.text))
        }
        _ => format!("expected {what}, found {}", quote(token.text)),
    };
    Err(error(token.position, message))
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
