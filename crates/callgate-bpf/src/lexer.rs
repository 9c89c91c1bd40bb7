//! The lexer: splits assembly and source code in C, Rust or Go into tokens. It drops comments and white space, but keeps line
//! ends, because assembly has one instruction per line.
//!
//! In assembly, `;` starts a comment, a line that starts with `#` is one, words may contain dots, and numbers a minus.
//!
//! For C, these are the first three translation phases (C17, 5.1.1.2) as gcc does them: a backslash at the end of a
//! line, also one before blanks, joins the next line to it before comments are recognised; a comment is a blank; numbers
//! are preprocessing numbers, so `0x1e+1` is one. Trigraphs are ignored, as by default in gcc; the one that would join
//! lines is refused. The value of a number is computed from its text, where it is used.

use std::borrow::Cow;

use crate::diagnostic::{Diagnostic, Position, Topic, error};
use crate::token::{Token, TokenKind, number};

/// The languages that differ here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Assembly,
    /// C, C++, and rows of numbers such as those of `tcpdump -dd`.
    C,
    Rust,
    Go,
}

/// The limit on tokens in a text, including line ends. A token takes 40 bytes of memory, what is made of it
/// up to 100. The longest program that can be read has 65,536 instructions of at most 20 tokens each.
pub(crate) const MAX_TOKENS: usize = 2_000_000;

/// A text whose continued lines are joined.
pub(crate) struct Joined<'a> {
    text: Cow<'a, str>,
    /// The offsets in it where lines were joined, and the positions of what follows in the original text.
    seams: Vec<(usize, Position)>,
    /// Trigraphs at the ends of lines.
    errors: Vec<Diagnostic>,
}

/// The tokens of a text, and what is wrong with it.
pub(crate) struct Lexed<'a> {
    /// They end with a line end.
    pub(crate) tokens: Vec<Token<'a>>,
    pub(crate) errors: Vec<Diagnostic>,
}

/// Joins the lines that C continues.
pub(crate) fn join(text: &str) -> Joined<'_> {
    let mut errors: Vec<Diagnostic> = control(text).into_iter().collect();
    if !text.contains('\\') && !text.contains("??/") {
        return Joined { text: Cow::Borrowed(text), seams: Vec::new(), errors };
    }
    let (mut joined, mut seams) = (String::new(), Vec::new());
    for (line, number) in text.split_inclusive('\n').zip(1u32..) {
        let content =
            line.trim_end_matches('\n').trim_end_matches([' ', '\t', '\r', '\x0b', '\x0c']);
        if content.ends_with("??/") {
            let column = content.chars().count() as u32 - 2;
            let position = Position { line: number, column };
            let message = "`??/` at the end of a line joins the next one to it only with some options of compilers";
            errors.push(error(position, message.to_owned()).help("write `\\`, or delete it"));
        }
        match content.strip_suffix('\\') {
            Some(content) if line.ends_with('\n') => {
                joined.push_str(content);
                seams.push((joined.len(), Position { line: number + 1, column: 1 }));
            }
            _ => joined.push_str(line),
        }
    }
    Joined { text: Cow::Owned(joined), seams, errors }
}

/// An error at the first character that compilers do not read as this lexer does: a zero, or a carriage return that does not
/// end a line.
fn control(text: &str) -> Option<Diagnostic> {
    let bytes = text.as_bytes();
    let is_wrong = |at: &usize| match bytes.get(*at) {
        Some(0) => true,
        Some(b'\r') => bytes.get(at + 1).is_some_and(|next| *next != b'\n'),
        _ => false,
    };
    let at = (0..bytes.len()).find(is_wrong)?;
    let before = text.get(..at).unwrap_or_default();
    let line = before.matches('\n').count() as u32 + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() as u32 + 1;
    let what = if bytes.get(at) == Some(&0) { "a zero byte" } else { "a carriage return" };
    let message = format!("{what} is in this line, which compilers read in different ways");
    Some(error(Position { line, column }, message).help("delete it"))
}

impl Joined<'_> {
    /// The tokens as those of C.
    ///
    /// # Errors
    /// If there are too many.
    pub(crate) fn tokens(&self) -> Result<Lexed<'_>, Diagnostic> {
        let mut lexed = split(&self.text, &self.seams, Language::C)?;
        lexed.errors.extend(self.errors.iter().cloned());
        Ok(lexed)
    }
}

