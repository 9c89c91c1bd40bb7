//! nsjail in the [registry](crate::languages).

use super::detect::{has_policy, is_config};
use super::read::read as read_text;
use crate::files::FileErrors;
use crate::kafel::ReadOptions;
use crate::languages::{
    Files, Input, Language, Likeness, Name, Parts, ReadSource, Reading, ReadingOption,
};

/// The language.
pub const LANGUAGE: Language = Language {
    what: "a configuration of nsjail",
    names: &[Name::read("nsjail")],
    forms: &[("jail.cfg", "a configuration of nsjail with seccomp_string or seccomp_policy_file")],
    utf8_help: None,
    page: "nsjail",
    likeness,
    read,
    options: &[ReadingOption::Variables],
    parts: Parts::None,
    for_builds: true,
    editor: None,
};

fn likeness(extension: Option<&str>, text: &[u8]) -> Likeness {
    match extension {
        Some("cfg") if is_config(text) => Likeness::Extension,
        _ if has_policy(text) => Likeness::Text,
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
    Ok(ReadSource::of(read_text(input.text(), &options, &mut include)?))
}
