//! Items of `runs`: recorded runs and their caveats.

use std::collections::BTreeMap;

use callgate_formats::syntax::reader::Reader;
use callgate_formats::syntax::tree::Node;

use super::fields::{is_object, required};
use crate::recording::caveat::{Caveat, Effect};
use crate::recording::limits::{MAX_LABELS, MAX_RUNS};
use crate::recording::run::{RecordingMethod, Run, RunId};

const KEYS: [&str; 13] = [
    "id",
    "digest",
    "how",
    "command",
    "from",
    "processes",
    "threads",
    "lost",
    "status",
    "kernel",
    "recorder",
    "caveats",
    "labels",
];

/// The valid items of `runs`, at most [`MAX_RUNS`]; more are an error.
pub(super) fn runs(reader: &mut Reader<'_>, tree: &Node<'_>) -> Vec<Run> {
    reader.no_duplicates(tree, &["runs"]);
    let runs = tree.get("runs").and_then(|node| reader.list(node, "`runs`")).unwrap_or_default();
    if let Some(node) = runs.get(MAX_RUNS) {
        let message = format!("`runs` has {} items; the limit is {MAX_RUNS}", runs.len());
        reader.error(node.at, message).help =
            "merge fewer recordings, and give several merged recordings".to_owned();
    }
    runs.iter().take(MAX_RUNS).filter_map(|node| run(reader, node)).collect()
}

/// One item; missing keys mean that the value is not known.
fn run(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Run> {
    if !is_object(reader, node, "each item of `runs`", "an object") {
        return None;
    }
    reader.no_duplicates(node, &KEYS);
    let text = |reader: &mut Reader<'_>, key: &str| {
        let text = reader.text(node.get(key)?, &format!("`{key}`"))?;
        Some(text.to_owned())
    };
    let number = |reader: &mut Reader<'_>, key: &str, max| {
        reader.integer(node.get(key)?, &format!("`{key}`"), max)
    };
    let how = text(reader, "how");
    let command = node.get("command").and_then(|node| reader.texts(node, "`command`"));
    let caveats = node.get("caveats").and_then(|node| reader.list(node, "`caveats`"));
    let caveats =
        caveats.unwrap_or_default().iter().filter_map(|node| caveat(reader, node)).collect();
    Some(Run {
        // A newer recorder may have other methods.
        method: how
            .and_then(|how| RecordingMethod::ALL.iter().copied().find(|known| known.name() == how))
            .unwrap_or_default(),
        command: command.into_iter().flatten().map(|(_, word)| word.to_owned()).collect(),
        from_execve: text(reader, "from").is_some_and(|from| from == "execve"),
        processes: number(reader, "processes", u64::MAX),
        threads: number(reader, "threads", u64::MAX),
        lost: number(reader, "lost", u64::MAX).unwrap_or(0),
        status: number(reader, "status", u8::MAX.into()).map(|status| status as u8),
        kernel: text(reader, "kernel"),
        callgate: text(reader, "recorder"),
        caveats,
        labels: node.get("labels").map(|node| labels(reader, node)).unwrap_or_default(),
        id: match run_number(reader, node, "id") {
            Some(number) => Some(RunId::Assigned(number)),
            None => run_number(reader, node, "digest").map(RunId::Digest),
        },
    })
}

/// An object of strings, at most [`MAX_LABELS`].
pub(super) fn labels(reader: &mut Reader<'_>, node: &Node<'_>) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    if !is_object(reader, node, "`labels`", "an object") {
        return labels;
    }
    if let Some(member) = node.members().get(MAX_LABELS) {
        let message = format!("more than {MAX_LABELS} labels, the limit");
        reader.error(member.key_at, message).help = "remove labels".to_owned();
    }
    for member in node.members().iter().take(MAX_LABELS) {
        if let Some(value) = reader.text(&member.value, "each label") {
            labels.insert(member.key.to_string(), value.to_owned());
        }
    }
    labels
}

/// The number that distinguishes a run: 16 hexadecimal digits.
fn run_number(reader: &mut Reader<'_>, node: &Node<'_>, key: &str) -> Option<u64> {
    let node = node.get(key)?;
    let text = reader.text(node, &format!("`{key}`"))?;
    let is_number = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u64::from_str_radix(text, 16).ok().filter(|_| is_number);
    if number.is_none() {
        reader.wrong_type(node, &format!("`{key}`"), "16 hexadecimal digits");
    }
    number
}

/// One item of `caveats`. An effect of a newer recorder is read as [`Effect::Altered`], which only warns.
fn caveat(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Caveat> {
    if !is_object(reader, node, "each item of `caveats`", "an object") {
        return None;
    }
    reader.no_duplicates(node, &["id", "effect", "count", "text"]);
    let id = required(reader, node, "id", "a caveat").and_then(|id| reader.text(id, "`id`"))?;
    let text = required(reader, node, "text", "a caveat");
    let text = text.and_then(|text| reader.text(text, "`text`"))?;
    let effect = node.get("effect").and_then(|effect| reader.text(effect, "`effect`"));
    let known = effect.and_then(|name| Effect::ALL.iter().find(|effect| effect.name() == name));
    let count = node.get("count").and_then(|count| reader.integer(count, "`count`", u64::MAX));
    let effect = known.copied().unwrap_or(Effect::Altered);
    Some(Caveat { id: id.to_owned(), effect, count, text: text.to_owned() })
}