/// The tokens of a text in another language.
///
/// # Errors
/// If there are too many.
pub(crate) fn lex(text: &str, language: Language) -> Result<Lexed<'_>, Diagnostic> {
    split(text, &[], language)
}

/// The tokens of assembly.
///
/// # Errors
/// If there are more than [`MAX_TOKENS`].
pub(crate) fn tokens(text: &str) -> Result<Vec<Token<'_>>, Diagnostic> {
    lex(text, Language::Assembly).map(|lexed| lexed.tokens)
}

fn split<'a>(
    text: &'a str,
    seams: &[(usize, Position)],
    language: Language,
) -> Result<Lexed<'a>, Diagnostic> {
    let position = Position::START;
    let mut lexer =
        Lexer { text, at: 0, position, seams, language, errors: Vec::new(), place: Place::Start };
    let mut tokens: Vec<Token<'a>> = Vec::new();
    while let Some(token) = lexer.next_token() {
        if tokens.len() == MAX_TOKENS {
            let remaining = text.len() - lexer.at + token.text.len();
            return Err(too_many(token.position, remaining, text.len()));
        }
        lexer.place = lexer.place.after(&token);
        tokens.push(token);
    }
    tokens.push(Token { kind: TokenKind::LineEnd, text: "", position: lexer.position() });
    Ok(Lexed { tokens, errors: lexer.errors })
}

/// What precedes on the line, for the name after `#include` and for comments of assembly.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    Hash,
    Include,
    Other,
}

impl Place {
    fn after(self, token: &Token<'_>) -> Place {
        match self {
            _ if token.is_line_end() => Place::Start,
            Place::Start if token.is('#') => Place::Hash,
            Place::Hash if matches!(token.text, "include" | "include_next" | "import") => {
                Place::Include
            }
            _ => Place::Other,
        }
    }
}

/// The error about a text with more tokens than [`MAX_TOKENS`]: the place of the first that is too many, and the bytes from it on.
fn too_many(position: Position, remaining: usize, length: usize) -> Diagnostic {
    let message = format!(
        "the text has more than {MAX_TOKENS} tokens (words, numbers, signs and line ends), the limit; {remaining} of its {length} bytes remain"
    );
    error(position, message)
        .help("even the longest program has fewer; check that this is the right file")
        .topic(Topic::TooLarge)
}

struct Lexer<'s, 'a> {
    text: &'a str,
    at: usize,
    /// The position, unless lines were joined here.
    position: Position,
    seams: &'s [(usize, Position)],
    language: Language,
    errors: Vec<Diagnostic>,
    place: Place,
}

/// The two characters that C also accepts for one.
const DIGRAPHS: &[(&str, char)] =
    &[("<:", '['), (":>", ']'), ("<%", '{'), ("%>", '}'), ("%:", '#')];

