//! Reader of a document: from the tree to the filters of all threads.

use std::collections::HashMap;

use crate::diagnostics::quote::{did_you_mean, shorten};
use crate::syntax::reader::{Fields, Reader, key};
use crate::syntax::tree::{Node, NodeKind};
use callgate_bpf::SyscallTable;
use callgate_bpf::diagnostic::Severity;
use callgate_bpf::syscalls::is_known_name;
use callgate_core::policy::Cmp;
use callgate_core::{Arch, Verdict};

/// The filter of a thread.
pub(super) struct ThreadFilter<'n> {
    pub(super) at: usize,
    pub(super) name: &'n str,
    pub(super) mismatch: FilterAction,
    pub(super) matching: FilterAction,
    pub(super) entries: Vec<Entry<'n>>,
}

/// An action.
#[derive(Clone, Copy)]
pub(super) struct FilterAction {
    pub(super) at: usize,
    pub(super) name: &'static str,
    /// Its number as given; the verdict has the low 16 bits.
    pub(super) number: u32,
    pub(super) verdict: Verdict,
}

/// An entry of `filter`.
pub(super) struct Entry<'n> {
    pub(super) at: usize,
    pub(super) name: &'n str,
    pub(super) nr: u32,
    /// The conditions, which must all hold; at least one. `None` without `args`.
    pub(super) args: Option<Vec<ArgCondition>>,
}

/// A condition on an argument.
pub(super) struct ArgCondition {
    pub(super) at: usize,
    pub(super) index: u8,
    /// `qword`, not `dword`.
    pub(super) is_wide: bool,
    pub(super) cmp: Cmp,
    /// The bits that are compared.
    pub(super) mask: u64,
    pub(super) value: u64,
}

/// The operators, and whether they take a number.
const OPERATORS: [(&str, bool); 7] = [
    ("eq", false),
    ("ne", false),
    ("lt", false),
    ("le", false),
    ("gt", false),
    ("ge", false),
    ("masked_eq", true),
];

/// The filters of all threads, in the order of the text. Those with errors are left out.
pub(super) fn threads<'n>(
    reader: &mut Reader<'_>,
    document: &'n Node<'n>,
    arch: Arch,
) -> Vec<ThreadFilter<'n>> {
    let NodeKind::Map(members) = &document.kind else {
        reader.wrong_type(document, "the document", "an object with a filter per thread");
        return Vec::new();
    };
    if members.is_empty() {
        reader.error(document.at, "the document has no filters").help =
            "add a filter: {\"main\": {\"mismatch_action\": …, \"match_action\": …, \"filter\": […]}}"
                .to_owned();
    }
    let mut seen = HashMap::new();
    let mut threads = Vec::new();
    for member in members {
        if let Some(first) = seen.insert(&*member.key, member.key_at) {
            let first = reader.place(first);
            let message = format!(
                "the thread `{}` has two filters, the first at {first}",
                shorten(&member.key)
            );
            reader.error(member.key_at, message).help = "remove one of them".to_owned();
            continue;
        }
        threads.extend(thread(reader, &member.key, &member.value, arch));
    }
    threads
}

fn thread<'n>(
    reader: &mut Reader<'_>,
    name: &'n str,
    node: &'n Node<'n>,
    arch: Arch,
) -> Option<ThreadFilter<'n>> {
    let known = [
        key("mismatch_action"),
        key("default_action"),
        key("match_action"),
        key("filter_action"),
        key("filter"),
    ];
    let fields = reader.fields(node, "the filter of a thread", &known)?;
    let mismatch = either_action(reader, &fields, ["mismatch_action", "default_action"], "trap");
    let matching = either_action(reader, &fields, ["match_action", "filter_action"], "allow");
    let equal = mismatch.iter().zip(&matching).find(|(mismatch, matching)| {
        (mismatch.name, mismatch.number) == (matching.name, matching.number)
    });
    if let Some((_, matching)) = equal {
        reader
            .error(matching.at, "the actions for syscalls that match and that do not are equal")
            .help = "seccompiler rejects this; use two different actions".to_owned();
    }
    let Some(filter) = fields.get("filter") else {
        let help = "add the list of syscalls: \"filter\": [{\"syscall\": \"read\"}]";
        return reader.refuse(fields.at, "missing `filter` in the filter of a thread", help);
    };
    let nodes = reader.list(filter, "`filter`")?;
    let entries: Vec<Entry<'n>> =
        nodes.iter().filter_map(|node| entry(reader, node, arch)).collect();
    Some(ThreadFilter { at: node.at, name, mismatch: mismatch?, matching: matching?, entries })
}

