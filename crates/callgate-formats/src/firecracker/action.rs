//! Reader of actions, and of the notation that they share with operators.

use super::model::FilterAction;
use crate::diagnostics::quote::shorten;
use crate::syntax::reader::Reader;
use crate::syntax::tree::{Node, NodeKind};
use callgate_core::Verdict;

/// The actions, and whether they take a number.
const ACTIONS: [(&str, bool); 8] = [
    ("allow", false),
    ("errno", true),
    ("kill_thread", false),
    ("kill_process", false),
    ("log", false),
    ("trace", true),
    ("trap", false),
    ("user_notif", false),
];

/// A word, or an object with one member: `"allow"`, `{"errno": 1}`.
pub(super) struct Variant<'n> {
    pub(super) word: &'static str,
    /// The number, for words that take one.
    pub(super) number: Option<&'n Node<'n>>,
}

/// One of these words; `true` marks those that take a number. `None` only after an error was reported.
pub(super) fn variant<'n>(
    reader: &mut Reader<'_>,
    node: &'n Node<'n>,
    what: &str,
    words: &[(&'static str, bool)],
) -> Option<Variant<'n>> {
    let (at, given, value) = match &node.kind {
        NodeKind::Text(text) => (node.at, &**text, None),
        NodeKind::Map(members) => match &**members {
            [only] => (only.key_at, &*only.key, Some(&only.value)),
            members => {
                let message = format!("{what} must have one member, but has {}", members.len());
                reader.error(node.at, message).help = form_of(words);
                return None;
            }
        },
        _ => {
            reader.wrong_type(node, what, "a string or an object");
            return None;
        }
    };
    let Some((word, takes_number)) = words.iter().copied().find(|(word, _)| *word == given) else {
        let message = format!("{what} is unknown: `{}`", shorten(given));
        let near = reader.nearest(given, words.iter().map(|(word, _)| *word));
        reader.error(at, message).help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => form_of(words),
        };
        return None;
    };
    match value.filter(|value| value.kind != NodeKind::Null) {
        Some(number) if takes_number => Some(Variant { word, number: Some(number) }),
        None if !takes_number => Some(Variant { word, number: None }),
        Some(value) => {
            let message = format!("`{word}` does not take a value");
            reader.error(value.at, message).help = format!("write \"{word}\"");
            None
        }
        None => {
            let message = format!("`{word}` needs a number");
            reader.error(at, message).help = format!("write {{\"{word}\": 1}}");
            None
        }
    }
}

/// The words in the form in which they are written.
fn form_of(words: &[(&'static str, bool)]) -> String {
    let form = |(word, takes_number): &(&str, bool)| match takes_number {
        true => format!("{{\"{word}\": number}}"),
        false => format!("\"{word}\""),
    };
    format!("write one of {}", words.iter().map(form).collect::<Vec<_>>().join(", "))
}

/// An action. `None` only after an error was reported.
pub(super) fn action(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<FilterAction> {
    let Variant { word, number } = variant(reader, node, what, &ACTIONS)?;
    let number = match number {
        Some(number) => reader.integer(number, &format!("`{word}`"), u32::MAX.into())? as u32,
        None => 0,
    };
    let data = number as u16;
    let verdict = match word {
        "allow" => Verdict::ALLOW,
        "errno" => Verdict::errno(data),
        "kill_process" => Verdict::KILL_PROCESS,
        "log" => Verdict::LOG,
        "trace" => Verdict::trace(data),
        "trap" => Verdict::trap(0),
        "user_notif" => Verdict::user_notif(0),
        _ => Verdict::KILL_THREAD,
    };
    Some(FilterAction { at: node.at, name: word, number, verdict })
}
