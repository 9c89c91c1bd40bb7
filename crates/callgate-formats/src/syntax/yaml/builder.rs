//! Builder of a tree from the events of the YAML parser.

use super::{characters, scalar};
use crate::diagnostics::quote::shorten;
use crate::syntax::tree::{Dispute, Member, Node, NodeKind};
use callgate_bpf::diagnostic::{Diagnostic, Position, Topic};
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag};

/// Maximum depth of nested collections. The parser has the same limit for collections in brackets.
const MAX_DEPTH: usize = 255;

/// Maximum length of a text in bytes. Text between brackets takes up to 34 bytes of memory per byte, because the
/// parser looks ahead to the closing bracket. The largest profiles in use have 60 kB, and etcd's limit for a
/// request keeps the resources of a cluster below 1.5 MiB.
pub(super) const MAX_BYTES: usize = 2 << 20;

/// Maximum number of documents in a text. Manifests of whole clusters have some hundreds.
const MAX_DOCUMENTS: usize = 1000;

/// Characters with which a plain scalar cannot begin.
const INDICATORS: &[char] =
    &[',', '[', ']', '{', '}', '#', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`'];

/// The help for a truncated text.
const CUT_OFF: &str = "the text is truncated; check that the file is complete";

/// Parses a YAML text with one document into its tree.
///
/// # Errors
/// The first syntax error, unsupported feature, or limit that the text exceeds.
pub fn parse(text: &str) -> Result<Node<'static>, Diagnostic> {
    documents(text, 1)?.into_iter().next().ok_or_else(no_content)
}

/// Parses a YAML text with one or more documents into their trees. Documents without content, such as the one behind a
/// `---` at the end, are left out.
///
/// ```
/// use callgate_formats::syntax::yaml;
///
/// let documents = yaml::parse_all("kind: ConfigMap\n---\nkind: SeccompProfile\n---\n")?;
/// let kinds: Vec<_> = documents.iter().filter_map(|one| one.get("kind")?.text()).collect();
/// assert_eq!(kinds, ["ConfigMap", "SeccompProfile"]);
/// # Ok::<(), callgate_bpf::diagnostic::Diagnostic>(())
/// ```
///
/// # Errors
/// As [`parse`]; also for a text without any content.
pub fn parse_all(text: &str) -> Result<Vec<Node<'static>>, Diagnostic> {
    let mut documents = documents(text, MAX_DOCUMENTS)?;
    let is_null = |document: &Node<'_>| document.kind == NodeKind::Null;
    if documents.iter().all(is_null) {
        documents.truncate(1);
    } else {
        documents.retain(|document| !is_null(document));
    }
    if documents.is_empty() { Err(no_content()) } else { Ok(documents) }
}

fn no_content() -> Diagnostic {
    Diagnostic::error(None, "the text has no content; expected a YAML mapping")
        .help("give a seccomp profile or a SeccompProfile resource")
}

/// Parses a text with at most `most` documents.
fn documents(text: &str, most: usize) -> Result<Vec<Node<'static>>, Diagnostic> {
    if text.len() > MAX_BYTES {
        let message = format!(
            "the text has {} bytes; the limit for YAML is {} bytes ({} MiB)",
            text.len(),
            MAX_BYTES,
            MAX_BYTES >> 20
        );
        let help =
            "profiles are far smaller; check that this is the right file, or convert it to JSON";
        return Err(Diagnostic::error(None, message).help(help).topic(Topic::TooLarge));
    }
    characters::check(text)?;
    let mut builder = Builder::new(text, most);
    for event in Parser::new_from_str(text) {
        match event {
            Ok((event, span)) => builder.event(event, span)?,
            Err(error) => return Err(builder.explain(&error)),
        }
    }
    Ok(builder.documents)
}

/// A list or a mapping whose end has not been reached.
struct Open {
    at: usize,
    /// Whether it is inside `[]` or `{}`, where line breaks and indentation have no meaning.
    in_brackets: bool,
    items: Items,
}

