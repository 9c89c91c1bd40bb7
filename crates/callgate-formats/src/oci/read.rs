//! Reader of container profiles: from the text to a [`Profile`].

use std::borrow::Cow;

use super::bases::read_bases;
use super::compose::without_comments;
use super::container::dialect as dialect_of;
use super::entry::ProfileReader;
use super::locate;
use super::lower::Lowering;
use super::named::{FindFile, Named};
use super::options::{Dialect, ReadOptions};
use super::select::{self, Chosen};
use crate::capabilities::CapSet;
use crate::included::Includes;
use crate::profile::Profile;
use crate::syntax::documents::parse_documents;
use crate::syntax::reader::{KeyMatching, Reader};
use crate::syntax::tree::Node;
use callgate_bpf::diagnostic::Diagnostics;

/// Reads a profile in JSON or, with the feature `yaml`, in YAML.
///
/// ```
/// use callgate_formats::oci::{self, ReadOptions};
/// use callgate_bpf::syscalls::KernelVersion;
/// use callgate_core::{Arch, SeccompData, Verdict};
/// let text = r#"{"defaultAction": "SCMP_ACT_ERRNO",
///                "syscalls": [{"names": ["getpid"], "action": "SCMP_ACT_ALLOW"}]}"#;
/// let options = ReadOptions::new(Arch::X86_64, KernelVersion { major: 6, minor: 18 });
/// let profile = oci::read(text, &options)?;
/// let getpid = SeccompData { nr: 39, arch: Arch::X86_64.token(), ..SeccompData::default() };
/// assert_eq!(profile.policy.evaluate(&getpid), Verdict::ALLOW);
/// # Ok::<(), callgate_bpf::diagnostic::Diagnostics>(())
/// ```
///
/// # Errors
/// All messages about the text, including warnings, if at least one is an error.
pub fn read(text: &str, options: &ReadOptions) -> Result<Profile, Diagnostics> {
    let no_bases = |_: &str, _: Option<&str>| Err("it is not in this document".to_owned());
    read_with_bases(text, options, &mut { no_bases })
}

/// Reads a profile with its base profiles: `bases` returns the file with the `SeccompProfile` resource that a
/// `baseProfileName` names, given this name and the name of the file with the key (`None` for the profile itself).
///
/// ```
/// use callgate_bpf::syscalls::KernelVersion;
/// use callgate_core::{Arch, SeccompData, Verdict};
/// use callgate_formats::oci::{self, Included, ReadOptions};
/// let app = r#"{"kind": "SeccompProfile", "spec": {
///     "defaultAction": "SCMP_ACT_ERRNO", "baseProfileName": "base",
///     "syscalls": [{"names": ["ptrace"], "action": "SCMP_ACT_LOG"}]}}"#;
/// let base = r#"{"kind": "SeccompProfile", "metadata": {"name": "base"}, "spec": {
///     "defaultAction": "SCMP_ACT_KILL",
///     "syscalls": [{"names": ["getpid"], "action": "SCMP_ACT_ALLOW"}]}}"#;
/// let mut bases = |name: &str, _: Option<&str>| match name {
///     "base" => {
///         let (name, identity) = ("base.json".to_owned(), "base".to_owned());
///         Ok(Included { name, identity, text: base.to_owned(), is_private: false })
///     }
///     _ => Err("there is no such file".to_owned()),
/// };
/// let options = ReadOptions::new(Arch::X86_64, KernelVersion { major: 6, minor: 18 });
/// let profile = oci::read_with_bases(app, &options, &mut bases)?;
/// let getpid = SeccompData { nr: 39, arch: Arch::X86_64.token(), ..SeccompData::default() };
/// assert_eq!(profile.policy.evaluate(&getpid), Verdict::ALLOW);
/// # Ok::<(), callgate_bpf::diagnostic::Diagnostics>(())
/// ```
///
/// # Errors
/// All messages about the texts, including warnings, if at least one is an error. A message about a base profile has
/// the position of the `baseProfileName` that leads to it, and begins with the place in the base profile.
pub fn read_with_bases(
    text: &str,
    options: &ReadOptions,
    bases: &mut Includes<'_>,
) -> Result<Profile, Diagnostics> {
    read_with_files(text, options, &[], (bases, &mut |_: &str| Ok(None)))
}

