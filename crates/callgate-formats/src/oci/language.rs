//! Container profiles in the [registry](crate::languages): a name for each runtime.

use std::cell::RefCell;

use super::command;
use super::options::{Dialect, ReadOptions};
use super::read::read_with_files;
use super::write::is_resource_name;
use super::{convert, edit, write_annotated};
use crate::annotated::AnnotatedWriter;
use callgate_codegen::Count;

use crate::capabilities::CapSet;
use crate::files::FileErrors;
use crate::languages::{
    Editor, EnosysRule, Files, Input, Language, LanguageId, Likeness, Name, Naming, Parts,
    ReadResult, ReadSource, Reading, ReadingOption, Writer,
};
use crate::languages::{is_text, of_first, weights_of};

/// The language.
pub const LANGUAGE: Language = Language {
    names: &[
        Name::written("oci", &OCI),
        Name::written("docker", &FOR_DOCKER),
        Name::written("podman", &FOR_PODMAN),
        Name::read("runc"),
        Name::read("crun"),
        Name { alias: Some("kubernetes"), is_read: false, ..Name::written("k8s", &KUBERNETES) },
    ],
    forms: &[
        (
            "profile.json",
            "a Docker, OCI or Podman profile; the formats oci, docker, podman, runc and crun select the dialect",
        ),
        (
            "profile.yaml",
            "the same in YAML, or a Kubernetes SeccompProfile or ConfigMap; one of several in a file: profile.yaml#NAME",
        ),
        (
            "inspect.json",
            "the profile of a container, as docker, podman and crictl inspect print it; one of several: inspect.json#NAME",
        ),
        (
            "pod.yaml",
            "the profile that a pod, a Deployment, a Compose file or a `docker run` command names; one of several: pod.yaml#CONTAINER",
        ),
    ],
    likeness,
    options: &[ReadingOption::Kernel, ReadingOption::Caps, ReadingOption::EnosysAbove],
    parts: Parts::Some,
    editor: Some(Editor { compares_bits: true, ..Editor::of(edit::edits) }),
    ..Language::of("a profile", "docker", read)
};

/// Container profiles as Docker reads them.
pub const DOCKER: LanguageId = LanguageId::of_name(&LANGUAGE, 1);

/// Container profiles as Podman reads them.
pub const PODMAN: LanguageId = LanguageId::of_name(&LANGUAGE, 2);

const OCI: Writer = Writer {
    annotated: Some(ANNOTATED),
    dialect: Some(Dialect::Oci),
    enosys_rule: EnosysRule::OnlyRunc,
    ..Writer::of("profile.json", convert::write)
};

const ANNOTATED: AnnotatedWriter = AnnotatedWriter {
    write: write_annotated::write,
    has_numbers: false,
    is_unit: false,
    for_one_arch: false,
    is_by_libseccomp: true,
    default_errno: None,
    is_read_back: true,
    runtime: "oci",
    also: &["docker", "podman"],
    help: "JSON for Docker, Podman, runc and other OCI runtimes; also docker and podman",
    usage: "docker run --security-opt seccomp=FILE IMAGE\n\
            podman run --security-opt seccomp=FILE IMAGE",
};

const FOR_DOCKER: Writer = Writer {
    annotated: None,
    dialect: Some(Dialect::Docker),
    enosys_rule: EnosysRule::Always,
    ..OCI
};

const FOR_PODMAN: Writer = Writer { annotated: None, dialect: Some(Dialect::Podman), ..OCI };

const KUBERNETES: Writer = Writer {
    annotated: Some(AnnotatedWriter {
        write: write_annotated::write_resource,
        default_errno: Some(1),
        is_read_back: false,
        also: &["kubernetes"],
        help: "A SeccompProfile resource for the Security Profiles Operator; also kubernetes",
        usage: "kubectl apply -f FILE\n\
                # needs the Security Profiles Operator; without it, each node\n\
                # needs an OCI profile as a file below /var/lib/kubelet/seccomp",
        ..ANNOTATED
    }),
    dialect: Some(Dialect::Oci),
    enosys_rule: EnosysRule::Perhaps,
    naming: Some(NAMING),
    ..Writer::of("profile.yaml", convert::resource)
};

const NAMING: Naming = Naming {
    what: "resource",
    is_valid: is_resource_name,
    rules: "names have up to 253 lower-case letters, digits, - and ., and begin and end with a letter or digit",
    is_of_file: true,
};

