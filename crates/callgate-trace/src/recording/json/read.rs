//! Recordings in JSON; the form is described in the [module above](super).

use super::partial;
use crate::counts::{SUGGESTIONS, unknown_name};
use crate::logs::calls::MAX_CALLS;
use crate::read::VERSION;
use crate::recording::{
    Bounds, CallId, Caveat, Effect, How, MAX_COUNT, MAX_FEW, Recording, Run, Values,
};
use callgate_bpf::diagnostic::{Diagnostic, Severity};
use callgate_bpf::suggest::nearest;
use callgate_bpf::syscalls::{self, Arch};
use callgate_formats::json;
use callgate_formats::reader::Reader;
use callgate_formats::tree::{Kind, Node};

/// How many runs a recording may have.
const MAX_RUNS: usize = 10_000;

/// The whole of a recording, or, where `partial` permits it, what is left of one that is cut off; numbers
/// that the tables do not know are kept.
pub(crate) fn read(
    text: &str,
    reader: &mut Reader<'_>,
    unknown: Severity,
    partial: bool,
) -> Recording {
    let mut recording = Recording::default();
    let tree = match json::parse(text) {
        Ok(tree) => check(tree, reader),
        Err(error) => rest(text, reader, error, partial),
    };
    let Some(Checked { tree, is_cut }) = tree else { return recording };
    reader.no_duplicates(&tree, &["runs"]);
    let runs = tree.get("runs").and_then(|node| reader.list(node, "`runs`")).unwrap_or_default();
    if let Some(node) = runs.get(MAX_RUNS) {
        let message = format!("`runs` has {} runs, but {MAX_RUNS} is the most", runs.len());
        reader.error(node.at, message).help =
            "merge fewer recordings, and give all of the merged ones".to_owned();
    }
    for node in runs.iter().take(MAX_RUNS) {
        if let Some(run) = run(reader, node) {
            recording.push_run(run);
        }
    }
    if is_cut {
        if recording.runs().is_empty() {
            recording.push_run(Run::default());
        }
        for run in recording.runs_mut() {
            run.lost = run.lost.saturating_add(1);
            run.caveats.push(Caveat::cut_off());
        }
    }
    for entry in entries(reader, &tree) {
        let args = args(reader, &entry);
        match entry.known.as_ref().ok().or(entry.given.as_ref()) {
            Some(nr) => {
                let call = CallId::new(entry.arch, *nr);
                if recording.calls().len() >= MAX_CALLS && recording.get(call).is_none() {
                    let message = format!("more than {MAX_CALLS} different calls, the limit");
                    reader.error(entry.node.at, message).help =
                        "no kernel has so many calls; check what was recorded".to_owned();
                    break;
                }
                recording.add_of_runs(call, entry.count, entry.runs, args);
            }
            None => entry.complain(reader, unknown),
        }
    }
    recording
}

/// A recording in a version that is read here.
struct Checked {
    tree: Node,
    is_cut: bool,
}

/// What is left of a recording that is cut off. Where it may not be taken, it is said how much it is.
fn rest(
    text: &str,
    reader: &mut Reader<'_>,
    mut error: Diagnostic,
    partial: bool,
) -> Option<Checked> {
    let whole = partial::whole_part(text).and_then(|whole| json::parse(&whole).ok());
    let tree = whole.filter(is_recording);
    let calls = tree.as_ref().and_then(|tree| tree.get("calls"));
    let count = match calls.map(|calls| &calls.kind) {
        Some(Kind::List(items)) => items.len(),
        _ => 0,
    };
    if count > 0 && partial {
        let message = format!(
            "the recording is cut off here; the whole entries of `calls` before it are taken ({count})"
        );
        reader.warn(text.len(), message).help =
            "record again, or expect calls to be missing: nobody knows what came after them"
                .to_owned();
        return Some(Checked { is_cut: true, ..check(tree?, reader)? });
    }
    if count > 0 {
        error.help = format!(
            "the recording is cut off: record again, or take the whole entries of `calls` before the cut \
             ({count}) with --partial, and expect calls to be missing"
        );
    }
    reader.add(error);
    None
}

/// The tree of a recording in a version that is read; otherwise it is said what is wrong.
pub(crate) fn parse(text: &str, reader: &mut Reader<'_>) -> Option<Node> {
    match json::parse(text) {
        Ok(tree) => check(tree, reader).map(|checked| checked.tree),
        Err(error) => {
            reader.add(error);
            None
        }
    }
}

fn is_recording(tree: &Node) -> bool {
    tree.get("callgate").and_then(Node::text) == Some("recording")
}

