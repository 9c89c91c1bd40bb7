//! LXC in the [registry](crate::languages).

use super::detect::is_lxc_profile;
use super::options::ReadOptions;
use super::read::read as read_texts;
use super::{edit, write};
use crate::files::FileErrors;
use crate::languages::{
    Editor, Files, Input, Language, Likeness, Name, Parts, ReadSource, Reading, Writer,
};

/// The language.
pub const LANGUAGE: Language = Language {
    what: "a profile of LXC",
    names: &[Name::written("lxc", &WRITER)],
    forms: &[("lxc:FILE", "a seccomp profile of LXC; `lxc:` may be omitted")],
    utf8_help: None,
    page: "lxc",
    likeness,
    read,
    options: &[],
    parts: Parts::None,
    for_builds: true,
    editor: Some(Editor::of(edit::edits)),
};

const WRITER: Writer = Writer::of("seccomp.profile", |fit, _| write::write(fit));

fn likeness(_: Option<&str>, text: &[u8]) -> Likeness {
    match is_lxc_profile(text) {
        true => Likeness::Text,
        false => Likeness::None,
    }
}

fn read(input: &Input<'_>, reading: &Reading, _: &mut dyn Files) -> Result<ReadSource, FileErrors> {
    let Reading { strict, statements, .. } = *reading;
    let options = ReadOptions { native: reading.host(), strict, statements };
    Ok(ReadSource::of(read_texts(input.text(), &options)?))
}
