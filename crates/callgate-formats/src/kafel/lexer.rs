//! The tokens of a policy with its included files.

use std::collections::VecDeque;
use std::rc::Rc;

use crate::included::{Includes, Inclusions, Opened, Place, Reports, Sources, Span};

/// A token and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    Number(u64),
    /// A name that is not a keyword.
    Name,
    /// `$name`, `$name + number` or `~$name`; the place is that of `$name`.
    Variable {
        addend: u64,
        is_complement: bool,
    },
    Keyword(Keyword),
    /// An operator or a bracket.
    Sign(&'static str),
    /// `#include`, before file names in quotes.
    Include,
    /// The end of all texts.
    End,
}

/// The reserved words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keyword {
    Syscall,
    Allow,
    Log,
    UserNotif,
    Errno,
    KillProcess,
    Kill,
    Trap,
    Trace,
    Use,
    Policy,
    Default,
    On,
    Define,
}

pub(super) const KEYWORDS: &[(&str, Keyword)] = &[
    ("SYSCALL", Keyword::Syscall),
    ("ALLOW", Keyword::Allow),
    ("LOG", Keyword::Log),
    ("USER_NOTIF", Keyword::UserNotif),
    ("ERRNO", Keyword::Errno),
    ("KILL_PROCESS", Keyword::KillProcess),
    ("KILL_THREAD", Keyword::Kill),
    ("KILL", Keyword::Kill),
    ("DENY", Keyword::Kill),
    ("TRAP", Keyword::Trap),
    ("TRACE", Keyword::Trace),
    ("USE", Keyword::Use),
    ("POLICY", Keyword::Policy),
    ("DEFAULT", Keyword::Default),
    ("ON", Keyword::On),
    ("define", Keyword::Define),
];

/// Operators and brackets; a longer one comes before its start.
const SIGNS: &[&str] = &[
    "==", "!=", "<=", "<", ">=", ">", "||", "&&", "|", "&", "[", "]", "(", ")", "{", "}", ",", "!",
    "#",
];

/// An error: where, what, and what to do.
#[derive(Debug)]
pub(super) struct Mistake {
    pub(super) at: Place,
    pub(super) message: String,
    pub(super) help: String,
    /// Whether the text exceeds a limit of the reader.
    pub(super) is_too_large: bool,
}

impl Mistake {
    pub(super) fn new(at: Place, message: impl Into<String>, help: impl Into<String>) -> Mistake {
        Mistake { at, message: message.into(), help: help.into(), is_too_large: false }
    }

    /// The same mistake, because of a limit of the reader.
    pub(super) fn too_large(self) -> Mistake {
        Mistake { is_too_large: true, ..self }
    }

    pub(super) fn report(self, reports: &mut Reports) {
        let error = reports.error(self.at, self.message);
        match self.is_too_large {
            true => error.set_too_large(self.help),
            false => error.help = self.help,
        }
    }
}

/// The result of a part of the grammar.
pub(super) type Syntax<T> = Result<T, Mistake>;

/// Reads the tokens of one text.
#[derive(Debug)]
pub(super) struct Lexer {
    text: Rc<str>,
    source: u16,
    at: usize,
}

impl Lexer {
    pub(super) fn new(text: Rc<str>, source: u16) -> Lexer {
        let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Lexer { text, source, at }
    }

    pub(super) fn source(&self) -> u16 {
        self.source
    }

    /// The next token; `None` at the end. After an error, the text goes on after the wrong part.
    pub(super) fn next(&mut self) -> Syntax<Option<Token>> {
        self.skip_spaces()?;
        let start = self.at;
        let Some(first) = self.rest().chars().next() else { return Ok(None) };
        let kind = if self.rest().starts_with("#include") {
            self.at += "#include".len();
            TokenKind::Include
        } else if first.is_ascii_alphabetic() || first == '_' {
            self.word()
        } else if first.is_ascii_digit() || first == '-' {
            TokenKind::Number(self.number()?)
        } else if first == '$' || self.rest().starts_with("~$") {
            return self.variable().map(Some);
        } else if let Some(sign) = SIGNS.iter().find(|sign| self.rest().starts_with(**sign)) {
            self.at += sign.len();
            TokenKind::Sign(sign)
        } else {
            self.at += first.len_utf8();
            let message = format!("unexpected character {first:?}");
            let help = match first {
                '=' => "write `==` to compare",
                '~' | '+' => "only `~$name` and `$name + number` are possible",
                '^' | '*' | '/' | '%' => "the operators are == != < <= > >= & | && || !",
                _ => "remove it",
            };
            return Err(self.error(start, message, help));
        };
        Ok(Some(Token { kind, span: self.span(start) }))
    }

