//! Kafel in the [registry](crate::languages).

use super::detect::is_policy;
use super::options::ReadOptions;
use super::read::read_with_includes;
use super::{edit, write, write_annotated};
use crate::annotated::AnnotatedWriter;
use crate::files::FileErrors;
use crate::languages::{
    Editor, Files, Input, Language, Likeness, Name, Parts, ReadSource, Reading, ReadingOption,
    Writer,
};

/// The language.
pub const LANGUAGE: Language = Language {
    what: "a Kafel policy",
    names: &[Name::written("kafel", &WRITER)],
    forms: &[(
        "nsjail.policy",
        "a policy in Kafel's language, also .kafel; for other file names, write kafel:NAME",
    )],
    utf8_help: None,
    page: "kafel",
    likeness,
    read,
    options: &[ReadingOption::Variables],
    parts: Parts::None,
    for_builds: true,
    editor: Some(Editor::of(edit::edits)),
};

const WRITER: Writer = Writer {
    for_arches: true,
    annotated: Some(ANNOTATED),
    ..Writer::of("filter.policy", |fit, _| write::write(fit))
};

const ANNOTATED: AnnotatedWriter = AnnotatedWriter {
    write: write_annotated::write,
    has_numbers: true,
    is_unit: false,
    for_one_arch: true,
    is_by_libseccomp: false,
    default_errno: None,
    is_read_back: false,
    runtime: "nsjail",
    also: &[],
    help: "A Kafel policy for nsjail",
};

fn likeness(extension: Option<&str>, text: &[u8]) -> Likeness {
    match extension {
        Some("kafel") => Likeness::Extension,
        Some("policy") => Likeness::RestOfExtension,
        _ if is_policy(text) => Likeness::Text,
        _ => Likeness::None,
    }
}

fn read(
    input: &Input<'_>,
    reading: &Reading,
    files: &mut dyn Files,
) -> Result<ReadSource, FileErrors> {
    let options = ReadOptions {
        identity: input.identity.map(str::to_owned),
        statements: reading.statements,
        ..ReadOptions::for_arches(reading.each_arch())
    };
    let mut include = |name: &str, from: Option<&str>| files.include(name, from);
    Ok(ReadSource::of(read_with_includes(input.text(), &options, &mut include)?))
}