/// An action that has two names.
fn either_action(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    [name, old]: [&str; 2],
    example: &str,
) -> Option<FilterAction> {
    match (fields.get(name), fields.get(old)) {
        (Some(_), Some(node)) => {
            let message = format!("`{name}` and `{old}` are two names of the same action");
            reader.refuse(node.at, message, "remove one of them")
        }
        (Some(node), None) => action(reader, node, &format!("`{name}`")),
        (None, Some(node)) => action(reader, node, &format!("`{old}`")),
        (None, None) => {
            let message = format!("missing `{name}` in the filter of a thread");
            let help = format!("give an action, such as \"{name}\": \"{example}\"");
            reader.refuse(fields.at, message, help)
        }
    }
}

fn entry<'n>(reader: &mut Reader<'_>, node: &'n Node<'n>, arch: Arch) -> Option<Entry<'n>> {
    let known = [key("syscall"), key("args"), key("comment")];
    let fields = reader.fields(node, "an entry of `filter`", &known)?;
    comment(reader, &fields);
    let args = match fields.get("args") {
        None => Some(None),
        Some(node) => conditions(reader, node).map(Some),
    };
    let name = required(reader, &fields, "syscall", "an entry of `filter`")?;
    let text = reader.text(name, "`syscall`")?;
    let Some(nr) = arch.number(text) else {
        unknown_syscall(reader, name.at, text, arch);
        return None;
    };
    Some(Entry { at: name.at, name: text, nr, args: args? })
}

fn unknown_syscall(reader: &mut Reader<'_>, at: usize, name: &str, arch: Arch) {
    let message = format!("{arch} has no syscall `{}`", shorten(name));
    let help = if is_known_name(name) {
        "it exists on other architectures; write a document for each architecture".to_owned()
    } else if reader.is_full(Severity::Error) {
        String::new()
    } else {
        did_you_mean(
            reader.nearest(name, arch.syscalls().map(|(_, name)| name)),
            "use a name as in syscalls(2)",
        )
    };
    reader.error(at, message).help = help;
}

