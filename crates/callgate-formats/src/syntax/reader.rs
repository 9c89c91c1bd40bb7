//! Reader that walks a tree of [`Node`]s and collects messages: it checks types, ranges and keys, reports every
//! error, and ignores nothing without a warning.

use std::collections::BTreeMap;

use super::tree::{Member, Node, NodeKind, integer};
use crate::diagnostics::Texts;
use crate::diagnostics::messages::{LIMIT, Messages, Report, Suggestions, result_of};
use crate::diagnostics::quote::{did_you_mean, escape_key, shorten};
use crate::statements::Site;
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics, Position, Severity};
use callgate_bpf::suggest::nearest;

/// Reader of the tree of a text, and of further texts that it names.
pub struct Reader<'t> {
    texts: Texts<'t>,
    messages: Messages,
    suggestions: Suggestions,
    keys: KeyMatching,
    /// Whether an unknown key is an error or a warning.
    unknown_keys: Severity,
}

/// A key that a reader expects in a map.
#[derive(Clone, Copy)]
pub struct KnownKey {
    /// The key.
    pub name: &'static str,
    /// For a key that is ignored because it belongs to another format: the name of that format, for the warning.
    pub foreign: Option<&'static str>,
}

/// A key that is read.
pub const fn key(name: &'static str) -> KnownKey {
    KnownKey { name, foreign: None }
}

/// A key of another format, which is ignored with a warning.
pub(crate) const fn foreign_key(name: &'static str, owner: &'static str) -> KnownKey {
    KnownKey { name, foreign: Some(owner) }
}

/// The members of a map after its keys were checked.
pub struct Fields<'n> {
    /// Byte offset of the map.
    pub at: usize,
    found: Vec<Field<'n>>,
}

/// A member whose key is known.
struct Field<'n> {
    name: &'static str,
    key_at: usize,
    /// `None` for a value that is null, or that is ignored.
    value: Option<&'n Node<'n>>,
}

impl<'n> Fields<'n> {
    /// The value of a key. Null counts as absent.
    pub fn get(&self, key: &str) -> Option<&'n Node<'n>> {
        self.found.iter().filter(|field| field.name == key).find_map(|field| field.value)
    }
}

impl<'t> Reader<'t> {
    /// A reader of this text, which compares keys in this way.
    pub fn new(text: &'t str, keys: KeyMatching) -> Reader<'t> {
        let texts = Texts::new(text);
        let unknown_keys = Severity::Warning;
        let suggestions = Suggestions::default();
        Reader { texts, messages: Messages::new(), suggestions, keys, unknown_keys }
    }

    /// The same reader, for which an unknown key is an error, not a warning.
    #[must_use]
    pub fn refusing_unknown_keys(self) -> Reader<'t> {
        Reader { unknown_keys: Severity::Error, ..self }
    }

    /// Adds a text with this name, which is named at this offset. Returns the offset of its start: the offsets in its
    /// tree must be moved by it.
    pub(crate) fn add_text(&mut self, name: String, text: String, named_at: usize) -> usize {
        self.texts.add(name, text, named_at)
    }

    /// Line and column of a byte offset; for one in an added text, those where this text is named.
    pub fn position(&self, at: usize) -> Position {
        self.texts.position(at)
    }

    /// The place of a byte offset, also in an added text.
    pub(crate) fn site(&self, at: usize) -> Site {
        self.texts.site(at)
    }

    /// `line:column`, after the name of an added text, for a message that mentions a second place.
    pub fn place(&self, at: usize) -> String {
        self.texts.place(at)
    }

    /// Adds an error. The caller may set the help of the returned message.
    pub fn error(&mut self, at: usize, message: impl Into<String>) -> &mut Diagnostic {
        self.report(Severity::Error, at, message)
    }

    /// Adds a warning. The caller may set the help of the returned message.
    pub fn warn(&mut self, at: usize, message: impl Into<String>) -> &mut Diagnostic {
        self.report(Severity::Warning, at, message)
    }