enum Items {
    List(Vec<Node<'static>>),
    /// The members so far, and the key whose value comes next.
    Map(Vec<Member<'static>>, Option<(String, usize)>),
}

struct Builder<'t> {
    text: &'t str,
    offsets: Offsets<'t>,
    open: Vec<Open>,
    /// The maximum number of documents.
    most: usize,
    /// The number of documents that have started.
    started: usize,
    /// The end of the last document.
    ended_at: usize,
    /// The end of the last event.
    read_up_to: usize,
    documents: Vec<Node<'static>>,
}

/// Where a line of a text ends a document.
fn end_before(text: &str) -> Option<usize> {
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    let mut ends = starts.filter(|at| text.get(*at..).is_some_and(|line| line.starts_with("...")));
    ends.next()
}

impl<'t> Builder<'t> {
    fn new(text: &'t str, most: usize) -> Builder<'t> {
        Builder {
            text,
            offsets: Offsets::new(text),
            open: Vec::new(),
            most,
            started: 0,
            ended_at: 0,
            read_up_to: 0,
            documents: Vec::new(),
        }
    }

    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Diagnostic> {
        let at = self.offsets.byte(span.start.index());
        let end = self.offsets.byte(span.end.index());
        self.reject_tabs_before(at)?;
        self.read_up_to = self.read_up_to.max(end);
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd => Ok(()),
            Event::DocumentEnd => {
                self.ended_at = at;
                Ok(())
            }
            Event::DocumentStart(is_explicit) => self.start(at, is_explicit),
            Event::Alias(_) => Err(self.alias(at)),
            Event::Scalar(value, style, anchor, tag) => {
                self.reject_properties(at, anchor, tag.as_deref())?;
                self.scalar(at, end, &value, style)
            }
            Event::SequenceStart(anchor, tag) => {
                self.reject_properties(at, anchor, tag.as_deref())?;
                let at = self.first_dash(at);
                self.push(at, Items::List(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                self.reject_properties(at, anchor, tag.as_deref())?;
                self.push(at, Items::Map(Vec::new(), None))
            }
            Event::SequenceEnd | Event::MappingEnd => self.pop(),
        }
    }

    fn error(&self, at: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(Some(Position::of(self.text, at)), message)
    }

    fn start(&mut self, at: usize, is_explicit: bool) -> Result<(), Diagnostic> {
        let before = self.text.get(..at).filter(|_| self.started == 0);
        if let Some(end) = before.and_then(end_before) {
            return Err(self
                .error(
                    end,
                    "`...` ends a document, and none has begun: some YAML readers refuse it",
                )
                .help("remove it"));
        }
        if self.started > 0 && !is_explicit {
            return Err(self
                .error(at, "there is more text after `...`, which ends the document: Kubernetes ignores it")
                .help("remove it, or begin the next document with `---`"));
        }
        if self.started >= self.most {
            return Err(match self.most {
                1 => self
                    .error(at, "a second YAML document starts here; a profile is a single document")
                    .help("put each document into its own file"),
                most => self
                    .error(at, format!("the text has more than {most} YAML documents, the limit"))
                    .help("put the profile into its own file")
                    .topic(Topic::TooLarge),
            });
        }
        self.started += 1;
        let mut line_at = self.ended_at;
        for line in self.text.get(line_at..at).unwrap_or_default().split_inclusive(['\n', '\r']) {
            if line.trim_start_matches('\u{feff}').starts_with('%') {
                return Err(self
                    .error(line_at, "YAML directives are not supported")
                    .help("remove this line: the text is read as YAML 1.2"));
            }
            line_at += line.len();
        }
        Ok(())
    }

    fn alias(&self, at: usize) -> Diagnostic {
        self.error(at, "YAML aliases are not supported").help("replace `*name` by the value")
    }

    /// Rejects an anchor and a tag.
    fn reject_properties(
        &self,
        at: usize,
        anchor: usize,
        tag: Option<&Tag>,
    ) -> Result<(), Diagnostic> {
        if anchor != 0 {
            return Err(self
                .error(at, "YAML anchors are not supported")
                .help("remove `&name`, and replace each `*name` by the value"));
        }
        if tag.is_some() {
            return Err(self
                .error(at, "YAML tags are not supported")
                .help("remove the tag; to make a value a string, put it in quotes"));
        }
        Ok(())
    }

    fn scalar(
        &mut self,
        at: usize,
        end: usize,
        value: &str,
        style: ScalarStyle,
    ) -> Result<(), Diagnostic> {
        if value.contains('\0') {
            return Err(self
                .error(at, "the string contains the character U+0000")
                .help("remove it: programs written in C end the string there, others do not"));
        }
        self.reject_form(at, end, value, style)?;
        if let Some(Open { items: Items::Map(_, None), .. }) = self.open.last() {
            self.reject_key_without_colon(at, end)?;
            let name = self.key(at, value, style)?.to_owned();
            if let Some(Open { items: Items::Map(_, key), .. }) = self.open.last_mut() {
                *key = Some((name, at));
            }
            return Ok(());
        }
        let kind = match style {
            ScalarStyle::Plain => match scalar::resolve(value) {
                Ok(kind) => kind,
                // Kubernetes refuses the whole text.
                Err(why @ Dispute::NotFinite) => return Err(self.disputed(at, value, why)),
                Err(why) => NodeKind::Disputed(value.to_owned().into(), why),
            },
            _ => NodeKind::Text(value.to_owned().into()),
        };
        self.add(Node { at, kind });
        Ok(())
    }

    /// A scalar as a key.
    fn key<'v>(
        &self,
        at: usize,
        value: &'v str,
        style: ScalarStyle,
    ) -> Result<&'v str, Diagnostic> {
        if style != ScalarStyle::Plain {
            return Ok(value);
        }
        if value == "<<" {
            return Err(self
                .error(at, "YAML merge keys are not supported")
                .help("replace `<<` by the members"));
        }
        scalar::key(value).map_err(|why| self.disputed(at, value, why))?.ok_or_else(|| {
            let kind = scalar::resolve(value).unwrap_or(NodeKind::Null);
            let message =
                format!("a key must be a string, but is {}", Node { at, kind }.describe());
            self.error(at, message).help("put it in quotes, or complete the line")
        })
    }

