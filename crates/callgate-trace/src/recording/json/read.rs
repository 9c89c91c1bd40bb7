//! Reads a recording in JSON, also a truncated one: the disk was full, or a copy was interrupted.
//!
//! The complete entries of a truncated recording are useful, but incomplete: a profile made from them would deny the syscalls that
//! are missing. Therefore they are read only on request.

use std::collections::BTreeMap;

use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::{Diagnostic, Severity};
use callgate_formats::syntax::json;
use callgate_formats::syntax::reader::Reader;
use callgate_formats::syntax::tree::{Node, NodeKind};

use super::entry::{SyscallEntry, check, entries, is_object, is_recording, required};
use crate::recording::evidence::Evidence;
use crate::recording::labels::CommonLabels;
use crate::recording::limits::{MAX_LABELS, MAX_RUNS, MAX_SYSCALLS, MAX_VALUES};
use crate::recording::model::{Recording, SyscallId};
use crate::recording::run::{Caveat, Effect, RecordingMethod, Run, RunId};
use crate::recording::values::{ArgValues, Bounds};

/// Reads a recording, or with `partial` the complete entries of a truncated one. Numbers that the syscall tables do
/// not have are kept; unknown names are reported with the severity `unknown`.
pub(crate) fn read(
    text: &str,
    reader: &mut Reader<'_>,
    unknown: Severity,
    partial: bool,
) -> Recording {
    let mut recording = Recording::default();
    let document = match json::parse(text) {
        Ok(tree) => check(tree, reader).map(|tree| Document { tree, is_truncated: false }),
        Err(error) => truncated_document(text, reader, error, partial),
    };
    let Some(Document { tree, is_truncated }) = document else { return recording };
    runs(reader, &tree).into_iter().for_each(|run| recording.push_run(run));
    if is_truncated {
        if recording.runs().is_empty() {
            recording.push_run(Run::default());
        }
        for run in recording.runs_mut() {
            run.lost = run.lost.saturating_add(1);
            run.caveats.push(Caveat::cut_off());
        }
    }
    let common = recording.common_labels();
    for entry in entries(reader, &tree) {
        let seen = seen(reader, &entry, recording.runs());
        let args = args(reader, &entry, seen, recording.runs());
        let Some(nr) = entry.resolved.as_ref().ok().copied().or(entry.given_nr) else {
            entry.report_unknown(reader, unknown);
            continue;
        };
        let syscall = SyscallId::new(entry.arch, nr);
        if recording.syscalls().len() >= MAX_SYSCALLS && recording.get(syscall).is_none() {
            let message = format!("more than {MAX_SYSCALLS} different syscalls, the limit");
            reader.error(entry.node.at, message).help =
                "no kernel has that many syscalls; check what was recorded".to_owned();
            break;
        }
        recording.add_of_runs(syscall, entry.count, seen, args);
        if recording.runs().len() > 1 {
            let own = entry.node.get("common").map(|node| CommonLabels::of(labels(reader, node)));
            recording.set_common_labels(syscall, own.unwrap_or_else(|| common.clone()));
        }
    }
    recording
}

/// A recording in a supported version.
struct Document<'t> {
    tree: Node<'t>,
    is_truncated: bool,
}

/// The complete entries of a truncated recording. Without `partial`, the error says how many there are.
fn truncated_document(
    text: &str,
    reader: &mut Reader<'_>,
    mut error: Diagnostic,
    partial: bool,
) -> Option<Document<'static>> {
    let complete =
        complete_part(text).and_then(|part| json::parse(&part).ok().map(Node::into_owned));
    let tree = complete.filter(is_recording);
    let syscalls = tree.as_ref().and_then(|tree| tree.get("calls"));
    let count = match syscalls.map(|syscalls| &syscalls.kind) {
        Some(NodeKind::List(items)) => items.len(),
        _ => 0,
    };
    if count > 0 && partial {
        let message = format!(
            "the recording is truncated here; complete entries of `calls` that are used: {count}"
        );
        reader.warn(text.len(), message).help =
            "record again, or expect missing syscalls: later entries are not known".to_owned();
        return Some(Document { tree: check(tree?, reader)?, is_truncated: true });
    }
    if count > 0 {
        error.set_help(Advice::ReadPartially { complete: count });
    }
    reader.add(error);
    None
}

