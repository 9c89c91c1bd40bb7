//! Reader of container profiles: from the text to a [`Profile`].

use super::dialect::Dialect;
use super::options::ReadOptions;
use super::{locate, lower, parse};
use crate::profile::Profile;
use crate::syntax::json;
use crate::syntax::keys::KeyMatching;
use crate::syntax::reader::Reader;
use crate::syntax::tree::Node;
#[cfg(feature = "yaml")]
use crate::syntax::yaml;
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics, Severity};

/// Reads a profile in JSON or, with the feature `yaml`, in YAML.
///
/// ```
/// use callgate_formats::oci::{self, ReadOptions};
/// use callgate_bpf::syscalls::KernelVersion;
/// use callgate_bpf::{Arch, SeccompData, Verdict};
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
    let document = if is_json(text) { json::parse(text)? } else { parse_yaml(text)? };
    read_tree(text, &document, options)
}

#[cfg(feature = "yaml")]
fn parse_yaml(text: &str) -> Result<Node, Diagnostic> {
    yaml::parse(text)
}

#[cfg(not(feature = "yaml"))]
fn parse_yaml(_: &str) -> Result<Node, Diagnostic> {
    Err(Diagnostic::error(None, "the text is not JSON, and YAML support is not compiled in")
        .help("give the profile in JSON, or enable the feature `yaml` of callgate"))
}

/// Whether to read a text as JSON. For a text without content, and for one that starts with a JavaScript comment,
/// the JSON parser gives the better message.
fn is_json(text: &str) -> bool {
    let content = text.trim_start_matches('\u{feff}').trim_start();
    content.is_empty() || content.starts_with(['{', '[', '/'])
}

fn read_tree(text: &str, document: &Node, options: &ReadOptions) -> Result<Profile, Diagnostics> {
    let keys = match options.dialect {
        None | Some(Dialect::Oci) => KeyMatching::Unambiguous,
        Some(Dialect::Crun) => KeyMatching::Exact,
        Some(Dialect::Docker | Dialect::Podman | Dialect::Runc) => KeyMatching::CaseFolded,
    };
    let mut reader = Reader::new(text, keys);
    let located = locate::locate(&mut reader, document, options.dialect);
    let detected = || located.as_ref().map_or(Dialect::Runc, |found| detect(found.profile));
    let dialect = options.dialect.unwrap_or_else(detected);
    let lowered = located.and_then(|found| {
        if found.is_resource {
            // Kubernetes' decoder, which compares bytes, drops unknown keys before any runtime reads the resource.
            reader.match_keys(KeyMatching::Unambiguous);
        }
        let native = options.main_arch();
        let model = parse::profile(&mut reader, found.profile, dialect, native, found.is_resource)?;
        lower::lower(&mut reader, &model, dialect, options)
    });
    let failed = reader.failed();
    let messages = reader.finish();
    match lowered {
        Some(lowered) if !failed => Ok(Profile {
            policy: lowered.policy,
            dialect: Some(dialect),
            flags: lowered.flags,
            listener: lowered.listener,
            warnings: messages,
        }),
        _ => {
            debug_assert!(messages.iter().any(|message| message.severity == Severity::Error));
            Err(messages.into())
        }
    }
}

/// The dialect, from the keys that only one of the formats has.
fn detect(profile: &Node) -> Dialect {
    let has = |node: &Node, keys: &[&str]| {
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
