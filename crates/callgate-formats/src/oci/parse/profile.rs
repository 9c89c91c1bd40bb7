//! The members of a profile, checked and typed; what they mean together is `lower`'s business.

use crate::syntax::reader::{Fields, Known, Reader, key};
use crate::syntax::tree::{Kind, Node, shorten};
use callgate_bpf::FilterFlags;

use super::args::alternatives;
use crate::Listener;
use crate::oci::Dialect;
use crate::oci::gate::{self, Gate};
use crate::ruleset::Comparison;
use callgate_bpf::diagnostic::Severity;
use callgate_bpf::syscalls::Arch;
use callgate_bpf::verdict::{Verdict, errno_number};

/// A profile whose every member is of the right type.
pub(in crate::oci) struct Raw<'n> {
    pub(in crate::oci) at: usize,
    pub(in crate::oci) default: Action,
    pub(in crate::oci) arches: Arches<'n>,
    pub(in crate::oci) flags: FilterFlags,
    pub(in crate::oci) listener: Option<Listener>,
    pub(in crate::oci) entries: Vec<Entry<'n>>,
}

/// An action with its data.
#[derive(Clone, Copy)]
pub(in crate::oci) struct Action {
    pub(in crate::oci) at: usize,
    pub(in crate::oci) name: &'static str,
    pub(in crate::oci) verdict: Verdict,
}

