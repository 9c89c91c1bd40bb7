//! Container profiles in the [registry](crate::languages): a name for each runtime.

use super::detect::{is_json, is_yaml};
use super::dialect::Dialect;
use super::options::ReadOptions;
use super::read::read_with_bases;
use super::write_resource::is_resource_name;
use super::{convert, convert_resource, edit, write_annotated};
use crate::annotated::AnnotatedWriter;
use crate::capabilities::CapSet;
use crate::files::FileErrors;
use crate::languages::start::is_text;
use crate::languages::{
    Editor, EnosysRule, Files, Input, Language, LanguageId, Likeness, Name, Naming, Parts,
    ReadSource, Reading, ReadingOption, Writer,
};

/// The language.
pub const LANGUAGE: Language = Language {
    what: "a profile",
    names: &[
        Name::written("oci", &OCI),
        Name::written("docker", &FOR_DOCKER),
        Name::written("podman", &PODMAN),
        Name::read("runc"),
        Name::read("crun"),
        Name { name: "k8s", alias: Some("kubernetes"), is_read: false, writer: Some(&KUBERNETES) },
    ],
    forms: &[
        (
            "profile.json",
            "a Docker, OCI or Podman profile; the formats oci, docker, podman, runc and crun select the dialect",
        ),
        (
            "profile.yaml",
            "the same in YAML, or a Kubernetes SeccompProfile; one of several in a file: profile.yaml#NAME",
        ),
    ],
    utf8_help: None,
    page: "container-default",
    likeness,
    read,
    options: &[ReadingOption::Kernel, ReadingOption::Caps, ReadingOption::EnosysAbove],
    parts: Parts::Some,
    for_builds: true,
    editor: Some(Editor::of(edit::edits)),
};

/// Container profiles as Docker reads them.
pub const DOCKER: LanguageId = LanguageId::of_name(&LANGUAGE, 1);

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
};

const FOR_DOCKER: Writer = Writer {
    annotated: None,
    dialect: Some(Dialect::Docker),
    enosys_rule: EnosysRule::Always,
    ..OCI
};

const PODMAN: Writer = Writer { annotated: None, dialect: Some(Dialect::Podman), ..OCI };

const KUBERNETES: Writer = Writer {
    annotated: Some(AnnotatedWriter {
        write: write_annotated::write_resource,
        default_errno: Some(1),
        is_read_back: false,
        also: &["kubernetes"],
        help: "A SeccompProfile resource for the Security Profiles Operator; also kubernetes",
        ..ANNOTATED
    }),
    dialect: Some(Dialect::Oci),
    enosys_rule: EnosysRule::Perhaps,
    naming: Some(NAMING),
    ..Writer::of("profile.yaml", convert_resource::write)
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
        _ if is_json(text) => Likeness::Rest,
        _ if is_text(text) && is_yaml(text) => Likeness::Text,
        _ => Likeness::None,
    }
}

fn read(
    input: &Input<'_>,
    reading: &Reading,
    files: &mut dyn Files,
) -> Result<ReadSource, FileErrors> {
    let options = ReadOptions {
        dialect: input.name.and_then(Dialect::from_name),
        resource: input.part.map(str::to_owned),
        choosing: reading.choosing,
        identity: input.identity.map(str::to_owned),
        statements: reading.statements,
        arches: reading.arches.clone(),
        native: reading.host(),
        caps: reading.caps.unwrap_or_else(CapSet::docker),
        kernel: reading.kernel()?,
        enosys_above: reading.enosys_above,
        strict: reading.strict,
    };
    let mut bases = |name: &str, from: Option<&str>| files.base(name, from);
    Ok(ReadSource::of(read_with_bases(input.text(), &options, &mut bases)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dockers_name_is_dockers() {
        assert_eq!(DOCKER.name(), "docker");
    }
}
