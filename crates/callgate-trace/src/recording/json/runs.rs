//! Items of `runs`: recorded runs and their caveats.

use callgate_formats::syntax::reader::Reader;
use callgate_formats::syntax::tree::Node;

use super::fields::{is_object, required};
use crate::recording::caveat::{Caveat, Effect};
use crate::recording::limits::MAX_RUNS;
use crate::recording::run::{RecordingMethod, Run};

const KEYS: [&str; 10] = [
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
];

/// The valid items of `runs`, at most [`MAX_RUNS`]; more are an error.
pub(super) fn runs(reader: &mut Reader<'_>, tree: &Node) -> Vec<Run> {
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
fn run(reader: &mut Reader<'_>, node: &Node) -> Option<Run> {
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
    })
}

/// One item of `caveats`. An effect of a newer recorder is read as [`Effect::Altered`], which only warns.
fn caveat(reader: &mut Reader<'_>, node: &Node) -> Option<Caveat> {
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
