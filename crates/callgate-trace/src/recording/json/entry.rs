//! What every reader of a recording in JSON needs: whether a text is one, and the items of `calls` with the syscall and its count.
//! Weights use only these.

use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::Severity;
use callgate_bpf::suggest::nearest;
use callgate_bpf::{SyscallTable, syscalls};
use callgate_core::Arch;
use callgate_formats::syntax::json;
use callgate_formats::syntax::reader::Reader;
use callgate_formats::syntax::tree::{Node, NodeKind};

use crate::names::{MAX_SUGGESTIONS, or_ignored, unknown_name};
use crate::recording::limits::MAX_COUNT;

/// The version of recordings in JSON.
pub(super) const VERSION: u64 = 1;

/// The tree of a recording in a supported version; reports why there is none.
pub(crate) fn parse<'t>(text: &'t str, reader: &mut Reader<'_>) -> Option<Node<'t>> {
    match json::parse(text) {
        Ok(tree) => check(tree, reader),
        Err(error) => {
            reader.add(error);
            None
        }
    }
}

/// Whether a tree claims to be a recording.
pub(super) fn is_recording(tree: &Node<'_>) -> bool {
    tree.get("callgate").and_then(Node::text) == Some("recording")
}

/// Returns the tree if it is a recording in a supported version; reports why it is not.
pub(super) fn check<'t>(tree: Node<'t>, reader: &mut Reader<'_>) -> Option<Node<'t>> {
    reader.no_duplicates(&tree, &["callgate", "version", "calls"]);
    if !is_recording(&tree) {
        let given = tree.get("callgate").unwrap_or(&tree);
        let message = "this JSON is not a recording: missing `\"callgate\": \"recording\"`";
        reader.error(given.at, message).set_help(Advice::GiveRecording);
        return None;
    }
    let version = required(reader, &tree, "version", "the recording")?;
    let given = reader.integer(version, "`version`", u32::MAX.into())?;
    if given != VERSION {
        let message = format!("`version` is {given}, but only version {VERSION} is supported");
        reader.error(version.at, message).help =
            "record again, or use the version of callgate that made the recording".to_owned();
        return None;
    }
    Some(tree)
}

/// An item of `calls`.
pub(crate) struct SyscallEntry<'n> {
    pub(crate) arch: Arch,
    pub(crate) count: u64,
    /// In how many runs the syscall was made.
    pub(super) runs: u64,
    /// The number, if the syscall tables have the syscall.
    pub(crate) resolved: Result<u32, UnknownSyscall<'n>>,
    /// The number that the item gives.
    pub(super) given_nr: Option<u32>,
    pub(super) node: &'n Node<'n>,
}

/// What the syscall tables do not have, and its offset in the text.
pub(crate) enum UnknownSyscall<'n> {
    Name(usize, &'n str),
    NameOnArch(usize, &'n str),
    Number(usize, u32),
}

impl SyscallEntry<'_> {
    /// Reports the syscall if it is unknown.
    pub(crate) fn report_unknown(&self, reader: &mut Reader<'_>, severity: Severity) {
        let arch = self.arch;
        let (at, message) = match self.resolved {
            Ok(_) => return,
            Err(UnknownSyscall::Name(at, name)) => return unknown_name(reader, severity, at, name),
            Err(UnknownSyscall::NameOnArch(at, name)) => {
                (at, format!("{arch} has no syscall \"{name}\""))
            }
            Err(UnknownSyscall::Number(at, nr)) => {
                (at, format!("{arch} has no syscall with the number {nr}"))
            }
        };
        reader.report(severity, at, or_ignored(severity, message)).help =
            "remove the item, or correct its `arch`".to_owned();
    }
}

/// The valid items of `calls`.
pub(crate) fn entries<'n>(reader: &mut Reader<'_>, tree: &'n Node<'n>) -> Vec<SyscallEntry<'n>> {
    let syscalls = required(reader, tree, "calls", "the recording")
        .and_then(|node| reader.list(node, "`calls`"))
        .unwrap_or_default();
    syscalls.iter().filter_map(|node| entry(reader, node)).collect()
}

/// One item; `None` if it is invalid, which is reported.
fn entry<'n>(reader: &mut Reader<'_>, node: &'n Node<'n>) -> Option<SyscallEntry<'n>> {
    const ITEM: &str = "an item of `calls`";
    if !is_object(reader, node, "each item of `calls`", "an object") {
        return None;
    }
    reader
        .no_duplicates(node, &["arch", "name", "nr", "count", "runs", "only_in", "common", "args"]);
    let arch = required(reader, node, "arch", ITEM).and_then(|node| arch(reader, node));
    let count = required(reader, node, "count", ITEM)
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
    let resolved = match (name, nr) {
        (Some((at, name)), _) if !syscalls::is_known_name(name) => {
            Err(UnknownSyscall::Name(at, name))
        }
        (Some((at, name)), given) => match (arch.number(name), given) {
            (Some(number), Some((at, nr))) if nr != number => {
                let message = format!("`nr` is {nr}, but {name} is {number} on {arch}");
                reader.error(at, message).help = "record again; one of the two is wrong".to_owned();
                return None;
            }
            (Some(number), _) => Ok(number),
            (None, _) => Err(UnknownSyscall::NameOnArch(at, name)),
        },
        (None, Some((at, nr))) => match arch.syscall_name(nr) {
            Some(_) => Ok(nr),
            None => Err(UnknownSyscall::Number(at, nr)),
        },
        (None, None) => {
            reader.error(node.at, format!("missing `name` or `nr` in {ITEM}")).help =
                "give one of them, or both".to_owned();
            return None;
        }
    };
    Some(SyscallEntry { arch, count, runs, resolved, given_nr: nr.map(|(_, nr)| nr), node })
}

/// Whether a node is an object; otherwise reports that `what` must be `expected`.
pub(super) fn is_object(
    reader: &mut Reader<'_>,
    node: &Node<'_>,
    what: &str,
    expected: &str,
) -> bool {
    let is_object = matches!(node.kind, NodeKind::Map(_));
    if !is_object {
        reader.wrong_type(node, what, expected);
    }
    is_object
}

/// The value of a key; reports if it is missing.
pub(super) fn required<'n>(
    reader: &mut Reader<'_>,
    node: &'n Node<'n>,
    key: &str,
    what: &str,
) -> Option<&'n Node<'n>> {
    let found = node.get(key);
    if found.is_none() {
        reader.error(node.at, format!("missing `{key}` in {what}")).help =
            "record again".to_owned();
    }
    found
}

/// An architecture by its name.
fn arch(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Arch> {
    let given = reader.text(node, "`arch`")?;
    let arch = Arch::from_name(given);
    if arch.is_none() {
        let names = || Arch::ALL.iter().map(|arch| arch.name());
        let message = format!("`arch` must be an architecture, but is {}", node.describe());
        let suggest = reader.reported(Severity::Error) < MAX_SUGGESTIONS;
        let near = if suggest { nearest(given, names()) } else { None };
        reader.error(node.at, message).help = match near {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("known architectures: {}", names().collect::<Vec<_>>().join(", ")),
        };
    }
    arch
}
