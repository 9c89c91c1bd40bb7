//! Walking a [`Node`] tree with a list of messages: everything is checked, all errors are
//! collected, nothing is dropped in silence.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use super::keys::{Keys, folds_to};
use super::messages::{LIMIT, Messages, Report};
use super::tree::{Kind, Member, Node, integer, is_padded, shorten};
use callgate_bpf::diagnostic::{Diagnostic, Position, Severity};
use callgate_bpf::suggest::nearest;

/// How many bytes are looked at for a place at the most: a long text, or a long line, may have many messages.
const STEP: usize = 512;

/// What is said about a key that only differs in case from one that is read.
const GO_FOLDS: &str = "programs in Go (Docker, Podman, runc) read it as that";

/// A key in a message: characters that may look like others are escaped as in JSON.
pub fn spelled(key: &str) -> String {
    let escape = |c: char| match c.is_ascii() {
        true => c.to_string(),
        false => c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
    };
    shorten(key).chars().map(escape).collect()
}

/// How many unknown words get a suggestion: a text that is no profile at all may have a million.
const SUGGESTIONS: usize = 50;

/// Collects messages about a text.
pub struct Reader<'t> {
    text: &'t str,
    /// The place of every [`STEP`]th byte, or of the character that goes on there; counted when a place is
    /// asked for.
    steps: OnceCell<Vec<Position>>,
    messages: Messages,
    suggestions: usize,
    /// How keys are matched with names.
    keys: Keys,
}

/// A key of a map, and what a reader knows about it.
#[derive(Clone, Copy)]
pub struct Known {
    /// The key.
    pub key: &'static str,
    /// When it has no effect in this language: whose key it is, to be said in a warning.
    pub foreign: Option<&'static str>,
}

/// A key that is read.
pub const fn key(key: &'static str) -> Known {
    Known { key, foreign: None }
}

/// The members of a map whose keys were checked.
pub struct Fields<'n> {
    /// Where the map starts.
    pub at: usize,
    found: Vec<(&'static str, &'n Node)>,
}

impl<'n> Fields<'n> {
    /// The value of a key; null counts as absent.
    pub fn get(&self, key: &str) -> Option<&'n Node> {
        self.found.iter().find(|(found, _)| *found == key).map(|(_, node)| *node)
    }
}

