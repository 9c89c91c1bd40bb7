//! From the tree of a profile, or of the `spec` of a resource, to its typed model: checks every member by itself.

use std::collections::BTreeMap;

use super::bases::Base;
use super::entry::{ProfileReader, similar};
use super::model::{ArchMapEntry, Entry, Model, Name, ProfileArches};
use super::options::Dialect;
use crate::diagnostics::quote::shorten;
use crate::profile::Listener;
use crate::ruleset::Comparison;
use crate::syntax::reader::{Fields, KnownKey, Reader, foreign_key, key};
use crate::syntax::tree::{Node, NodeKind};
use callgate_bpf::FilterFlags;
use callgate_bpf::diagnostic::Severity;
use callgate_core::Verdict;

impl ProfileReader<'_, '_> {
    /// Reads a profile, with the entries of its base profiles if it is that of a resource. `None` only after an error was
    /// reported.
    ///
    /// The operator writes a resource as a profile to the node. It drops an `errnoRet` of 0, so that runtimes use their default,
    /// and has no `defaultErrnoRet`.
    pub(super) fn profile<'n>(
        &mut self,
        node: &'n Node<'n>,
        bases: &'n [Base],
    ) -> Option<Model<'n>> {
        check_not_empty(self.reader, node)?;
        let known = known_keys(self.dialect, self.is_in_resource);
        let fields = self.reader.fields(node, "a profile", &known)?;
        if self.is_in_resource {
            self.check_state(&fields);
            if let Some(node) = fields.get("baseProfileName") {
                self.reader.text(node, "`baseProfileName`");
            }
        }
        let own = self.entries(&fields);
        let mut all = Entries::default();
        for base in bases.iter().rev() {
            let fields = self.reader.fields(base.profile(), "a base profile", &known)?;
            all.add(self.entries(&fields));
        }
        all.add(own);
        if !bases.is_empty() {
            combine(self.reader, &mut all.valid);
        }
        self.model(&fields, all)
    }

    /// Reads the entries of `syscalls`.
    fn entries<'n>(&mut self, fields: &Fields<'n>) -> Entries<'n> {
        let Some(node) = fields.get("syscalls") else { return Entries::default() };
        let Some(nodes) = self.reader.list(node, "`syscalls`") else {
            return Entries { valid: Vec::new(), is_given: true };
        };
        let valid = nodes.iter().filter_map(|node| self.entry(node)).collect();
        Entries { valid, is_given: !nodes.is_empty() }
    }

    /// A profile with these entries. `None` only after an error was reported.
    fn model<'n>(&mut self, fields: &Fields<'n>, entries: Entries<'n>) -> Option<Model<'n>> {
        let keys = ["defaultAction", "defaultErrnoRet", "defaultErrno"];
        let default_errno = self.errno(fields, keys);
        let default = match fields.get("defaultAction") {
            Some(node) => self.action(node, "`defaultAction`", default_errno),
            None => {
                let help =
                    "give the action for syscalls that no entry names, such as \"SCMP_ACT_ERRNO\"";
                self.reader.refuse(fields.at, "missing `defaultAction` in the profile", help)
            }
        };
        let arches = self.arches(fields);
        let flags = self.flags(fields);
        let listener = self.listener(fields);
        if !entries.is_given {
            let (severity, verb, help) = match default {
                // Kubernetes documents such profiles, which log or deny every syscall.
                Some(action) if action.name != "SCMP_ACT_ALLOW" => (
                    Severity::Warning,
                    "gets",
                    "if this is not intended, add entries to `syscalls`",
                ),
                _ => (
                    Severity::Error,
                    "would get",
                    "add entries to `syscalls`; if this is intended, add one entry with the default \
                 action",
                ),
            };
            let verdict = default.map_or("the default action", |action| action.name);
            let message = format!("the profile has no rules: every syscall {verb} {verdict}");
            self.reader.report(severity, fields.at, message).help = help.to_owned();
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

    fn flags(&mut self, fields: &Fields<'_>) -> FilterFlags {
        const FLAGS: [&str; 4] = [
            "SECCOMP_FILTER_FLAG_TSYNC",
            "SECCOMP_FILTER_FLAG_LOG",
            "SECCOMP_FILTER_FLAG_SPEC_ALLOW",
            "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV",
        ];
        let mut flags = FilterFlags::NONE;
        let given = fields.get("flags").and_then(|node| self.reader.texts(node, "`flags`"));
        for (at, flag) in given.unwrap_or_default() {
            match flag.strip_prefix("SECCOMP_FILTER_FLAG_").and_then(FilterFlags::named) {
                Some(known) => flags |= known,
                None => {
                    let message = format!("unknown filter flag \"{}\"", shorten(flag));
                    let near = self.reader.nearest(flag, FLAGS);
                    self.reader.error(at, message).help = similar(
                        near,
                        "the flags are SECCOMP_FILTER_FLAG_TSYNC, _LOG, _SPEC_ALLOW and \
                             _WAIT_KILLABLE_RECV",
                    );
                }
            }
        }
        flags
    }

    fn listener(&mut self, fields: &Fields<'_>) -> Option<Listener> {
        let mut text = |key: &str| {
            let node = fields.get(key)?;
            let text = self.reader.text(node, &format!("`{key}`"))?;
            (!text.is_empty()).then(|| text.to_owned())
        };
        let (path, metadata) = (text("listenerPath"), text("listenerMetadata"));
        match (path, metadata) {
            (Some(path), metadata) => Some(Listener { path, metadata }),
            (None, Some(_)) => {
                let at = fields.get("listenerMetadata").map_or(fields.at, |node| node.at);
                let help = "set `listenerPath` to the listener's socket, or remove the metadata";
                self.reader.refuse(at, "`listenerMetadata` is given without `listenerPath`", help)
            }
            (None, None) => None,
        }
    }

    /// The architectures that a profile names.
    fn arches<'n>(&mut self, fields: &Fields<'n>) -> ProfileArches<'n> {
        let list = fields.get("architectures");
        let map = fields.get("archMap");
        let given = |node: Option<&Node<'_>>| node.is_some_and(|node| !node.items().is_empty());
        if given(list) && given(map) {
            let at = map.map_or(fields.at, |node| node.at);
            self.reader
                .error(at, "a profile must have either `architectures` or `archMap`, not both")
                .help = "remove one of them: Docker and Podman reject the profile".to_owned();
            return ProfileArches::Unspecified;
        }
        let names = list.and_then(|node| self.reader.texts(node, "`architectures`"));
        let rows = map.and_then(|node| self.reader.list(node, "`archMap`"));
        if let Some(names) = names.filter(|names| !names.is_empty()) {
            return ProfileArches::List(names);
        }
        let Some(nodes) = rows else { return ProfileArches::Unspecified };
        let known = [key("architecture"), key("subArchitectures")];
        let mut entries = Vec::new();
        for node in nodes {
            let Some(fields) = self.reader.fields(node, "an entry of `archMap`", &known) else {
                continue;
            };
            let Some(arch) = fields.get("architecture") else {
                self.reader
                    .error(fields.at, "missing `architecture` in an entry of `archMap`")
                    .help = "name one, such as \"SCMP_ARCH_X86_64\"".to_owned();
                continue;
            };
            let Some(name) = self.reader.text(arch, "`architecture`") else { continue };
            let sub_arches = fields
                .get("subArchitectures")
                .and_then(|node| self.reader.texts(node, "`subArchitectures`"))
                .unwrap_or_default();
            entries.push(ArchMapEntry { arch: (arch.at, name), sub_arches });
        }
        ProfileArches::Map(entries)
    }

    /// Checks that the operator installs the profile: `state`, or `disabled` in older versions of the resource.
    fn check_state(&mut self, fields: &Fields<'_>) {
        let disabled = fields.get("disabled").filter(|node| match node.kind {
            NodeKind::Bool(disabled) => disabled,
            _ => {
                self.reader.wrong_type(node, "`disabled`", "true or false");
                false
            }
        });
        let state = fields.get("state").filter(|node| {
            let state = self.reader.text(node, "`state`");
            if let Some(other) =
                state.filter(|state| !matches!(*state, "" | "Enabled" | "Disabled"))
            {
                let message = format!(
                    "`state` is \"{}\", but must be \"Enabled\" or \"Disabled\"",
                    shorten(other)
                );
                self.reader.error(node.at, message);
            }
            state == Some("Disabled")
        });
        for (node, key) in [(disabled, "disabled"), (state, "state")] {
            if let Some(node) = node {
                self.reader
                    .error(node.at, "this profile is disabled, so there is no filter")
                    .help = format!("remove `{key}`");
            }
        }
    }
}