    /// The error for a scalar that programs read differently.
    fn disputed(&self, at: usize, value: &str, why: Dispute) -> Diagnostic {
        let given = shorten(value);
        self.error(at, format!("`{given}` {}", why.why())).help(why.help())
    }

    /// Opens a collection.
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

    /// Closes the innermost collection.
    fn pop(&mut self) -> Result<(), Diagnostic> {
        let Some(Open { at, items, .. }) = self.open.pop() else { return Ok(()) };
        let kind = match items {
            Items::List(nodes) => NodeKind::List(nodes.into()),
            Items::Map(members, _) => {
                self.unique(&members)?;
                NodeKind::Map(members.into())
            }
        };
        self.add(Node { at, kind });
        Ok(())
    }

    /// Adds a complete value to the innermost collection, or makes it the document.
    fn add(&mut self, node: Node<'static>) {
        match self.open.last_mut().map(|open| &mut open.items) {
            None => self.documents.push(node),
            Some(Items::List(nodes)) => nodes.push(node),
            Some(Items::Map(members, key)) => {
                if let Some((key, key_at)) = key.take() {
                    members.push(Member { key: key.into(), key_at, value: node });
                }
            }
        }
    }

    /// Reports the first repeated key of a mapping.
    fn unique(&self, members: &[Member<'_>]) -> Result<(), Diagnostic> {
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
        Err(self.error(at, message).help("remove one: parsers disagree on which of the two counts"))
    }

    /// The offset of the list that the parser places at `at`. If its dashes are not indented below its key, the
    /// parser gives the offset of the first item; the list starts at the dash at the beginning of that line.
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
        self.error(at, format!("nesting is deeper than the limit of {MAX_DEPTH} levels"))
            .help("profiles nest at most ten levels deep; check that this is the right file")
            .topic(Topic::TooLarge)
    }

    /// Rejects a tab in the indentation of a line outside brackets, or after its dashes, between the last event and one at
    /// this offset. The parser accepts some of them as if they were one space, and all of them in lines without content;
    /// other parsers do not.
    fn reject_tabs_before(&self, at: usize) -> Result<(), Diagnostic> {
        if self.in_brackets() || at < self.read_up_to {
            return Ok(());
        }
        let is_indicator = |c: char| matches!(c, ' ' | '\t' | '-' | '?');
        let mut start = self.line_start(self.read_up_to);
        let lines = self.text.get(start..at).unwrap_or_default();
        for line in lines.split_inclusive('\n') {
            let rest = line.trim_start_matches(is_indicator);
            let indentation = line.get(..line.len() - rest.len()).unwrap_or_default();
            let is_read = start + indentation.len() < self.read_up_to;
            if let Some(tab) =
                indentation.find('\t').filter(|_| !is_read && !line.starts_with("---"))
            {
                return Err(self.tabbed(start + tab));
            }
            start += line.len();
        }
        Ok(())
    }