    /// The next file name after `#include`; `None` at the end of the directive, a line break or `;`.
    pub(super) fn file_name(&mut self) -> Syntax<Option<(String, Place)>> {
        let blank = self.rest().len() - self.rest().trim_start_matches([' ', '\t', '\r']).len();
        self.at += blank;
        let start = self.at;
        match self.rest().chars().next() {
            None => return Ok(None),
            Some('\n' | ';') => {
                self.at += 1;
                return Ok(None);
            }
            Some('"') => {}
            Some(other) => {
                self.skip_line();
                let message =
                    format!("expected a file name in quotes after `#include`, but found {other:?}");
                return Err(self.error(start, message, "write #include \"FILE\""));
            }
        }
        let inside = self.rest().get(1..).unwrap_or_default();
        let end =
            inside.find(['"', '\n']).filter(|end| inside[..].as_bytes().get(*end) == Some(&b'"'));
        let Some(end) = end else {
            self.skip_line();
            let message = "the file name has no closing quote";
            return Err(self.error(start, message, "end it with \" on the same line"));
        };
        let name = inside.get(..end).unwrap_or_default().to_owned();
        self.at += end + 2;
        if name.is_empty() {
            let message = "the name of the included file is empty";
            return Err(self.error(start, message, "write #include \"FILE\""));
        }
        Ok(Some((name, self.place(start))))
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn place(&self, offset: usize) -> Place {
        Place { source: self.source, offset: u32::try_from(offset).unwrap_or(u32::MAX) }
    }

    fn span(&self, start: usize) -> Span {
        let len = u32::try_from(self.at - start).unwrap_or(u32::MAX);
        Span { at: self.place(start), len }
    }

    fn error(&self, start: usize, message: impl Into<String>, help: &str) -> Mistake {
        Mistake::new(self.place(start), message, help)
    }

    fn skip_line(&mut self) {
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
    }

    fn skip_spaces(&mut self) -> Syntax<()> {
        loop {
            let blank =
                self.rest().len() - self.rest().trim_start_matches([' ', '\t', '\r', '\n']).len();
            self.at += blank;
            if self.rest().starts_with("//") {
                self.skip_line();
            } else if self.rest().starts_with("/*") {
                self.skip_comment()?;
            } else {
                return Ok(());
            }
        }
    }

    /// Skips a comment. Kafel reads the character after each `*` together with it, so that it does not see the end of
    /// `**/`.
    fn skip_comment(&mut self) -> Syntax<()> {
        let start = self.at;
        let inside = self.rest().get(2..).unwrap_or_default();
        let Some(end) = inside.find("*/") else {
            self.at = self.text.len();
            let message = "the comment has no end";
            return Err(self.error(start, message, "end it with */"));
        };
        let stars = inside.get(..end).unwrap_or_default();
        let stars = stars.len() - stars.trim_end_matches('*').len();
        self.at += 2 + end + 2;
        if stars % 2 == 1 {
            let message = "Kafel does not end this comment at its `**/`";
            return Err(self.error(start, message, "end it with ` */`"));
        }
        Ok(())
    }

    fn word(&mut self) -> TokenKind {
        let len = self.rest().find(|c| !is_part(c)).unwrap_or(self.rest().len());
        let word = self.rest().get(..len).unwrap_or_default();
        let keyword = KEYWORDS.iter().find(|(name, _)| *name == word);
        let kind = keyword.map_or(TokenKind::Name, |(_, keyword)| TokenKind::Keyword(*keyword));
        self.at += len;
        kind
    }

    /// `$name`, `$name + number` or `~$name`: a value that is set when the filter is installed. Kafel has no variables.
    fn variable(&mut self) -> Syntax<Token> {
        let is_complement = self.rest().starts_with('~');
        self.at += usize::from(is_complement);
        let start = self.at;
        self.at += "$".len();
        if !self.rest().starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            let message = "`$` without the name of a variable";
            return Err(self.error(start, message, "write a name after it, such as `$fd`"));
        }
        self.word();
        let span = self.span(start);
        let end = self.at;
        self.skip_spaces()?;
        let mut addend = 0;
        if !is_complement && self.rest().starts_with('+') {
            self.at += "+".len();
            self.skip_spaces()?;
            if !self.rest().starts_with(|c: char| c.is_ascii_digit()) {
                let message = "`+` without a number";
                let help = "only a number can be added to a variable";
                return Err(self.error(self.at, message, help));
            }
            addend = self.number()?;
        } else {
            self.at = end;
        }
        Ok(Token { kind: TokenKind::Variable { addend, is_complement }, span })
    }

