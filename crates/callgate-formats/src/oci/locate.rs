//! Location of the profile in a document.
//!
//! A profile can be the whole document, the `linux.seccomp` of an OCI configuration or the `spec` of a
//! `SeccompProfile` resource. A document can contain several of these, and then programs install different
//! filters:
//!
//! | dialect | a profile at the top level | `linux.seccomp` | `spec` |
//! |---|---|---|---|
//! | `docker`, `podman` | read | ignored | ignored |
//! | `runc`, `crun`, `oci` | read if it is the only one | read, whatever else there is | read if it is the only one |
//! | none given | read if it is the only one | read if it is the only one | read if it is the only one |
//!
//! Every other case is an error, and what is ignored is a warning. runc and crun themselves read only
//! `linux.seccomp`; a profile at the top level is read as they would read it there. `docs/reference/languages/docker.md` gives the
//! measurements.

use super::options::Dialect;
use super::workload::report_workload;
use crate::diagnostics::quote::{escape_key, shorten};
use crate::syntax::reader::{Reader, folds_to};
use crate::syntax::tree::{Member, Node, NodeKind};

/// A profile in a document.
pub(super) struct Located<'n> {
    pub(super) profile: &'n Node<'n>,
    /// Whether it is the `spec` of a `SeccompProfile` resource.
    pub(super) is_resource: bool,
}

/// Keys that show a profile at the top level: without both, Docker and Podman install no filter.
const MARKS: [&str; 2] = ["defaultAction", "syscalls"];

/// Keys that look like parts of a profile anywhere in a document.
const ANYWHERE: [&str; 3] = ["seccomp", "defaultAction", "syscalls"];

/// Further such keys at the top level and in `linux`, where no specification defines them.
#[rustfmt::skip]
const NEAR: [&str; 8] = [
    "defaultErrnoRet", "defaultErrno", "architectures", "archMap", "flags", "listenerPath",
    "listenerMetadata", "spec",
];

/// The annotation with a program that crun installs instead of the profile.
const BPF_DATA: &str = "run.oci.seccomp_bpf_data";

/// Whether a document has a profile outside of `spec`, or is an OCI configuration.
pub(super) fn has_profile(document: &Node<'_>) -> bool {
    let keys = MARKS.iter().chain(&["linux", "ociVersion"]);
    let mut members = document.members().iter();
    members.any(|member| keys.clone().any(|key| folds_to(&member.key, key)))
}

/// The profiles in a document, with the byte offset of the key that shows each of them.
struct Found<'n> {
    /// A profile at the top level.
    top: Option<usize>,
    /// An OCI configuration, which may lack a profile.
    configuration: Option<usize>,
    linux: Option<&'n Node<'n>>,
    /// `linux.seccomp`.
    section: Option<&'n Node<'n>>,
    /// A `SeccompProfile` resource, which may lack a profile.
    resource: Option<usize>,
    spec: Option<&'n Node<'n>>,
}

/// Finds the profile that the dialect reads. `None` only after an error was reported.
pub(super) fn locate<'n>(
    reader: &mut Reader<'_>,
    document: &'n Node<'n>,
    dialect: Option<Dialect>,
) -> Option<Located<'n>> {
    if !matches!(document.kind, NodeKind::Map(_)) {
        let message = format!("a profile must be an object, but this is {}", document.describe());
        let help = "give a seccomp profile, an OCI config.json or a SeccompProfile resource";
        return reader.refuse(document.at, message, help);
    }
    let top_level_only = matches!(dialect, Some(Dialect::Docker | Dialect::Podman));
    let found = find(reader, document, top_level_only)?;
    let whole = Located { profile: document, is_resource: false };
    if let Some(dialect) = dialect.filter(|_| top_level_only) {
        return is_top_level(reader, &found, dialect).then_some(whole);
    }
    let decided = dialect.is_some() && found.configuration.is_some();
    if !decided && is_ambiguous(reader, &found) {
        return None;
    }
    let located = if found.configuration.is_some() {
        bpf_data(reader, document, dialect)?;
        let Some(profile) = found.section else {
            let message = "missing `linux.seccomp` in this OCI configuration: the container would run without a filter";
            return reader.refuse(document.at, message, "add `linux.seccomp`, or give a profile");
        };
        Located { profile, is_resource: false }
    } else if found.resource.is_some() {
        let Some(profile) = found.spec else {
            let help = "put the profile into `spec`";
            return reader.refuse(
                document.at,
                "missing `spec` in this SeccompProfile resource",
                help,
            );
        };
        Located { profile, is_resource: true }
    } else {
        return Some(whole);
    };
    warn_about_others(reader, document, found.linux, &located);
    Some(located)
}

