//! Counts in JSON: what a recorder saw.
//!
//! ```json
//! {
//!   "callgate": "recording",
//!   "version": 1,
//!   "calls": [
//!     {"arch": "x86_64", "name": "read", "nr": 0, "count": 123},
//!     {"arch": "x86", "name": "read", "nr": 3, "count": 4}
//!   ]
//! }
//! ```
//!
//! | key | value |
//! |---|---|
//! | `callgate` | `"recording"` |
//! | `version` | 1; it changes when a reader of the former version would misunderstand the text |
//! | `calls` | in any order; entries of the same call add up |
//! | `arch` | whose call it is, in any spelling of [`Arch::from_name`] |
//! | `name` | the name that this architecture has for it; may be left out where `nr` is given |
//! | `nr` | the number as a filter sees it (x32's with its bit); may be left out where `name` is given |
//! | `count` | how often it happened, an integer from 0 to 2⁶³ − 1 |
//!
//! Other keys are ignored, in the recording and in its entries: recorders may add what else they saw.

use super::{SUGGESTIONS, unknown_name};
use crate::codegen::Count;
use crate::diagnostic::Severity;
use crate::frontend::json;
use crate::frontend::reader::Reader;
use crate::frontend::tree::{Kind, Node};
use crate::suggest::nearest;
use crate::syscalls::{self, Arch};

/// The version that is read.
const VERSION: u64 = 1;

const MAX_COUNT: u64 = i64::MAX as u64;

pub(super) fn read(text: &str, reader: &mut Reader<'_>, unknown: Severity) -> Vec<Count> {
    let tree = match json::parse(text) {
        Ok(tree) => tree,
        Err(error) => {
            reader.add(error);
            return Vec::new();
        }
    };
    reader.no_duplicates(&tree, &["callgate", "version", "calls"]);
    if tree.get("callgate").and_then(Node::text) != Some("recording") {
        let given = tree.get("callgate").unwrap_or(&tree);
        let message = "this JSON is no recording: it has no `\"callgate\": \"recording\"`";
        reader.error(given.at, message).help =
            "weights are read from a recording, two columns, or a table of strace -c or perf trace -s"
                .to_owned();
        return Vec::new();
    }
    let version = required(reader, &tree, "version", "the recording")
        .and_then(|node| Some((node, reader.integer(node, "`version`", u32::MAX.into())?)));
    match version {
        Some((_, VERSION)) => {}
        Some((node, other)) => {
            let message =
                format!("`version` is {other}, but version {VERSION} is what is read here");
            reader.error(node.at, message).help =
                "record again, or use the callgate that made the recording".to_owned();
            return Vec::new();
        }
        None => return Vec::new(),
    }
    let calls = required(reader, &tree, "calls", "the recording")
        .and_then(|node| reader.list(node, "`calls`"))
        .unwrap_or_default();
    calls.iter().filter_map(|node| call(reader, node, unknown)).collect()
}

/// One entry; `None` when it is wrong or left out, and that is said.
fn call(reader: &mut Reader<'_>, node: &Node, unknown: Severity) -> Option<Count> {
    if !matches!(node.kind, Kind::Map(_)) {
        reader.wrong_type(node, "each item of `calls`", "an object");
        return None;
    }
    reader.no_duplicates(node, &["arch", "name", "nr", "count"]);
    let arch = required(reader, node, "arch", "a call").and_then(|node| arch(reader, node));
    let count = required(reader, node, "count", "a call")
        .and_then(|node| reader.integer(node, "`count`", MAX_COUNT));
    let name = match node.get("name") {
        Some(name) => Some((name.at, reader.text(name, "`name`")?)),
        None => None,
    };
    let nr = match node.get("nr") {
        Some(nr) => Some((nr.at, reader.integer(nr, "`nr`", u32::MAX.into())? as u32)),
        None => None,
    };
    let (arch, count) = (arch?, count? as f64);
    let known = match (name, nr) {
        (Some((at, name)), _) if !syscalls::is_known_name(name) => {
            unknown_name(reader, unknown, at, name);
            return None;
        }
        (Some((at, name)), given) => match (arch.number(name), given) {
            (Some(number), Some((at, nr))) if nr != number => {
                let message = format!("`nr` is {nr}, but {name} is {number} on {arch}");
                reader.error(at, message).help = "record again; one of the two is wrong".to_owned();
                return None;
            }
            (Some(number), _) => Ok(number),
            (None, _) => Err((at, format!("{arch} has no call \"{name}\""))),
        },
        (None, Some((at, nr))) => match arch.call_name(nr) {
            Some(_) => Ok(nr),
            None => Err((at, format!("{arch} has no call with the number {nr}"))),
        },
        (None, None) => {
            reader.error(node.at, "a call has neither `name` nor `nr`").help =
                "give one of them, or both".to_owned();
            return None;
        }
    };
    match known {
        // Where a number has two names, weights go by the first.
        Ok(number) => {
            let name = arch.call_name(number)?.to_owned();
            Some(Count { arch: Some(arch), name, count })
        }
        Err((at, mut message)) => {
            if unknown == Severity::Warning {
                message += "; it is left out";
            }
            reader.report(unknown, at, message).help =
                "remove the entry, or correct its `arch`".to_owned();
            None
        }
    }
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