fn conditions(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Vec<ArgCondition>> {
    let nodes = reader.list(node, "`args`")?;
    if nodes.is_empty() {
        let help = "seccompiler rejects this; remove `args` if all calls are meant";
        return reader.refuse(
            node.at,
            "`args` is empty, but must have at least one condition",
            help,
        );
    }
    let conditions: Vec<ArgCondition> =
        nodes.iter().filter_map(|node| condition(reader, node)).collect();
    (conditions.len() == nodes.len()).then_some(conditions)
}

fn condition(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<ArgCondition> {
    const WHAT: &str = "a condition of `args`";
    /// The largest index of an argument.
    const MAX_INDEX: u64 = 5;
    let known = [key("index"), key("type"), key("op"), key("val"), key("comment")];
    let fields = reader.fields(node, WHAT, &known)?;
    comment(reader, &fields);
    let index = required(reader, &fields, "index", WHAT)
        .and_then(|node| reader.integer(node, "`index`", MAX_INDEX));
    let is_wide = required(reader, &fields, "type", WHAT).and_then(|node| {
        let words = [("dword", false), ("qword", false)];
        variant(reader, node, "`type`", &words).map(|found| found.word == "qword")
    });
    let op = required(reader, &fields, "op", WHAT).and_then(|node| operator(reader, node));
    let value = required(reader, &fields, "val", WHAT)
        .and_then(|node| reader.integer(node, "`val`", u64::MAX));
    let at = fields.get("val").map_or(fields.at, |node| node.at);
    let (index, is_wide, (cmp, mask), value) = (index? as u8, is_wide?, op?, value?);
    Some(ArgCondition { at, index, is_wide, cmp, mask, value })
}

/// The comparison of an operator, and the bits that it compares.
fn operator(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<(Cmp, u64)> {
    let Variant { word, number } = variant(reader, node, "`op`", &OPERATORS)?;
    let cmp = match (word, number) {
        (_, Some(mask)) => return Some((Cmp::Eq, reader.integer(mask, "the mask", u64::MAX)?)),
        ("ne", _) => Cmp::Ne,
        ("lt", _) => Cmp::Lt,
        ("le", _) => Cmp::Le,
        ("gt", _) => Cmp::Gt,
        ("ge", _) => Cmp::Ge,
        _ => Cmp::Eq,
    };
    Some((cmp, u64::MAX))
}

/// The value of a key that must be given.
fn required<'n>(
    reader: &mut Reader<'_>,
    fields: &Fields<'n>,
    key: &str,
    what: &str,
) -> Option<&'n Node<'n>> {
    let node = fields.get(key);
    if node.is_none() {
        reader.error(fields.at, format!("missing `{key}` in {what}")).help = match key {
            "type" => "write \"type\": \"dword\" for 32 bits, \"qword\" for 64".to_owned(),
            "op" => "write an operator, such as \"op\": \"eq\"".to_owned(),
            "syscall" => "name the syscall, such as \"syscall\": \"read\"".to_owned(),
            key => format!("write a number, such as \"{key}\": 1"),
        };
    }
    node
}

/// Checks a comment, which must be a string.
fn comment(reader: &mut Reader<'_>, fields: &Fields<'_>) {
    if let Some(node) = fields.get("comment") {
        let _ = reader.text(node, "`comment`");
    }
}

/// The actions, and whether they take a number.
const ACTIONS: [(&str, bool); 8] = [
    ("allow", false),
    ("errno", true),
    ("kill_thread", false),
    ("kill_process", false),
    ("log", false),
    ("trace", true),
    ("trap", false),
    ("user_notif", false),
];

/// A word, or an object with one member: `"allow"`, `{"errno": 1}`.
struct Variant<'n> {
    pub(super) word: &'static str,
    /// The number, for words that take one.
    pub(super) number: Option<&'n Node<'n>>,
}

/// One of these words; `true` marks those that take a number. `None` only after an error was reported.
fn variant<'n>(
    reader: &mut Reader<'_>,
    node: &'n Node<'n>,
    what: &str,
    words: &[(&'static str, bool)],
) -> Option<Variant<'n>> {
    let (at, given, value) = match &node.kind {
        NodeKind::Text(text) => (node.at, &**text, None),
        NodeKind::Map(members) => match &**members {
            [only] => (only.key_at, &*only.key, Some(&only.value)),
            members => {
                let message = format!("{what} must have one member, but has {}", members.len());
                return reader.refuse(node.at, message, form_of(words));
            }
        },
        _ => {
            reader.wrong_type(node, what, "a string or an object");
            return None;
        }
    };
    let Some((word, takes_number)) = words.iter().copied().find(|(word, _)| *word == given) else {
        let message = format!("{what} is unknown: `{}`", shorten(given));
        let near = reader.nearest(given, words.iter().map(|(word, _)| *word));
        return reader.refuse(at, message, did_you_mean(near, &form_of(words)));
    };
    match value.filter(|value| value.kind != NodeKind::Null) {
        Some(number) if takes_number => Some(Variant { word, number: Some(number) }),
        None if !takes_number => Some(Variant { word, number: None }),
        Some(value) => {
            let message = format!("`{word}` does not take a value");
            reader.refuse(value.at, message, format!("write \"{word}\""))
        }
        None => {
            let message = format!("`{word}` needs a number");
            reader.refuse(at, message, format!("write {{\"{word}\": 1}}"))
        }
    }
}

/// The words in the form in which they are written.
fn form_of(words: &[(&'static str, bool)]) -> String {
    let form = |(word, takes_number): &(&str, bool)| match takes_number {
        true => format!("{{\"{word}\": number}}"),
        false => format!("\"{word}\""),
    };
    format!("write one of {}", words.iter().map(form).collect::<Vec<_>>().join(", "))
}

/// An action. `None` only after an error was reported.
pub(super) fn action(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<FilterAction> {
    let Variant { word, number } = variant(reader, node, what, &ACTIONS)?;
    let number = match number {
        Some(number) => reader.integer(number, &format!("`{word}`"), u32::MAX.into())? as u32,
        None => 0,
    };
    let data = number as u16;
    let verdict = match word {
        "allow" => Verdict::ALLOW,
        "errno" => Verdict::errno(data),
        "kill_process" => Verdict::KILL_PROCESS,
        "log" => Verdict::LOG,
        "trace" => Verdict::trace(data),
        "trap" => Verdict::trap(0),
        "user_notif" => Verdict::user_notif(0),
        _ => Verdict::KILL_THREAD,
    };
    Some(FilterAction { at: node.at, name: word, number, verdict })
}
