//! Bytes in hexadecimal.

use super::error::{error, finish};
use crate::asm::{AsmError, Errors};
use crate::diagnostic::{Diagnostic, Position};
use crate::lexer::quote;
use callgate_core::{Endian, RawInsn};

/// Whether the first non-empty line consists of hexadecimal digits, prefixes and separators.
pub(super) fn is_hex(text: &str) -> bool {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let plain = line.replace("\\x", "").replace("0x", "");
    let digits: String = plain.chars().filter(|c| !is_decoration(*c)).collect();
    let is_number = digits.len() >= 8 || digits.contains(|c: char| c.is_ascii_digit());
    is_number && digits.chars().all(|c| c.is_ascii_hexdigit())
}

fn is_decoration(c: char) -> bool {
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
            if prefix || is_decoration(c) {
                if prefix {
                    chars.next();
                }
                errors.extend(half.take().map(|(_, position)| odd(position)));
            } else {
                if digit.is_none() {
                    errors.push(error(
                        position,
                        format!("{} is not a hexadecimal digit", quote(&c.to_string())),
                    ));
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
    let chunks = bytes.chunks_exact(RawInsn::SIZE);
    let rest = chunks.remainder();
    if errors.is_empty() && !rest.is_empty() {
        let message = format!(
            "the text has {} bytes: {} instructions of {} bytes and {} more bytes",
            bytes.len(),
            chunks.len(),
            RawInsn::SIZE,
            rest.len()
        );
        errors
            .push(Diagnostic::error(None, message).help("the text is truncated or not a program"));
    }
    let raw = chunks.filter_map(|chunk| Some(RawInsn::from_bytes(*chunk.first_chunk()?, endian)));
    finish(raw.collect(), errors)
}

fn odd(position: Position) -> Diagnostic {
    error(position, "half a byte: a byte has two hexadecimal digits".to_owned())
}