/// What a profile says about architectures: names with their places.
pub(in crate::oci) enum Arches<'n> {
    Unsaid,
    List(Vec<(usize, &'n str)>),
    Map(Vec<ArchEntry<'n>>),
}

/// One entry of `archMap`.
pub(in crate::oci) struct ArchEntry<'n> {
    pub(in crate::oci) arch: (usize, &'n str),
    pub(in crate::oci) sub_arches: Vec<(usize, &'n str)>,
}

/// One entry of `syscalls`.
pub(in crate::oci) struct Entry<'n> {
    pub(in crate::oci) names: Vec<(usize, &'n str)>,
    pub(in crate::oci) action: Action,
    /// The conditions: one of these lists must hold in full. None never holds.
    pub(in crate::oci) alternatives: Vec<Vec<Comparison>>,
    pub(in crate::oci) includes: Gate,
    pub(in crate::oci) excludes: Gate,
}

/// Reads a profile. `None` only after an error was reported.
pub(in crate::oci) fn read<'n>(
    reader: &mut Reader<'_>,
    node: &'n Node,
    dialect: Dialect,
    native: Arch,
    is_resource: bool,
) -> Option<Raw<'n>> {
    let is_map = matches!(node.kind, Kind::Map(_));
    if is_map && node.members().iter().all(|member| member.value.kind == Kind::Null) {
        let message = "an empty profile means no filter at all: every call would be allowed";
        reader.error(node.at, message).help = "give `defaultAction` and `syscalls`".to_owned();
        return None;
    }
    let foreign = |key, owner, read: bool| Known { key, foreign: (!read).then_some(owner) };
    let mut known = vec![
        key("defaultAction"),
        key("defaultErrnoRet"),
        key("architectures"),
        key("flags"),
        key("listenerPath"),
        key("listenerMetadata"),
        key("syscalls"),
        foreign("archMap", "Docker's and Podman's profiles", dialect.has_gates()),
        foreign("defaultErrno", "Podman's profiles", dialect == Dialect::Podman),
        foreign("ociVersion", "OCI configurations", false),
        foreign("linux", "OCI configurations", false),
        foreign("kind", "Kubernetes resources", false),
        foreign("spec", "Kubernetes resources", false),
    ];
    if is_resource {
        known.extend([key("baseProfileName"), key("disabled")]);
    }
    let fields = reader.fields(node, "a profile", &known)?;
    resource(reader, &fields);

    let keys = ["defaultAction", "defaultErrnoRet", "defaultErrno"];
    let default_errno = errno(reader, &fields, keys, native);
    let default = match fields.get("defaultAction") {
        Some(node) => action(reader, node, "`defaultAction`", default_errno, dialect),
        None => {
            reader.error(fields.at, "the profile has no `defaultAction`").help =
                "say what calls get that no entry names, such as \"SCMP_ACT_ERRNO\"".to_owned();
            None
        }
    };
    let arches = arches(reader, &fields);
    let flags = flags(reader, &fields);
    let listener = listener(reader, &fields);
    let mut entries = Vec::new();
    let nodes = fields.get("syscalls").map(|node| reader.list(node, "`syscalls`"));
    match nodes {
        Some(None) => {}
        None | Some(Some([])) => {
            let (severity, verb, help) = match default {
                // Kubernetes documents such profiles, to log or to deny everything.
                Some(action) if action.name != "SCMP_ACT_ALLOW" => {
                    (Severity::Warning, "gets", "if this is not meant, add entries to `syscalls`")
                }
                _ => (
                    Severity::Error,
                    "would get",
                    "add entries to `syscalls`; if this is meant, one entry with the default action \
                     says so",
                ),
            };
            let verdict = default.map_or("the default action", |action| action.name);
            let message = format!("the profile has no rules: every call {verb} {verdict}");
            reader.report(severity, fields.at, message).help = help.to_owned();
        }
        Some(Some(nodes)) => {
            entries.extend(nodes.iter().filter_map(|node| entry(reader, node, dialect, native)));
        }
    }
    Some(Raw { at: fields.at, default: default?, arches, flags, listener, entries })
}

/// What only a `SeccompProfile` resource has.
fn resource(reader: &mut Reader<'_>, fields: &Fields<'_>) {
    if let Some(node) = fields.get("disabled") {
        match node.kind {
            Kind::Bool(false) => {}
            Kind::Bool(true) => {
                reader.error(node.at, "this profile is disabled: there is no filter").help =
                    "remove `disabled`".to_owned();
            }
            _ => reader.wrong_type(node, "`disabled`", "true or false"),
        }
    }
    if let Some(node) = fields.get("baseProfileName")
        && let Some(name) = reader.text(node, "`baseProfileName`")
        && !name.is_empty()
    {
        let message = format!("the base profile `{}` is not part of this text", shorten(name));
        reader.error(node.at, message).help =
            "copy its `syscalls` in here and remove `baseProfileName`".to_owned();
    }
}

fn entry<'n>(
    reader: &mut Reader<'_>,
    node: &'n Node,
    dialect: Dialect,
    native: Arch,
) -> Option<Entry<'n>> {
    let docker = |key| Known {
        key,
        foreign: (!dialect.has_gates()).then_some("Docker's and Podman's profiles"),
    };
    let podman = Known {
        key: "errno",
        foreign: (dialect != Dialect::Podman).then_some("Podman's profiles"),
    };
    let known = [
        key("names"),
        key("action"),
        key("errnoRet"),
        key("args"),
        // Neither says anything about the filter: a hint about speed, and prose.
        key("priority"),
        key("comment"),
        docker("name"),
        docker("includes"),
        docker("excludes"),
        podman,
    ];
    let fields = reader.fields(node, "an entry of `syscalls`", &known)?;
    let names = names(reader, &fields);
    let errno = errno(reader, &fields, ["action", "errnoRet", "errno"], native);
    let action = match fields.get("action") {
        Some(node) => action(reader, node, "`action`", errno, dialect),
        None => {
            reader.error(fields.at, "this entry has no `action`").help =
                "say what these calls get, such as \"SCMP_ACT_ALLOW\"".to_owned();
            None
        }
    };
    let mut gate = |key: &str| match fields.get(key) {
        Some(node) => gate::read(reader, node, &format!("`{key}`"), dialect),
        None => Gate::default(),
    };
    let (includes, excludes) = (gate("includes"), gate("excludes"));
    let alternatives = match fields.get("args") {
        Some(node) => alternatives(reader, node, dialect)?,
        None => vec![Vec::new()],
    };
    Some(Entry { names: names?, action: action?, alternatives, includes, excludes })
}

