//! Reader of an entry of `syscalls`.

use super::action::{action, errno};
use super::args::alternatives;
use super::gate::gate;
use crate::oci::dialect::Dialect;
use crate::oci::gate::Gate;
use crate::oci::model::{Entry, SyscallName};
use crate::syntax::reader::{Fields, Reader, foreign_key, key};
use crate::syntax::tree::Node;
use callgate_core::Arch;

/// An entry of `syscalls`. `None` only after an error was reported.
pub(super) fn entry<'n>(
    reader: &mut Reader<'_>,
    node: &'n Node<'n>,
    dialect: Dialect,
    native: Arch,
) -> Option<Entry<'n>> {
    read(reader, node, dialect, native, false)
}

/// An entry of `syscalls` in a resource, where an `errnoRet` of 0 means that none is given. `None` only after an error
/// was reported.
pub(super) fn entry_of_resource<'n>(
    reader: &mut Reader<'_>,
    node: &'n Node<'n>,
    dialect: Dialect,
    native: Arch,
) -> Option<Entry<'n>> {
    read(reader, node, dialect, native, true)
}

fn read<'n>(
    reader: &mut Reader<'_>,
    node: &'n Node<'n>,
    dialect: Dialect,
    native: Arch,
    is_in_resource: bool,
) -> Option<Entry<'n>> {
    let docker = |name| match dialect.has_gates() {
        true => key(name),
        false => foreign_key(name, "Docker's and Podman's profiles"),
    };
    let podman = |name| match dialect {
        Dialect::Podman => key(name),
        _ => foreign_key(name, "Podman's profiles"),
    };
    let known = [
        key("names"),
        key("action"),
        key("errnoRet"),
        key("args"),
        // Neither changes the filter: a hint about speed, and prose.
        key("priority"),
        key("comment"),
        docker("name"),
        docker("includes"),
        docker("excludes"),
        podman("errno"),
    ];
    let fields = reader.fields(node, "an entry of `syscalls`", &known)?;
    let names = names(reader, &fields);
    let mut errno = errno(reader, &fields, ["action", "errnoRet", "errno"], native);
    if let Some((at, 0)) = errno.filter(|_| is_in_resource) {
        if matches!(
            fields.get("action").and_then(Node::text),
            Some("SCMP_ACT_ERRNO" | "SCMP_ACT_TRACE")
        ) {
            reader
                .warn(at, "the operator does not write an `errnoRet` of 0, so runtimes use EPERM")
                .help = "remove it, or give another number".to_owned();
        }
        errno = None;
    }
    let action = match fields.get("action") {
        Some(node) => action(reader, node, "`action`", errno, dialect),
        None => {
            reader.error(fields.at, "missing `action` in an entry of `syscalls`").help =
                "give the action for these syscalls, such as \"SCMP_ACT_ALLOW\"".to_owned();
            None
        }
    };
    let mut gate_of = |key: &str| match fields.get(key) {
        Some(node) => gate(reader, node, &format!("`{key}`"), dialect),
        None => Gate::default(),
    };
    let (includes, excludes) = (gate_of("includes"), gate_of("excludes"));
    // Docker and Podman refuse a profile with a comment of another type.
    if let Some(node) = fields.get("comment").filter(|_| dialect.has_gates()) {
        reader.text(node, "`comment`");
    }
    let alternatives = match fields.get("args") {
        Some(node) => alternatives(reader, node, dialect, is_in_resource)?,
        None => vec![Vec::new()],
    };
    Some(Entry { names: names?, action: action?, alternatives, includes, excludes })
}

/// `names`, or the older `name`.
fn names<'n>(reader: &mut Reader<'_>, fields: &Fields<'n>) -> Option<Vec<SyscallName<'n>>> {
    let names = fields.get("names").map(|node| (node, reader.texts(node, "`names`")));
    let name = fields.get("name").map(|node| (node, reader.text(node, "`name`")));
    let names = match (names, name) {
        (Some((node, names)), None) => names.filter(|names| {
            if names.is_empty() {
                reader
                    .error(node.at, "`names` is empty, but must name at least one syscall")
                    .help = "name a syscall, or remove the entry".to_owned();
            }
            !names.is_empty()
        }),
        (None, Some((node, name))) => name.map(|name| vec![(node.at, name)]),
        (Some((_, names)), Some((_, name)))
            if names.as_ref().is_some_and(Vec::is_empty) || name == Some("") =>
        {
            // Go writes the unused one of the two as an empty value.
            match (names, name) {
                (Some(names), Some("")) if !names.is_empty() => Some(names),
                (_, Some(name)) if !name.is_empty() => {
                    fields.get("name").map(|node| vec![(node.at, name)])
                }
                _ => {
                    reader.error(fields.at, "this entry does not name a syscall");
                    None
                }
            }
        }
        (Some(_), Some((node, _))) => {
            reader.error(node.at, "an entry must have either `name` or `names`, not both").help =
                "move the syscall into `names`".to_owned();
            None
        }
        (None, None) => {
            reader.error(fields.at, "missing `names` in an entry of `syscalls`").help =
                "name at least one syscall".to_owned();
            None
        }
    }?;
    for (at, name) in &names {
        if name.is_empty() {
            reader.error(*at, "the name of a syscall is empty");
        }
    }
    Some(names.into_iter().map(SyscallName::new).collect())
}
