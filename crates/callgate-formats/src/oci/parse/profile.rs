//! Reader of the members of a profile.

use super::action::{action, errno};
use super::arches::arches;
use super::entry::entry;
use crate::diagnostics::quote::shorten;
use crate::oci::dialect::Dialect;
use crate::oci::model::{Entry, Model};
use crate::profile::Listener;
use crate::syntax::reader::{Fields, KnownKey, Reader, foreign_key, key};
use crate::syntax::tree::{Node, NodeKind};
use callgate_bpf::FilterFlags;
use callgate_bpf::diagnostic::Severity;
use callgate_core::Arch;

/// Reads a profile. `None` only after an error was reported.
pub(in crate::oci) fn profile<'n>(
    reader: &mut Reader<'_>,
    node: &'n Node<'n>,
    dialect: Dialect,
    native: Arch,
) -> Option<Model<'n>> {
    check_not_empty(reader, node)?;
    let mut known = known_keys(dialect);
    known.push(key("defaultErrnoRet"));
    let fields = reader.fields(node, "a profile", &known)?;
    let entries = entries(reader, &fields, |reader, node| entry(reader, node, dialect, native));
    model(reader, &fields, entries, dialect, native)
}

/// Reports a profile without any member. `None` only after an error was reported.
pub(super) fn check_not_empty(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<()> {
    let is_map = matches!(node.kind, NodeKind::Map(_));
    if is_map && node.members().iter().all(|member| member.value.kind == NodeKind::Null) {
        let message = "an empty profile means no filter: every syscall would be allowed";
        reader.error(node.at, message).help = "give `defaultAction` and `syscalls`".to_owned();
        return None;
    }
    Some(())
}

/// The keys of a profile in all places, without `defaultErrnoRet`.
pub(super) fn known_keys(dialect: Dialect) -> Vec<KnownKey> {
    let read_if = |read: bool, name, owner| match read {
        true => key(name),
        false => foreign_key(name, owner),
    };
    vec![
        key("defaultAction"),
        key("architectures"),
        key("flags"),
        key("listenerPath"),
        key("listenerMetadata"),
        key("syscalls"),
        read_if(dialect.has_gates(), "archMap", "Docker's and Podman's profiles"),
        read_if(dialect == Dialect::Podman, "defaultErrno", "Podman's profiles"),
        foreign_key("ociVersion", "OCI configurations"),
        foreign_key("linux", "OCI configurations"),
        foreign_key("kind", "Kubernetes resources"),
        foreign_key("spec", "Kubernetes resources"),
    ]
}

/// The entries of `syscalls`.
#[derive(Default)]
pub(super) struct Entries<'n> {
    /// Those without errors.
    pub(super) valid: Vec<Entry<'n>>,
    /// Whether there are any, even with errors.
    pub(super) is_given: bool,
}

/// Reads the entries of `syscalls`.
pub(super) fn entries<'n>(
    reader: &mut Reader<'_>,
    fields: &Fields<'n>,
    mut entry: impl FnMut(&mut Reader<'_>, &'n Node<'n>) -> Option<Entry<'n>>,
) -> Entries<'n> {
    let Some(node) = fields.get("syscalls") else { return Entries::default() };
    let Some(nodes) = reader.list(node, "`syscalls`") else {
        return Entries { valid: Vec::new(), is_given: true };
    };
    let valid = nodes.iter().filter_map(|node| entry(reader, node)).collect();
    Entries { valid, is_given: !nodes.is_empty() }
}

/// A profile with these entries. `None` only after an error was reported.
pub(super) fn model<'n>(
    reader: &mut Reader<'_>,
    fields: &Fields<'n>,
    entries: Entries<'n>,
    dialect: Dialect,
    native: Arch,
) -> Option<Model<'n>> {
    let keys = ["defaultAction", "defaultErrnoRet", "defaultErrno"];
    let default_errno = errno(reader, fields, keys, native);
    let default = match fields.get("defaultAction") {
        Some(node) => action(reader, node, "`defaultAction`", default_errno, dialect),
        None => {
            reader.error(fields.at, "missing `defaultAction` in the profile").help =
                "give the action for syscalls that no entry names, such as \"SCMP_ACT_ERRNO\""
                    .to_owned();
            None
        }
    };
    let arches = arches(reader, fields);
    let flags = flags(reader, fields);
    let listener = listener(reader, fields);
    if !entries.is_given {
        let (severity, verb, help) = match default {
            // Kubernetes documents such profiles, which log or deny every syscall.
            Some(action) if action.name != "SCMP_ACT_ALLOW" => {
                (Severity::Warning, "gets", "if this is not intended, add entries to `syscalls`")
            }
            _ => (
                Severity::Error,
                "would get",
                "add entries to `syscalls`; if this is intended, add one entry with the default \
                 action",
            ),
        };
        let verdict = default.map_or("the default action", |action| action.name);
        let message = format!("the profile has no rules: every syscall {verb} {verdict}");
        reader.report(severity, fields.at, message).help = help.to_owned();
    }
    Some(Model {
        at: fields.at,
        default: default?,
        arches,
        flags,
        listener,
        entries: entries.valid,
    })
}

fn flags(reader: &mut Reader<'_>, fields: &Fields<'_>) -> FilterFlags {
    const FLAGS: [&str; 4] = [
        "SECCOMP_FILTER_FLAG_TSYNC",
        "SECCOMP_FILTER_FLAG_LOG",
        "SECCOMP_FILTER_FLAG_SPEC_ALLOW",
        "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV",
    ];
    let mut flags = FilterFlags::NONE;
    let given = fields.get("flags").and_then(|node| reader.texts(node, "`flags`"));
    for (at, flag) in given.unwrap_or_default() {
        match flag.strip_prefix("SECCOMP_FILTER_FLAG_").and_then(FilterFlags::named) {
            Some(known) => flags |= known,
            None => {
                let message = format!("unknown filter flag \"{}\"", shorten(flag));
                let near = reader.nearest(flag, FLAGS);
                reader.error(at, message).help = match near {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => "the flags are SECCOMP_FILTER_FLAG_TSYNC, _LOG, _SPEC_ALLOW and \
                             _WAIT_KILLABLE_RECV"
                        .to_owned(),
                };
            }
        }
    }
    flags
}

fn listener(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Listener> {
    let mut text = |key: &str| {
        let node = fields.get(key)?;
        let text = reader.text(node, &format!("`{key}`"))?;
        (!text.is_empty()).then(|| text.to_owned())
    };
    let (path, metadata) = (text("listenerPath"), text("listenerMetadata"));
    match (path, metadata) {
        (Some(path), metadata) => Some(Listener { path, metadata }),
        (None, Some(_)) => {
            let at = fields.get("listenerMetadata").map_or(fields.at, |node| node.at);
            reader.error(at, "`listenerMetadata` is given without `listenerPath`").help =
                "set `listenerPath` to the listener's socket, or remove the metadata".to_owned();
            None
        }
        (None, None) => None,
    }
}
