//! Kafel in the [registry](crate::languages).

use super::lexer::{KEYWORDS, Keyword};
use super::parse::{Action, action};
use super::read::{ReadOptions, read_with_includes};
use super::{edit, text, write};
use crate::annotated::AnnotatedWriter;
use crate::languages::{
    Editor, Files, Input, Language, Likeness, Name, ReadResult, ReadSource, Reading, ReadingOption,
    Writer,
};

/// The language.
pub const LANGUAGE: Language = Language {
    names: &[Name::written("kafel", &WRITER)],
    forms: &[(
        "nsjail.policy",
        "a policy in Kafel's language, also .kafel; for other file names, write kafel:NAME",
    )],
    likeness,
    options: &[ReadingOption::Variables],
    editor: Some(Editor::of(edit::edits)),
    ..Language::of("a Kafel policy", "kafel", read)
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
    usage: "nsjail --seccomp_policy FILE … -- COMMAND",
};

fn likeness(extension: Option<&str>, text: &[u8]) -> Likeness {
    match extension {
        Some("kafel") => Likeness::Extension,
        Some("policy") => Likeness::RestOfExtension,
        _ if is_policy(text) => Likeness::Text,
        _ if is_nearly_policy(text) => Likeness::Rest,
        _ => Likeness::None,
    }
}

fn read(input: &Input<'_>, reading: &Reading, files: &mut dyn Files) -> ReadResult {
    let options = options(input, reading);
    let mut include = |name: &str, from: Option<&str>| files.include(name, from);
    Ok(ReadSource::of(read_with_includes(input.text(), &options, &mut include)?))
}

/// What the policy of a source is read for.
pub(crate) fn options(input: &Input<'_>, reading: &Reading) -> ReadOptions {
    ReadOptions {
        identity: input.identity.map(str::to_owned),
        statements: reading.statements,
        ..ReadOptions::for_arches(reading.each_arch())
    }
}

/// Whether a text is a policy but for the name of its first action, which the reader then corrects: `ALOW { read } DEFAULT KILL`.
fn is_nearly_policy(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_alphabetic() && c != '_').unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let number = |rest: &str| -> Option<usize> {
        let inside = rest.strip_prefix('(')?.split(')').next()?;
        inside.bytes().all(|byte| byte.is_ascii_alphanumeric()).then_some(inside.len() + 2)
    };
    let rest = rest.get(number(rest).unwrap_or(0)..).unwrap_or_default();
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    !word.is_empty()
        && rest.trim_start().starts_with('{')
        && !text.contains(';')
        && words.any(|word| word.eq_ignore_ascii_case("default"))
}

/// Whether a text begins as a policy: after comments and directives, with a keyword and what may follow it.
pub(super) fn is_policy(text: &[u8]) -> bool {
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
    KEYWORDS.iter().any(|(word, keyword)| {
        let after = rest.strip_prefix(word.as_bytes()).and_then(<[u8]>::first).copied();
        let is_blank = after.is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
        match (keyword, action(*keyword)) {
            (_, Some(Action::Plain(_))) => is_blank || after == Some(b'{'),
            (_, Some(Action::WithNumber(_))) => is_blank || after == Some(b'('),
            (Keyword::Policy | Keyword::Use | Keyword::Default, None) => is_blank,
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_may_be_misspelled() {
        for policy in [
            "ALOW { read } DEFAULT KILL",
            "allow { read } default kill",
            " DENY(1){read} DEFAULT ALLOW",
        ] {
            assert!(is_nearly_policy(policy.as_bytes()), "{policy}");
            assert_eq!(likeness(None, policy.as_bytes()), Likeness::Rest);
        }
        for text in [
            "",
            "{}",
            "enum { A }",
            "x { default: 1; }",
            "{ 0x20, 0, 0, 0 }",
            "allow read default",
            "ret (",
            "\u{fc} {",
        ] {
            assert!(!is_nearly_policy(text.as_bytes()), "{text}");
        }
    }

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
