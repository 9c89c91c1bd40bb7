//! minijail in the [registry](crate::languages): how policies are recognized and changed.

use super::read::read_with_includes;
use super::statements::{Frequency, ReadOptions};
use super::write;
use crate::change::input::{
    Edit, EditInput, line_after, line_at_end, logical_line, number, without_line,
};
use crate::change::verify::Compared;
use crate::diagnostics::quote::shorten;
use crate::languages::is_text;
use crate::languages::{
    Editor, Files, Input, Language, Likeness, Name, ReadFilter, ReadResult, ReadSource, Reading,
    ReadingOption, Writer, of_first, weights_of,
};
use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_bpf::syscalls::is_known_name;
use callgate_codegen::Count;

/// The language.
pub const LANGUAGE: Language = Language {
    names: &[Name::written("minijail", &WRITER)],
    forms: &[(
        "minijail.policy",
        "a minijail policy, such as `read: 1`; for other file names, write minijail:NAME",
    )],
    likeness,
    options: &[ReadingOption::MinijailSemantics],
    editor: Some(Editor::of(edits)),
    ..Language::of("a minijail policy", "minijail", read)
};

const WRITER: Writer = Writer::of("filter.policy", write::write);

fn likeness(extension: Option<&str>, text: &[u8]) -> Likeness {
    match extension {
        Some("policy") if is_like_policy(text) => Likeness::Extension,
        _ if is_text(text) && is_policy(text) => Likeness::Text,
        _ => Likeness::None,
    }
}

fn read(input: &Input<'_>, reading: &Reading, files: &mut dyn Files) -> ReadResult {
    let options = ReadOptions {
        identity: input.identity.map(str::to_owned),
        statements: reading.statements,
        semantics: reading.minijail_semantics,
        ..ReadOptions::new(reading.only_arch(LANGUAGE.what)?)
    };
    let mut moved = Vec::new();
    let mut include = |name: &str, from: Option<&str>| {
        files.include(name, from).or_else(|why| match name.rsplit_once('/') {
            Some(("", _) | (_, "")) | None => Err(why),
            Some(_) if !name.starts_with('/') || reading.strict => Err(why),
            Some((_, file)) => {
                let beside = files.include_if_present(file, from)?.ok_or(why)?;
                moved.push(not_installed(name, &beside.name));
                Ok(beside)
            }
        })
    };
    let mut policy = read_with_includes(input.text(), &options, &mut include)?;
    policy.profile.warnings.extend(moved);
    let warnings = of_first(std::mem::take(&mut policy.profile.warnings));
    let count = |Frequency { name, count }| Count {
        arch: Some(options.arch),
        name: String::from(name),
        count: count as f64,
    };
    let weights = weights_of(policy.frequencies.into_iter().map(count))?;
    let filters = vec![ReadFilter { weights, ..ReadFilter::of(policy.profile) }];
    Ok(ReadSource { filters, warnings, missing: None })
}

/// The warning about a file that is installed at an absolute path on the machine where the policy applies, and was found beside it
/// here, as in the source tree of a project.
fn not_installed(name: &str, found: &str) -> Diagnostic {
    let message =
        format!("\"{}\" does not exist here; {} is read instead", shorten(name), shorten(found));
    Diagnostic::warning(None, message).help(Advice::IncludeRoot)
}

/// Directives with which a policy may begin.
const DIRECTIVES: [&[u8]; 4] = [b"@include", b"@frequency", b"@default", b"@denylist"];

/// Whether a text, which may be a policy in Kafel's language, begins like a policy of minijail: with a directive, or with
/// `name:` or `{names}:`.
fn is_like_policy(text: &[u8]) -> bool {
    first_statement(text).is_some()
}

/// Whether a text, which may be a program, begins like a policy: with a directive, or with a syscall and a filter.
#[must_use]
pub fn is_policy(text: &[u8]) -> bool {
    match first_statement(text) {
        None => false,
        Some(Statement::Directive) => true,
        Some(Statement::Filter { name, filter }) => {
            const FILTERS: [&[u8]; 11] = [
                b"1",
                b"arg",
                b"return ",
                b"return\t",
                b"{",
                b"allow",
                b"kill",
                b"log",
                b"trace",
                b"trap",
                b"user-notify",
            ];
            let is_syscall = std::str::from_utf8(name).is_ok_and(is_known_name);
            is_syscall && FILTERS.iter().any(|begin| filter.starts_with(begin))
        }
    }
}

