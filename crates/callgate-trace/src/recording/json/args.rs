//! The `args` of an item of `calls`: values of arguments.

use callgate_formats::syntax::reader::Reader;
use callgate_formats::syntax::tree::{Node, NodeKind};

use super::entry::SyscallEntry;
use super::fields::{is_object, required};
use super::only_in::evidence;
use crate::recording::evidence::Evidence;
use crate::recording::limits::MAX_VALUES;
use crate::recording::run::Run;
use crate::recording::values::{ArgValues, Bounds};

/// The values of the arguments; empty if they are invalid, which is reported.
/// `seen` are the runs of the syscall, and `all` those of the recording.
pub(super) fn args(
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