fn check(tree: Node, reader: &mut Reader<'_>) -> Option<Checked> {
    reader.no_duplicates(&tree, &["callgate", "version", "calls"]);
    if !is_recording(&tree) {
        let given = tree.get("callgate").unwrap_or(&tree);
        let message = "this JSON is no recording: it has no `\"callgate\": \"recording\"`";
        reader.error(given.at, message).help =
            "give a recording of callgate record, or a log or table of another tool".to_owned();
        return None;
    }
    let version = required(reader, &tree, "version", "the recording")?;
    let given = reader.integer(version, "`version`", u32::MAX.into())?;
    if given != VERSION {
        let message = format!("`version` is {given}, but version {VERSION} is what is read here");
        reader.error(version.at, message).help =
            "record again, or use the callgate that made the recording".to_owned();
        return None;
    }
    Some(Checked { tree, is_cut: false })
}

/// An entry of `calls`.
pub(crate) struct Entry<'n> {
    pub(crate) arch: Arch,
    pub(crate) count: u64,
    /// In how many runs it was made.
    runs: u64,
    /// The number of a call that the tables know.
    pub(crate) known: Result<u32, Unknown<'n>>,
    /// The number that stands there.
    given: Option<u32>,
    node: &'n Node,
}

/// What the tables do not know, and where it stands.
pub(crate) enum Unknown<'n> {
    Name(usize, &'n str),
    NameOfArch(usize, &'n str),
    Number(usize, u32),
}

impl Entry<'_> {
    /// Says that the call is not known, if that is so.
    pub(crate) fn complain(&self, reader: &mut Reader<'_>, severity: Severity) {
        let arch = self.arch;
        let (at, mut message) = match self.known {
            Ok(_) => return,
            Err(Unknown::Name(at, name)) => return unknown_name(reader, severity, at, name),
            Err(Unknown::NameOfArch(at, name)) => (at, format!("{arch} has no call \"{name}\"")),
            Err(Unknown::Number(at, nr)) => {
                (at, format!("{arch} has no call with the number {nr}"))
            }
        };
        if severity == Severity::Warning {
            message += "; it is left out";
        }
        reader.report(severity, at, message).help =
            "remove the entry, or correct its `arch`".to_owned();
    }
}

/// The entries of `calls` that are right.
pub(crate) fn entries<'n>(reader: &mut Reader<'_>, tree: &'n Node) -> Vec<Entry<'n>> {
    let calls = required(reader, tree, "calls", "the recording")
        .and_then(|node| reader.list(node, "`calls`"))
        .unwrap_or_default();
    calls.iter().filter_map(|node| entry(reader, node)).collect()
}

/// One entry; `None` when it is wrong, and that is said.
fn entry<'n>(reader: &mut Reader<'_>, node: &'n Node) -> Option<Entry<'n>> {
    if !matches!(node.kind, Kind::Map(_)) {
        reader.wrong_type(node, "each item of `calls`", "an object");
        return None;
    }
    reader.no_duplicates(node, &["arch", "name", "nr", "count", "runs", "args"]);
    let arch = required(reader, node, "arch", "a call").and_then(|node| arch(reader, node));
    let count = required(reader, node, "count", "a call")
        .and_then(|node| reader.integer(node, "`count`", MAX_COUNT));
    let runs = match node.get("runs") {
        Some(runs) => reader.integer(runs, "`runs`", MAX_COUNT)?.max(1),
        None => 1,
    };
    let name = match node.get("name") {
        Some(name) => Some((name.at, reader.text(name, "`name`")?)),
        None => None,
    };
    let nr = match node.get("nr") {
        Some(nr) => Some((nr.at, reader.integer(nr, "`nr`", u32::MAX.into())? as u32)),
        None => None,
    };
    let (arch, count) = (arch?, count?);
    let known = match (name, nr) {
        (Some((at, name)), _) if !syscalls::is_known_name(name) => Err(Unknown::Name(at, name)),
        (Some((at, name)), given) => match (arch.number(name), given) {
            (Some(number), Some((at, nr))) if nr != number => {
                let message = format!("`nr` is {nr}, but {name} is {number} on {arch}");
                reader.error(at, message).help = "record again; one of the two is wrong".to_owned();
                return None;
            }
            (Some(number), _) => Ok(number),
            (None, _) => Err(Unknown::NameOfArch(at, name)),
        },
        (None, Some((at, nr))) => match arch.call_name(nr) {
            Some(_) => Ok(nr),
            None => Err(Unknown::Number(at, nr)),
        },
        (None, None) => {
            reader.error(node.at, "a call has neither `name` nor `nr`").help =
                "give one of them, or both".to_owned();
            return None;
        }
    };
    Some(Entry { arch, count, runs, known, given: nr.map(|(_, nr)| nr), node })
}

