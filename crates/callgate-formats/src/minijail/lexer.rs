//! Lexer: a text as statements, each a list of tokens.
//!
//! A statement ends with its line, unless the line ends with `\`, also in a comment. The parser in C takes the line after such a
//! comment as a part of it.

use std::rc::Rc;

use super::semantics::Semantics;
use crate::diagnostics::quote::shorten;
use crate::included::{Place, Reports, Span};
use callgate_bpf::advice::Advice;

/// The maximum number of tokens in a statement.
const MAX_TOKENS: usize = 1_000_000;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Default,
    Include,
    Frequency,
    Denylist,
    Path,
    Number,
    /// Punctuation.
    Sign(&'static str),
    /// A comparison.
    Operator(&'static str),
    /// `arg0`
    Argument,
    Return,
    /// An action that is a word.
    Action(&'static str),
    /// A name.
    Name,
}

/// A token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) span: Span,
}

/// The tokens of a statement.
pub(super) struct Line {
    pub(super) tokens: Vec<Token>,
    /// The end of its last line.
    pub(super) end: Place,
}

/// Keywords after `@`, which end at a word boundary.
const DIRECTIVES: [(&str, Kind); 3] =
    [("@default", Kind::Default), ("@include", Kind::Include), ("@frequency", Kind::Frequency)];

/// Punctuation and operators; longer ones before their beginnings.
const SIGNS: [(&str, Kind); 20] = [
    (":", Kind::Sign(":")),
    (";", Kind::Sign(";")),
    (",", Kind::Sign(",")),
    ("~", Kind::Sign("~")),
    ("(", Kind::Sign("(")),
    (")", Kind::Sign(")")),
    ("{", Kind::Sign("{")),
    ("}", Kind::Sign("}")),
    ("]", Kind::Sign("]")),
    ("[", Kind::Sign("[")),
    ("||", Kind::Sign("||")),
    ("&&", Kind::Sign("&&")),
    ("|", Kind::Sign("|")),
    ("&", Kind::Operator("&")),
    ("==", Kind::Operator("==")),
    ("!=", Kind::Operator("!=")),
    ("<=", Kind::Operator("<=")),
    ("<", Kind::Operator("<")),
    (">=", Kind::Operator(">=")),
    (">", Kind::Operator(">")),
];

/// Actions; longer ones before their beginnings.
pub(super) const ACTIONS: [&str; 8] =
    ["allow", "kill-process", "kill-thread", "kill", "trap", "trace", "log", "user-notify"];

/// Splits a text into statements.
pub(super) struct Lexer {
    text: Rc<str>,
    source: u16,
    at: usize,
    /// The chosen compiler; `None` if none is.
    semantics: Option<Semantics>,
    /// Whether the next line is a part of a comment for the parser in C.
    in_comment: bool,
}

impl Lexer {
    pub(super) fn new(text: Rc<str>, source: u16, semantics: Option<Semantics>) -> Lexer {
        Lexer { text, source, at: 0, semantics, in_comment: false }
    }

    pub(super) fn source(&self) -> u16 {
        self.source
    }

    /// The next statement that has tokens and no errors. `None` at the end of the text.
    pub(super) fn next(&mut self, reports: &mut Reports) -> Option<Line> {
        let text = Rc::clone(&self.text);
        let mut tokens = Vec::new();
        let mut is_wrong = false;
        while self.at < text.len() {
            let start = self.at;
            let rest = text.get(start..).unwrap_or_default();
            let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
            let line = rest.get(..end).unwrap_or_default();
            let break_len =
                if rest.get(end..).is_some_and(|rest| rest.starts_with("\r\n")) { 2 } else { 1 };
            self.at = start + end + break_len;
            if self.is_comment_of_c(line, (start, end), tokens.is_empty(), reports) {
                continue;
            }
            is_wrong |= !self.line(line, start, &mut tokens, reports);
            if line.ends_with('\\') {
                continue;
            }
            if is_wrong || tokens.is_empty() {
                tokens.clear();
                is_wrong = false;
                continue;
            }
            return Some(Line { tokens, end: self.place(start + line.trim_end().len()) });
        }
        if let Some(first) = tokens.first() {
            reports
                .warn(first.span.at, "this statement has no effect: its last line ends with `\\`")
                .help = "remove the `\\` at the end of the file".to_owned();
        }
        None
    }

    /// Whether the parser in C skips a line as a comment, if it is chosen. Reports carriage returns, which it does not take for the
    /// end of a line. If no compiler is chosen, warns about a line that only one of them takes for a comment.
    fn is_comment_of_c(
        &mut self,
        line: &str,
        (start, end): (usize, usize),
        is_first: bool,
        reports: &mut Reports,
    ) -> bool {
        let is_comment =
            self.in_comment || (is_first && line.trim_start_matches([' ', '\t']).starts_with('#'));
        let goes_on = is_comment && line.ends_with('\\');
        match self.semantics {
            Some(Semantics::Python) => false,
            Some(Semantics::C) => {
                let rest = self.text.get(start + end..).unwrap_or_default();
                let is_return = rest.starts_with('\r');
                if is_return && !(is_comment && rest.starts_with("\r\n")) {
                    let message = "minijail's parser in C takes the carriage return here as a part of the line";
                    reports.error(self.place(start + end), message).help =
                        "end lines with line feeds only".to_owned();
                }
                self.in_comment = goes_on && !is_return;
                is_comment
            }
            None => {
                if goes_on && self.has_statement_next() {
                    let message = "the next line is a statement although this comment ends with `\\`; minijail's parser in C \
                                   takes it as a part of the comment";
                    reports
                        .warn(self.place(start + end.saturating_sub(1)), message)
                        .set_help(Advice::MinijailSemantics);
                }
                false
            }
        }
    }

    /// Whether the next line has more than a comment.
    fn has_statement_next(&self) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let next = rest.lines().next().unwrap_or_default().trim();
        !next.is_empty() && !next.starts_with('#')
    }

    fn place(&self, at: usize) -> Place {
        Place { source: self.source, offset: u32::try_from(at).unwrap_or(u32::MAX) }
    }

    /// Adds the tokens of a line that starts at this offset. Returns whether there was no error.
    fn line(
        &self,
        line: &str,
        start: usize,
        tokens: &mut Vec<Token>,
        reports: &mut Reports,
    ) -> bool {
        let mut at = 0;
        let mut before = None;
        while let Some(rest) = line.get(at..).filter(|rest| !rest.is_empty()) {
            let (kind, len) = match next(rest, before) {
                Some(Found::Nothing(len)) => (None, len),
                Some(Found::Token(kind, len)) => (Some(kind), len),
                None => {
                    self.unexpected(rest, start + at, reports);
                    return false;
                }
            };
            if let Some(kind) = kind {
                let len = u32::try_from(len).unwrap_or(u32::MAX);
                tokens.push(Token { kind, span: Span { at: self.place(start + at), len } });
            }
            if tokens.len() > MAX_TOKENS {
                let message = format!("the statement has more than {MAX_TOKENS} words and signs");
                let error = reports.error(self.place(start + at), message);
                error.set_too_large("write several statements");
                return false;
            }
            at += len;
            before = line.get(..at).and_then(|done| done.chars().next_back());
        }
        true
    }

    fn unexpected(&self, rest: &str, at: usize, reports: &mut Reports) {
        if reports.is_full() {
            // Only the number of further errors is kept.
            reports.error(self.place(at), "");
            return;
        }
        let word: String = rest.chars().take_while(|c| !is_space(*c)).collect();
        let (message, help) = if word.starts_with('@') {
            let help = match word.as_str() {
                "@denylist" => "nothing may follow it on its line, not even a blank",
                _ => "the directives are @include, @frequency, @default and @denylist",
            };
            (format!("unexpected `{}`", shorten(&word)), help)
        } else if word.starts_with("..") {
            (
                format!("the path `{}` starts with neither `/` nor `./`", shorten(&word)),
                "write ./ before it",
            )
        } else if word.starts_with('\\') {
            ("`\\` is not at the end of the line".to_owned(), "remove what follows it")
        } else {
            let first = word.chars().next().unwrap_or(' ');
            (format!("unexpected character {first:?}"), "remove it; comments start with `#`")
        };
        reports.error(self.place(at), message).help = help.to_owned();
    }
}