/// The text up to the last complete item of the truncated list at the top level, with the closing brackets added;
/// `None` if the text is not truncated, or is invalid JSON before its end.
fn complete_part(text: &str) -> Option<String> {
    let mut open = Vec::new();
    let (mut in_string, mut escaped) = (false, false);
    let mut end = None;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            // A string cannot span lines: if more text follows, a quote is missing and the text is not truncated.
            b'\n' if in_string && !text.get(at..)?.trim().is_empty() => return None,
            _ if in_string => {}
            b'{' | b'[' => open.push(byte),
            b'}' | b']' => {
                // In ASCII, matching brackets differ by 2.
                open.pop().filter(|opening| *opening == byte - 2)?;
                if open == b"{[" {
                    end = Some(at + 1);
                }
            }
            _ => {}
        }
    }
    let complete = text.get(..end?)?;
    (!open.is_empty()).then(|| format!("{complete}]}}"))
}

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
fn runs(reader: &mut Reader<'_>, tree: &Node<'_>) -> Vec<Run> {
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
fn labels(reader: &mut Reader<'_>, node: &Node<'_>) -> BTreeMap<String, String> {
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

/// The values of the arguments; empty if they are invalid, which is reported.
/// `seen` are the runs of the syscall, and `all` those of the recording.
fn args(
    reader: &mut Reader<'_>,
    entry: &SyscallEntry<'_>,
    seen: Evidence,
    all: &[Run],
) -> Vec<ArgValues> {
    let Some(node) = entry.node.get("args") else { return Vec::new() };
    let items = reader.list(node, "`args`").unwrap_or_default();
    if items.len() > 6 {
        let message =
            format!("`args` has {} items, but a syscall has at most 6 arguments", items.len());
        reader.error(node.at, message).help = "record again".to_owned();
        return Vec::new();
    }
    let mut of = |node| values(reader, node, entry.count, seen, all).unwrap_or_default();
    items.iter().map(&mut of).collect()
}

/// The values of one argument; `None` if they are not known, or invalid, which is reported.
fn values(
    reader: &mut Reader<'_>,
    node: &Node<'_>,
    count: u64,
    seen: Evidence,
    all: &[Run],
) -> Option<ArgValues> {
    if matches!(node.kind, NodeKind::Null)
        || !is_object(reader, node, "each item of `args`", "an object or null")
    {
        return None;
    }
    let keys = ["values", "seen_in", "only_in", "min", "max", "ever", "always", "observed"];
    reader.no_duplicates(node, &keys);
    let observed = match node.get("observed") {
        Some(node) => reader.integer(node, "`observed`", count)?,
        None => count,
    };
    match node.get("values") {
        Some(list) => listed_values(reader, node, list, observed, seen, all),
        None => Some(ArgValues::from_bounds(observed, bounds(reader, node)?)),
    }
}

/// An argument whose values are listed.
fn listed_values(
    reader: &mut Reader<'_>,
    node: &Node<'_>,
    list: &Node<'_>,
    observed: u64,
    seen: Evidence,
    runs: &[Run],
) -> Option<ArgValues> {
    let items = reader.list(list, "`values`")?;
    let all: Vec<u64> =
        items.iter().map(|node| value(reader, node, "each value")).collect::<Option<_>>()?;
    if all.len() > MAX_VALUES {
        let message = format!("`values` has {} values; the limit is {MAX_VALUES}", all.len());
        reader.error(list.at, message).help =
            "give `min`, `max`, `ever` and `always` instead".to_owned();
        return None;
    }
    let counts = match node.get("seen_in") {
        Some(counts) => seen_in(reader, counts, all.len(), seen.runs())?,
        None => vec![seen.runs(); all.len()],
    };
    let of_syscall = |count: &u64| if *count == seen.runs() { seen } else { Evidence::of(*count) };
    let mut evidence_of: Vec<Evidence> = counts.iter().map(of_syscall).collect();
    if let Some(lists) = node.get("only_in") {
        let items = reader.list(lists, "`only_in`")?;
        one_per_value(reader, lists, "`only_in`", items.len(), all.len())?;
        for (seen, item) in evidence_of.iter_mut().zip(items) {
            *seen = evidence(reader, item, seen.runs(), runs);
        }
    }
    Some(ArgValues::from_values_in_runs(observed, all.into_iter().zip(evidence_of)))
}

/// An argument of which only bounds are known.
fn bounds(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Bounds> {
    let bounds = ["min", "max", "ever", "always"].map(|key| {
        let node = required(reader, node, key, "an argument without `values`")?;
        value(reader, node, &format!("`{key}`"))
    });
    let [Some(min), Some(max), Some(ever), Some(always)] = bounds else { return None };
    let bounds = Bounds { min, max, ever, always };
    if !bounds.is_possible() {
        let message = "`min`, `max`, `ever` and `always` contradict each other";
        reader.error(node.at, message).help = "record again; one of the four is wrong".to_owned();
        return None;
    }
    Some(bounds)
}

/// In how many of the runs each value was seen.
fn seen_in(reader: &mut Reader<'_>, node: &Node<'_>, values: usize, runs: u64) -> Option<Vec<u64>> {
    let items = reader.list(node, "`seen_in`")?;
    one_per_value(reader, node, "`seen_in`", items.len(), values)?;
    let number = |node| Some(reader.integer(node, "each item of `seen_in`", runs)?.max(1));
    items.iter().map(number).collect()
}

/// Reports a list that does not have one item per value.
fn one_per_value(
    reader: &mut Reader<'_>,
    node: &Node<'_>,
    what: &str,
    items: usize,
    values: usize,
) -> Option<()> {
    if items != values {
        let message = format!("{what} needs one item per value: expected {values}, found {items}");
        reader.error(node.at, message).help = "merge the recordings again".to_owned();
        return None;
    }
    Some(())
}

/// A 64-bit value: an integer, or a string with a hexadecimal number.
fn value(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<u64> {
    if let NodeKind::Text(text) = &node.kind {
        let digits = text.strip_prefix("0x").filter(|digits| !digits.starts_with('+'));
        let value = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        if value.is_none() {
            reader.wrong_type(node, what, "a 64-bit value such as \"0x1f\"");
        }
        return value;
    }
    reader.integer(node, what, u64::MAX)
}

/// The runs of an item of `calls`. `all` are the runs of the recording.
fn seen(reader: &mut Reader<'_>, entry: &SyscallEntry<'_>, all: &[Run]) -> Evidence {
    match entry.node.get("only_in") {
        Some(node) => evidence(reader, node, entry.runs, all),
        None => Evidence::of(entry.runs),
    }
}

/// The runs in a list of their places, or null; reports invalid places.
fn evidence(reader: &mut Reader<'_>, node: &Node<'_>, runs: u64, all: &[Run]) -> Evidence {
    if matches!(node.kind, NodeKind::Null) {
        return Evidence::of(runs);
    }
    let items = reader.list(node, "`only_in`").unwrap_or_default();
    let last = (all.len() as u64).saturating_sub(1);
    let place = |node| reader.integer(node, "each item of `only_in`", last);
    let places: Vec<u64> = items.iter().filter_map(place).collect();
    let run = |place: &u64| Some(all.get(usize::try_from(*place).ok()?)?.id?.bits());
    let known: Vec<u64> = places.iter().filter_map(run).collect();
    Evidence::of_known(runs, &known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_items_of_a_truncated_list_are_kept() {
        let text = r#"{"a": [{"b": "]}\""}, {"c": [1]}], "d": [{}, {"e": 2}]}"#;
        let first = r#"{"a": [{"b": "]}\""}]}"#;
        let cases = [
            (0, None),
            (text.find(", {").unwrap() - 1, None),
            (text.find(", {").unwrap(), Some(first)),
            (text.find("1]").unwrap(), Some(first)),
            (text.find("\"e").unwrap(), Some(r#"{"a": [{"b": "]}\""}, {"c": [1]}], "d": [{}]}"#)),
            (text.len() - 1, Some(text)),
            (text.len(), None),
        ];
        for (length, complete) in cases {
            assert_eq!(complete_part(&text[..length]).as_deref(), complete, "{length}");
        }
        assert_eq!(complete_part(r#"{"a": [{}}"#), None);
        assert_eq!(complete_part("{\"a\": [{}, {\"b: 1},\n{}"), None);
    }
}
