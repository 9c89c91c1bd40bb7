//! `seccomp_export_pfc(3)`: the rules in a readable form, which programs and tests parse.
//!
//! The form shows libseccomp's tree of comparisons, not the program that is compiled from the same rules.

use std::fmt::Write;

use callgate::{Action, Verdict};
use callgate_formats::ruleset::{ChainEnd, ChainNode, ChainOp, SyscallTree};

use crate::context::{ArchFilter, Context};
use crate::names;

/// Writes a line at a level of indentation. Writing to a string never fails.
fn line(out: &mut String, indent: usize, text: std::fmt::Arguments<'_>) {
    let _ = writeln!(out, "{:width$}{text}", "", width = 2 * indent);
}

/// Writes a verdict.
fn action(out: &mut String, indent: usize, verdict: Verdict) {
    match verdict.action() {
        Action::KillProcess => line(out, indent, format_args!("action KILL_PROCESS;")),
        Action::KillThread => line(out, indent, format_args!("action KILL;")),
        // As libseccomp 2.6.1, which has no other data.
        Action::Trap(0) => line(out, indent, format_args!("action TRAP;")),
        Action::Trap(data) => line(out, indent, format_args!("action TRAP({data});")),
        Action::Errno(data) => line(out, indent, format_args!("action ERRNO({data});")),
        Action::Trace(data) => line(out, indent, format_args!("action TRACE({data});")),
        Action::Log => line(out, indent, format_args!("action LOG;")),
        Action::Allow => line(out, indent, format_args!("action ALLOW;")),
        _ => line(out, indent, format_args!("action {:#x};", verdict.0)),
    }
}

/// Writes the comparisons of a level. The depth is that of one rule, three comparisons per argument.
fn level(out: &mut String, indent: usize, is_64bit: bool, nodes: &[ChainNode]) {
    for node in nodes {
        let word = match (is_64bit, node.is_high) {
            (false, _) => "",
            (true, false) => ".lo32",
            (true, true) => ".hi32",
        };
        let (arg, datum) = (node.arg, node.datum);
        match node.op {
            ChainOp::MaskedEq => line(
                out,
                indent,
                format_args!("if ($a{arg}{word} & {:#010x} == {datum})", node.mask),
            ),
            ChainOp::Eq => line(out, indent, format_args!("if ($a{arg}{word} == {datum})")),
            ChainOp::Ge => line(out, indent, format_args!("if ($a{arg}{word} >= {datum})")),
            ChainOp::Gt => line(out, indent, format_args!("if ($a{arg}{word} > {datum})")),
        }
        match &node.on_true {
            ChainEnd::Verdict(verdict) => action(out, indent + 1, *verdict),
            ChainEnd::Level(nodes) => level(out, indent + 1, is_64bit, nodes),
            ChainEnd::Nothing => {}
        }
        if node.on_false == ChainEnd::Nothing {
            continue;
        }
        line(out, indent, format_args!("else"));
        match &node.on_false {
            ChainEnd::Verdict(verdict) => action(out, indent + 1, *verdict),
            ChainEnd::Level(nodes) => level(out, indent + 1, is_64bit, nodes),
            ChainEnd::Nothing => {}
        }
    }
}

/// The number of syscalls in a leaf.
const LEAF: usize = 4;

/// The position in the tree while the syscalls are written, in descending order of their numbers.
struct SearchTree {
    /// The number of levels; 0 for a plain list.
    levels: u32,
    /// How many syscalls are written.
    written: usize,
    indent: usize,
}

impl SearchTree {
    /// A tree for this number of syscalls.
    fn new(syscalls: usize) -> SearchTree {
        let mut levels = 0;
        if syscalls > 0 {
            levels = 1;
            while LEAF << (levels - 1) < syscalls {
                levels += 1;
            }
        }
        SearchTree { levels, written: 0, indent: 1 }
    }

    /// The indentation of the next syscall.
    fn indent(&self) -> usize {
        self.indent
    }

    /// Writes the branches that precede the next syscall; `numbers` are those of the syscalls that are left.
    fn open(&mut self, out: &mut String, numbers: &[u32]) {
        for level in (1..self.levels).rev() {
            let (whole, half) = (LEAF << level, LEAF << (level - 1));
            if self.written % whole == 0 {
                // The last subtree may have too few syscalls for another branch.
                let Some(middle) = numbers.get(half) else { continue };
                line(out, self.indent, format_args!("if ($syscall > {middle})"));
                self.indent += 1;
            } else if self.written % half == 0 {
                let Some(first) = numbers.first() else { continue };
                let indent = self.indent.saturating_sub(1);
                line(out, indent, format_args!("else # ($syscall <= {first})"));
            }
        }
    }

    /// Ends the subtrees of which the syscall that was just written was the last one.
    fn close(&mut self) {
        self.written += 1;
        let ended = (0..self.levels).filter(|level| self.written % ((2 * LEAF) << level) == 0);
        self.indent = self.indent.saturating_sub(ended.count());
    }
}

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

#[cfg(test)]
mod tests;