/// `names`, or the older `name`.
fn names<'n>(reader: &mut Reader<'_>, fields: &Fields<'n>) -> Option<Vec<(usize, &'n str)>> {
    let names = fields.get("names").map(|node| (node, reader.texts(node, "`names`")));
    let name = fields.get("name").map(|node| (node, reader.text(node, "`name`")));
    let names = match (names, name) {
        (Some((node, names)), None) => names.filter(|names| {
            if names.is_empty() {
                reader.error(node.at, "`names` is empty, but must name at least one call").help =
                    "name a call, or remove the entry".to_owned();
            }
            !names.is_empty()
        }),
        (None, Some((node, name))) => name.map(|name| vec![(node.at, name)]),
        (Some((_, names)), Some((_, name)))
            if names.as_ref().is_some_and(Vec::is_empty) || name == Some("") =>
        {
            // What Go writes for the one that is not used.
            match (names, name) {
                (Some(names), Some("")) if !names.is_empty() => Some(names),
                (_, Some(name)) if !name.is_empty() => {
                    fields.get("name").map(|node| vec![(node.at, name)])
                }
                _ => {
                    reader.error(fields.at, "this entry names no call");
                    None
                }
            }
        }
        (Some(_), Some((node, _))) => {
            reader.error(node.at, "an entry has `name` or `names`, not both").help =
                "move the call into `names`".to_owned();
            None
        }
        (None, None) => {
            reader.error(fields.at, "this entry has no `names`").help =
                "name at least one call".to_owned();
            None
        }
    }?;
    for (at, name) in &names {
        if name.is_empty() {
            reader.error(*at, "the name of a call is empty");
        }
    }
    Some(names)
}

/// `errnoRet`, or Podman's `errno`, which wins; with its place. The action decides how large it may be.
fn errno(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    [action_key, number_key, name_key]: [&str; 3],
    native: Arch,
) -> Option<(usize, u16)> {
    let action = fields.get(action_key).and_then(Node::text);
    let max = if action == Some("SCMP_ACT_ERRNO") { MAX_ERRNO } else { u16::MAX };
    let number = fields.get(number_key).and_then(|node| {
        let value = reader.integer(node, &format!("`{number_key}`"), max.into())?;
        Some((node.at, u16::try_from(value).ok()?))
    });
    let named = fields.get(name_key).and_then(|node| {
        let text = reader.text(node, &format!("`{name_key}`"))?;
        if text.is_empty() {
            return None;
        }
        let number = text.parse().ok().filter(|number| *number <= max);
        let errno = number.or_else(|| match errno_number(text) {
            Some(_) if text == "ENOSYS" => Some(native.enosys()),
            errno => errno,
        });
        // MIPS and PA-RISC have other numbers for all but the oldest names.
        let own_numbers = native.enosys() != Arch::X86_64.enosys();
        if number.is_none() && own_numbers && text != "ENOSYS" && errno > Some(MAX_COMMON_ERRNO) {
            let message =
                format!("`{text}` has another number on {native} than on most architectures");
            reader.error(node.at, message).help = "write the number in quotes".to_owned();
            return None;
        }
        if errno.is_none() {
            let message =
                format!("`{name_key}` is \"{}\", which is no errno from 0 to {max}", shorten(text));
            reader.error(node.at, message).help =
                "write a name such as \"EPERM\", or a number in quotes".to_owned();
        }
        Some((node.at, errno?))
    });
    if let (Some((_, named)), Some((at, number))) = (named, number)
        && named != number
    {
        let message = format!("`{number_key}` is ignored: `{name_key}` is given and differs");
        reader.warn(at, message).help = "remove one of them".to_owned();
    }
    named.or(number)
}

#[rustfmt::skip]
const ACTIONS: [&str; 9] = [
    "SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO", "SCMP_ACT_KILL", "SCMP_ACT_KILL_THREAD",
    "SCMP_ACT_KILL_PROCESS", "SCMP_ACT_TRAP", "SCMP_ACT_TRACE", "SCMP_ACT_LOG", "SCMP_ACT_NOTIFY",
];

/// The largest errno (`MAX_ERRNO` of the kernel).
const MAX_ERRNO: u16 = 4095;

/// Up to this one, errnos have the same numbers everywhere (`asm-generic/errno-base.h`).
const MAX_COMMON_ERRNO: u16 = 34;