/// What an entry says of arguments; nothing where that is wrong, and said.
fn args(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Vec<Values> {
    let Some(node) = entry.node.get("args") else { return Vec::new() };
    let items = reader.list(node, "`args`").unwrap_or_default();
    if items.len() > 6 {
        let message = format!("`args` has {} items, but a call has 6 arguments", items.len());
        reader.error(node.at, message).help = "record again".to_owned();
        return Vec::new();
    }
    items.iter().map(|node| values(reader, node, entry).unwrap_or_default()).collect()
}

/// The values of one argument; `None` when nothing is known or something is wrong, which is said.
fn values(reader: &mut Reader<'_>, node: &Node, entry: &Entry<'_>) -> Option<Values> {
    const BOUNDS: [&str; 4] = ["min", "max", "ever", "always"];
    match node.kind {
        Kind::Null => return None,
        Kind::Map(_) => {}
        _ => {
            reader.wrong_type(node, "each item of `args`", "an object or null");
            return None;
        }
    }
    let keys = ["values", "seen_in", "min", "max", "ever", "always", "observed"];
    reader.no_duplicates(node, &keys);
    let observed = match node.get("observed") {
        Some(node) => reader.integer(node, "`observed`", entry.count)?,
        None => entry.count,
    };
    if let Some(list) = node.get("values") {
        let items = reader.list(list, "`values`")?;
        let all: Vec<u64> =
            items.iter().map(|node| value(reader, node, "each value")).collect::<Option<_>>()?;
        if all.len() > MAX_FEW {
            let message = format!("`values` has {} values, but {MAX_FEW} is the most", all.len());
            reader.error(list.at, message).help =
                "give `min`, `max`, `ever` and `always` instead".to_owned();
            return None;
        }
        let runs = match node.get("seen_in") {
            Some(runs) => seen_in(reader, runs, all.len(), entry.runs)?,
            None => vec![entry.runs; all.len()],
        };
        return Some(Values::of_runs(observed, all.into_iter().zip(runs)));
    }
    let bounds = BOUNDS.map(|key| {
        let node = required(reader, node, key, "an argument without `values`")?;
        value(reader, node, &format!("`{key}`"))
    });
    let [Some(min), Some(max), Some(ever), Some(always)] = bounds else { return None };
    let bounds = Bounds { min, max, ever, always };
    if !bounds.is_possible() {
        let message = "no values have this `min`, `max`, `ever` and `always`";
        reader.error(node.at, message).help = "record again; one of the four is wrong".to_owned();
        return None;
    }
    Some(Values::many(observed, bounds))
}

/// In how many of the runs each value was seen.
fn seen_in(reader: &mut Reader<'_>, node: &Node, values: usize, runs: u64) -> Option<Vec<u64>> {
    let items = reader.list(node, "`seen_in`")?;
    if items.len() != values {
        let message = format!("`seen_in` has {} items, but `values` has {values}", items.len());
        reader.error(node.at, message).help = "merge the recordings again".to_owned();
        return None;
    }
    let number = |node| Some(reader.integer(node, "each item of `seen_in`", runs)?.max(1));
    items.iter().map(number).collect()
}

/// A 64-bit value: an integer, or a string with one in hexadecimal.
fn value(reader: &mut Reader<'_>, node: &Node, what: &str) -> Option<u64> {
    if let Kind::Text(text) = &node.kind {
        let digits = text.strip_prefix("0x").filter(|digits| !digits.starts_with('+'));
        let value = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        if value.is_none() {
            reader.wrong_type(node, what, "a 64-bit value such as \"0x1f\"");
        }
        return value;
    }
    reader.integer(node, what, u64::MAX)
}

/// One entry of `runs`; what it does not say is not known.
fn run(reader: &mut Reader<'_>, node: &Node) -> Option<Run> {
    if !matches!(node.kind, Kind::Map(_)) {
        reader.wrong_type(node, "each item of `runs`", "an object");
        return None;
    }
    reader.no_duplicates(
        node,
        &[
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
        ],
    );
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
        // A later recorder may know more ways.
        how: how
            .and_then(|how| How::ALL.iter().copied().find(|known| known.name() == how))
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

/// One entry of `caveats`. A later recorder may know more effects; such a caveat is one that is only said.
fn caveat(reader: &mut Reader<'_>, node: &Node) -> Option<Caveat> {
    if !matches!(node.kind, Kind::Map(_)) {
        reader.wrong_type(node, "each item of `caveats`", "an object");
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

fn required<'n>(
    reader: &mut Reader<'_>,
    node: &'n Node,
    key: &str,
    what: &str,
) -> Option<&'n Node> {
    let found = node.get(key);
    if found.is_none() {
        reader.error(node.at, format!("{what} has no `{key}`")).help = "record again".to_owned();
    }
    found
}

fn arch(reader: &mut Reader<'_>, node: &Node) -> Option<Arch> {
    let given = reader.text(node, "`arch`")?;
    let arch = Arch::from_name(given);
    if arch.is_none() {
        let names = || Arch::ALL.iter().map(|arch| arch.name());
        let message = format!("`arch` must be an architecture, but is {}", node.describe());
        let suggest = reader.reported(Severity::Error) < SUGGESTIONS;
        let near = if suggest { nearest(given, names()) } else { None };
        reader.error(node.at, message).help = match near {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("known are {}", names().collect::<Vec<_>>().join(", ")),
        };
    }
    arch
}
