//! Where in a document the profile is.
//!
//! A profile can be the whole document, the `linux.seccomp` of an OCI configuration or the `spec` of a
//! `SeccompProfile` resource. A text can be several of these at once, and then programs install
//! different filters:
//!
//! | dialect | a profile at the top level | `linux.seccomp` | `spec` |
//! |---|---|---|---|
//! | `docker`, `podman` | read | ignored | ignored |
//! | `runc`, `crun`, `oci` | read if it is alone | read before the others | read if it is alone |
//! | none given | read if it is alone | read if it is alone | read if it is alone |
//!
//! Everything else is refused, and what is ignored is a warning. runc and crun read nothing but
//! `linux.seccomp`; a profile that stands alone is read as they would read it there. `docs/json.md` says what was
//! measured.

use super::Dialect;
use crate::syntax::keys::folds_to;
use crate::syntax::reader::{Reader, spelled};
use crate::syntax::tree::{Kind, Member, Node, shorten};

/// A profile in a document.
pub(super) struct Located<'n> {
    pub(super) profile: &'n Node,
    /// It is the `spec` of a `SeccompProfile` resource.
    pub(super) is_resource: bool,
}

/// Without both of these keys there is no filter for Docker and Podman.
const MARKS: [&str; 2] = ["defaultAction", "syscalls"];

/// Keys that are about seccomp wherever they stand.
const ANYWHERE: [&str; 3] = ["seccomp", "defaultAction", "syscalls"];

/// Further ones that are at the top level and in `linux`, where no specification has them.
#[rustfmt::skip]
const NEAR: [&str; 8] = [
    "defaultErrnoRet", "defaultErrno", "architectures", "archMap", "flags", "listenerPath",
    "listenerMetadata", "spec",
];

/// The annotation that makes crun install a program instead of the profile.
const BPF_DATA: &str = "run.oci.seccomp_bpf_data";

/// The profiles in a document, each with the byte offset of the key that shows it.
struct Found<'n> {
    /// A profile at the top level.
    top: Option<usize>,
    /// An OCI configuration, which may have no profile.
    configuration: Option<usize>,
    linux: Option<&'n Node>,
    /// `linux.seccomp`.
    section: Option<&'n Node>,
    /// A `SeccompProfile` resource, which may have no profile.
    resource: Option<usize>,
    spec: Option<&'n Node>,
}

/// Finds the profile. `None` only after an error was reported.
pub(super) fn locate<'n>(
    reader: &mut Reader<'_>,
    document: &'n Node,
    dialect: Option<Dialect>,
) -> Option<Located<'n>> {
    if !matches!(document.kind, Kind::Map(_)) {
        let message = format!("a profile must be an object, but this is {}", document.describe());
        reader.error(document.at, message).help =
            "give a seccomp profile, an OCI config.json or a SeccompProfile resource".to_owned();
        return None;
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
            let message =
                "this OCI configuration has no `linux.seccomp`: the container has no filter";
            reader.error(document.at, message).help =
                "add `linux.seccomp`, or give a profile".to_owned();
            return None;
        };
        Located { profile, is_resource: false }
    } else if found.resource.is_some() {
        let Some(profile) = found.spec else {
            reader.error(document.at, "this SeccompProfile resource has no `spec`").help =
                "put the profile into `spec`".to_owned();
            return None;
        };
        Located { profile, is_resource: true }
    } else {
        return Some(whole);
    };
    warn_about_others(reader, document, found.linux, &located);
    Some(located)
}

/// Looks for all of them. `None` after an error.
fn find<'n>(
    reader: &mut Reader<'_>,
    document: &'n Node,
    top_level_only: bool,
) -> Option<Found<'n>> {
    let is_mark = |member: &Member| MARKS.iter().any(|mark| folds_to(&member.key, mark));
    let given = |member: &&Member| is_mark(member) && member.value.kind != Kind::Null;
    let top = document.members().iter().find(given).map(|member| member.key_at);
    // If only the top level is read, mistakes in other keys are not errors.
    let mut member = |node: &'n Node, name| match top_level_only {
        true => node.members().iter().find(|member| folds_to(&member.key, name)),
        false => reader.member(node, name),
    };
    let linux = member(document, "linux");
    let section = linux.and_then(|linux| member(&linux.value, "seccomp"));
    let version = member(document, "ociVersion");
    let configuration = section.or(linux).or(version);
    // Kubernetes compares keys byte for byte, also if the runtime below does not.
    let exact = |name: &str| {
        let mut members = document.members().iter().filter(|member| *member.key == *name);
        members.find(|member| member.value.kind != Kind::Null)
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
    if let Some(kind) = kind
        && (resource, top) == (None, None)
        && configuration.is_none()
    {
        let given = kind.value.text().map(|text| format!("\"{}\"", shorten(text)));
        let given = given.unwrap_or_else(|| kind.value.describe());
        let message = format!("`kind` is {given}, but must be \"SeccompProfile\"");
        reader.error(kind.value.at, message).help =
            "give the SeccompProfile resource, or a profile in a file of its own".to_owned();
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

/// Whether Docker or Podman find a profile, or none at all: one that they do not see is an error.
fn is_top_level(reader: &mut Reader<'_>, found: &Found<'_>, dialect: Dialect) -> bool {
    let Some(at) = found.configuration.or(found.resource).filter(|_| found.top.is_none()) else {
        return true;
    };
    let message = format!(
        "{dialect} reads a profile at the top level, and there is none: the container would have no \
         filter"
    );
    reader.error(at, message).help =
        "put the profile into a file of its own, or read this one in the \
         dialect of what reads it, such as runc or crun"
            .to_owned();
    false
}

/// Whether there are several profiles to read, which is an error.
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
    let message =
        format!("this document can be read in more than one way: as {}", ways.join(" or as "));
    reader.error(at, message).help =
        "keep one of them; Docker and Podman read the top level, runc and \
         crun `linux.seccomp`, and naming one of these dialects decides"
            .to_owned();
    true
}

/// Reports an annotation because of which crun installs a BPF program instead of the profile. `None` after an
/// error.
fn bpf_data(reader: &mut Reader<'_>, document: &Node, dialect: Option<Dialect>) -> Option<()> {
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
    let help = "remove the annotation, or decode its base64 and give the program";
    if let None | Some(Dialect::Crun) = dialect {
        reader.error(data.key_at, message).help = help.to_owned();
        return None;
    }
    reader.warn(data.key_at, message).help = help.to_owned();
    Some(())
}

/// Warns about what is outside of the profile, but looks like a part of one.
fn warn_about_others(
    reader: &mut Reader<'_>,
    document: &Node,
    linux: Option<&Node>,
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
            if std::ptr::eq(&member.value, profile) || member.value.kind == Kind::Null {
                continue;
            }
            if ANYWHERE.iter().any(is_about) || near.iter().any(is_about) {
                let message = format!("`{}` is ignored: {read}", spelled(&member.key));
                reader.warn(member.key_at, message).help =
                    "remove it, or move it to where it is read".to_owned();
            } else if !matches!(&*member.key, "annotations" | "labels") {
                nodes.push(&member.value);
            }
        }
    }
}
