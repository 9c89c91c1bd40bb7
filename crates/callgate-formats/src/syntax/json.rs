//! Parser from strict JSON (RFC 8259) to a [`Node`] tree.
//!
//! The `hifijson` crate provides a strict lexer; this module builds the tree with an explicit stack instead of
//! recursion. Nesting deeper than `MAX_DEPTH` levels and more than `MAX_VALUES` keys and values are errors, so time
//! and memory are bounded by the length of the text.
//!
//! A string with U+0000 is an error, although RFC 8259 allows it. Programs written in C end a string there: crun takes
//! the key `"names\u0000x"` for `names`, and libseccomp takes the syscall name `"read\u0000x"` for `read` in every
//! runtime. No profile and no recording needs the character.

use std::borrow::Cow;

use hifijson::num::LexWrite as _;
use hifijson::str::LexAlloc as _;
use hifijson::token::Lex as _;
use hifijson::{Read as _, SliceLexer, escape, str};

use super::tree::{Member, Node, NodeKind};
use callgate_bpf::diagnostic::{Diagnostic, Position, Topic};

/// Maximum depth of nested lists and objects.
const MAX_DEPTH: usize = 512;

/// Maximum number of keys and values in a text. Each takes up to 72 bytes of memory. The largest profiles in use
/// have 4,000; a recording has up to 250 per distinct syscall.
pub const MAX_VALUES: usize = 2_000_000;

/// The help for a truncated text.
const CUT_OFF: &str = "the text is truncated; check that the file is complete";

type Result<T> = std::result::Result<T, Diagnostic>;

/// Parses a JSON text into its tree.
///
/// # Errors
/// The first syntax error, or the limit that the text exceeds.
pub fn parse(text: &str) -> Result<Node<'_>> {
    if text.starts_with('\u{feff}') {
        return Err(Diagnostic::error(
            Some(Position { line: 1, column: 1 }),
            "the text starts with a byte order mark, which JSON does not allow",
        )
        .help("save the file as UTF-8 without a byte order mark"));
    }
    let builder = Builder {
        text,
        lexer: SliceLexer::new(text.as_bytes()),
        open: Vec::new(),
        items: Vec::new(),
        members: Vec::new(),
        count: 0,
    };
    builder.document()
}

/// A list or an object whose end has not been reached.
struct Open<'t> {
    at: usize,
    /// Length of `items` or `members` when it was opened.
    before: usize,
    /// In an object: the key whose value comes next.
    key: Option<(Cow<'t, str>, usize)>,
    is_map: bool,
}

/// What the grammar allows next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// A value; with the offset of the comma before it, if it is an item of a list after the first.
    Value(Option<usize>),
    /// A key, with the offset of the comma before it; without one, the first key or the end of the object.
    Key(Option<usize>),
    /// The first item of a list, or its end.
    FirstItem,
    /// A comma, or the end of the innermost list or object.
    CommaOrEnd,
}

struct Builder<'t> {
    text: &'t str,
    lexer: SliceLexer<'t>,
    open: Vec<Open<'t>>,
    /// The items so far of all open lists, those of the innermost list last.
    items: Vec<Node<'t>>,
    /// The members so far of all open objects, likewise.
    members: Vec<Member<'t>>,
    /// Number of keys and values so far.
    count: usize,
}

