//! Tokens of assembly and of source code: words, numbers, punctuation and line ends, each with its position.

use crate::diagnostic::Position;
use crate::printable::visible;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name.
    Word,
    /// A number with 32 bits, or why it is invalid.
    Number(Result<u32, BadNumber>),
    /// Any other character, by itself.
    Mark(char),
    /// The end of a line.
    LineEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BadNumber {
    /// An invalid digit for the base, or no digit.
    Digits,
    /// Below -2^31 or above 2^32 - 1.
    Range,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind,
    pub(super) text: &'a str,
    pub(super) position: Position,
}

impl Token<'_> {
    pub(super) fn is(&self, mark: char) -> bool {
        self.kind == TokenKind::Mark(mark)
    }

    /// Whether it is one of these marks.
    pub(super) fn is_any(&self, marks: &str) -> bool {
        matches!(self.kind, TokenKind::Mark(mark) if marks.contains(mark))
    }

    pub(super) fn is_name(&self) -> bool {
        self.kind == TokenKind::Word
    }

    pub(super) fn is_number(&self) -> bool {
        matches!(self.kind, TokenKind::Number(_))
    }

    pub(super) fn is_line_end(&self) -> bool {
        self.kind == TokenKind::LineEnd
    }

    /// The position after the token.
    pub(super) fn end(&self) -> Position {
        let length = self.text.chars().count() as u32;
        Position { column: self.position.column + length, ..self.position }
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        self.kind == TokenKind::Word && self.text.eq_ignore_ascii_case(word)
    }
}

/// Whether tokens begin with these marks.
pub(super) fn starts(tokens: &[Token<'_>], marks: &str) -> bool {
    let mut tokens = tokens.iter();
    marks.chars().all(|mark| tokens.next().is_some_and(|token| token.is(mark)))
}

/// Text for a message: in quotes, shortened, and with escapes for characters that are not printable.
pub(super) fn quote(text: &str) -> String {
    const SHOWN: usize = 40;
    let (shown, rest) = match text.char_indices().nth(SHOWN) {
        Some((end, _)) => (text.get(..end).unwrap_or_default(), "…"),
        None => (text, ""),
    };
    format!("`{}{rest}`", visible(shown))
}

/// Hexadecimal with `0x`, binary with `0b`, octal with a leading `0` (as `bpf_asm`), else decimal.
/// Negative numbers are taken as two's complement.
pub(super) fn number(text: &str) -> Result<u32, BadNumber> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, digits.get(2..)),
        [b'0', b'b' | b'B', ..] => (2, digits.get(2..)),
        [b'0', _, ..] => (8, digits.get(1..)),
        _ => (10, Some(digits)),
    };
    let digits = digits.filter(|digits| !digits.is_empty()).ok_or(BadNumber::Digits)?;
    if !digits.chars().all(|c| c.is_digit(base)) {
        return Err(BadNumber::Digits);
    }
    let value = i64::from_str_radix(digits, base).map_err(|_| BadNumber::Range)?;
    if negative {
        i32::try_from(-value).map(|value| value as u32).map_err(|_| BadNumber::Range)
    } else {
        u32::try_from(value).map_err(|_| BadNumber::Range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_bpf_asm() {
        assert_eq!(number("0"), Ok(0));
        assert_eq!(number("4294967295"), Ok(u32::MAX));
        assert_eq!(number("-1"), Ok(u32::MAX));
        assert_eq!(number("-2147483648"), Ok(0x8000_0000));
        assert_eq!(number("0xC000003e"), Ok(0xc000_003e));
        assert_eq!(number("0b101"), Ok(5));
        assert_eq!(number("017"), Ok(15));
        for (text, wrong) in [
            ("4294967296", BadNumber::Range),
            ("-2147483649", BadNumber::Range),
            ("0x123456789", BadNumber::Range),
            ("99999999999999999999999", BadNumber::Range),
            ("018", BadNumber::Digits),
            ("0x", BadNumber::Digits),
            ("12ab", BadNumber::Digits),
            ("1_000", BadNumber::Digits),
        ] {
            assert_eq!(number(text), Err(wrong), "{text}");
        }
    }

    #[test]
    fn quoted_text_is_short_and_harmless() {
        assert_eq!(quote("ld"), "`ld`");
        assert_eq!(quote("\u{1b}[2J"), "`\\u{1b}[2J`");
        assert_eq!(quote(&"é".repeat(50)), format!("`{}…`", "é".repeat(40)));
    }
}