/// Finds all profiles of the document. `None` only after an error was reported.
fn find<'n>(
    reader: &mut Reader<'_>,
    document: &'n Node<'n>,
    top_level_only: bool,
) -> Option<Found<'n>> {
    let is_mark = |member: &Member<'_>| MARKS.iter().any(|mark| folds_to(&member.key, mark));
    let given = |member: &&Member<'_>| is_mark(member) && member.value.kind != NodeKind::Null;
    let top = document.members().iter().find(given).map(|member| member.key_at);
    // If only the top level is read, errors in other parts do not matter.
    let mut member = |node: &'n Node<'n>, name| match top_level_only {
        true => node.members().iter().find(|member| folds_to(&member.key, name)),
        false => reader.member(node, name),
    };
    let linux = member(document, "linux");
    let section = linux.and_then(|linux| member(&linux.value, "seccomp"));
    let version = member(document, "ociVersion");
    if let Some(version) = version.filter(|one| !top_level_only && one.value.text().is_none()) {
        reader.wrong_type(&version.value, "`ociVersion`", "a string");
    }
    let configuration = section.or(linux).or(version);
    // Kubernetes compares keys byte for byte, even if the runtime does not.
    let exact = |name: &str| {
        let mut members = document.members().iter().filter(|member| *member.key == *name);
        members.find(|member| member.value.kind != NodeKind::Null)
    };
    let (kind, spec) = (exact("kind"), exact("spec"));
    if !top_level_only {
        reader.no_duplicates(document, &["kind", "spec"]);
    }
    let resource = match kind {
        Some(kind) if kind.value.text() == Some("SeccompProfile") => Some(kind.key_at),
        Some(_) => None,
        None => spec.map(|spec| spec.key_at),
    };
    let is_something_else = (resource, top) == (None, None) && configuration.is_none();
    let is_reported = is_something_else && report_workload(reader, document);
    if let Some(kind) = kind.filter(|_| is_something_else && !is_reported) {
        let given = kind.value.text().map(|text| format!("\"{}\"", shorten(text)));
        let given = given.unwrap_or_else(|| kind.value.describe());
        let message = format!("`kind` is {given}, but must be \"SeccompProfile\"");
        reader.error(kind.value.at, message).help =
            "give a SeccompProfile resource, or a profile in its own file".to_owned();
    }
    (!reader.failed()).then_some(Found {
        top,
        configuration: configuration.map(|member| member.key_at),
        linux: linux.map(|member| &member.value),
        section: section.map(|member| &member.value),
        resource,
        spec: spec.map(|member| &member.value),
    })
}

/// Whether Docker or Podman read the document as it is meant. A profile that they do not find is an error.
fn is_top_level(reader: &mut Reader<'_>, found: &Found<'_>, dialect: Dialect) -> bool {
    let Some(at) = found.configuration.or(found.resource).filter(|_| found.top.is_none()) else {
        return true;
    };
    let message = format!(
        "{dialect} reads a profile at the top level, but there is none: the container would run \
         without a filter"
    );
    reader.error(at, message).help =
        "put the profile into its own file, or choose the dialect of the program that reads this \
         document, such as runc or crun"
            .to_owned();
    false
}

/// Reports a document with several profiles. Returns whether it is one.
fn is_ambiguous(reader: &mut Reader<'_>, found: &Found<'_>) -> bool {
    let mut given: Vec<(usize, &str)> = [
        (found.top, "the profile at the top level"),
        (found.configuration, "`linux.seccomp` of the OCI configuration"),
        (found.resource, "`spec` of the SeccompProfile resource"),
    ]
    .into_iter()
    .filter_map(|(at, what)| Some((at?, what)))
    .collect();
    given.sort_unstable_by_key(|(at, _)| *at);
    let Some((at, _)) = given.get(1).copied() else { return false };
    let ways: Vec<String> =
        given.iter().map(|(at, what)| format!("{what} ({})", reader.place(*at))).collect();
    let message = format!("this document is ambiguous: it can be read as {}", ways.join(" or as "));
    reader.error(at, message).help =
        "keep one of them, or choose a dialect: Docker and Podman read the top level, runc and crun \
         read `linux.seccomp`"
            .to_owned();
    true
}

/// Reports the annotation with a program that crun installs instead of the profile. `None` only after an error was
/// reported.
fn bpf_data(reader: &mut Reader<'_>, document: &Node<'_>, dialect: Option<Dialect>) -> Option<()> {
    let annotations = reader.member(document, "annotations");
    if reader.failed() {
        return None;
    }
    let annotations = annotations.map_or(&[][..], |member| member.value.members());
    let Some(data) = annotations.iter().find(|member| *member.key == *BPF_DATA) else {
        return Some(());
    };
    let message =
        format!("crun ignores `linux.seccomp` and installs the BPF program in `{BPF_DATA}`");
    let help = "remove the annotation, or decode the program from base64 and give that";
    if let None | Some(Dialect::Crun) = dialect {
        return reader.refuse(data.key_at, message, help.to_owned());
    }
    reader.warn(data.key_at, message).help = help.to_owned();
    Some(())
}

/// Warns about members outside the profile that look like parts of one.
fn warn_about_others(
    reader: &mut Reader<'_>,
    document: &Node<'_>,
    linux: Option<&Node<'_>>,
    located: &Located<'_>,
) {
    let profile = located.profile;
    let name = if located.is_resource { "`spec`" } else { "`linux.seccomp`" };
    let read = format!("the profile is read from {name} ({})", reader.place(profile.at));
    let mut nodes = vec![document];
    while let Some(node) = nodes.pop() {
        nodes.extend(node.items());
        let near =
            std::ptr::eq(node, document) || linux.is_some_and(|linux| std::ptr::eq(node, linux));
        let near = if near { &NEAR[..] } else { &[] };
        for member in node.members() {
            let is_about = |name: &&str| folds_to(&member.key, name);
            if std::ptr::eq(&member.value, profile) || member.value.kind == NodeKind::Null {
                continue;
            }
            if ANYWHERE.iter().any(is_about) || near.iter().any(is_about) {
                let message = format!("`{}` is ignored: {read}", escape_key(&member.key));
                reader.warn(member.key_at, message).help =
                    "remove it, or move it into the profile".to_owned();
            } else if !matches!(&*member.key, "annotations" | "labels") {
                nodes.push(&member.value);
            }
        }
    }
}
