//! The logical lines of a Python program: its indentation and its tokens, without comments.

use callgate_bpf::diagnostic::{Diagnostic, Position, Topic};

/// The most tokens.
const MAX_TOKENS: usize = 200_000;

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Name(String),
    Number(i128),
    Text(String),
    /// A string with values of a run, or a number that is not an integer.
    Opaque,
    Sign(char),
    /// `<<`
    Shift,
}

#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) position: Position,
}

impl Token {
    pub(super) fn is(&self, sign: char) -> bool {
        self.kind == Kind::Sign(sign)
    }

    pub(super) fn name(&self) -> Option<&str> {
        match &self.kind {
            Kind::Name(name) => Some(name),
            _ => None,
        }
    }
}

/// A logical line.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) indent: usize,
    pub(super) tokens: Vec<Token>,
}

impl Line {
    /// Whether it begins with a word.
    pub(super) fn begins(&self, word: &str) -> bool {
        self.tokens.first().and_then(Token::name) == Some(word)
    }

    pub(super) fn position(&self) -> Position {
        self.tokens.first().map_or(Position { line: 1, column: 1 }, |token| token.position)
    }
}

/// Splits a text.
pub(super) fn lines(text: &str) -> Result<Vec<Line>, Diagnostic> {
    let mut lexer = Lexer {
        letters: text.strip_prefix('\u{feff}').unwrap_or(text).chars().collect(),
        at: 0,
        position: Position { line: 1, column: 1 },
        depth: 0,
    };
    let mut lines: Vec<Line> = Vec::new();
    let mut count = 0;
    while lexer.at < lexer.letters.len() {
        let indent = lexer.indent();
        let tokens = lexer.line()?;
        count += tokens.len();
        if count > MAX_TOKENS {
            let message =
                format!("the program has more than {MAX_TOKENS} words and signs, the limit");
            return Err(Diagnostic::error(None, message)
                .help("give only the functions that make the filter")
                .topic(Topic::TooLarge));
        }
        if !tokens.is_empty() {
            lines.push(Line { indent, tokens });
        }
    }
    Ok(lines)
}

struct Lexer {
    letters: Vec<char>,
    at: usize,
    position: Position,
    /// Open brackets.
    depth: usize,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.at + ahead).copied()
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.peek(0)?;
        self.at += 1;
        match letter {
            '\n' => self.position = Position { line: self.position.line + 1, column: 1 },
            _ => self.position.column += 1,
        }
        Some(letter)
    }

    fn indent(&mut self) -> usize {
        let mut indent = 0;
        loop {
            match self.peek(0) {
                Some(' ') => indent += 1,
                Some('\t') => indent = (indent / 8 + 1) * 8,
                Some('\x0c') => indent = 0,
                _ => return indent,
            }
            self.next();
        }
    }

    /// The tokens up to the end of the logical line.
    fn line(&mut self) -> Result<Vec<Token>, Diagnostic> {
        let mut tokens = Vec::new();
        while let Some(letter) = self.peek(0) {
            let position = self.position;
            let kind = match letter {
                '\n' => {
                    self.next();
                    if self.depth == 0 {
                        break;
                    }
                    continue;
                }
                '#' => {
                    while self.peek(0).is_some_and(|letter| letter != '\n') {
                        self.next();
                    }
                    continue;
                }
                '\\' => {
                    self.next();
                    // A line that goes on.
                    while self.peek(0).is_some_and(|letter| letter == '\r' || letter == '\n') {
                        if self.next() == Some('\n') {
                            break;
                        }
                    }
                    continue;
                }
                '"' | '\'' => self.string("", position)?,
                _ if letter.is_alphabetic() || letter == '_' => self.word(position)?,
                _ if letter.is_ascii_digit() => self.number(),
                _ if letter.is_whitespace() => {
                    self.next();
                    continue;
                }
                '<' if self.peek(1) == Some('<') => {
                    self.next();
                    self.next();
                    Kind::Shift
                }
                _ => {
                    match letter {
                        '(' | '[' | '{' => self.depth += 1,
                        ')' | ']' | '}' => self.depth = self.depth.saturating_sub(1),
                        _ => {}
                    }
                    self.next();
                    Kind::Sign(letter)
                }
            };
            tokens.push(Token { kind, position });
        }
        Ok(tokens)
    }

    fn word(&mut self, position: Position) -> Result<Kind, Diagnostic> {
        let mut word = String::new();
        while let Some(letter) = self.peek(0).filter(|c| c.is_alphanumeric() || *c == '_') {
            word.push(letter);
            self.next();
        }
        let is_prefix = word.len() <= 2 && word.chars().all(|c| "rRbBuUfFtT".contains(c));
        match self.peek(0) {
            Some('"' | '\'') if is_prefix => self.string(&word.to_ascii_lowercase(), position),
            _ => Ok(Kind::Name(word)),
        }
    }

    fn number(&mut self) -> Kind {
        let mut digits = String::new();
        while let Some(letter) =
            self.peek(0).filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))
        {
            digits.push(letter.to_ascii_lowercase());
            self.next();
        }
        let digits = digits.replace('_', "");
        let bases = [("0x", 16), ("0o", 8), ("0b", 2)];
        let based =
            bases.iter().find_map(|(prefix, base)| Some((digits.strip_prefix(prefix)?, *base)));
        let (digits, base) = based.unwrap_or((&digits, 10));
        i128::from_str_radix(digits, base).map_or(Kind::Opaque, Kind::Number)
    }

    fn string(&mut self, prefix: &str, position: Position) -> Result<Kind, Diagnostic> {
        let Some(quote) = self.next() else { return Ok(Kind::Opaque) };
        let is_long = self.peek(0) == Some(quote) && self.peek(1) == Some(quote);
        if is_long {
            self.next();
            self.next();
        }
        let (is_raw, mut is_opaque) = (prefix.contains('r'), prefix.contains(['f', 't']));
        let mut text = String::new();
        loop {
            let ends = |lexer: &Lexer| {
                lexer.peek(0) == Some(quote)
                    && (!is_long || (lexer.peek(1) == Some(quote) && lexer.peek(2) == Some(quote)))
            };
            if ends(self) {
                for _ in 0..if is_long { 3 } else { 1 } {
                    self.next();
                }
                return Ok(if is_opaque { Kind::Opaque } else { Kind::Text(text) });
            }
            match self.next() {
                Some('\n') if !is_long => break,
                None => break,
                Some('\\') => match self.next() {
                    Some(escaped @ ('\\' | '\'' | '"')) if !is_raw => text.push(escaped),
                    Some('\n') if !is_raw => {}
                    Some('n') if !is_raw => text.push('\n'),
                    Some('t') if !is_raw => text.push('\t'),
                    Some(other) => {
                        is_opaque |= !is_raw;
                        text.extend(['\\', other]);
                    }
                    None => break,
                },
                Some(letter) => text.push(letter),
            }
        }
        Err(Diagnostic::error(Some(position), "this string does not end")
            .help("give the whole program"))
    }
}