enum Statement<'t> {
    Directive,
    Filter { name: &'t [u8], filter: &'t [u8] },
}

/// The first line that is neither empty nor a comment, if it is a statement.
fn first_statement(text: &[u8]) -> Option<Statement<'_>> {
    let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let line = lines.find(|line| !line.is_empty() && !line.starts_with(b"#"))?;
    if DIRECTIVES.iter().any(|directive| line.starts_with(directive)) {
        return Some(Statement::Directive);
    }
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (before, filter) = (line.get(..colon)?.trim_ascii(), line.get(colon + 1..)?.trim_ascii());
    let names = before.strip_prefix(b"{").and_then(|inside| inside.strip_suffix(b"}"));
    let name =
        names.unwrap_or(before).split(|byte| matches!(byte, b',' | b'[')).next()?.trim_ascii();
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let is_statement =
        name.first().is_some_and(|first| !first.is_ascii_digit()) && name.iter().all(is_name);
    is_statement.then_some(Statement::Filter { name, filter })
}

/// Edits, each of which may allow the syscall.
pub(crate) fn edits(input: &EditInput<'_>) -> Vec<Vec<Edit>> {
    let (text, wanted) = (input.text, input.wanted);
    let tests = wanted.compared().map(test).collect::<Vec<_>>().join(" && ");
    let condition = if wanted.args.is_empty() { "1" } else { &tests };
    let line = format!("{}: {condition}", wanted.name);
    let mut found = Vec::new();
    // A line about the syscall, of which there may be only one.
    for at in input.denying().into_iter().chain(input.unmet()) {
        let range = logical_line(text, at);
        let old = text.get(range.clone()).unwrap_or_default();
        let is_own = old.split(':').next().is_some_and(|name| name.trim() == wanted.name);
        if !is_own {
            continue;
        }
        let is_plain = !old.contains(['#', ';', '\\']) && !old.contains("return");
        if is_plain && !wanted.args.is_empty() {
            let end = range.start + old.trim_end().len();
            found.push(vec![Edit::insert(end, format!(" || {tests}"))]);
        }
        found.push(vec![Edit::replace(range.start, range.end, line.clone())]);
        if wanted.args.is_empty() {
            found.push(vec![without_line(text, range)]);
        }
    }
    if let Some(at) = input.allowing().pop_last() {
        found.push(vec![line_after(text, &logical_line(text, at), &line)]);
    }
    found.push(vec![line_at_end(text, &line)]);
    found
}

/// A test of an argument. Its lower half has no operator for equality: no other bits are set (`in`), and each one is (`&`).
fn test(Compared { index, value, is_low, .. }: Compared) -> String {
    if !is_low {
        return format!("arg{index} == {}", number(value));
    }
    let mut test = format!("arg{index} in {:#x}", value | !u64::from(u32::MAX));
    for bit in (0..32).map(|bit| 1_u64 << bit).filter(|bit| value & bit != 0) {
        test.push_str(&format!(" && arg{index} & {bit:#x}"));
    }
    test
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_begin_with_a_directive_or_a_syscall() {
        for policy in [
            "read: 1",
            "# x\n\n@include ./a.policy\n",
            "@denylist\n",
            "ioctl: arg1 == 1",
            "{ read, write }: return EPERM",
            "open[arch=x86_64] : allow",
        ] {
            assert!(is_policy(policy.as_bytes()) && is_like_policy(policy.as_bytes()), "{policy}");
        }
        for text in ["raed: 1", "read: x", "start: ld [0]", "read: ret ALLOW"] {
            assert!(!is_policy(text.as_bytes()) && is_like_policy(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "#define A 1",
            "POLICY a {}",
            "ALLOW { read }",
            "{ 0x20, 0, 0, 0 }",
            "{\"a\": 1}",
            "0: ld arch",
            ": 1",
            "@x",
        ] {
            assert!(!is_policy(text.as_bytes()) && !is_like_policy(text.as_bytes()), "{text}");
        }
    }
}
