//! Programs with libseccomp in the [registry](crate::languages): how they are recognized.

use super::read::{ReadOptions, read as read_text};
use crate::languages::{
    Files, Input, Language, Likeness, Name, Parts, ReadFilter, ReadResult, ReadSource, Reading,
    ReadingOption, is_text, of_first,
};

/// The language.
pub const LANGUAGE: Language = Language {
    names: &[Name::read("scmp")],
    forms: &[(
        "sandbox.c",
        "a C program that calls libseccomp; for one of several filters, write sandbox.c#FUNCTION",
    )],
    utf8_help: Some("write comments and strings in UTF-8"),
    likeness,
    options: &[ReadingOption::Definitions],
    parts: Parts::Some,
    for_builds: false,
    ..Language::of("a program that calls libseccomp", "libseccomp-c", read)
};

fn likeness(extension: Option<&str>, text: &[u8]) -> Likeness {
    const EXTENSIONS: [&str; 8] = ["c", "h", "cc", "cpp", "cxx", "hpp", "C", "inc"];
    match extension {
        _ if !is_text(text) || !is_program(text) => Likeness::None,
        Some(extension) if EXTENSIONS.contains(&extension) => Likeness::Extension,
        None => Likeness::Text,
        Some(_) => Likeness::None,
    }
}

fn read(input: &Input<'_>, reading: &Reading, _: &mut dyn Files) -> ReadResult {
    let options = ReadOptions {
        arch: reading.only_arch(LANGUAGE.what)?,
        function: input.part.map(str::to_owned),
        choosing: reading.choosing,
        definitions: reading.definitions.clone(),
        strict: reading.strict,
        statements: reading.statements,
    };
    let mut profiles = read_text(input.text(), &options)?;
    let warnings = profiles.iter_mut().flat_map(|profile| std::mem::take(&mut profile.warnings));
    let warnings = of_first(warnings);
    let is_one = profiles.len() == 1;
    let filters = profiles.into_iter().enumerate().map(|(at, profile)| {
        let suffix = if is_one { String::new() } else { format!(" (filter {})", at + 1) };
        ReadFilter { suffix, ..ReadFilter::of(profile) }
    });
    Ok(ReadSource { filters: filters.collect(), warnings, missing: None })
}

/// Whether a text begins a filter with libseccomp, in C, and has no instructions of a program, which would be the filter.
fn is_program(text: &[u8]) -> bool {
    const INSTRUCTIONS: [&[u8]; 3] = [b"BPF_STMT", b"BPF_JUMP", b"sock_filter"];
    let has = |word: &[u8]| text.windows(word.len()).any(|part| part == word);
    calls(text, b"seccomp_init") && !INSTRUCTIONS.iter().any(|word| has(word))
}

/// Whether a function is called by its name alone, as in C: not as that of a module or an object.
fn calls(text: &[u8], function: &[u8]) -> bool {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let mut places = text.windows(function.len()).enumerate();
    places.any(|(at, part)| {
        let before = text.get(..at).and_then(<[u8]>::last);
        let after = text.get(at + function.len()..).unwrap_or_default().trim_ascii_start();
        part == function
            && after.starts_with(b"(")
            && !before.is_some_and(|byte| is_name(byte) || matches!(byte, b'.' | b':'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_call_the_library_by_its_name() {
        let program = "int main(void) { ctx = seccomp_init (SCMP_ACT_ALLOW); }";
        for extension in [Some("c"), Some("cc")] {
            assert_eq!(likeness(extension, program.as_bytes()), Likeness::Extension);
        }
        assert_eq!(likeness(None, program.as_bytes()), Likeness::Text);
        assert_eq!(likeness(Some("md"), program.as_bytes()), Likeness::None);
        for text in [
            "",
            "seccomp_init",
            "lib.seccomp_init(0)",
            "let ctx = seccomp_sys::seccomp_init(0);",
            "my_seccomp_init(0)",
            "struct sock_filter f[] = {}; /* not seccomp_init(0) */",
        ] {
            assert_eq!(likeness(Some("c"), text.as_bytes()), Likeness::None, "{text}");
        }
    }
}