    /// Adds an error with what to do, after which there is no value.
    pub(crate) fn refuse<T>(
        &mut self,
        at: usize,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Option<T> {
        self.error(at, message).help = help.into();
        None
    }

    /// The value; or none, after its error was added.
    pub(crate) fn accept<T, E: ToString>(&mut self, at: usize, result: Result<T, E>) -> Option<T> {
        let fail = |error: E| {
            self.error(at, error.to_string());
        };
        result.map_err(fail).ok()
    }

    /// Adds an error or a warning.
    pub fn report(
        &mut self,
        severity: Severity,
        at: usize,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        let message = self.texts.explain(at, message.into());
        let texts = &self.texts;
        self.messages.report_at(severity, || texts.position(at), message)
    }

    /// The candidate that is most similar to an unknown word, if one is similar enough. After 50 words
    /// there are no further suggestions.
    pub fn nearest<'c>(
        &mut self,
        word: &str,
        candidates: impl IntoIterator<Item = &'c str>,
    ) -> Option<&'c str> {
        self.suggestions.find(|| nearest(word, candidates))
    }

    /// Whether a further message of this severity would only be counted, so that its text need not be built.
    pub fn is_full(&self, severity: Severity) -> bool {
        self.reported(severity) >= LIMIT
    }

    /// Adds an error that another reader of the same text found.
    pub fn add(&mut self, error: Diagnostic) {
        self.messages.add(error);
    }

    /// Number of errors or warnings reported so far, including those that were not kept.
    pub fn reported(&self, severity: Severity) -> usize {
        self.messages.reported(severity)
    }

    /// Whether there is an error.
    pub fn failed(&self) -> bool {
        self.messages.failed()
    }

    /// The collector, to which further messages can be added.
    pub fn into_messages(self) -> Messages {
        self.messages
    }

    /// What was read with the warnings about it, or all messages if one is an error. Without an error, there is a value.
    pub(crate) fn end<T>(self, value: Option<T>) -> Result<(T, Vec<Diagnostic>), Diagnostics> {
        let failed = self.failed();
        result_of(value, failed, self.finish())
    }

    /// All messages in the order of the text.
    pub fn finish(self) -> Vec<Diagnostic> {
        self.messages.finish()
    }

    /// The members of a map. Unknown and foreign keys are warnings, repeated keys are errors.
    pub fn fields<'n>(
        &mut self,
        node: &'n Node<'n>,
        what: &str,
        known: &[KnownKey],
    ) -> Option<Fields<'n>> {
        let NodeKind::Map(members) = &node.kind else {
            self.wrong_type(node, what, "an object");
            return None;
        };
        let mut found: Vec<Field<'n>> = Vec::with_capacity(known.len().min(members.len()));
        let mut unknown: BTreeMap<&str, usize> = BTreeMap::new();
        for member in members {
            let exact = known.iter().find(|known| *known.name == *member.key);
            let folded = || known.iter().find(|known| folds_to(&member.key, known.name));
            let matching =
                if self.keys == KeyMatching::Exact { exact } else { exact.or_else(folded) };
            let is_folded = exact.is_none() && matching.is_some();
            let first = match matching {
                Some(known) => {
                    let same = found.iter().rfind(|field| field.name == known.name);
                    same.map(|field| field.key_at)
                }
                None => unknown.get(&*member.key).copied(),
            };
            match (matching, first) {
                (Some(known), _) if is_folded && self.keys == KeyMatching::Unambiguous => {
                    self.disputed_key(member, known.name);
                }
                (_, Some(first)) => {
                    self.given_twice(member, first);
                    continue;
                }
                _ => {}
            }
            let Some(KnownKey { name, foreign }) = matching else {
                unknown.insert(&member.key, member.key_at);
                self.unknown_key(&member.key, member.key_at, what, known);
                continue;
            };
            let value = match foreign {
                Some(owner) => {
                    let message = format!("`{name}` is ignored: it is a key of {owner}");
                    self.warn(member.key_at, message);
                    None
                }
                None => {
                    if is_folded && self.keys == KeyMatching::CaseFolded {
                        let given = escape_key(&member.key);
                        let message = format!(
                            "`{given}` is read as `{name}`: Go's JSON decoder ignores case"
                        );
                        self.warn(member.key_at, message).help =
                            format!("write `{name}`: other runtimes ignore `{given}`");
                    }
                    Some(&member.value).filter(|value| value.kind != NodeKind::Null)
                }
            };
            found.push(Field { name, key_at: member.key_at, value });
        }
        Some(Fields { at: node.at, found })
    }

    /// The member with this name in a map whose other members are not read. Null counts as absent. A repeated key
    /// is an error, and so is one that programs match differently.
    pub fn member<'n>(&mut self, node: &'n Node<'n>, name: &str) -> Option<&'n Member<'n>> {
        let mut found: Option<&Member<'n>> = None;
        for member in node.members() {
            let exact = *member.key == *name;
            if !exact && (self.keys == KeyMatching::Exact || !folds_to(&member.key, name)) {
                continue;
            }
            match found {
                _ if !exact && self.keys == KeyMatching::Unambiguous => {
                    self.disputed_key(member, name)
                }
                Some(first) => self.given_twice(member, first.key_at),
                None => found = Some(member),
            }
        }
        found.filter(|member| member.value.kind != NodeKind::Null)
    }

    /// Compares keys in this way from here on.
    pub(crate) fn match_keys(&mut self, keys: KeyMatching) {
        self.keys = keys;
    }

    /// Reports which of these keys are repeated in a map whose other members are not read.
    pub fn no_duplicates(&mut self, node: &Node<'_>, keys: &[&str]) {
        for key in keys {
            let mut members = node.members().iter().filter(|member| *member.key == **key);
            let first = members.next().map_or(0, |member| member.key_at);
            members.for_each(|member| self.given_twice(member, first));
        }
    }

    fn given_twice(&mut self, member: &Member<'_>, first: usize) {
        let first = self.place(first);
        let message = format!("`{}` is given twice, first at {first}", shorten(&member.key));
        self.error(member.key_at, message).help =
            "remove one: parsers disagree on which of the two counts".to_owned();
    }

    fn disputed_key(&mut self, member: &Member<'_>, name: &str) {
        let message = format!(
            "programs in Go (Docker, Podman, runc) read `{}` as `{name}`, but crun and Kubernetes do not",
            escape_key(&member.key)
        );
        self.error(member.key_at, message).help = format!("write `{name}`, which all of them read");
    }

    fn unknown_key(&mut self, given: &str, at: usize, what: &str, known: &[KnownKey]) {
        let names = known.iter().map(|known| known.name);
        let is_refused = self.unknown_keys == Severity::Error;
        let help = match names.clone().find(|name| folds_to(given, name)) {
            Some(name) if !is_refused => {
                format!(
                    "did you mean `{name}`? Programs in Go (Docker, Podman, runc) read it as `{name}`"
                )
            }
            Some(name) => format!("did you mean `{name}`?"),
            None => did_you_mean(self.nearest(given, names), "remove it, or check its spelling"),
        };
        let end = if is_refused { "" } else { "; it is ignored" };
        let message = format!("unknown key `{}` in {what}{end}", escape_key(given));
        self.report(self.unknown_keys, at, message).help = help;
    }

    /// Reports a value of the wrong type.
    pub fn wrong_type(&mut self, node: &Node<'_>, what: &str, expected: &str) {
        let message = format!("{what} must be {expected}, but is {}", node.describe());
        let help = match node.kind {
            NodeKind::Disputed(_, why) => why.help(),
            _ => "",
        };
        self.error(node.at, message).help = help.to_owned();
    }

    /// The items of a list; any other value is an error.
    pub fn list<'n>(&mut self, node: &'n Node<'n>, what: &str) -> Option<&'n [Node<'n>]> {
        match &node.kind {
            NodeKind::List(items) => Some(items),
            _ => {
                self.wrong_type(node, what, "a list");
                None
            }
        }
    }

    /// The text of a string; any other value is an error.
    pub fn text<'n>(&mut self, node: &'n Node<'n>, what: &str) -> Option<&'n str> {
        match &node.kind {
            NodeKind::Text(text) => Some(text),
            _ => {
                self.wrong_type(node, what, "a string");
                None
            }
        }
    }

    /// The strings of a list with their byte offsets; any other value or item is an error.
    pub fn texts<'n>(&mut self, node: &'n Node<'n>, what: &str) -> Option<Vec<(usize, &'n str)>> {
        let items = self.list(node, what)?;
        let mut texts = Vec::with_capacity(items.len());
        texts.extend(items.iter().filter_map(|node| match node.text() {
            Some(text) => Some((node.at, text)),
            None => {
                self.wrong_type(node, &format!("each item of {what}"), "a string");
                None
            }
        }));
        (texts.len() == items.len()).then_some(texts)
    }

    /// An integer from 0 to `max`; any other value is an error.
    pub fn integer(&mut self, node: &Node<'_>, what: &str, max: u64) -> Option<u64> {
        let NodeKind::Number(digits) = &node.kind else {
            self.wrong_type(node, what, "an integer");
            return None;
        };
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

    fn leave_out(&mut self, severity: Severity) -> bool {
        self.messages.leave_out(severity)
    }

    fn reported(&self, severity: Severity) -> usize {
        Reader::reported(self, severity)
    }
}

