//! gVisor's rules in the [registry](crate::languages).

use super::read::{ReadOptions, read as read_text};
use crate::languages::{
    Files, Input, Language, Likeness, Name, Parts, ReadResult, ReadSource, Reading, ReadingOption,
};

/// The language.
pub const LANGUAGE: Language = Language {
    names: &[Name::read("gvisor")],
    forms: &[(
        "rules.go",
        "gVisor rules in Go (seccomp.PerArg{…}); one of several lists in a file: rules.go#NAME",
    )],
    likeness,
    parts: Parts::Some,
    editor: None,
    options: &[ReadingOption::Definitions],
    for_builds: false,
    ..Language::of("a gVisor rule list", "gvisor", read)
};

fn likeness(extension: Option<&str>, text: &[u8]) -> Likeness {
    let has = |word: &[u8]| text.windows(word.len()).any(|part| part == word);
    let is_list = has(b"SyscallRule")
        && [
            &b"PerArg{"[..],
            b"MatchAll{",
            b"MakeSyscallRules(",
            b"NewSyscallRules(",
            b"SyscallRules{",
        ]
        .iter()
        .any(|word| has(word));
    match extension {
        _ if !is_list => Likeness::None,
        Some("go") => Likeness::Extension,
        None => Likeness::Text,
        Some(_) => Likeness::None,
    }
}

fn read(input: &Input<'_>, reading: &Reading, _: &mut dyn Files) -> ReadResult {
    let options = ReadOptions {
        arch: reading.only_arch(LANGUAGE.what)?,
        name: input.part.map(str::to_owned),
        choosing: reading.choosing,
        statements: reading.statements,
        definitions: reading.definitions.clone(),
    };
    Ok(ReadSource::of(read_text(input.text(), &options)?))
}