impl<'t> Builder<'t> {
    fn document(mut self) -> Result<Node<'t>> {
        let Some(first) = self.lexer.ws_peek() else {
            return Err(Diagnostic::error(None, "the text is empty; expected a JSON object").help(
                "give a seccomp profile, for example {\"defaultAction\": …, \"syscalls\": […]}",
            ));
        };
        let mut done = None;
        let mut next = self.value(first, &mut done)?;
        while done.is_none() {
            let before = self.offset();
            let Some(byte) = self.lexer.ws_peek() else { return Err(self.truncated(next)) };
            let at = self.offset();
            let is_map = self.open.last().is_some_and(|open| open.is_map);
            next = match (next, byte) {
                (Next::Value(Some(comma)), b']') | (Next::Key(Some(comma)), b'}') => {
                    return Err(self.error(comma, "invalid JSON: trailing comma"));
                }
                (Next::FirstItem, b']') | (Next::Key(None), b'}') => self.close(&mut done),
                (Next::CommaOrEnd, b'}') if is_map => self.close(&mut done),
                (Next::CommaOrEnd, b']') if !is_map => self.close(&mut done),
                (Next::Value(_) | Next::FirstItem, _) => self.value(byte, &mut done)?,
                (Next::Key(_), b'"') => self.key(at)?,
                (Next::Key(_), b'-' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'\'') => {
                    return Err(self.error(at, "invalid JSON: a key must be in double quotes"));
                }
                (Next::CommaOrEnd, b',') => {
                    self.lexer.take_next();
                    if is_map { Next::Key(Some(at)) } else { Next::Value(Some(at)) }
                }
                (
                    Next::CommaOrEnd,
                    b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n',
                ) => {
                    return Err(self.error(before, "invalid JSON: missing comma"));
                }
                (Next::Key(_) | Next::CommaOrEnd, _) => return Err(self.unexpected(at)),
            };
        }
        match (done, self.lexer.ws_peek()) {
            (Some(document), None) => Ok(document),
            _ => Err(self.after_document()),
        }
    }

    /// The offset of the next byte.
    fn offset(&self) -> usize {
        self.text.len() - self.lexer.as_slice().len()
    }

    /// Reads a key and the colon after it.
    fn key(&mut self, at: usize) -> Result<Next> {
        let key = self.string(at)?;
        self.counted(at)?;
        if let Some(open) = self.open.last_mut() {
            open.key = Some((key, at));
        }
        match self.lexer.ws_peek() {
            Some(b':') => {
                self.lexer.take_next();
                Ok(Next::Value(None))
            }
            Some(_) => Err(self.error(self.offset(), "invalid JSON: missing colon after the key")),
            None => Err(self.truncated(Next::Value(None))),
        }
    }

    /// Reads the value, or opens the list or object, that starts with this byte.
    fn value(&mut self, first: u8, done: &mut Option<Node<'t>>) -> Result<Next> {
        let at = self.offset();
        let kind = match first {
            b'{' => return self.enter(at, true),
            b'[' => return self.enter(at, false),
            b'"' => NodeKind::Text(self.string(at)?),
            b'-' | b'0'..=b'9' => self.number()?,
            b't' | b'f' | b'n' => match self.lexer.null_or_bool() {
                Some(Some(value)) => NodeKind::Bool(value),
                Some(None) => NodeKind::Null,
                None => return Err(self.unexpected(at)),
            },
            _ => return Err(self.unexpected(at)),
        };
        self.counted(at)?;
        Ok(self.place(Node { at, kind }, done))
    }

    fn number(&mut self) -> Result<NodeKind<'t>> {
        let number = self.lexer.num_string().validated();
        let at = self.offset();
        let is_digit = self.lexer.peek_next().is_some_and(|byte| byte.is_ascii_digit());
        match number {
            Ok(_) if is_digit => Err(self.error(at, "invalid JSON: a number has leading zeros")),
            // Only a number that is long or has an exponent can be infinite; kubectl reads it although nothing uses it.
            Ok((digits, _)) if digits.parse().is_ok_and(f64::is_infinite) => Err(self
                .error(at, "the number is too large for a floating-point number, as which some programs read it")
                .help("write a smaller number")),
            Ok((digits, _)) => Ok(NodeKind::Number(digits.into())),
            Err(_) => Err(self.error(at, "invalid JSON: missing digit in a number")),
        }
    }

    /// Reads the string that starts with the quotation mark at this offset.
    fn string(&mut self, at: usize) -> Result<Cow<'t, str>> {
        if let Some(plain) = self.plain_string(at) {
            return Ok(Cow::Borrowed(plain));
        }
        self.lexer.take_next();
        let string = self.lexer.str_string().map_err(|error| self.string_error(&error, at))?;
        if string.contains('\0') {
            let raw = self.text.get(at..self.offset()).unwrap_or_default();
            let message = "the string contains the character U+0000";
            return Err(self
                .error(at + nul_escape(raw), message)
                .help("remove it: programs written in C end the string there, others do not"));
        }
        Ok(string)
    }

    /// The same for a string without escapes and errors; reads nothing of others.
    fn plain_string(&mut self, at: usize) -> Option<&'t str> {
        let rest = self.text.get(at + 1..)?;
        let len = rest.bytes().position(|byte| !IS_PLAIN[usize::from(byte)])?;
        let (string, after) = rest.split_at_checked(len)?;
        self.lexer = SliceLexer::new(after.as_bytes().strip_prefix(b"\"")?);
        Some(string)
    }

    fn string_error(&self, error: &str::Error, start: usize) -> Diagnostic {
        // The lexer stops after the byte that shows the error.
        let last = self.offset().saturating_sub(1);
        let escape_at = self.text.get(..=last).and_then(|text| text.rfind('\\')).unwrap_or(last);
        match error {
            str::Error::Eof | str::Error::Escape(escape::Error::Eof) => {
                self.not_closed("string", start)
            }
            str::Error::Control => {
                let byte = self.text.as_bytes().get(last).copied().unwrap_or_default();
                let message = format!("the string contains the control character U+{byte:04X}");
                self.error(last, message).help("write it as an escape, such as \\t or \\n")
            }
            str::Error::Escape(
                escape::Error::ExpectedLowSurrogate | escape::Error::InvalidChar(_),
            ) => self
                .error(escape_at, "invalid JSON: the escape is half of a surrogate pair")
                .help("write the character itself, or both escapes of the pair"),
            str::Error::Escape(_) | str::Error::Utf8(_) => {
                self.error(escape_at, "invalid JSON: invalid escape in a string").help(
                    "the escapes are \\\", \\\\, \\/, \\b, \\f, \\n, \\r, \\t and \\u with four \
                     hexadecimal digits",
                )
            }
        }
    }

    fn enter(&mut self, at: usize, is_map: bool) -> Result<Next> {
        self.lexer.take_next();
        self.counted(at)?;
        if self.open.len() >= MAX_DEPTH {
            let message = format!("nesting is deeper than the limit of {MAX_DEPTH} levels");
            let help = "profiles and recordings nest at most ten levels deep; check that this is the right file";
            return Err(self.error(at, message).help(help).topic(Topic::TooLarge));
        }
        let before = if is_map { self.members.len() } else { self.items.len() };
        self.open.push(Open { at, before, key: None, is_map });
        Ok(if is_map { Next::Key(None) } else { Next::FirstItem })
    }

    /// Closes the innermost list or object.
    fn close(&mut self, done: &mut Option<Node<'t>>) -> Next {
        self.lexer.take_next();
        let Some(Open { at, before, is_map, .. }) = self.open.pop() else {
            return Next::CommaOrEnd;
        };
        let kind = if is_map {
            NodeKind::Map(taken(&mut self.members, before))
        } else {
            NodeKind::List(taken(&mut self.items, before))
        };
        self.place(Node { at, kind }, done)
    }

    /// Adds a complete value to the innermost list or object, or makes it the document.
    fn place(&mut self, value: Node<'t>, done: &mut Option<Node<'t>>) -> Next {
        match self.open.last_mut() {
            None => *done = Some(value),
            Some(open) => match open.key.take() {
                Some((key, key_at)) => self.members.push(Member { key, key_at, value }),
                None => self.items.push(value),
            },
        }
        Next::CommaOrEnd
    }

    /// Counts a key or value that starts here.
    fn counted(&mut self, at: usize) -> Result<()> {
        self.count += 1;
        if self.count <= MAX_VALUES { Ok(()) } else { Err(self.too_many(at)) }
    }

    fn too_many(&self, at: usize) -> Diagnostic {
        let message = format!(
            "the text exceeds the limit of {MAX_VALUES} keys and values within its first {at} of {} bytes",
            self.text.len()
        );
        self.error(at, message)
            .help("profiles and recordings are far smaller; check that this is the right file")
            .topic(Topic::TooLarge)
    }

    fn error(&self, at: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(Some(Position::of(self.text, at)), message)
    }

    /// The error for a text that ends where this was expected.
    fn truncated(&self, next: Next) -> Diagnostic {
        let in_key = self.open.last().is_some_and(|open| open.key.is_some());
        match self.open.last() {
            Some(open) if !(in_key && next == Next::Value(None)) => {
                let what = if open.is_map { "object" } else { "list" };
                self.not_closed(what, open.at)
            }
            _ => self.error(self.text.len(), "the text ends inside an object").help(CUT_OFF),
        }
    }

    fn not_closed(&self, what: &str, at: usize) -> Diagnostic {
        self.error(at, format!("the {what} that starts here is not closed")).help(CUT_OFF)
    }

    fn after_document(&self) -> Diagnostic {
        let at = self.offset();
        match self.char_at(at) {
            Some(c) if c == '/' || is_foreign_space(c) => self.unexpected(at),
            _ => self
                .error(at, "invalid JSON: there is more text after the document")
                .help("a file has one JSON document; remove the rest"),
        }
    }

    /// The error for a character that the grammar does not allow here.
    fn unexpected(&self, at: usize) -> Diagnostic {
        let c = self.char_at(at).unwrap_or_default();
        let rest = self.text.get(at..).unwrap_or_default();
        if rest.starts_with("//") || rest.starts_with("/*") {
            return self
                .error(at, "comments are not allowed in JSON")
                .help("use a \"comment\" member");
        }
        if is_foreign_space(c) {
            let message =
                format!("the character U+{:04X} is not white space in JSON", u32::from(c));
            return self.error(at, message).help("use spaces, tabs and line breaks between values");
        }
        let shown = match c.is_ascii_graphic() {
            true => format!("`{c}`"),
            false => format!("U+{:04X}", u32::from(c)),
        };
        self.error(at, format!("invalid JSON: unexpected character {shown}"))
    }

    fn char_at(&self, at: usize) -> Option<char> {
        self.text.get(at..)?.chars().next()
    }
}

