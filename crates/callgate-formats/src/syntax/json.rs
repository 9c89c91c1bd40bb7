//! JSON text into a [`Node`] tree.
//!
//! Strict JSON: no comments, no trailing commas, no second value. The `jsonc-parser` crate finds the tokens, and
//! this module builds the tree from them with a stack of its own: no recursion. Nesting deeper than
//! `MAX_DEPTH` and more than `MAX_VALUES` keys and values are errors, so time and memory are bounded by the
//! size of the text. What the crate accepts beyond JSON is refused by the module `strict`.

use jsonc_parser::ParseStringErrorKind::UnterminatedStringLiteral;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::tokens::Token;
use jsonc_parser::{Scanner, ScannerOptions};

use super::strict;
use super::tree::{Kind, Member, Node};
use callgate_bpf::diagnostic::{Diagnostic, Position};

/// How deep a text may nest.
const MAX_DEPTH: usize = 512;

/// How many keys and values a text may have. Each takes up to 64 bytes of memory. The largest profiles in use
/// have 4,000; a recording has up to 250 for each different call.
pub const MAX_VALUES: usize = 2_000_000;

const STRICT: ScannerOptions = ScannerOptions {
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The advice about a text that was cut off.
const CUT_OFF: &str = "the text ends too early; check that the file is complete";

type Result<T> = std::result::Result<T, Diagnostic>;

/// The tree of a JSON text.
pub fn parse(text: &str) -> Result<Node> {
    if text.starts_with('\u{feff}') {
        return Err(Diagnostic::error(
            Some(Position { line: 1, column: 1 }),
            "the text starts with a byte order mark, which JSON does not allow",
        )
        .help("save the file as UTF-8 without a byte order mark"));
    }
    let mut builder = Builder {
        text,
        scanner: Scanner::new(text, &STRICT),
        open: Vec::new(),
        items: Vec::new(),
        members: Vec::new(),
        count: 0,
    };
    let document = builder.document()?;
    match strict::violation(text) {
        Some(violation) => Err(violation),
        None => Ok(document),
    }
}

/// A list or an object whose end was not reached yet.
struct Open {
    at: usize,
    /// How many items, or members, of those around it there are.
    before: usize,
    /// Of an object: the key whose value comes next.
    key: Option<(Box<str>, usize)>,
    is_map: bool,
}

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// A value; behind a comma of a list, whose place this is, or elsewhere.
    Value(Option<usize>),
    /// A key; behind a comma, whose place this is, or at the start of an object.
    Key(Option<usize>),
    /// The first item of a list, or its end.
    FirstItem,
    /// Behind a value: a comma or the end of what is open.
    Behind,
}

struct Builder<'t> {
    text: &'t str,
    scanner: Scanner<'t>,
    open: Vec<Open>,
    /// The items so far of all lists that are open, the innermost last; their members likewise.
    items: Vec<Node>,
    members: Vec<Member>,
    /// Keys and values so far.
    count: usize,
}

impl<'t> Builder<'t> {
    fn document(&mut self) -> Result<Node> {
        let Some(token) = self.scan()? else {
            return Err(Diagnostic::error(None, "the text is empty, but must be a JSON object")
                .help(
                    "give a seccomp profile, for example {\"defaultAction\": …, \"syscalls\": […]}",
                ));
        };
        let mut done = None;
        let mut next = self.value(token, &mut done)?;
        while done.is_none() {
            let before = self.scanner.token_end();
            let Some(token) = self.scan()? else { return Err(self.ends(next)) };
            let at = self.scanner.token_start();
            next = match (next, token) {
                (Next::Value(Some(comma)), Token::CloseBracket)
                | (Next::Key(Some(comma)), Token::CloseBrace) => {
                    return Err(self.error(comma, &ParseErrorKind::TrailingCommasNotAllowed));
                }
                (Next::FirstItem, Token::CloseBracket) | (Next::Key(None), Token::CloseBrace) => {
                    self.close(&mut done)
                }
                (Next::Value(_) | Next::FirstItem, token) => self.value(token, &mut done)?,
                (Next::Key(_), Token::String(key)) => {
                    self.counted(at)?;
                    if let Some(open) = self.open.last_mut() {
                        open.key = Some((key.into(), at));
                    }
                    match self.scan()? {
                        Some(Token::Colon) => Next::Value(None),
                        Some(_) => {
                            let at = self.scanner.token_start();
                            return Err(
                                self.error(at, &ParseErrorKind::ExpectedColonAfterObjectKey)
                            );
                        }
                        None => return Err(self.ends(Next::Value(None))),
                    }
                }
                (Next::Key(_), token) => {
                    let kind = match token {
                        Token::Word(_) | Token::Number(_) | Token::Boolean(_) | Token::Null => {
                            ParseErrorKind::ExpectedStringObjectProperty
                        }
                        _ => ParseErrorKind::UnexpectedTokenInObject,
                    };
                    return Err(self.error(at, &kind));
                }
                (Next::Behind, token) => {
                    let is_map = self.open.last().is_some_and(|open| open.is_map);
                    match token {
                        Token::Comma if is_map => Next::Key(Some(at)),
                        Token::Comma => Next::Value(Some(at)),
                        Token::CloseBrace if is_map => self.close(&mut done),
                        Token::CloseBracket if !is_map => self.close(&mut done),
                        token if starts_value(&token) => {
                            return Err(self.error(before, &ParseErrorKind::ExpectedComma));
                        }
                        _ if is_map => {
                            return Err(self.error(at, &ParseErrorKind::UnexpectedTokenInObject));
                        }
                        token => return Err(self.error(at, &unexpected(&token))),
                    }
                }
            };
        }
        if self.scan()?.is_some() {
            let at = self.scanner.token_start();
            return Err(self.error(at, &ParseErrorKind::MultipleRootJsonValues));
        }
        // The loop ends with a document.
        done.ok_or_else(|| Diagnostic::error(None, CUT_OFF))
    }

