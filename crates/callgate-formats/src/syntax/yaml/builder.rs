//! YAML text into a [`Node`] tree.
//!
//! What is accepted is what has one meaning for everybody who reads such files:
//!
//! - exactly one document, without directives;
//! - no anchors, aliases and merge keys: a text means what it says where it says it, and a small
//!   text cannot stand for a huge tree;
//! - no tags;
//! - keys are scalars, taken as they are written; a key that a mapping has twice is an error
//!   everywhere (YAML 1.2.2, 3.2.1.1), not only in the parts that are read;
//! - a plain scalar is null, a boolean, a number or a string by the core schema of YAML 1.2
//!   (10.3.2); a quoted or block scalar is a string. So `yes` is a string, and numbers stay as
//!   written: [`integer`](crate::syntax::tree::integer) knows `0x` and `0o`;
//! - no U+0000, for the reason that the module `strict` has for JSON.
//!
//! The `saphyr-parser` crate makes events, and this module builds the tree from them with a stack of
//! its own: no recursion. Nesting deeper than `MAX_DEPTH` and texts longer than `MAX_BYTES` are errors.
//! It is stricter than YAML in one more place: a tab between `key:` and a word is an error, and a space is
//! not.

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag};

use crate::syntax::tree::{Kind, Member, Node, shorten};
use callgate_bpf::diagnostic::{Diagnostic, Position};

/// How deep a text may nest. The parser has the same limit for collections in brackets.
const MAX_DEPTH: usize = 255;

/// How long a text may be in bytes. What is between brackets takes up to 250 bytes of memory for one of
/// text, because the parser looks ahead to its end. The largest profiles in use have 60 kB, and no cluster
/// stores a resource of more than 1.5 MiB (etcd's limit for a request).
pub(super) const MAX_BYTES: usize = 2 << 20;

/// The advice about a text that was cut off.
const CUT_OFF: &str = "the text ends too early; check that the file is complete";

/// The tree of a YAML text.
pub fn parse(text: &str) -> Result<Node, Diagnostic> {
    if text.len() > MAX_BYTES {
        let message = format!(
            "the text has {} bytes, but YAML may have at most {} MiB",
            text.len(),
            MAX_BYTES >> 20
        );
        return Err(Diagnostic::error(None, message)
            .help("profiles are far smaller; check what file this is, or give JSON"));
    }
    let mut builder = Builder::new(text);
    for event in Parser::new_from_str(text) {
        match event {
            Ok((event, span)) => builder.event(event, span)?,
            Err(error) => return Err(builder.explain(&error)),
        }
    }
    builder.document.ok_or_else(|| {
        Diagnostic::error(None, "the text has no content, but must be a YAML mapping")
            .help("give a seccomp profile or a SeccompProfile resource")
    })
}

/// A collection whose end was not reached yet.
struct Open {
    at: usize,
    /// It is inside of `[]` or `{}`, where line breaks and indentation mean nothing.
    in_brackets: bool,
    items: Items,
}

enum Items {
    List(Vec<Node>),
    /// The members so far, and the key whose value comes next.
    Map(Vec<Member>, Option<(String, usize)>),
}

struct Builder<'t> {
    text: &'t str,
    offsets: Offsets<'t>,
    open: Vec<Open>,
    /// A document has started.
    started: bool,
    document: Option<Node>,
}

