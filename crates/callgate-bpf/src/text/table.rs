//! Tables: `tcpdump -ddd`, libseccomp's, and the kernel's names of Linux 3.10.

use super::error::{error, finish};
use crate::ancillary::AncillaryWord;
use crate::asm::{AsmError, Errors};
use crate::diagnostic::{Diagnostic, Position};
use crate::disasm::SECCOMP_LOAD;
use crate::insn::RawInsn;
use crate::lexer::{Token, TokenKind, quote};
use crate::op::Op;

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
/// translation and is ignored) or one of the kernel's old names.
pub(super) fn named(tokens: &[Token<'_>]) -> std::result::Result<Vec<RawInsn>, AsmError> {
    let mut insns = Vec::new();
    let mut errors = Errors::default();
    for line in tokens.split(|token| token.kind == TokenKind::LineEnd) {
        let header = line.first().is_none_or(|first| first.text == "line" || first.is('='));
        if header {
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

fn row(line: &[Token<'_>], index: usize) -> Result<RawInsn> {
    let fields = match line {
        [given, colon, fields @ ..] if colon.is(':') => {
            if given.text.parse() != Ok(index) {
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
    let [code, jt, jf, k, rest @ ..] = fields else {
        let position = line.first().map(|first| first.position);
        let message =
            format!("expected the four fields code, jt, jf and k, found {}", fields.len());
        return Err(Diagnostic::error(position, message));
    };
    let (code, named) = match code.kind {
        TokenKind::Word => (legacy_code(code)?, true),
        _ => (field(code, "the code", u32::from(u16::MAX))? as u16, false),
    };
    if let (true, Some(extra)) = (named, rest.first()) {
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

/// The code of a name such as `BPF_S_ALU_AND_K`.
fn legacy_code(token: &Token<'_>) -> Result<u16> {
    let known = token.text.strip_prefix("BPF_S_").and_then(|name| {
        let ancillary = AncillaryWord::ALL.iter().any(|word| word.legacy_name() == Some(name));
        if name == SECCOMP_LOAD || ancillary {
            return Some(Op::LdWordAbs);
        }
        Op::ALL.iter().copied().find(|op| op.legacy_name() == name)
    });
    known.map(Op::code).ok_or_else(|| {
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