/// Reports a profile without any member. `None` only after an error was reported.
fn check_not_empty(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<()> {
    let is_map = matches!(node.kind, NodeKind::Map(_));
    if is_map && node.members().iter().all(|member| member.value.kind == NodeKind::Null) {
        let message = "an empty profile means no filter: every syscall would be allowed";
        return reader.refuse(node.at, message, "give `defaultAction` and `syscalls`");
    }
    Some(())
}

/// The keys of a profile.
fn known_keys(dialect: Dialect, is_in_resource: bool) -> Vec<KnownKey> {
    let read_if = |read: bool, name, owner| match read {
        true => key(name),
        false => foreign_key(name, owner),
    };
    let mut known = vec![
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
        read_if(!is_in_resource, "defaultErrnoRet", "profiles of container runtimes"),
    ];
    if is_in_resource {
        known.extend([key("baseProfileName"), key("disabled"), key("state")]);
    }
    known
}

/// The entries of `syscalls`.
#[derive(Default)]
struct Entries<'n> {
    /// Those without errors.
    valid: Vec<Entry<'n>>,
    /// Whether there are any, even with errors.
    is_given: bool,
}

impl<'n> Entries<'n> {
    fn add(&mut self, more: Entries<'n>) {
        self.valid.extend(more.valid);
        self.is_given |= more.is_given;
    }
}