    /// Rejects forms of scalars that only YAML 1.2, or only the parser, has: in plain ones, indicators; in double quotes, the
    /// escape of a slash.
    fn reject_form(
        &self,
        at: usize,
        end: usize,
        value: &str,
        style: ScalarStyle,
    ) -> Result<(), Diagnostic> {
        let written = self.text.get(at..end).unwrap_or_default();
        match style {
            ScalarStyle::Plain => {
                let is_in_flow =
                    |value: &str| value.contains('?') || value.starts_with(':') || value == "-";
                let starts_badly = value.starts_with(INDICATORS);
                if !(starts_badly || self.in_brackets() && is_in_flow(value)) {
                    return Ok(());
                }
                let message =
                    format!("`{}` needs quotes: some YAML readers refuse it", shorten(value));
                Err(self.error(at, message).help("put it in quotes"))
            }
            ScalarStyle::DoubleQuoted => match escaped_slash(written) {
                Some(slash) => Err(self
                    .error(
                        at + slash,
                        "YAML 1.1, which Kubernetes reads, does not have the escape `\\/`",
                    )
                    .help("write the slash without a backslash")),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Rejects a key in brackets that is not followed by a colon, or by the next key, in its line.
    fn reject_key_without_colon(&self, at: usize, end: usize) -> Result<(), Diagnostic> {
        let written = self.text.get(at..end).unwrap_or_default();
        let rest = self.text.get(end..).unwrap_or_default().trim_start_matches([' ', '\t']);
        let is_complete = !written.contains('\n') && rest.starts_with([':', ',', '}', ']']);
        if !self.in_brackets() || is_complete {
            return Ok(());
        }
        Err(self
            .error(at, "a key in brackets and its colon must be in one line: some YAML readers refuse others")
            .help("write `key: value` in one line"))
    }

    fn in_brackets(&self) -> bool {
        self.open.last().is_some_and(|open| open.in_brackets)
    }

    /// The start of the line that contains this offset.
    fn line_start(&self, at: usize) -> usize {
        let before = self.text.get(..at).unwrap_or_default();
        before.rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// The offset of the tab in the indentation of the line that starts here.
    fn tab(&self, line_at: usize) -> Option<usize> {
        let line = self.text.get(line_at..)?;
        let spaces = line.len() - line.trim_start_matches(' ').len();
        line.get(spaces..)?.starts_with('\t').then_some(line_at + spaces)
    }

    fn tabbed(&self, tab: usize) -> Diagnostic {
        self.error(tab, "this line is indented with a tab")
            .help("use spaces: YAML does not allow tabs there")
    }

    /// The parser's error in words that need no knowledge of how a parser works.
    fn explain(&self, error: &ScanError) -> Diagnostic {
        let at = self.offsets.byte(error.marker().index());
        let rest = self.text.get(at..).unwrap_or_default();
        let line_at = self.line_start(at);
        let info = error.info();
        if rest.starts_with('*') {
            return self.alias(at);
        }
        if info.split(' ').any(|word| matches!(word, "tab" | "tabs")) {
            // The parser may report the start of a scalar that the line with the tab would continue.
            let below = rest.match_indices('\n').map(|(newline, _)| at + newline + 1);
            let tab = std::iter::once(line_at).chain(below).find_map(|line| self.tab(line));
            return self.tabbed(tab.unwrap_or(at));
        }
        let unclosed = |what: &str, at: usize| {
            self.error(at, format!("the {what} that starts here is not closed")).help(CUT_OFF)
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
                    .help("write a colon and a space after the key, or complete the file");
            }
            "mapping values are not allowed in this context" => {
                return self.error(at, "a key is not allowed here").help(
                    "put a text that contains `: ` in quotes, or align the key with the others",
                );
            }
            "while parsing a block mapping, did not find expected key" => {
                return self
                    .error(at, "this is not a key of the mapping above")
                    .help("align it with the keys that it belongs to");
            }
            _ => {}
        }
        let not_yaml = self.error(at, format!("invalid YAML: {info}"));
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

/// The offset of the first escape `\/` in a scalar in double quotes as written.
fn escaped_slash(written: &str) -> Option<usize> {
    let mut bytes = written.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        if byte == b'\\' && bytes.next().is_some_and(|(_, escaped)| escaped == b'/') {
            return Some(at);
        }
    }
    None
}

/// Distance in characters between known offsets, and so the maximum number of characters to count per question.
const STEP: usize = 64;

/// The byte offsets of the characters of a text.
pub(super) struct Offsets<'t> {
    text: &'t str,
    /// The byte offset of every [`STEP`]th character.
    steps: Vec<usize>,
}

impl<'t> Offsets<'t> {
    pub(super) fn new(text: &'t str) -> Offsets<'t> {
        let steps = text.char_indices().step_by(STEP).map(|(at, _)| at).collect();
        Offsets { text, steps }
    }

    /// The byte offset of the character with this index; past the end, the length of the text.
    pub(super) fn byte(&self, index: usize) -> usize {
        let Some(step) = self.steps.get(index / STEP) else { return self.text.len() };
        let rest = self.text.get(*step..).unwrap_or_default();
        match rest.char_indices().nth(index % STEP) {
            Some((at, _)) => step + at,
            None => self.text.len(),
        }
    }
}