impl<'a> Lexer<'_, 'a> {
    fn next_token(&mut self) -> Option<Token<'a>> {
        self.skip_blanks_and_comments();
        let position = self.position();
        let rest = self.rest();
        let first = rest.chars().next()?;
        let is_c = self.language == Language::C;
        let digraph = || DIGRAPHS.iter().find(|(text, _)| is_c && rest.starts_with(text));
        let (kind, length) = if first == '\n' {
            (TokenKind::LineEnd, 1)
        } else if self.place == Place::Include && first == '<' {
            let length = rest.find(['>', '\n']).unwrap_or(rest.len());
            let closes = rest.as_bytes().get(length) == Some(&b'>');
            (TokenKind::Mark('"'), length + usize::from(closes))
        } else if let Some(length) = self.number_length(rest) {
            let text = rest.get(..length).unwrap_or_default();
            (TokenKind::Number(number(text)), length)
        } else if let Some(length) = self.raw_string_length(rest) {
            (TokenKind::Mark('"'), length)
        } else if self.starts_word(first) {
            (TokenKind::Word, span(rest, |c| self.starts_word(c) || c.is_ascii_digit()))
        } else if let Some((value, length)) = self.character_of_assembly(rest) {
            (TokenKind::Number(Ok(value)), length)
        } else if self.language == Language::Assembly {
            (TokenKind::Mark(first), first.len_utf8())
        } else if first == '"' {
            let closed = quoted_length(rest, '"');
            (TokenKind::Mark('"'), closed.unwrap_or_else(|| self.unclosed(rest)))
        } else if first == '\'' {
            match self.character_length(rest) {
                Some(length) => (TokenKind::Number(Ok(0)), length),
                None => (TokenKind::Mark('\''), self.unclosed(rest)),
            }
        } else if let Some((text, mark)) = digraph() {
            (TokenKind::Mark(*mark), text.len())
        } else {
            (TokenKind::Mark(first), first.len_utf8())
        };
        let text = self.advance(length);
        if is_c {
            self.check(text, position);
        }
        Some(Token { kind, text, position })
    }

    /// Refuses what compilers may read as a part of a name or of a literal, or as a directive inside a line.
    fn check(&mut self, text: &str, position: Position) {
        let is_prefix = matches!(text, "L" | "u" | "U" | "u8") && self.rest().starts_with('\'');
        let first = text.chars().next().unwrap_or_default();
        let message = match text {
            _ if is_prefix => format!("`{text}'…'` is not read"),
            "_Pragma" | "__pragma" => format!("`{text}` is not read"),
            _ if text.contains("scalar_storage_order") => format!("`{text}` is not read"),
            "\\" => "`\\` is not read outside literals".to_owned(),
            _ if !first.is_ascii() && !first.is_alphabetic() && !is_stray(first) => {
                format!("`{first}` is not read outside comments and literals")
            }
            _ => return,
        };
        if self.errors.len() < MAX_ERRORS {
            let help = "delete it, or write what is meant in another way";
            self.errors.push(error(position, message).help(help));
        }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The position in the original text.
    fn position(&mut self) -> Position {
        while let Some(((offset, position), rest)) = self.seams.split_first() {
            if *offset > self.at {
                break;
            }
            self.position = *position;
            self.seams = rest;
        }
        self.position
    }

    fn advance(&mut self, length: usize) -> &'a str {
        let Some((taken, _)) = self.rest().split_at_checked(length) else { return "" };
        for c in taken.chars() {
            let mut position = self.position();
            if c == '\n' {
                position = Position { line: position.line + 1, column: 1 };
            } else {
                position.column += 1;
            }
            self.position = position;
            self.at += c.len_utf8();
        }
        taken
    }

    fn skip_blanks_and_comments(&mut self) {
        loop {
            let rest = self.rest();
            let is_assembly = self.language == Language::Assembly;
            let is_comment = rest.starts_with("//")
                || (is_assembly && rest.starts_with(';'))
                || (is_assembly && self.place == Place::Start && rest.starts_with('#'));
            let length = if is_comment {
                span(rest, |c| c != '\n')
            } else if rest.starts_with("/*") {
                match self.comment_length(rest) {
                    Some(length) => length,
                    None if is_assembly => rest.len(),
                    None => {
                        let position = self.position();
                        let message = "this comment has no end".to_owned();
                        self.errors.push(error(position, message).help("add the missing `*/`"));
                        rest.len()
                    }
                }
            } else {
                span(rest, |c| c.is_whitespace() && c != '\n')
            };
            if self.advance(length).is_empty() {
                return;
            }
        }
    }

    /// The length of a comment. Those of Rust are nested.
    fn comment_length(&self, rest: &str) -> Option<usize> {
        if self.language != Language::Rust {
            let inside = if self.language == Language::Assembly { 0 } else { 2 };
            return rest.get(inside..)?.find("*/").map(|end| inside + end + 2);
        }
        let (mut at, mut depth) = (2, 1usize);
        while depth > 0 {
            let next = at + rest.get(at..)?.find(['*', '/'])?;
            let pair = rest.get(next..next + 2)?;
            (at, depth) = match pair {
                "/*" => (next + 2, depth + 1),
                "*/" => (next + 2, depth - 1),
                _ => (next + 1, depth),
            };
        }
        Some(at)
    }

    fn number_length(&self, rest: &str) -> Option<usize> {
        let sign = usize::from(self.language == Language::Assembly && rest.starts_with('-'));
        let bytes = rest.as_bytes().get(sign..)?;
        let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        let is_c = self.language == Language::C;
        let is_fraction = is_c && bytes.first() == Some(&b'.') && is_digit(1);
        if !is_digit(0) && !is_fraction {
            return None;
        }
        let mut before = b'0';
        let length = bytes.iter().position(|byte| {
            let is_sign = matches!(byte, b'+' | b'-') && matches!(before | 0x20, b'e' | b'p');
            let continues = byte.is_ascii_alphanumeric()
                || *byte == b'_'
                || (is_c && (*byte == b'.' || is_sign));
            before = *byte;
            !continues
        });
        Some(sign + length.unwrap_or(bytes.len()))
    }

    /// A character in single quotes is its code.
    fn character_of_assembly(&self, rest: &str) -> Option<(u32, usize)> {
        let inside = rest.strip_prefix('\'').filter(|_| self.language == Language::Assembly)?;
        let mut chars = inside.chars();
        let c = chars.next().filter(|c| !matches!(c, '\'' | '\\' | '\n'))?;
        (chars.next() == Some('\'')).then(|| (u32::from(c), c.len_utf8() + 2))
    }

    fn starts_word(&self, c: char) -> bool {
        let is_assembly = self.language == Language::Assembly;
        c.is_alphabetic() || c == '_' || c == if is_assembly { '.' } else { '$' }
    }

    /// The length of a string that may contain line ends: `r#"…"#` of Rust, `R"x(…)x"` of gcc, or in backquotes of Go.
    fn raw_string_length(&mut self, rest: &str) -> Option<usize> {
        let word = span(rest, |c| c.is_ascii_alphanumeric());
        let (prefix, after) = rest.split_at_checked(word)?;
        let (start, end) = match self.language {
            Language::C if matches!(prefix, "R" | "u8R" | "uR" | "UR" | "LR") => {
                let tag =
                    after.strip_prefix('"')?.split('(').next().filter(|tag| tag.len() <= 16)?;
                let position = self.position();
                let message = "a raw string is a string only with some options of compilers";
                self.errors.push(
                    error(position, message.to_owned()).help("delete it, or write a usual string"),
                );
                (word + tag.len() + 2, format!("){tag}\""))
            }
            Language::Rust if matches!(prefix, "r" | "br" | "cr") => {
                let marks = span(after, |c| c == '#');
                after.get(marks..)?.strip_prefix('"')?;
                (word + marks + 1, format!("\"{}", "#".repeat(marks)))
            }
            Language::Go if rest.starts_with('`') => (1, "`".to_owned()),
            _ => return None,
        };
        let inside = rest.get(start..)?;
        Some(inside.find(&end).map_or(rest.len(), |at| start + at + end.len()))
    }

    /// The length of a character in single quotes; in Rust, of one that is not a lifetime.
    fn character_length(&self, rest: &str) -> Option<usize> {
        let length = quoted_length(rest, '\'')?;
        let inside = rest.get(1..length - 1)?;
        let is_one = inside.chars().count() == 1 || inside.starts_with('\\');
        (self.language != Language::Rust || is_one).then_some(length)
    }

    /// The length of a token that begins with a quote without another one on its line: in C, the rest of the line.
    fn unclosed(&self, rest: &str) -> usize {
        match self.language {
            Language::C => span(rest, |c| c != '\n'),
            _ => 1,
        }
    }
}