/// What an entry means for each of its names, in a size that does not depend on its conditions: a profile can have many
/// names and many conditions.
#[derive(Clone, Copy)]
struct Rule {
    verdict: Verdict,
    /// Equal for rules with the same conditions.
    conditions: usize,
    applies_always: bool,
    never_applies: bool,
    /// The argument, if each alternative is one comparison of it.
    argument: Option<u8>,
}

/// Sorts entries as version 1.0.0 of the operator does, and warns about syscalls for which later versions write another
/// rule.
fn combine(reader: &mut Reader<'_>, entries: &mut [Entry<'_>]) {
    entries.sort_by_key(|entry| entry.action.name);
    let mut rules: BTreeMap<&str, Vec<(Name<'_>, Rule)>> = BTreeMap::new();
    let mut known: BTreeMap<&[Vec<Comparison>], usize> = BTreeMap::new();
    for entry in entries.iter() {
        let next = known.len();
        let conditions = *known.entry(&entry.alternatives).or_insert(next);
        let rule = rule(entry, conditions);
        for name in &entry.names {
            rules.entry(name.name).or_default().push((name.origin(), rule));
        }
    }
    let mut changed: Vec<[Name<'_>; 2]> = Vec::new();
    for own in rules.values() {
        if let ([(first, one), others @ ..], false) = (own.as_slice(), is_same_in_one_entry(own)) {
            let differs = |(_, other): &&(Name<'_>, Rule)| {
                (one.verdict, one.conditions) != (other.verdict, other.conditions)
            };
            changed.extend(others.iter().find(differs).map(|(second, _)| [*first, *second]));
        }
    }
    let Some([(first, name), (second, _)]) = changed.first().copied() else { return };
    let others = match changed.len() - 1 {
        0 => String::new(),
        1 => " (1 more syscall as well)".to_owned(),
        more => format!(" ({more} more syscalls as well)"),
    };
    let message = format!(
        "`{name}` is in several entries, here and at {}{others}: version 1.0.0 of the operator writes them all, \
         later versions write one entry with the laxest action and the conditions of all",
        reader.place(first)
    );
    reader.warn(second, message).help =
        "write the rule in one of the two resources only, if the version matters".to_owned();
}

fn rule(entry: &Entry<'_>, conditions: usize) -> Rule {
    let mut arguments = entry.alternatives.iter().map(|all| match all.as_slice() {
        [only] => Some(only.arg()),
        _ => None,
    });
    let argument = arguments.next().flatten();
    Rule {
        verdict: entry.action.verdict,
        conditions,
        applies_always: entry.alternatives.iter().any(Vec::is_empty),
        never_applies: entry.alternatives.is_empty(),
        argument: argument.filter(|_| arguments.all(|other| other == argument)),
    }
}

/// Whether one entry with the laxest action and the conditions of all entries means what the entries mean: their
/// actions are the same, and one applies always, or each has one comparison of the same argument.
fn is_same_in_one_entry(own: &[(Name<'_>, Rule)]) -> bool {
    let Some(((_, first), others)) = own.split_first() else { return true };
    if others.iter().any(|(_, other)| other.verdict != first.verdict) {
        return false;
    }
    if own.iter().any(|(_, rule)| rule.applies_always)
        || others.iter().all(|(_, other)| other.conditions == first.conditions)
    {
        return true;
    }
    let mut arguments =
        own.iter().filter(|(_, rule)| !rule.never_applies).map(|(_, rule)| rule.argument);
    let argument = arguments.next().flatten();
    argument.is_some() && arguments.all(|other| other == argument)
}