    /// The next token; there are no comments.
    fn scan(&mut self) -> Result<Option<Token<'t>>> {
        match self.scanner.scan() {
            Ok(Some(Token::CommentLine(_) | Token::CommentBlock(_))) => {
                let at = self.scanner.token_start();
                Err(self.error(at, &ParseErrorKind::CommentsNotAllowed))
            }
            Ok(token) => Ok(token),
            Err(error) => Err(self.wrong(&error)),
        }
    }

    /// A value that begins with this token.
    fn value(&mut self, token: Token<'t>, done: &mut Option<Node>) -> Result<Next> {
        let at = self.scanner.token_start();
        let kind = match token {
            Token::OpenBrace => return self.enter(at, true),
            Token::OpenBracket => return self.enter(at, false),
            Token::String(text) => Kind::Text(text.into()),
            Token::Number(digits) => Kind::Number(digits.into()),
            Token::Boolean(value) => Kind::Bool(value),
            Token::Null => Kind::Null,
            token => return Err(self.error(at, &unexpected(&token))),
        };
        self.counted(at)?;
        Ok(self.place(Node { at, kind }, done))
    }

    fn enter(&mut self, at: usize, is_map: bool) -> Result<Next> {
        self.counted(at)?;
        if self.open.len() >= MAX_DEPTH {
            return Err(Diagnostic::error(
                self.position(at),
                format!("nested deeper than {MAX_DEPTH} levels, the limit"),
            )
            .help(
                "profiles and recordings nest ten levels deep at most; check what file this is",
            ));
        }
        let before = if is_map { self.members.len() } else { self.items.len() };
        self.open.push(Open { at, before, key: None, is_map });
        Ok(if is_map { Next::Key(None) } else { Next::FirstItem })
    }

    /// Ends the innermost list or object.
    fn close(&mut self, done: &mut Option<Node>) -> Next {
        let Some(Open { at, before, is_map, .. }) = self.open.pop() else { return Next::Behind };
        let kind = if is_map {
            Kind::Map(taken(&mut self.members, before))
        } else {
            Kind::List(taken(&mut self.items, before))
        };
        self.place(Node { at, kind }, done)
    }

    /// Puts a value where it belongs.
    fn place(&mut self, value: Node, done: &mut Option<Node>) -> Next {
        match self.open.last_mut() {
            None => *done = Some(value),
            Some(open) => match open.key.take() {
                Some((key, key_at)) => self.members.push(Member { key, key_at, value }),
                None => self.items.push(value),
            },
        }
        Next::Behind
    }

    /// One more key or value, which starts here.
    fn counted(&mut self, at: usize) -> Result<()> {
        self.count += 1;
        if self.count <= MAX_VALUES {
            return Ok(());
        }
        let message = format!(
            "the text has more than {MAX_VALUES} keys and values, the limit, in its first {at} of {} bytes",
            self.text.len()
        );
        Err(Diagnostic::error(self.position(at), message)
            .help("profiles and recordings are far smaller; check what file this is"))
    }

    fn position(&self, at: usize) -> Option<Position> {
        Some(Position::of(self.text, at))
    }

    /// The text ends where something else had to come.
    fn ends(&self, next: Next) -> Diagnostic {
        let in_key = self.open.last().is_some_and(|open| open.key.is_some());
        match self.open.last() {
            Some(open) if !(in_key && next == Next::Value(None)) => {
                let what = if open.is_map { "object" } else { "list" };
                self.never_closed(what, open.at)
            }
            _ => {
                let message = "the text ends in the middle of an object";
                Diagnostic::error(self.position(self.text.len()), message).help(CUT_OFF)
            }
        }
    }

    fn never_closed(&self, what: &str, at: usize) -> Diagnostic {
        let message = format!("the {what} that starts here is never closed");
        Diagnostic::error(self.position(at), message).help(CUT_OFF)
    }

    fn wrong(&self, error: &ParseError) -> Diagnostic {
        let at = error.range().start;
        match error.kind() {
            ParseErrorKind::String(UnterminatedStringLiteral) => self.never_closed("string", at),
            kind => self.error(at, kind),
        }
    }

    fn error(&self, at: usize, kind: &ParseErrorKind) -> Diagnostic {
        match kind {
            ParseErrorKind::CommentsNotAllowed => {
                Diagnostic::error(self.position(at), "JSON has no comments")
                    .help("use a \"comment\" member")
            }
            kind => Diagnostic::error(self.position(at), format!("this is not JSON: {kind}")),
        }
    }
}

