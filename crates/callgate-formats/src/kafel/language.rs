//! Kafel in the [registry](crate::languages).

use super::read::{ReadOptions, read_with_includes};
use super::{edit, text, write};
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
    write: text::write,
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

/// Whether a text begins as a policy: after comments and directives, with a keyword and what may follow it.
pub(super) fn is_policy(text: &[u8]) -> bool {
    /// Words with which a statement begins, and the bytes that may follow them.
    const STARTS: &[(&[u8], &[u8])] = &[
        (b"POLICY", b" \t\r\n"),
        (b"USE", b" \t\r\n"),
        (b"DEFAULT", b" \t\r\n"),
        (b"ALLOW", b" \t\r\n{"),
        (b"LOG", b" \t\r\n{"),
        (b"KILL", b" \t\r\n{"),
        (b"KILL_PROCESS", b" \t\r\n{"),
        (b"KILL_THREAD", b" \t\r\n{"),
        (b"DENY", b" \t\r\n{"),
        (b"USER_NOTIF", b" \t\r\n{"),
        (b"ERRNO", b" \t\r\n("),
        (b"TRAP", b" \t\r\n("),
        (b"TRACE", b" \t\r\n("),
    ];
    let mut rest = text.trim_ascii_start();
    loop {
        let skipped = if rest.starts_with(b"//") || rest.starts_with(b"#") {
            rest.iter().position(|byte| *byte == b'\n')
        } else if let Some(comment) = rest.strip_prefix(b"/*") {
            comment.windows(2).position(|end| end == b"*/").map(|at| at + 4)
        } else {
            break;
        };
        let Some(after) = skipped.and_then(|at| rest.get(at..)) else { return false };
        rest = after.trim_ascii_start();
    }
    STARTS.iter().any(|(word, next)| {
        let after = rest.strip_prefix(*word).and_then(<[u8]>::first);
        after.is_some_and(|byte| next.contains(byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_begin_with_a_keyword() {
        for policy in [
            "POLICY a {}",
            "// x\n/* y */ #define A 1\nUSE a DEFAULT KILL",
            "ALLOW{read}",
            "#include \"x\"\nERRNO(1) { read }",
            "DEFAULT KILL",
        ] {
            assert!(is_policy(policy.as_bytes()), "{policy}");
        }
        for text in [
            "",
            "#define A 1",
            "#",
            "LOG: ret #0",
            "ret ALLOW",
            "// ALLOW",
            "{ 0x20, 0, 0, 0 }",
            "ALLOWED x",
            "/* POLICY a {}",
        ] {
            assert!(!is_policy(text.as_bytes()), "{text}");
        }
    }
}
