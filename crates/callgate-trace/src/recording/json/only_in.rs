//! `only_in`: the runs of what at most two runs did, as places in the list of runs.

use callgate_formats::syntax::reader::Reader;
use callgate_formats::syntax::tree::{Node, NodeKind};

use super::entry::SyscallEntry;
use crate::recording::evidence::Evidence;
use crate::recording::run::Run;

/// The runs of an item of `calls`. `all` are the runs of the recording.
pub(super) fn seen(reader: &mut Reader<'_>, entry: &SyscallEntry<'_>, all: &[Run]) -> Evidence {
    match entry.node.get("only_in") {
        Some(node) => evidence(reader, node, entry.runs, all),
        None => Evidence::of(entry.runs),
    }
}

/// The runs in a list of their places, or null; reports invalid places.
pub(super) fn evidence(
    reader: &mut Reader<'_>,
    node: &Node<'_>,
    runs: u64,
    all: &[Run],
) -> Evidence {
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