enum Found {
    /// White space, a comment, or the mark of a line that goes on.
    Nothing(usize),
    Token(Kind, usize),
}

/// What a text begins with, after this character. `None` if no token begins so.
fn next(rest: &str, before: Option<char>) -> Option<Found> {
    let token = |kind, len| Some(Found::Token(kind, len));
    let first = rest.chars().next()?;
    if first == '#' {
        return Some(Found::Nothing(rest.len()));
    }
    let spaces = length(rest, is_space);
    if spaces > 0 {
        return Some(Found::Nothing(spaces));
    }
    if rest == "\\" {
        return Some(Found::Nothing(1));
    }
    if rest == "@denylist" {
        return token(Kind::Denylist, rest.len());
    }
    if let Some((word, kind)) = DIRECTIVES.iter().find(|(word, _)| is_word(rest, word)) {
        return token(*kind, word.len());
    }
    let path = rest.strip_prefix('.').unwrap_or(rest);
    if path.starts_with('/') && length(path, |c| !is_space(c)) > 1 {
        return token(Kind::Path, length(rest, |c| !is_space(c)));
    }
    let number = number(rest);
    if number > 0 {
        return token(Kind::Number, number);
    }
    if let Some((sign, kind)) = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
        return token(*kind, sign.len());
    }
    let is_start = !before.is_some_and(is_word_char);
    if is_start && is_word(rest, "in") {
        return token(Kind::Operator("in"), 2);
    }
    if first == '=' {
        return token(Kind::Sign("="), 1);
    }
    if is_start {
        let digits =
            rest.strip_prefix("arg").map_or(0, |rest| length(rest, |c| c.is_ascii_digit()));
        if digits > 0 && rest.get(..3 + digits).is_some_and(|word| is_word(rest, word)) {
            return token(Kind::Argument, 3 + digits);
        }
        if is_word(rest, "return") {
            return token(Kind::Return, 6);
        }
        if let Some(action) = ACTIONS.iter().find(|action| is_word(rest, action)) {
            return token(Kind::Action(action), action.len());
        }
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '@');
    let is_name_start = first.is_ascii_alphabetic() || first == '_';
    if is_name_start { token(Kind::Name, length(rest, is_name)) } else { None }
}