/// How many errors are kept.
const MAX_ERRORS: usize = 20;

/// Whether a character outside ASCII is in no name of C (C11, annex D), so that compilers refuse a program with it: quotation
/// marks, dashes and lines of the text around a program.
fn is_stray(c: char) -> bool {
    matches!(c, '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{203e}' | '\u{2190}'..='\u{245f}' | '\u{2500}'..='\u{2775}' | '\u{feff}')
}

/// The length in bytes of the longest prefix of such characters.
fn span(text: &str, of: impl Fn(char) -> bool) -> usize {
    text.find(|c| !of(c)).unwrap_or(text.len())
}

/// The length in bytes of what a quote encloses, with both quotes, which are on one line.
fn quoted_length(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' => return None,
            c if c == quote && !is_escaped => return Some(at + 1),
            c => is_escaped = c == '\\' && !is_escaped,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn anything_at_all_is_tokens() {
        for text in ["'", "''", "'é'", "-", "--1", "é.ü", "/*", "\u{0}\r\n\t", "'\\'"] {
            assert!(!tokens(text).unwrap().is_empty());
        }
        let kinds: Vec<_> = tokens("'a'").unwrap().iter().map(|t| t.kind).collect();
        assert_eq!(kinds, [TokenKind::Number(Ok(97)), TokenKind::LineEnd]);
    }
}