/// Reads a profile with its base profiles, or one whose file the text names; `named` are the containers of a text that is not a document.
pub(super) fn read_with_files(
    text: &str,
    options: &ReadOptions,
    named: &[Named],
    (bases, find): (&mut Includes<'_>, &mut FindFile<'_>),
) -> Result<Profile, Diagnostics> {
    if !named.is_empty() {
        let mut reader = Reader::new(text, keys_of(None));
        let chosen = select::choose_container(&mut reader, named, options, find);
        return read_chosen(reader, chosen, &[], options, bases);
    }
    let cleaned = without_comments(text).filter(|_| options.dialect.is_none());
    let text = cleaned.as_deref().unwrap_or(text);
    let documents = parse_documents(text)?;
    let mut reader = Reader::new(text, keys_of(options.dialect));
    let chosen = select::choose(&mut reader, &documents, options, find);
    read_chosen(reader, chosen, &documents, options, bases)
}

fn read_chosen(
    mut reader: Reader<'_>,
    chosen: Option<Chosen<'_>>,
    documents: &[Node<'_>],
    options: &ReadOptions,
    find: &mut Includes<'_>,
) -> Result<Profile, Diagnostics> {
    let Some(chosen) = chosen else { return Err(reader.finish().into()) };
    let mut options = Cow::Borrowed(options);
    let mut own = |reader: &mut Reader<'_>, caps: CapSet, dialect: Dialect| {
        let own = options.to_mut();
        if own.assumes_caps {
            own.caps = caps;
        }
        own.dialect = own.dialect.or(Some(dialect));
        reader.match_keys(keys_of(own.dialect));
    };
    let document = match chosen {
        Chosen::Document(document) => document,
        Chosen::OfContainer(container, profile) => {
            own(&mut reader, container.caps(), dialect_of(container.engine()));
            profile
        }
        Chosen::Named(named, Some(profile)) => {
            own(&mut reader, named.caps, named.file_dialect());
            Cow::Owned(profile)
        }
        Chosen::Named(named, None) => {
            own(&mut reader, named.caps, dialect_of(named.engine));
            return default_of(&named, reader, &options);
        }
    };
    let options = &*options;
    let located = locate::locate(&mut reader, &document, options.dialect);
    let detected = || located.as_ref().map_or(Dialect::Runc, |found| detect(found.profile));
    let dialect = options.dialect.unwrap_or_else(detected);
    let mut bases = Vec::new();
    let lowered = located.and_then(|found| {
        if found.is_resource {
            // Kubernetes' decoder, which compares bytes, drops unknown keys before any runtime reads the resource.
            reader.match_keys(KeyMatching::Unambiguous);
            bases = read_bases(&mut reader, &document, documents, options, find)?;
        }
        let native = options.main_arch();
        let is_in_resource = found.is_resource;
        let mut parts = ProfileReader {
            reader: &mut reader,
            dialect,
            native,
            is_in_resource,
            about: Vec::new(),
        };
        let model = parts.profile(found.profile, &bases)?;
        Lowering { reader: &mut reader, model: &model, dialect, options }.lower()
    });
    let (profile, warnings) = reader.end(lowered)?;
    Ok(Profile { warnings, ..profile })
}

/// How the programs that read a dialect compare keys.
fn keys_of(dialect: Option<Dialect>) -> KeyMatching {
    match dialect {
        None | Some(Dialect::Oci) => KeyMatching::Unambiguous,
        Some(Dialect::Crun) => KeyMatching::Exact,
        Some(Dialect::Docker | Dialect::Podman | Dialect::Runc) => KeyMatching::CaseFolded,
    }
}

/// The default profile of the engine of a container, in the newest version, with a warning that says so.
fn default_of(
    container: &Named,
    mut reader: Reader<'_>,
    options: &ReadOptions,
) -> Result<Profile, Diagnostics> {
    let (name, text) = container.engine.newest_default()?;
    let dialect = Some(dialect_of(container.engine));
    let own = ReadOptions { dialect, resource: None, ..options.clone() };
    let profile = read(&text, &own)?;
    container.warn_default(&mut reader, &name, own.caps);
    let statements = profile.statements.map(|statements| statements.of_file(&name));
    // Rules without effect are in the engine's profile as well, and cannot be changed here.
    let others = profile.warnings.into_iter().filter(|warning| warning.position.is_none());
    let warnings = reader.finish().into_iter().chain(others).collect();
    Ok(Profile { warnings, statements, ..profile })
}

/// The dialect, from the keys that only one of the formats has.
fn detect(profile: &Node<'_>) -> Dialect {
    let has = |node: &Node<'_>, keys: &[&str]| {
        keys.iter().any(|key| node.members().iter().any(|member| *member.key == **key))
    };
    let entries = profile.get("syscalls").map_or(&[][..], Node::items);
    if has(profile, &["defaultErrno"]) || entries.iter().any(|entry| has(entry, &["errno"])) {
        return Dialect::Podman;
    }
    let docker = ["includes", "excludes", "name", "priority"];
    if has(profile, &["archMap"]) || entries.iter().any(|entry| has(entry, &docker)) {
        return Dialect::Docker;
    }
    Dialect::Runc
}