    /// A number: decimal and perhaps negative (two's complement), `0x`, `0b`, or octal after `0`.
    fn number(&mut self) -> Syntax<u64> {
        let start = self.at;
        let sign = usize::from(self.rest().starts_with('-'));
        let digits = self.rest().get(sign..).unwrap_or_default();
        let len = digits.find(|c| !is_part(c)).unwrap_or(digits.len());
        let digits = digits.get(..len).unwrap_or_default().to_owned();
        self.at += sign + len;
        let (radix, plain) = match digits.as_bytes() {
            [b'0', b'x', ..] => (16, digits.get(2..)),
            [b'0', b'b', ..] => (2, digits.get(2..)),
            [b'0', _, ..] => (8, digits.get(1..)),
            _ => (10, Some(digits.as_str())),
        };
        let plain = plain.unwrap_or_default();
        let shown = crate::diagnostics::quote::shorten(&digits);
        if sign == 1 && (radix != 10 || plain == "0" || plain.is_empty()) {
            let message = format!("`-{shown}` is not a number");
            let help = "only a decimal number other than 0 may be negative";
            return Err(self.error(start, message, help));
        }
        let value = u64::from_str_radix(plain, radix).map_err(|error| {
            let (message, help) = match error.kind() {
                std::num::IntErrorKind::PosOverflow => {
                    (format!("{shown} does not fit in 64 bits"), "use a smaller number")
                }
                _ if radix == 8 => (
                    format!("`{shown}` is not an octal number"),
                    "a number that starts with 0 is octal; omit the 0 for a decimal number",
                ),
                _ => (format!("`{shown}` is not a number"), "use decimal, 0x, 0b or octal digits"),
            };
            self.error(start, message, help)
        })?;
        Ok(if sign == 1 { value.wrapping_neg() } else { value })
    }
}

/// Whether a character may be in a word or a number.
fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// How deep inclusions may nest, as in Kafel.
const MAX_DEPTH: usize = 16;

/// Reads tokens, and includes files on the way.
pub(super) struct Tokens<'a, 'i> {
    pub(super) sources: Sources,
    pub(super) reports: Reports,
    includes: &'a mut Includes<'i>,
    /// The texts that are being read, the innermost last.
    open: Vec<Lexer>,
    /// Whether the innermost text is inside `#include`.
    in_directive: Vec<bool>,
    ahead: VecDeque<Token>,
    inclusions: Inclusions,
    end: Place,
}

impl<'a, 'i> Tokens<'a, 'i> {
    /// The tokens of a policy with this identity, if it is known.
    pub(super) fn new(
        text: &str,
        identity: Option<&str>,
        includes: &'a mut Includes<'i>,
    ) -> Tokens<'a, 'i> {
        let sources = Sources::new(text, identity);
        let open = sources.get(0).map(|source| Lexer::new(source.text.clone(), 0));
        let offset = u32::try_from(text.trim_end().len()).unwrap_or(u32::MAX);
        Tokens {
            sources,
            reports: Reports::default(),
            includes,
            open: open.into_iter().collect(),
            in_directive: vec![false],
            ahead: VecDeque::new(),
            inclusions: Inclusions::new(text.len(), MAX_DEPTH),
            end: Place { source: 0, offset },
        }
    }

    /// The token after `n` others, which is not taken.
    pub(super) fn peek_at(&mut self, n: usize) -> Token {
        while self.ahead.len() <= n {
            let next = self.read();
            self.ahead.push_back(next);
        }
        self.ahead.get(n).copied().unwrap_or_else(|| self.end_token())
    }

    pub(super) fn peek(&mut self) -> Token {
        self.peek_at(0)
    }

    /// Takes the next token.
    pub(super) fn take(&mut self) -> Token {
        let next = self.peek();
        self.ahead.pop_front();
        next
    }

    fn end_token(&self) -> Token {
        Token { kind: TokenKind::End, span: Span { at: self.end, len: 0 } }
    }

    fn read(&mut self) -> Token {
        loop {
            let Some(lexer) = self.open.last_mut() else { return self.end_token() };
            if self.in_directive.last() == Some(&true) {
                match lexer.file_name() {
                    Ok(Some((name, at))) => self.include(&name, at),
                    Ok(None) => self.end_directive(),
                    Err(error) => {
                        self.report(error);
                        self.end_directive();
                    }
                }
                continue;
            }
            match lexer.next() {
                Ok(Some(Token { kind: TokenKind::Include, .. })) => {
                    if let Some(inside) = self.in_directive.last_mut() {
                        *inside = true;
                    }
                }
                Ok(Some(token)) => return token,
                Ok(None) => {
                    self.open.pop();
                    self.in_directive.pop();
                }
                Err(error) => self.report(error),
            }
        }
    }

    fn end_directive(&mut self) {
        if let Some(inside) = self.in_directive.last_mut() {
            *inside = false;
        }
    }

    pub(super) fn report(&mut self, mistake: Mistake) {
        mistake.report(&mut self.reports);
    }

    /// Starts to read an included file.
    fn include(&mut self, name: &str, at: Place) {
        let open: Vec<u16> = self.open.iter().map(Lexer::source).collect();
        let Tokens { sources, reports, includes, inclusions, .. } = self;
        match inclusions.open(name, at, &open, includes, sources, reports) {
            Opened::Source(number) => {
                if let Some(source) = self.sources.get(number) {
                    self.open.push(Lexer::new(source.text.clone(), number));
                    self.in_directive.push(false);
                }
            }
            Opened::Nothing => {}
            Opened::Stop => {
                self.open.clear();
                self.in_directive.clear();
            }
        }
    }
}