/// Whether a byte is a part of a string that means itself: not a control character, a quotation mark or a backslash.
static IS_PLAIN: [bool; 256] = {
    let (mut plain, mut byte) = ([true; 256], 0);
    while byte < plain.len() {
        plain[byte] = !matches!(byte as u8, 0..0x20 | b'"' | b'\\');
        byte += 1;
    }
    plain
};

/// Whether a character is white space to other programs, but not in JSON.
fn is_foreign_space(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

/// The offset of the first `\u0000` in a string with its escapes.
fn nul_escape(raw: &str) -> usize {
    let mut bytes = raw.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        if byte == b'\\' {
            if raw.get(at..).is_some_and(|escape| escape.starts_with("\\u0000")) {
                return at;
            }
            // Skip the escaped character, which may be a backslash.
            bytes.next();
        }
    }
    0
}

/// The elements that were pushed since the stack had this length, without spare capacity.
fn taken<T>(stack: &mut Vec<T>, since: usize) -> Box<[T]> {
    // The whole stack: no copy needed.
    if since == 0 { std::mem::take(stack).into() } else { stack.split_off(since).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn every_key_and_value_has_its_offset() {
        let tree = parse("{\"é\": [1, \"x\"],\n \"b\": null}").unwrap();
        let [first, second] = tree.members() else { panic!("two members") };
        assert_eq!((&*first.key, first.key_at, first.value.at), ("é", 1, 7));
        assert_eq!(first.value.items()[1], Node { at: 11, kind: NodeKind::Text("x".into()) });
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
    fn syntax_errors_have_a_position() {
        assert_eq!(message(""), "the text is empty; expected a JSON object");
        assert_eq!(message("{\"a\": [1,\n {"), "2:2: the object that starts here is not closed");
        assert_eq!(message("[1"), "1:1: the list that starts here is not closed");
        assert_eq!(message("{\"abc"), "1:2: the string that starts here is not closed");
        assert_eq!(message("{\"a\": "), "1:7: the text ends inside an object");
        assert_eq!(message("{} {}"), "1:4: invalid JSON: there is more text after the document");
        assert_eq!(message("[1,]"), "1:3: invalid JSON: trailing comma");
        assert_eq!(message("// x\n{}"), "1:1: comments are not allowed in JSON");
        assert!(message("\u{feff}{}").contains("byte order mark"));
    }

    #[test]
    fn deep_nesting_is_an_error_not_a_stack_overflow() {
        for open in ["[", "{\"a\":"] {
            assert!(message(&open.repeat(100_000)).contains("deeper than the limit of 512 levels"));
        }
        assert!(parse(&format!("{}{}", "[".repeat(500), "]".repeat(500))).is_ok());
    }

    #[test]
    fn violations_of_the_grammar_have_a_position() {
        for (text, expected) in [
            ("{\"a\u{1}\": 1}", "1:4: the string contains the control character U+0001"),
            ("{\n\"a\nb\": 1}", "2:3: the string contains the control character U+000A"),
            ("[\"\t\"]", "1:3: the string contains the control character U+0009"),
            ("[1,\u{b}2]", "1:4: the character U+000B is not white space in JSON"),
            ("[1,\u{a0}2]", "1:4: the character U+00A0 is not white space in JSON"),
            ("[1\u{a0},2]", "1:3: the character U+00A0 is not white space in JSON"),
            ("[1]\u{2028}", "1:4: the character U+2028 is not white space in JSON"),
            ("[1]\u{feff}", "1:4: the character U+FEFF is not white space in JSON"),
            ("[\"a\\\"\u{1f}\"]", "1:6: the string contains the control character U+001F"),
            ("[\"x\\u0000\"]", "1:4: the string contains the character U+0000"),
            ("{\"a\\\\\\u0000\": 1}", "1:6: the string contains the character U+0000"),
            ("[\"é\\x\"]", "1:4: invalid JSON: invalid escape in a string"),
            ("[\"é\\u12g4\"]", "1:4: invalid JSON: invalid escape in a string"),
            ("[\"\\ud800x\"]", "1:3: invalid JSON: the escape is half of a surrogate pair"),
            ("[\"\\udc00\"]", "1:3: invalid JSON: the escape is half of a surrogate pair"),
            ("[\"a\\u00", "1:2: the string that starts here is not closed"),
            ("[07]", "1:3: invalid JSON: a number has leading zeros"),
            ("[-]", "1:3: invalid JSON: missing digit in a number"),
            (
                "[1e400]",
                "1:7: the number is too large for a floating-point number, as which some programs read it",
            ),
            ("[1.]", "1:4: invalid JSON: missing digit in a number"),
            ("[1e]", "1:4: invalid JSON: missing digit in a number"),
            ("[+1]", "1:2: invalid JSON: unexpected character `+`"),
            ("[.5]", "1:2: invalid JSON: unexpected character `.`"),
            ("[nul]", "1:2: invalid JSON: unexpected character `n`"),
            ("[truex]", "1:6: invalid JSON: unexpected character `x`"),
            ("[é]", "1:2: invalid JSON: unexpected character U+00E9"),
            ("[1 2]", "1:3: invalid JSON: missing comma"),
            ("[1}", "1:3: invalid JSON: unexpected character `}`"),
            ("[,1]", "1:2: invalid JSON: unexpected character `,`"),
            ("{a: 1}", "1:2: invalid JSON: a key must be in double quotes"),
            ("{,}", "1:2: invalid JSON: unexpected character `,`"),
            ("{\"a\" 1}", "1:6: invalid JSON: missing colon after the key"),
            ("{\"a\": 1,}", "1:8: invalid JSON: trailing comma"),
            ("{\"a\": }", "1:7: invalid JSON: unexpected character `}`"),
            ("[1] # x", "1:5: invalid JSON: there is more text after the document"),
            ("[1 /* x */]", "1:4: comments are not allowed in JSON"),
        ] {
            assert_eq!(message(text), expected, "{text:?}");
        }
    }

    #[test]
    fn valid_json_is_accepted() {
        for text in [
            " {\r\n\t\"a\": [1, -2.5e+3, true, null], \"b\": {}} ",
            "[\"\\u0001\\\\u0000\\\"\\t\u{7f}\u{a0}é\u{2028}\"]",
            "[\"\\u0020\\u00010\"]",
            "[\"\\\\\", \"\\\\\\\\\"]",
            "0",
        ] {
            assert!(parse(text).is_ok(), "{text:?}");
        }
        let pair = parse("[\"\\ud83d\\ude00\"]").unwrap();
        assert_eq!(pair.items()[0].text(), Some("\u{1f600}"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(
            pieces in proptest::collection::vec(
                proptest::sample::select(vec![
                    "a", "é", "5", "0", "-", ".", "e", "+", ":", "[", "]", "{", "}", ", ", "\"", "\\", "\\u",
                    "\\ud83d", "\\ude00", "\\u0000", "true", "null", "/", "*", " ", "\n", "\t", "\0", "\u{a0}",
                    "\u{feff}", "\u{10ffff}",
                ]),
                0..30,
            )
        ) {
            let _ = parse(&pieces.concat());
        }
    }
}