// How programs compare the keys of a JSON object with the names that they know.
//
// Go's `encoding/json` takes a key that is byte for byte the name of a field, else one that is equal
// under Unicode's simple case folding, in all versions of Go up to 1.26. The names in profiles consist of
// ASCII letters, and only two other characters fold to one: U+017F (long s) to `s`, U+212A (Kelvin sign) to
// `k`. crun compares bytes (`yajl_tree_get`), and so does `sigs.k8s.io/json`, which Kubernetes uses.

/// How keys are compared with names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyMatching {
    /// The same bytes: crun.
    Exact,
    /// The same bytes, else the same under case folding: programs in Go.
    CaseFolded,
    /// The same bytes; a key that only case folding makes equal is an error, because programs disagree.
    Unambiguous,
}

/// Whether Go's decoder takes a key for a name of ASCII letters.
pub(crate) fn folds_to(key: &str, name: &str) -> bool {
    let folded = key.chars().map(|c| match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    });
    folded.eq(name.chars().map(|c| c.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These are all characters that Unicode folds to ASCII letters (CaseFolding.txt, status C and S).
    #[test]
    fn keys_fold_as_in_go() {
        for key in ["syscalls", "SYSCALLS", "\u{17f}y\u{17f}call\u{17f}", "SySc\u{61}ll\u{17f}"] {
            assert!(folds_to(key, "syscalls"), "{key}");
        }
        assert!(folds_to("min\u{212a}ernel", "minKernel"));
        assert!(folds_to("MINkERNEL", "minKernel"));
        for key in
            ["syscall", "syscallss", "\u{df}yscalls", "syscalls ", "syscalls\0", "", "ѕyscalls"]
        {
            assert!(!folds_to(key, "syscalls"), "{key}");
        }
        // Only full folding (not simple folding) relates U+0130 to `i`, and only lower-casing U+0131.
        assert!(!folds_to("\u{130}ndex", "index"));
        assert!(!folds_to("\u{131}ndex", "index"));
    }
}