/// The length of the number with which a text begins: hexadecimal, octal or decimal, perhaps negative.
fn number(rest: &str) -> usize {
    type IsDigit = fn(char) -> bool;
    let digits = rest.strip_prefix('-').unwrap_or(rest);
    let sign = rest.len() - digits.len();
    let of = |prefix: &str, is_digit: IsDigit| {
        let count = digits.strip_prefix(prefix).map_or(0, |rest| length(rest, is_digit));
        if count > 0 { sign + prefix.len() + count } else { 0 }
    };
    let forms: [(&str, IsDigit); 4] = [
        ("0x", |c| c.is_ascii_hexdigit()),
        ("0X", |c| c.is_ascii_hexdigit()),
        ("0", |c| matches!(c, '0'..='7')),
        ("", |c| c.is_ascii_digit()),
    ];
    forms
        .into_iter()
        .map(|(prefix, is_digit)| of(prefix, is_digit))
        .find(|len| *len > 0)
        .unwrap_or(0)
}

/// The number of bytes of the characters at the start of a text for which this holds.
fn length(text: &str, holds: impl Fn(char) -> bool) -> usize {
    text.find(|c| !holds(c)).unwrap_or(text.len())
}

/// Whether a text begins with a word that ends there.
fn is_word(text: &str, word: &str) -> bool {
    let after = text.strip_prefix(word).map(|rest| rest.chars().next());
    after.is_some_and(|after| !after.is_some_and(is_word_char))
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether Python's regular expressions take a character for white space.
fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}