/// What was put on a stack since it had this length, without spare room.
fn taken<T>(stack: &mut Vec<T>, since: usize) -> Box<[T]> {
    // Nothing else is on it: no copy.
    if since == 0 { std::mem::take(stack).into() } else { stack.drain(since..).collect() }
}

fn starts_value(token: &Token<'_>) -> bool {
    use Token::{Boolean, Null, Number, OpenBrace, OpenBracket, String, Word};
    matches!(token, OpenBrace | OpenBracket | String(_) | Word(_) | Boolean(_) | Number(_) | Null)
}

fn unexpected(token: &Token<'_>) -> ParseErrorKind {
    match token {
        Token::CloseBracket => ParseErrorKind::UnexpectedCloseBracket,
        Token::CloseBrace => ParseErrorKind::UnexpectedCloseBrace,
        Token::Comma => ParseErrorKind::UnexpectedComma,
        Token::Colon => ParseErrorKind::UnexpectedColon,
        Token::Word(_) => ParseErrorKind::UnexpectedWord,
        _ => ParseErrorKind::UnexpectedToken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn every_key_and_value_has_its_place() {
        let tree = parse("{\"é\": [1, \"x\"],\n \"b\": null}").unwrap();
        let [first, second] = tree.members() else { panic!("two members") };
        assert_eq!((&*first.key, first.key_at, first.value.at), ("é", 1, 7));
        assert_eq!(first.value.items()[1], Node { at: 11, kind: Kind::Text("x".into()) });
        assert_eq!((second.key_at, second.value.at), (18, 23));
        assert_eq!(tree.get("b"), None);
    }

    #[test]
    fn numbers_keep_every_digit() {
        let tree = parse("[18446744073709551616, -1, 1.50]").unwrap();
        let written: Vec<_> = tree.items().iter().map(Node::describe).collect();
        assert_eq!(
            written,
            ["the number 18446744073709551616", "the number -1", "the number 1.50"]
        );
    }

    #[test]
    fn what_is_not_json_is_named_with_its_place() {
        assert_eq!(message(""), "the text is empty, but must be a JSON object");
        assert_eq!(message("{\"a\": [1,\n {"), "2:2: the object that starts here is never closed");
        assert_eq!(message("[1"), "1:1: the list that starts here is never closed");
        assert_eq!(message("{\"abc"), "1:2: the string that starts here is never closed");
        assert_eq!(message("{\"a\": "), "1:7: the text ends in the middle of an object");
        assert_eq!(
            message("{} {}"),
            "1:4: this is not JSON: Text cannot contain more than one JSON value"
        );
        assert_eq!(message("[1,]"), "1:3: this is not JSON: Trailing commas are not allowed");
        assert_eq!(message("// x\n{}"), "1:1: JSON has no comments");
        assert!(message("\u{feff}{}").contains("byte order mark"));
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_overflow() {
        for open in ["[", "{\"a\":"] {
            assert!(message(&open.repeat(100_000)).contains("deeper than 512 levels"));
        }
        assert!(parse(&format!("{}{}", "[".repeat(500), "]".repeat(500))).is_ok());
    }
}
