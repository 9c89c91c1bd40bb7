//! Pseudo filter code in the [registry](crate::languages).

use super::lines::{begins, is_start};
use super::read::{ReadOptions, read as read_text};
use crate::languages::{Files, Input, Language, Likeness, Name, ReadResult, ReadSource, Reading};

/// The language.
pub const LANGUAGE: Language = Language {
    names: &[Name::read("pfc")],
    forms: &[(
        "filter.pfc",
        "libseccomp's pseudo filter code, as seccomp_export_pfc writes it; also in the output of a program",
    )],
    likeness,
    editor: None,
    ..Language::of("libseccomp's pseudo filter code", "pfc", read)
};

fn likeness(extension: Option<&str>, text: &[u8]) -> Likeness {
    let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut first = lines.clone().filter(|line| !line.is_empty() && *line != b"#");
    match extension {
        _ if first.next().is_some_and(is_start) => Likeness::Certain,
        Some("pfc") => Likeness::Extension,
        _ if lines.any(|line| is_start(line) || begins(line)) => Likeness::Text,
        _ => Likeness::None,
    }
}

fn read(input: &Input<'_>, reading: &Reading, _: &mut dyn Files) -> ReadResult {
    let options = ReadOptions { statements: reading.statements };
    Ok(ReadSource::of(read_text(input.text(), &options)?))
}
