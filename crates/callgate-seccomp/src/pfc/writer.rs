//! The whole text.

use callgate_formats::ruleset::SyscallTree;

use super::chains::level;
use super::lines::{action, line};
use super::search_tree::SearchTree;
use crate::context::{ArchFilter, Context};
use crate::names;

/// A syscall of an architecture.
struct Entry {
    nr: i32,
    /// The priority that was set in the high half; in the low half, more for fewer comparisons.
    priority: u32,
    /// `None` for a syscall with a priority and without rules.
    tree: Option<SyscallTree>,
}

/// The rules of a context.
pub(crate) fn text(context: &Context) -> String {
    let mut out = String::from("#\n# pseudo filter code start\n#\n");
    for filter in context.filters() {
        arch(&mut out, filter, context);
    }
    out += "# invalid architecture action\n";
    action(&mut out, 0, context.attributes().bad_arch);
    out += "#\n# pseudo filter code end\n#\n";
    out
}

fn arch(out: &mut String, filter: &ArchFilter, context: &Context) {
    let (name, token) = (filter.arch().name(), filter.arch().token());
    line(out, 0, format_args!("# filter for arch {name} ({token})"));
    line(out, 0, format_args!("if ($arch == {token})"));
    let is_tree = context.attributes().optimize == 2;
    let entries = entries(filter, is_tree);
    let numbers: Vec<u32> = entries.iter().map(|entry| entry.nr as u32).collect();
    let ruled = entries.iter().filter(|entry| entry.tree.is_some()).count();
    let mut search = SearchTree::new(if is_tree { ruled } else { 0 });
    for (index, entry) in entries.iter().enumerate() {
        let Some(tree) = &entry.tree else { continue };
        search.open(out, numbers.get(index..).unwrap_or_default());
        syscall(out, search.indent(), filter, entry, tree);
        search.close();
    }
    line(out, 1, format_args!("# default action"));
    action(out, 1, context.attributes().default);
}

/// The syscalls in the order of the text: by number for a search tree, else by priority and number, both descending.
fn entries(filter: &ArchFilter, is_tree: bool) -> Vec<Entry> {
    const CHAIN: u32 = 0xffff;
    let user = |nr| filter.priorities.get(&nr).map_or(0, |priority| u32::from(*priority) << 16);
    let trees = filter.rules.trees();
    let ruled = trees.into_iter().map(|(nr, tree)| {
        let nodes = match &tree {
            SyscallTree::Always(_) => 0,
            SyscallTree::Compared(_, nodes) => u32::try_from(*nodes).unwrap_or(CHAIN).min(CHAIN),
        };
        Entry { nr, priority: user(nr) | (CHAIN - nodes), tree: Some(tree) }
    });
    let unruled = filter.priorities.keys().filter(|nr| !filter.rules.contains(**nr));
    let unruled = unruled.map(|nr| Entry { nr: *nr, priority: user(*nr), tree: None });
    let mut entries: Vec<Entry> = ruled.chain(unruled).collect();
    entries.sort_by_key(|entry| {
        std::cmp::Reverse((if is_tree { 0 } else { entry.priority }, entry.nr as u32))
    });
    entries
}

fn syscall(
    out: &mut String,
    indent: usize,
    filter: &ArchFilter,
    entry: &Entry,
    tree: &SyscallTree,
) {
    let name = names::name(filter.arch(), entry.nr).unwrap_or("UNKNOWN");
    let (nr, priority) = (entry.nr as u32, entry.priority);
    line(
        out,
        indent,
        format_args!("# filter for syscall \"{name}\" ({nr}) [priority: {priority}]"),
    );
    line(out, indent, format_args!("if ($syscall == {nr})"));
    match tree {
        SyscallTree::Always(verdict) => action(out, indent + 1, *verdict),
        SyscallTree::Compared(nodes, _) => {
            level(out, indent + 1, filter.arch().is_64bit(), nodes);
        }
    }
}