/// EPERM, what ERRNO and TRACE carry when a profile gives no number.
const EPERM: u16 = 1;

fn action(
    reader: &mut Reader<'_>,
    node: &Node,
    what: &str,
    errno: Option<(usize, u16)>,
    dialect: Dialect,
) -> Option<Action> {
    let given = reader.text(node, what)?;
    let Some(name) = ACTIONS.into_iter().find(|name| *name == given) else {
        let message = format!("{what} is \"{}\", which is no action", shorten(given));
        let near = reader.nearest(given, ACTIONS);
        reader.error(node.at, message).help = match near {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => "the actions are SCMP_ACT_ALLOW, _ERRNO, _KILL, _KILL_THREAD, \
                     _KILL_PROCESS, _TRAP, _TRACE, _LOG and _NOTIFY"
                .to_owned(),
        };
        return None;
    };
    let data = errno.map_or(EPERM, |(_, errno)| errno);
    let (verdict, takes_data) = match name {
        "SCMP_ACT_ALLOW" => (Verdict::ALLOW, false),
        "SCMP_ACT_ERRNO" => (Verdict::errno(data), true),
        "SCMP_ACT_KILL_PROCESS" => (Verdict::KILL_PROCESS, false),
        "SCMP_ACT_TRAP" => (Verdict::trap(0), false),
        "SCMP_ACT_TRACE" => (Verdict::trace(data), true),
        "SCMP_ACT_LOG" => (Verdict::LOG, false),
        "SCMP_ACT_NOTIFY" => (Verdict::user_notif(0), false),
        _ => (Verdict::KILL_THREAD, false),
    };
    match errno {
        Some((at, _)) if !takes_data => {
            let message = format!("{name} takes no errno");
            match dialect {
                Dialect::Oci | Dialect::Crun | Dialect::Podman => {
                    reader.error(at, message).help =
                        "remove it: the specification demands an error, and crun gives one, \
                         also for Podman"
                            .to_owned();
                }
                Dialect::Docker | Dialect::Runc => {
                    reader.warn(at, format!("{message}; it is ignored")).help =
                        "remove it: crun refuses the profile".to_owned();
                }
            }
        }
        _ => {}
    }
    Some(Action { at: node.at, name, verdict })
}

fn arches<'n>(reader: &mut Reader<'_>, fields: &Fields<'n>) -> Arches<'n> {
    let list = fields.get("architectures");
    let map = fields.get("archMap");
    let given = |node: Option<&Node>| node.is_some_and(|node| !node.items().is_empty());
    if given(list) && given(map) {
        let at = map.map_or(fields.at, |node| node.at);
        reader.error(at, "a profile has `architectures` or `archMap`, not both").help =
            "remove one of them: Docker and Podman refuse the profile".to_owned();
        return Arches::Unsaid;
    }
    if let Some(names) = list.and_then(|node| reader.texts(node, "`architectures`"))
        && !names.is_empty()
    {
        return Arches::List(names);
    }
    let Some(nodes) = map.and_then(|node| reader.list(node, "`archMap`")) else {
        return Arches::Unsaid;
    };
    let known = [key("architecture"), key("subArchitectures")];
    let mut entries = Vec::new();
    for node in nodes {
        let Some(fields) = reader.fields(node, "an entry of `archMap`", &known) else { continue };
        let Some(arch) = fields.get("architecture") else {
            reader.error(fields.at, "this entry of `archMap` has no `architecture`").help =
                "name one, such as \"SCMP_ARCH_X86_64\"".to_owned();
            continue;
        };
        let Some(name) = reader.text(arch, "`architecture`") else { continue };
        let sub_arches = fields
            .get("subArchitectures")
            .and_then(|node| reader.texts(node, "`subArchitectures`"))
            .unwrap_or_default();
        entries.push(ArchEntry { arch: (arch.at, name), sub_arches });
    }
    Arches::Map(entries)
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
            reader.error(at, "`listenerMetadata` without a `listenerPath`").help =
                "give the socket in `listenerPath`, or remove the metadata".to_owned();
            None
        }
        (None, None) => None,
    }
}
