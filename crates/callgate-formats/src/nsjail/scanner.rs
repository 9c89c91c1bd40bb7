//! The lexical parts of protobuf's text format.

use super::decode::Decoded;

/// What is wrong with the form of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Malformed {
    pub(super) at: usize,
    pub(super) message: String,
    pub(super) help: &'static str,
}

/// Reads a text from its start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scanner<'t> {
    text: &'t str,
    pub(super) at: usize,
}

type Result<T> = std::result::Result<T, Malformed>;

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str) -> Scanner<'t> {
        Scanner { text, at: if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 } }
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next character, after white space and comments; `None` at the end.
    pub(super) fn peek(&mut self) -> Option<char> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_ascii_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with('#') {
                return trimmed.chars().next();
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    /// Takes this character if it is the next one.
    pub(super) fn take(&mut self, wanted: char) -> bool {
        let is_next = self.peek() == Some(wanted);
        if is_next {
            self.at += wanted.len_utf8();
        }
        is_next
    }

    /// The next word or number; empty for anything else.
    pub(super) fn word(&mut self) -> &'t str {
        self.peek();
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '+' | '-');
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    /// Adjacent strings, of which there is at least one.
    pub(super) fn strings(&mut self) -> Result<Decoded> {
        let mut decoded = Decoded::default();
        while let Some(quote @ ('"' | '\'')) = self.peek() {
            self.string(quote, &mut decoded)?;
        }
        Ok(decoded)
    }

    /// A string in these quotes.
    fn string(&mut self, quote: char, decoded: &mut Decoded) -> Result<()> {
        let start = self.at;
        self.at += 1;
        loop {
            let rest = self.rest();
            let Some(end) = rest.find([quote, '\\']) else {
                let message = "the string does not end".to_owned();
                return Err(Malformed { at: start, message, help: "end it with the same quote" });
            };
            decoded.push(rest.as_bytes().get(..end).unwrap_or_default(), self.at);
            self.at += end;
            if self.rest().starts_with(quote) {
                self.at += 1;
                return Ok(());
            }
            self.escape(decoded)?;
        }
    }

    /// An escape, of which the backslash is next.
    fn escape(&mut self, decoded: &mut Decoded) -> Result<()> {
        let at = self.at;
        let mut rest = self.rest().chars().skip(1);
        let kind = rest.next();
        let digits = |radix: u32, from: usize, most: usize| {
            let text = self.rest().get(from..).unwrap_or_default();
            let end = text.find(|c: char| !c.is_digit(radix)).unwrap_or(text.len()).min(most);
            let text = text.get(..end).unwrap_or_default();
            (u32::from_str_radix(text, radix).ok(), from + end)
        };
        let wrong = |message: &str| Malformed {
            at,
            message: message.to_owned(),
            help: "write a backslash as \\\\",
        };
        let simple = match kind {
            Some('a') => Some(7),
            Some('b') => Some(8),
            Some('f') => Some(12),
            Some('n') => Some(b'\n'),
            Some('r') => Some(b'\r'),
            Some('t') => Some(b'\t'),
            Some('v') => Some(11),
            Some(c @ ('?' | '\\' | '\'' | '"')) => u8::try_from(c).ok(),
            _ => None,
        };
        if let Some(byte) = simple {
            decoded.push_byte(byte, at);
            self.at += 2;
            return Ok(());
        }
        let (value, end) = match kind {
            Some('0'..='7') => digits(8, 1, 3),
            Some('x' | 'X') => digits(16, 2, 2),
            Some('u') => digits(16, 2, 4),
            Some('U') => digits(16, 2, 8),
            _ => return Err(wrong("unknown escape in a string")),
        };
        let is_character = matches!(kind, Some('u' | 'U'));
        match (value, is_character) {
            (Some(value), true) => {
                let character = char::from_u32(value).ok_or_else(|| wrong("no such character"))?;
                decoded.push_char(character, at);
            }
            (Some(value), false) => match u8::try_from(value) {
                Ok(byte) => decoded.push_byte(byte, at),
                Err(_) => return Err(wrong("the escape is larger than a byte")),
            },
            (None, _) => return Err(wrong("the escape has no digits")),
        }
        self.at += end;
        Ok(())
    }
}