fn likeness(extension: Option<&str>, text: &[u8]) -> Likeness {
    match extension {
        Some("json" | "yaml" | "yml") => Likeness::RestOfExtension,
        // A unit of Podman looks like one of systemd.
        None | Some("container") if is_quadlet(text) => Likeness::Certain,
        None | Some("sh" | "bash" | "zsh" | "mk") if is_command(extension, text) => Likeness::Text,
        _ if is_json(text) => Likeness::Rest,
        _ if is_text(text) && (is_yaml(text) || is_string(text)) => Likeness::Text,
        _ => Likeness::None,
    }
}

fn read(input: &Input<'_>, reading: &Reading, files: &mut dyn Files) -> ReadResult {
    let options = ReadOptions {
        dialect: input.name.and_then(Dialect::from_name),
        resource: input.part.map(str::to_owned),
        choosing: reading.choosing,
        identity: input.identity.map(str::to_owned),
        statements: reading.statements,
        arches: reading.arches.clone(),
        native: reading.host(),
        caps: reading.caps.unwrap_or_else(CapSet::docker),
        assumes_caps: reading.caps.is_none(),
        kernel: reading.kernel()?,
        enosys_above: reading.enosys_above,
        libseccomp: reading.libseccomp,
        strict: reading.strict,
    };
    let files = RefCell::new(files);
    let mut bases = |name: &str, from: Option<&str>| files.borrow_mut().base(name, from);
    let mut find = |name: &str| files.borrow_mut().include_if_present(name, None);
    let text = input.text();
    let named = match options.dialect {
        None if command::is_quadlet(text) || !is_document(text) => command::containers(text),
        _ => Vec::new(),
    };
    let profile = read_with_files(text, &options, &named, (&mut bases, &mut find))?;
    let priorities = profile.priorities.iter();
    let counts = priorities.map(|(name, priority)| Count::of_priority(None, name, *priority));
    let weights = weights_of(counts).map_err(|error| FileErrors::from(of_first([error])))?;
    Ok(ReadSource::of(profile).with_weights(weights))
}

/// Whether a text is JSON, or empty: the reader of profiles has the best message. A row of `tcpdump -dd` also begins with a
/// brace, followed by a number.
pub(super) fn is_json(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    match text.strip_prefix(b"{") {
        Some(inside) => !inside.trim_ascii_start().first().is_some_and(u8::is_ascii_alphanumeric),
        None => text.is_empty() || text.starts_with(b"["),
    }
}

/// Whether a text is a string of JSON with a profile, or the option of a container with one.
fn is_string(text: &[u8]) -> bool {
    let inside = text.trim_ascii_start().strip_prefix(b"\"");
    let starts = [&b"{"[..], b"seccomp=", b"seccomp:"];
    inside.is_some_and(|inside| starts.iter().any(|start| inside.starts_with(start)))
}

/// Whether a text is in JSON, or YAML with a known key.
fn is_document(text: &str) -> bool {
    is_json(text.as_bytes()) || is_yaml(text.as_bytes())
}

fn is_quadlet(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(command::is_quadlet)
}

fn is_command(extension: Option<&str>, text: &[u8]) -> bool {
    let is_script = |text| extension.is_some() || command::begins(text);
    let is_it = |text| is_script(text) && !command::containers(text).is_empty();
    !is_json(text) && std::str::from_utf8(text).is_ok_and(is_it)
}

/// Whether the first significant line begins a profile in YAML. A word and a colon may also be an assembler label,
/// so the word must be a key with which such files begin.
fn is_yaml(text: &[u8]) -> bool {
    const KEYS: &[&[u8]] = &[
        b"apiVersion",
        b"kind",
        b"services",
        b"version",
        b"metadata",
        b"spec",
        b"data",
        b"items",
        b"securityContext",
        b"seccompProfile",
        b"ociVersion",
        b"defaultAction",
        b"defaultErrnoRet",
        b"architectures",
        b"archMap",
        b"syscalls",
    ];
    let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let Some(line) = lines.find(|line| !line.is_empty() && !line.starts_with(b"#")) else {
        return false;
    };
    if line.starts_with(b"---") || line.starts_with(b"%YAML") {
        return true;
    }
    let mut parts = line.splitn(2, |byte| *byte == b':');
    let (Some(key), Some(value)) = (parts.next(), parts.next()) else {
        return false;
    };
    let quoted = |mark| key.strip_prefix(mark).and_then(|key| key.strip_suffix(mark));
    let key = quoted(b"\"").or(quoted(b"'")).unwrap_or(key);
    KEYS.contains(&key) && value.first().is_none_or(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dockers_name_is_dockers() {
        assert_eq!((DOCKER.name(), PODMAN.name()), ("docker", "podman"));
    }
}