impl<'t> Reader<'t> {
    /// A reader of a text.
    pub fn new(text: &'t str, keys: Keys) -> Reader<'t> {
        Reader { text, steps: OnceCell::new(), messages: Messages::new(), suggestions: 0, keys }
    }

    /// Line and column of a byte offset.
    pub fn position(&self, at: usize) -> Position {
        position(self.text, &self.steps, at)
    }

    /// `line:column`, for a message that names a second place.
    pub fn place(&self, at: usize) -> String {
        let position = self.position(at);
        format!("{}:{}", position.line, position.column)
    }

    /// Adds an error; the message may be given advice afterwards.
    pub fn error(&mut self, at: usize, message: impl Into<String>) -> &mut Diagnostic {
        self.report(Severity::Error, at, message)
    }

    /// Adds a warning; the message may be given advice afterwards.
    pub fn warn(&mut self, at: usize, message: impl Into<String>) -> &mut Diagnostic {
        self.report(Severity::Warning, at, message)
    }

    /// Adds an error or a warning.
    pub fn report(
        &mut self,
        severity: Severity,
        at: usize,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        let (text, steps) = (self.text, &self.steps);
        self.messages.report_at(severity, || position(text, steps, at), message)
    }

    /// The candidate that a word is probably a misspelling of. After some words there are none any more:
    /// nobody reads so many, and each takes a comparison with every candidate.
    pub fn nearest<'c>(
        &mut self,
        word: &str,
        candidates: impl IntoIterator<Item = &'c str>,
    ) -> Option<&'c str> {
        self.suggestions += 1;
        if self.suggestions > SUGGESTIONS { None } else { nearest(word, candidates) }
    }

    /// Whether a further message of this kind is only counted, so that its text does not matter.
    pub fn is_full(&self, severity: Severity) -> bool {
        self.reported(severity) >= LIMIT
    }

    /// Adds an error that another reader of the text found.
    pub fn add(&mut self, error: Diagnostic) {
        self.messages.add(error);
    }

    /// How many errors or warnings were reported, those left out included.
    pub fn reported(&self, severity: Severity) -> usize {
        self.messages.reported(severity)
    }

    /// Whether an error was added.
    pub fn failed(&self) -> bool {
        self.messages.failed()
    }

    /// All messages, to add others to.
    pub fn into_messages(self) -> Messages {
        self.messages
    }

    /// All messages in the order of the text.
    pub fn finish(self) -> Vec<Diagnostic> {
        self.messages.finish()
    }

    /// The members of a map: unknown keys are warnings, keys given twice errors.
    pub fn fields<'n>(
        &mut self,
        node: &'n Node,
        what: &str,
        known: &[Known],
    ) -> Option<Fields<'n>> {
        let Kind::Map(members) = &node.kind else {
            self.wrong_type(node, what, "an object");
            return None;
        };
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        let mut found = Vec::new();
        for member in members {
            let exact = known.iter().find(|known| *known.key == *member.key);
            let folded = || known.iter().find(|known| folds_to(&member.key, known.key));
            let matching = if self.keys == Keys::Exact { exact } else { exact.or_else(folded) };
            let is_folded = exact.is_none() && matching.is_some();
            let name = matching.map_or(&*member.key, |known| known.key);
            if is_folded && self.keys == Keys::Agreed {
                self.disputed_key(member, name);
            } else if let Some(first) = seen.get(name) {
                self.given_twice(member, *first);
                continue;
            }
            seen.insert(name, member.key_at);
            match matching {
                None => self.unknown_key(&member.key, member.key_at, what, known),
                Some(Known { key, foreign: Some(owner) }) => {
                    self.warn(member.key_at, format!("`{key}` is ignored: it is a key of {owner}"));
                }
                Some(Known { key, .. }) => {
                    if is_folded && self.keys == Keys::Folded {
                        let message = format!(
                            "`{}` is read as `{key}`, as Go's decoder does",
                            spelled(&member.key)
                        );
                        self.warn(member.key_at, message).help =
                            format!("write `{key}`: other runtimes ignore the key as it is");
                    }
                    if member.value.kind != Kind::Null {
                        found.push((*key, &member.value));
                    }
                }
            }
        }
        Some(Fields { at: node.at, found })
    }

    /// The member of a name in a map of which others are not looked at; null counts as absent. A second one is
    /// an error, and so is a key about which programs disagree.
    pub fn member<'n>(&mut self, node: &'n Node, name: &str) -> Option<&'n Member> {
        let mut found: Option<&Member> = None;
        for member in node.members() {
            let exact = *member.key == *name;
            if !exact && (self.keys == Keys::Exact || !folds_to(&member.key, name)) {
                continue;
            }
            match found {
                _ if !exact && self.keys == Keys::Agreed => self.disputed_key(member, name),
                Some(first) => self.given_twice(member, first.key_at),
                None => found = Some(member),
            }
        }
        found.filter(|member| member.value.kind != Kind::Null)
    }

    /// From here on, keys are matched in this way.
    pub fn match_keys(&mut self, keys: Keys) {
        self.keys = keys;
    }

    /// Checks that none of these keys is given twice in a map of which others are not looked at.
    pub fn no_duplicates(&mut self, node: &Node, keys: &[&str]) {
        for key in keys {
            let mut members = node.members().iter().filter(|member| *member.key == **key);
            let first = members.next().map_or(0, |member| member.key_at);
            members.for_each(|member| self.given_twice(member, first));
        }
    }

    fn given_twice(&mut self, member: &Member, first: usize) {
        let first = self.place(first);
        let message = format!("`{}` is given twice, first at {first}", shorten(&member.key));
        self.error(member.key_at, message).help =
            "remove one: parsers disagree which of the two counts".to_owned();
    }

    fn disputed_key(&mut self, member: &Member, name: &str) {
        let message = format!(
            "`{}` is `{name}` to programs in Go (Docker, Podman, runc), but not to crun and Kubernetes",
            spelled(&member.key)
        );
        self.error(member.key_at, message).help = format!("write `{name}`, which all of them read");
    }

    fn unknown_key(&mut self, given: &str, at: usize, what: &str, known: &[Known]) {
        let names = known.iter().map(|known| known.key);
        let help = match names.clone().find(|name| folds_to(given, name)) {
            Some(name) => format!("did you mean `{name}`? {GO_FOLDS}"),
            None => match self.nearest(given, names) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "remove it, or check its spelling".to_owned(),
            },
        };
        let message = format!("{what} has no key `{}`; it is ignored", spelled(given));
        self.warn(at, message).help = help;
    }

    /// An error about a value of a wrong type.
    pub fn wrong_type(&mut self, node: &Node, what: &str, expected: &str) {
        let message = format!("{what} must be {expected}, but is {}", node.describe());
        self.error(node.at, message);
    }

    /// The items of a list.
    pub fn list<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n [Node]> {
        match &node.kind {
            Kind::List(items) => Some(items),
            _ => {
                self.wrong_type(node, what, "a list");
                None
            }
        }
    }

    /// The text of a string.
    pub fn text<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n str> {
        match &node.kind {
            Kind::Text(text) => Some(text),
            _ => {
                self.wrong_type(node, what, "a string");
                None
            }
        }
    }

    /// The strings of a list, each with its place.
    pub fn texts<'n>(&mut self, node: &'n Node, what: &str) -> Option<Vec<(usize, &'n str)>> {
        let items = self.list(node, what)?;
        let item = format!("each item of {what}");
        let texts: Vec<_> =
            items.iter().filter_map(|node| Some((node.at, self.text(node, &item)?))).collect();
        (texts.len() == items.len()).then_some(texts)
    }

    /// An integer from 0 to `max`.
    pub fn integer(&mut self, node: &Node, what: &str, max: u64) -> Option<u64> {
        let Kind::Number(digits) = &node.kind else {
            self.wrong_type(node, what, "an integer");
            return None;
        };
        if is_padded(digits) {
            let given = shorten(digits);
            let message =
                format!("{what} is {given}, which is decimal in YAML 1.2, but octal in YAML 1.1");
            self.error(node.at, message).help =
                "write it without zeros in front; hexadecimal is 0x…".to_owned();
            return None;
        }
        if let Some(value) = integer(digits).filter(|value| *value <= max) {
            return Some(value);
        }
        let given = shorten(digits);
        let message = format!("{what} is {given}, but must be an integer from 0 to {max}");
        let help = match digits.parse::<i64>() {
            Ok(negative @ ..0) if max == u64::MAX => {
                format!("arguments are unsigned; write {} for {given}", negative as u64)
            }
            _ => String::new(),
        };
        self.error(node.at, message).help = help;
        None
    }
}

