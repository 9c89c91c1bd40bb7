//! The lexer of assembly: splits a text into words, numbers and punctuation, each with its position. It drops
//! comments and white space, but keeps line ends, because assembly has one instruction per line.
//!
//! `;` starts a comment, a line that starts with `#` is one, and words may contain dots. Source code has
//! [a lexer of its own](crate::text), with the same tokens.

use crate::diagnostic::{Diagnostic, Position, error};
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

/// The limit on tokens in a text, including line ends. A token takes 40 bytes of memory, what is made of it
/// up to 100. The longest program that can be read has 65,536 instructions of at most 20 tokens each.
pub(crate) const MAX_TOKENS: usize = 2_000_000;

/// The tokens of a text, always ending with a line end.
///
/// # Errors
/// If there are more than [`MAX_TOKENS`].
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, Diagnostic> {
    let mut lexer = Lexer { rest: text, position: Position::START, line_is_empty: true };
    let mut tokens: Vec<Token<'_>> = Vec::new();
    while let Some(token) = lexer.next_token() {
        if tokens.len() == MAX_TOKENS {
            let remaining = lexer.rest.len() + token.text.len();
            return Err(too_many(token.position, remaining, text.len()));
        }
        tokens.push(token);
    }
    tokens.push(Token { kind: TokenKind::LineEnd, text: "", position: lexer.position });
    Ok(tokens)
}

/// The error about a text with more tokens than [`MAX_TOKENS`]: the place of the first that is too many, and the bytes from it on.
pub(crate) fn too_many(position: Position, remaining: usize, length: usize) -> Diagnostic {
    let message = format!(
        "the text has more than {MAX_TOKENS} tokens (words, numbers, signs and line ends), the limit; {remaining} of its {length} bytes remain"
    );
    error(position, message)
        .help("even the longest program has fewer; check that this is the right file")
}

struct Lexer<'a> {
    rest: &'a str,
    position: Position,
    /// Only white space and comments on this line so far.
    line_is_empty: bool,
}

impl<'a> Lexer<'a> {
    fn next_token(&mut self) -> Option<Token<'a>> {
        self.skip_blanks_and_comments();
        let position = self.position;
        let first = self.rest.chars().next()?;
        let (kind, length) = if first == '\n' {
            (TokenKind::LineEnd, 1)
        } else if let Some(length) = self.number_length() {
            let text = self.rest.get(..length).unwrap_or_default();
            (TokenKind::Number(number(text)), length)
        } else if let Some((value, length)) = self.character() {
            (TokenKind::Number(Ok(value)), length)
        } else if starts_word(first) {
            (TokenKind::Word, self.span(|c| starts_word(c) || c.is_ascii_digit()))
        } else {
            (TokenKind::Mark(first), first.len_utf8())
        };
        let text = self.advance(length);
        self.line_is_empty = kind == TokenKind::LineEnd;
        Some(Token { kind, text, position })
    }

    fn skip_blanks_and_comments(&mut self) {
        loop {
            let to_line_end = self.rest.starts_with("//")
                || self.rest.starts_with(';')
                || (self.line_is_empty && self.rest.starts_with('#'));
            let length = if to_line_end {
                self.span(|c| c != '\n')
            } else if self.rest.starts_with("/*") {
                self.rest.find("*/").map_or(self.rest.len(), |end| end + 2)
            } else {
                self.span(|c| c.is_whitespace() && c != '\n')
            };
            if self.advance(length).is_empty() {
                return;
            }
        }
    }

    /// The length in bytes of the longest prefix of such characters.
    fn span(&self, of: impl Fn(char) -> bool) -> usize {
        self.rest.find(|c| !of(c)).unwrap_or(self.rest.len())
    }

    fn advance(&mut self, length: usize) -> &'a str {
        let Some((taken, rest)) = self.rest.split_at_checked(length) else { return "" };
        for c in taken.chars() {
            if c == '\n' {
                self.position.line += 1;
                self.position.column = 1;
            } else {
                self.position.column += 1;
            }
        }
        self.rest = rest;
        taken
    }

    /// Numbers may start with a minus; a plus is punctuation.
    fn number_length(&self) -> Option<usize> {
        let sign = usize::from(self.rest.starts_with('-'));
        let digits = self.rest.get(sign..)?;
        if !digits.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let end = digits.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        Some(sign + end.unwrap_or(digits.len()))
    }

    /// A character in single quotes is its code.
    fn character(&self) -> Option<(u32, usize)> {
        let mut chars = self.rest.strip_prefix('\'')?.chars();
        let c = chars.next().filter(|c| !matches!(c, '\'' | '\\' | '\n'))?;
        (chars.next() == Some('\'')).then(|| (u32::from(c), c.len_utf8() + 2))
    }
}

fn starts_word(c: char) -> bool {
    c.is_alphabetic() || matches!(c, '_' | '.')
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
    fn comments_vanish_and_positions_stay() {
        let text = "a /* b\n c */ d ; e\n  # f\n, #1 // g";
        let seen: Vec<_> = tokens(text)
            .unwrap()
            .iter()
            .map(|t| (t.text, t.position.line, t.position.column))
            .collect();
        assert_eq!(
            seen,
            [
                ("a", 1, 1),
                ("d", 2, 7),
                ("\n", 2, 12),
                ("\n", 3, 6),
                (",", 4, 1),
                ("#", 4, 3),
                ("1", 4, 4),
                ("", 4, 10)
            ]
        );
    }

    #[test]
    fn a_text_has_two_million_tokens_at_most() {
        for (unit, each) in [("a:", 2), ("{", 1), ("\r\n", 1), ("; c\n", 1), ("ret #1,\n", 5)] {
            let mut text = unit.repeat(MAX_TOKENS / each);
            assert!(tokens(&text).is_ok(), "{unit:?}");
            text.push('x');
            let error = tokens(&text).unwrap_err().message;
            assert!(error.starts_with("the text has more than 2000000 tokens"), "{error}");
            assert!(error.ends_with(&format!("1 of its {} bytes remain", text.len())));
        }
        // White space is not a token.
        assert_eq!(tokens(&" ".repeat(2 * MAX_TOKENS)).unwrap().len(), 1);
    }

    #[test]
    fn quoted_text_is_short_and_harmless() {
        assert_eq!(quote("ld"), "`ld`");
        assert_eq!(quote("\u{1b}[2J"), "`\\u{1b}[2J`");
        assert_eq!(quote(&"é".repeat(50)), format!("`{}…`", "é".repeat(40)));
    }

    #[test]
    fn anything_at_all_is_tokens() {
        for text in ["'", "''", "'é'", "-", "--1", "é.ü", "/*", "\u{0}\r\n\t", "'\\'"] {
            assert!(!tokens(text).unwrap().is_empty());
        }
        let kinds: Vec<_> = tokens("'a'").unwrap().iter().map(|t| t.kind).collect();
        assert_eq!(kinds, [TokenKind::Number(Ok(97)), TokenKind::LineEnd]);
    }
}