impl<'t> Builder<'t> {
    fn new(text: &'t str) -> Builder<'t> {
        Builder {
            text,
            offsets: Offsets::new(text),
            open: Vec::new(),
            started: false,
            document: None,
        }
    }

    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Diagnostic> {
        let at = self.offsets.byte(span.start.index());
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) => self.start(at),
            Event::Alias(_) => Err(self.alias(at)),
            Event::Scalar(value, style, anchor, tag) => {
                self.bare(at, anchor, tag.as_deref())?;
                self.scalar(at, &value, style)
            }
            Event::SequenceStart(anchor, tag) => {
                self.bare(at, anchor, tag.as_deref())?;
                let at = self.first_dash(at);
                self.push(at, Items::List(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                self.bare(at, anchor, tag.as_deref())?;
                self.push(at, Items::Map(Vec::new(), None))
            }
            Event::SequenceEnd | Event::MappingEnd => self.pop(),
        }
    }

    fn error(&self, at: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(Some(Position::of(self.text, at)), message)
    }

    fn start(&mut self, at: usize) -> Result<(), Diagnostic> {
        if self.started {
            return Err(self
                .error(at, "a second document starts here, but one text is one profile")
                .help("write each document into a file of its own"));
        }
        self.started = true;
        let mut line_at = 0;
        for line in self.text.get(..at).unwrap_or_default().split_inclusive(['\n', '\r']) {
            if line.trim_start_matches('\u{feff}').starts_with('%') {
                return Err(self
                    .error(line_at, "YAML directives are not supported")
                    .help("remove the line: the text is read as YAML 1.2"));
            }
            line_at += line.len();
        }
        Ok(())
    }

    fn alias(&self, at: usize) -> Diagnostic {
        self.error(at, "YAML aliases are not supported")
            .help("write the value itself in place of `*name`")
    }

    /// Refuses what a value has in front: an anchor, a tag, an indentation with a tab.
    fn bare(&self, at: usize, anchor: usize, tag: Option<&Tag>) -> Result<(), Diagnostic> {
        if anchor != 0 {
            return Err(self
                .error(at, "YAML anchors are not supported")
                .help("remove `&name`, and write the value itself in place of each `*name`"));
        }
        if tag.is_some() {
            return Err(self
                .error(at, "YAML tags are not supported")
                .help("remove the tag; quotes make a string of any value"));
        }
        self.indented(at)
    }

    fn scalar(&mut self, at: usize, value: &str, style: ScalarStyle) -> Result<(), Diagnostic> {
        if value.contains('\0') {
            return Err(self
                .error(at, "the string contains the character U+0000")
                .help("remove it: programs in C end the string there, and others do not"));
        }
        if let Some(Open { items: Items::Map(_, key @ None), .. }) = self.open.last_mut() {
            if style == ScalarStyle::Plain && value == "<<" {
                return Err(self
                    .error(at, "YAML merge keys are not supported")
                    .help("write the members themselves in place of `<<`"));
            }
            *key = Some((value.to_owned(), at));
            return Ok(());
        }
        let kind = match style {
            ScalarStyle::Plain => resolve(value),
            _ => Kind::Text(value.into()),
        };
        self.add(Node { at, kind });
        Ok(())
    }

    /// Begins a collection.
    fn push(&mut self, at: usize, items: Items) -> Result<(), Diagnostic> {
        if let Some(Open { items: Items::Map(_, None), .. }) = self.open.last() {
            let what = match items {
                Items::List(_) => "a list",
                Items::Map(..) => "an object",
            };
            return Err(self.error(at, format!("a key must be a string, but is {what}")));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(self.too_deep(at));
        }
        let bracket = self.text.get(at..).is_some_and(|text| text.starts_with(['[', '{']));
        let in_brackets = bracket || self.in_brackets();
        self.open.push(Open { at, in_brackets, items });
        Ok(())
    }

    /// Ends the innermost collection.
    fn pop(&mut self) -> Result<(), Diagnostic> {
        let Some(Open { at, items, .. }) = self.open.pop() else { return Ok(()) };
        let kind = match items {
            Items::List(nodes) => Kind::List(nodes.into()),
            Items::Map(members, _) => {
                self.unique(&members)?;
                Kind::Map(members.into())
            }
        };
        self.add(Node { at, kind });
        Ok(())
    }

    /// A value that is complete goes to where it belongs.
    fn add(&mut self, node: Node) {
        match self.open.last_mut().map(|open| &mut open.items) {
            None => self.document = Some(node),
            Some(Items::List(nodes)) => nodes.push(node),
            Some(Items::Map(members, key)) => {
                if let Some((key, key_at)) = key.take() {
                    members.push(Member { key: key.into(), key_at, value: node });
                }
            }
        }
    }

    /// Refuses the first key that a mapping has twice.
    fn unique(&self, members: &[Member]) -> Result<(), Diagnostic> {
        let mut keys: Vec<(&str, usize)> =
            members.iter().map(|member| (&*member.key, member.key_at)).collect();
        keys.sort_unstable();
        let twice = keys.windows(2).filter_map(|pair| match pair {
            [(first, first_at), (second, at)] if first == second => Some((*at, *first_at, *first)),
            _ => None,
        });
        let Some((at, first_at, key)) = twice.min() else { return Ok(()) };
        let first = Position::of(self.text, first_at);
        let message =
            format!("`{}` is given twice, first at {}:{}", shorten(key), first.line, first.column);
        Err(self.error(at, message).help("remove one: parsers disagree which of the two counts"))
    }

    /// Where a list starts that the parser places at `at`. For one whose dashes are not indented below
    /// its key, that is the first item; it starts at the dash in front, the first thing on the line.
    fn first_dash(&self, at: usize) -> usize {
        let Some(Open { items: Items::Map(_, Some((_, key_at))), in_brackets: false, .. }) =
            self.open.last()
        else {
            return at;
        };
        let line_at = self.line_start(at);
        let line = self.text.get(line_at..at).unwrap_or_default();
        let spaces = line.len() - line.trim_start_matches(' ').len();
        let dash = line.get(spaces..).is_some_and(|line| line.starts_with('-'));
        if *key_at < line_at && dash { line_at + spaces } else { at }
    }

    fn too_deep(&self, at: usize) -> Diagnostic {
        self.error(at, format!("nested deeper than {MAX_DEPTH} levels, the limit"))
            .help("no profile nests deeper than ten levels; check what file this is")
    }

    /// Refuses a tab in the indentation of a line that is not inside brackets. The parser takes some of
    /// them for spaces of width one, others do not.
    fn indented(&self, at: usize) -> Result<(), Diagnostic> {
        if self.in_brackets() {
            return Ok(());
        }
        match self.tab(self.line_start(at)) {
            Some(tab) if tab < at => Err(self.tabbed(tab)),
            _ => Ok(()),
        }
    }

    fn in_brackets(&self) -> bool {
        self.open.last().is_some_and(|open| open.in_brackets)
    }

    /// Where the line of a place starts.
    fn line_start(&self, at: usize) -> usize {
        let before = self.text.get(..at).unwrap_or_default();
        before.rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// Where the indentation of the line that starts there has a tab.
    fn tab(&self, line_at: usize) -> Option<usize> {
        let line = self.text.get(line_at..)?;
        let spaces = line.len() - line.trim_start_matches(' ').len();
        line.get(spaces..)?.starts_with('\t').then_some(line_at + spaces)
    }

    fn tabbed(&self, tab: usize) -> Diagnostic {
        self.error(tab, "this line is indented with a tab")
            .help("use spaces: YAML does not allow tabs there")
    }

    /// What the parser says, in words for those who do not know parsers.
    fn explain(&self, error: &ScanError) -> Diagnostic {
        let at = self.offsets.byte(error.marker().index());
        let rest = self.text.get(at..).unwrap_or_default();
        let line_at = self.line_start(at);
        let info = error.info();
        if rest.starts_with('*') {
            return self.alias(at);
        }
        if info.split(' ').any(|word| matches!(word, "tab" | "tabs")) {
            // The place may be the scalar that the line with the tab would continue.
            let below = rest.match_indices('\n').map(|(newline, _)| at + newline + 1);
            let tab = std::iter::once(line_at).chain(below).find_map(|line| self.tab(line));
            return self.tabbed(tab.unwrap_or(at));
        }
        let unclosed = |what: &str, at: usize| {
            self.error(at, format!("the {what} that starts here is never closed")).help(CUT_OFF)
        };
        match info {
            "recursion limit exceeded" => return self.too_deep(at),
            "while scanning a quoted scalar, found unexpected end of stream" => {
                return unclosed("string", at);
            }
            "simple key expected" | "simple key expect ':'" => {
                let before = self.text.get(..at).unwrap_or_default().trim_end();
                let line_at = self.line_start(before.len());
                let indent = before.get(line_at..).map_or(0, |l| l.len() - l.trim_start().len());
                return self
                    .error(line_at + indent, "this line is neither `key: value` nor `- item`")
                    .help("write a colon and a space behind the key, or complete the file");
            }
            "mapping values are not allowed in this context" => {
                return self
                    .error(at, "a key is not allowed here")
                    .help("quote a text that contains `: `, or align the key with the others");
            }
            "while parsing a block mapping, did not find expected key" => {
                return self
                    .error(at, "this is no key of the mapping above")
                    .help("align it with the lines that it belongs to");
            }
            _ => {}
        }
        let not_yaml = self.error(at, format!("this is not YAML: {info}"));
        if !rest.trim().is_empty() {
            return not_yaml;
        }
        match self.open.iter().rfind(|open| open.in_brackets) {
            Some(Open { at, items: Items::List(_), .. }) => unclosed("list", *at),
            Some(Open { at, items: Items::Map(..), .. }) => unclosed("object", *at),
            None => not_yaml.help(CUT_OFF),
        }
    }
}

/// What a plain scalar is by the core schema.
fn resolve(value: &str) -> Kind {
    match value {
        "" | "~" | "null" | "Null" | "NULL" => Kind::Null,
        "true" | "True" | "TRUE" => Kind::Bool(true),
        "false" | "False" | "FALSE" => Kind::Bool(false),
        number if is_number(number) => Kind::Number(number.into()),
        text => Kind::Text(text.into()),
    }
}

/// Whether a plain scalar is an integer or a floating point number by the core schema.
fn is_number(value: &str) -> bool {
    let some =
        |digits: &str, is: fn(&u8) -> bool| !digits.is_empty() && digits.bytes().all(|b| is(&b));
    if let Some(digits) = value.strip_prefix("0x") {
        return some(digits, u8::is_ascii_hexdigit);
    }
    if let Some(digits) = value.strip_prefix("0o") {
        return some(digits, |digit| (b'0'..=b'7').contains(digit));
    }
    if let ".nan" | ".NaN" | ".NAN" = value {
        return true;
    }
    let unsigned = value.strip_prefix(['-', '+']).unwrap_or(value);
    if let ".inf" | ".Inf" | ".INF" = unsigned {
        return true;
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let exponent_fits = exponent.is_none_or(|exponent| {
        some(exponent.strip_prefix(['-', '+']).unwrap_or(exponent), u8::is_ascii_digit)
    });
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |digits: &str| digits.is_empty() || some(digits, u8::is_ascii_digit);
    exponent_fits
        && is_digits(whole)
        && is_digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
}

/// Byte offsets of characters: the parser counts characters, the tree bytes.
struct Offsets<'t> {
    text: &'t str,
    /// The byte offset of every [`Offsets::STEP`]th character.
    steps: Vec<usize>,
}

impl<'t> Offsets<'t> {
    const STEP: usize = 64;

    fn new(text: &'t str) -> Offsets<'t> {
        let steps = text.char_indices().step_by(Self::STEP).map(|(at, _)| at).collect();
        Offsets { text, steps }
    }

    /// The byte offset of a character; of one past the end, the length of the text.
    fn byte(&self, index: usize) -> usize {
        let Some(step) = self.steps.get(index / Self::STEP) else { return self.text.len() };
        let rest = self.text.get(*step..).unwrap_or_default();
        match rest.char_indices().nth(index % Self::STEP) {
            Some((at, _)) => step + at,
            None => self.text.len(),
        }
    }
}