impl Report for Reader<'_> {
    type At = usize;

    fn report(
        &mut self,
        severity: Severity,
        at: usize,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        Reader::report(self, severity, at, message)
    }

    fn reported(&self, severity: Severity) -> usize {
        Reader::reported(self, severity)
    }
}

fn position(text: &str, known: &OnceCell<Vec<Position>>, at: usize) -> Position {
    let at = at.min(text.len());
    let start = known.get_or_init(|| steps(text)).get(at / STEP).copied().unwrap_or(START);
    let from = (at / STEP * STEP..at).find(|from| text.is_char_boundary(*from)).unwrap_or(at);
    text.get(from..at).unwrap_or("").chars().fold(start, behind)
}

/// Where a text starts.
const START: Position = Position { line: 1, column: 1 };

/// The place behind a character that stands at this one.
fn behind(position: Position, c: char) -> Position {
    match c {
        '\n' => Position { line: position.line.saturating_add(1), column: 1 },
        '\u{feff}' => position,
        _ => Position { column: position.column.saturating_add(1), ..position },
    }
}

fn steps(text: &str) -> Vec<Position> {
    let mut steps = Vec::with_capacity(text.len() / STEP + 1);
    let mut position = START;
    for (at, c) in text.char_indices() {
        if at >= steps.len() * STEP {
            steps.push(position);
        }
        position = behind(position, c);
    }
    if text.len() >= steps.len() * STEP {
        steps.push(position);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_do_not_depend_on_the_order_of_questions() {
        let line = "\u{feff}é {\n\n  \"ü\": 1, \u{feff}x\n}";
        // Over several steps, which do not start where characters do.
        let text = &(line.to_owned() + &"ü".repeat(STEP) + "\n" + line);
        let starts: Vec<usize> =
            text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let reader = Reader::new(text, Keys::Exact);
        for &first in &starts {
            for &second in starts.iter().step_by(7) {
                assert_eq!(reader.position(first), Position::of(text, first));
                assert_eq!(reader.position(second), Position::of(text, second));
            }
        }
    }
}
