//! Firecracker in the [registry](crate::languages).

use super::detect::is_document;
use super::options::ReadOptions;
use super::read::read as read_texts;
use super::{edit, write};
use crate::files::FileErrors;
use crate::languages::{
    Editor, Files, Input, Language, Likeness, Name, Naming, Parts, ReadSource, Reading, Writer,
};

/// The language.
pub const LANGUAGE: Language = Language {
    what: "a filter of Firecracker",
    names: &[Name::written("firecracker", &WRITER)],
    forms: &[(
        "firecracker:FILE#vmm",
        "the filter of a thread in a document of Firecracker or seccompiler; for the only one of a .json, write its name",
    )],
    utf8_help: Some("the filters of Firecracker are JSON"),
    page: "firecracker",
    likeness,
    read,
    options: &[],
    parts: Parts::Always,
    for_builds: true,
    editor: Some(Editor::of(edit::edits)),
};

const WRITER: Writer = Writer { naming: Some(NAMING), ..Writer::of("profile.json", write::write) };

const NAMING: Naming = Naming { what: "thread", is_valid: |_| true, rules: "", is_of_file: false };

fn likeness(extension: Option<&str>, text: &[u8]) -> Likeness {
    match extension {
        _ if !is_document(text) => Likeness::None,
        Some("json") => Likeness::Extension,
        _ => Likeness::Text,
    }
}

fn read(input: &Input<'_>, reading: &Reading, _: &mut dyn Files) -> Result<ReadSource, FileErrors> {
    let options = ReadOptions {
        thread: input.part.map(str::to_owned),
        choosing: reading.choosing,
        statements: reading.statements,
        ..ReadOptions::new(reading.only_arch(LANGUAGE.what)?)
    };
    Ok(ReadSource::of(read_texts(input.text(), &options)?))
}
